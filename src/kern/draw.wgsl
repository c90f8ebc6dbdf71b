/* A workgroup per row. The weights of candidates are made by all threads; then each walks through them, to
 * the same end: there are at most 256. */
const WIDE = 256u; /* threads; TOP_MOST */
const BETA = 0u;
const TOP_K = 1u;
const TOP_P = 2u;
var<workgroup> weights: array<f32, WIDE>;

fn value_at(r: u32, i: u32) -> f32 { return x_get(r, P.x_cols / 2u + i); }
fn weigh(r: u32, lid: u32, beta: f32) {
    workgroupBarrier();
    let w = exp(max((value_at(r, lid % step_words[5]) - value_at(r, 0u)) * beta, -80.0));
    weights[lid] = select(w, 0.0, w < 1e-34);
    workgroupBarrier();
}
fn total_of(n: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < n; i++) { sum += weights[i]; }
    return sum;
}
/* The fewest of n that have the share p of the probability. */
fn top_p(n: u32, least: u32, p: f32) -> u32 {
    let enough = p * total_of(n);
    var sum = 0.0;
    var i = 0u;
    for (; i < n && (i < least || sum < enough); i++) { sum += weights[i]; }
    return i;
}
/* Those of n whose values are within `range` of the best, which is not positive. */
fn within(r: u32, n: u32, least: u32, range: f32) -> u32 {
    let limit = value_at(r, 0u) + range;
    var i = 0u;
    for (; i < n && (i < least || value_at(r, i) >= limit); i++) {}
    return i;
}

@compute @workgroup_size(WIDE)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let r = group_of(wg, nwg);
    if (r >= P.groups || step_words[5] == 0u) { return; }
    var n = step_words[5];
    var beta = 1.0;
    weigh(r, lid, beta);
    for (var s = 0u; s < step_words[8]; s++) {
        let kind = step_words[9u + 2u * s];
        let value = bitcast<f32>(step_words[10u + 2u * s]);
        let least = clamp(step_words[6], 1u, n);
        if (kind == BETA) {
            beta = value;
            weigh(r, lid, beta);
        } else if (kind == TOP_K) {
            n = min(n, max(u32(value), least));
        } else if (kind == TOP_P) {
            n = top_p(n, least, value);
        } else {
            n = within(r, n, least, value / beta);
        }
    }
    if (lid != 0u) { return; }
    var left = bitcast<f32>(step_words[7]) * total_of(n);
    var i = 0u;
    for (; i + 1u < n; i++) {
        left -= weights[i];
        if (left < 0.0 || weights[i + 1u] == 0.0) { break; }
    }
    y_put(r, 0u, x_get(r, i));
}
