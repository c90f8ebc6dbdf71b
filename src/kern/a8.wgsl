/* Writes block b of row r as int8: d = absmax / 127, q = round(x / d), s = d * sum(q). Magnitudes are
 * compared by their bits, which order like the numbers and see infinities and NaN on any device. */
fn put_block(r: u32, b: u32, x: ptr<function, array<f32, 32>>) {
    var most = 0u;
    for (var i = 0u; i < 32u; i++) { most = max(most, bitcast<u32>((*x)[i]) & 0x7fffffffu); }
    if (most >= 0x7f800000u) {
        for (var i = 0u; i < 8u; i++) { y_put_word(r, 8u * b + i, 0u); }
        y_put_scale(r, b, 0x7fc00000u, 0x7fc00000u);
        return;
    }
    let tiny = most < 0x04000000u; /* 2^-119: 1 / d would overflow */
    let d = select(bitcast<f32>(most) / 127.0, 0.0, tiny);
    /* Of a quarter, by its exponent: devices may give 0 for divisors beyond 2^126. */
    let inverse = select(127.0 / bitcast<f32>(most - 0x01000000u), 0.0, tiny);
    var sum = 0;
    for (var i = 0u; i < 8u; i++) {
        var word = 0u;
        for (var j = 0u; j < 4u; j++) {
            let q = i32(round(0.25 * (*x)[4u * i + j] * inverse));
            sum += q;
            word |= (bitcast<u32>(q) & 255u) << (8u * j);
        }
        y_put_word(r, 8u * b + i, word);
    }
    y_put_scale(r, b, bitcast<u32>(d), bitcast<u32>(d * f32(sum)));
}
