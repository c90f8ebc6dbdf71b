/* Shared by all kernels. */
fn group_of(wg: vec3<u32>, nwg: vec3<u32>) -> u32 {
    return wg.x + (wg.y + wg.z * nwg.y) * nwg.x;
}
/* The step's row that row r of an operand with rows of this kind (0: all, 1: the wanted) is of. */
fn step_row(kind: u32, r: u32) -> u32 {
    if (kind == 0u) { return r; }
    return step_words[step_words[3] + r];
}
fn row_id(row: u32) -> u32 { return step_words[step_words[2] + 3u * row]; }
fn row_pos(row: u32) -> u32 { return step_words[step_words[2] + 3u * row + 1u]; }
fn row_seq(row: u32) -> u32 { return step_words[step_words[2] + 3u * row + 2u]; }
/* exp of large numbers is no number on some devices, tanh of large ones neither; and what limits a
 * number, like clamp, may lose a NaN, which has to reach the logits. */
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn silu(x: f32) -> f32 { return select(x, 0.0, x < -88.0) / (1.0 + exp(min(-x, 88.0))); }
fn tanh_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    return 1.0 - 2.0 / (exp(2.0 * clamp(x, -10.0, 10.0)) + 1.0);
}
fn gelu(x: f32) -> f32 {
    let c = clamp(x, -20.0, 20.0); /* beyond, tanh is +-1 */
    return 0.5 * x * (1.0 + tanh_of(0.7978845608028654 * (c + 0.044715 * c * c * c)));
}
