/* A row's cosines, then its sines. An angle is position times frequency: whole turns drop out of
 * the integer product, so that what remains is exact to 2^-32 of a turn at any position. */
fn high_product(a: u32, b: u32) -> u32 {
    let a0 = a & 0xffffu; let a1 = a >> 16u;
    let b0 = b & 0xffffu; let b1 = b >> 16u;
    let low = a0 * b0;
    let mid = a1 * b0 + (low >> 16u);
    let mid2 = a0 * b1 + (mid & 0xffffu);
    return a1 * b1 + (mid >> 16u) + (mid2 >> 16u);
}

fn value_of(r: u32, c: u32) -> f32 {
    let n = P.y_cols / 2u;
    let j = c % n;
    let pos = row_pos(step_row(P.y_rows, r));
    let turn = v1[2u * j + 1u] * pos + high_product(v1[2u * j], pos);
    /* The nearest quarter turn, and what is left of it: at most an eighth, in 2^-32 turns. */
    let quarter = (turn + 0x20000000u) >> 30u;
    let x = f32(bitcast<i32>(turn - (quarter << 30u))) * 1.4629180792671596e-9;
    let z = x * x;
    let s = x * (1.0 + z * (-1.6666667e-1 + z * (8.3333333e-3 + z * (-1.9841270e-4 + z * 2.7557319e-6))));
    let k = 1.0 + z * (-0.5 + z * (4.1666667e-2 + z * (-1.3888889e-3 + z * (2.4801587e-5 - z * 2.7557319e-7))));
    /* cos and sin of a quarter more are -sin and cos. A cosine is the sine of a quarter more. */
    let q = (quarter + select(1u, 0u, c >= n)) & 3u;
    var v = select(s, k, (q & 1u) == 1u);
    if (q >= 2u) { v = -v; }
    return v * P.factor;
}
