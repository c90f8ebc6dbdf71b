/* The half of its pair that the element is. */
fn value_of(r: u32, c: u32) -> f32 {
    let n = P.angles_cols / 2u; /* pairs of a head; what is beyond passes through */
    let in_head = c % P.head_dim;
    let head = c - in_head;
    if (in_head >= 2u * n) {
        return x_get(r, c);
    }
    let neox = P.neox != 0u;
    let j = select(in_head / 2u, in_head % n, neox);
    let second = select((in_head & 1u) == 1u, in_head >= n, neox);
    let u = x_get(r, head + select(2u * j, j, neox));
    let v = x_get(r, head + select(2u * j + 1u, j + n, neox));
    let cos_j = angles_get(r, j);
    let sin_j = angles_get(r, n + j);
    return select(u * cos_j - v * sin_j, u * sin_j + v * cos_j, second);
}
