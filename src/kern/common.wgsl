/* Shared by all kernels. */
fn group_of(wg: vec3<u32>, nwg: vec3<u32>) -> u32 {
    return wg.x + (wg.y + wg.z * nwg.y) * nwg.x;
}
/* The step's row that row r of an operand with rows of this kind (0: all, 1: the wanted) is of. */
fn step_row(kind: u32, r: u32) -> u32 {
    if (kind == 0u) { return r; }
    return step_words[step_words[3] + r];
}
fn row_id(row: u32) -> u32 {
    let id = step_words[step_words[2] + 3u * row];
    if (id < 0x80000000u) { return id; }
    return u32(bitcast<f32>(act[id & 0x7fffffffu])); /* what the step before drew */
}
fn row_pos(row: u32) -> u32 { return step_words[step_words[2] + 3u * row + 1u]; }
fn row_seq(row: u32) -> u32 { return step_words[step_words[2] + 3u * row + 2u]; }
/* What limits a number, like clamp, may lose a NaN, which has to reach the logits. */
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
/* x / (1 + exp(-u)): right relative to its own size in both tails. Far below, where exp is no number on
 * some devices and such a quotient has no promised accuracy, nothing is left of x. */
fn logistic(x: f32, u: f32) -> f32 {
    if (u < -87.0 && !is_nan(x)) { return 0.0; }
    return x / (1.0 + exp(-u));
}
fn silu(x: f32) -> f32 { return logistic(x, x); }
/* x / 2 (1 + tanh(u)) is x / (1 + exp(-2 u)), without the difference that swallows the tail. */
fn gelu(x: f32) -> f32 {
    let c = clamp(x, -20.0, 20.0); /* the cube stays finite */
    return logistic(x, 1.5957691216057308 * (c + 0.044715 * c * c * c));
}
/* WGSL's own overflows on some devices. Near zero by its series: 1 minus almost 1 has few digits. */
fn tanh_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let z = x * x;
    if (z < 0.0625) {
        return x * (1.0 + z * (-0.33333333 + z * (0.13333333 + z * (-0.053968254 + z * 0.021869489))));
    }
    return 1.0 - 2.0 / (exp(2.0 * clamp(x, -10.0, 10.0)) + 1.0);
}
