/* A workgroup per query head and row, one pass over the keys in stretches of GROUP positions: a thread
 * per position for the scores, a thread per column for the values. m is the largest score so far, l
 * the thread's part of the sum of exp(score - m). */
var<workgroup> query: array<f32, HEAD_DIM>;
var<workgroup> weights: array<f32, GROUP>; /* exp(score - m) */
var<workgroup> places: array<u32, GROUP>; /* words: where the position's row begins in K */
const PER_THREAD = (HEAD_DIM + GROUP - 1u) / GROUP;

fn number(base: u32, i: u32) -> f32 {
    if (KV_F16) {
        let pair = unpack2x16float(kv[base + i / 2u]);
        return select(pair.x, pair.y, (i & 1u) == 1u);
    }
    return bitcast<f32>(kv[base + i]);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let group = group_of(wg, nwg);
    if (group >= P.groups) { return; }
    let heads = P.y_cols / HEAD_DIM;
    let r = group / heads;
    let head = group % heads;
    let kv_head = head / (heads / P.kv_heads);
    let row = step_row(P.y_rows, r);
    let pos = row_pos(row);
    let seq = row_seq(row);
    var first = 0u;
    if (P.window > 0u && pos >= P.window) { first = pos - P.window + 1u; }
    for (var i = lid; i < HEAD_DIM; i += GROUP) { query[i] = q_get(r, head * HEAD_DIM + i); }
    workgroupBarrier();
    var m = -3.0e38;
    var l = 0.0;
    var out = array<f32, PER_THREAD>();
    for (var base = first; base <= pos; base += GROUP) {
        let p = base + lid;
        let here = p <= pos;
        var score = -3.0e38;
        var place = 0u;
        if (here) {
            let at = (kv_head * KV_PAGE + p % KV_PAGE) * HEAD_DIM;
            place = page_of(seq, p) + select(at, at / 2u, KV_F16);
            var sum = 0.0;
            for (var i = 0u; i < HEAD_DIM; i++) { sum += query[i] * number(place, i); }
            score = sum * P.scale;
            if (P.softcap > 0.0) { score = P.softcap * tanh_of(score / P.softcap); }
        }
        let most = max(m, group_max(lid, score)); /* since when nobody reads the last stretch's */
        let shrink = exp(m - most);
        let weight = select(0.0, exp(score - most), here);
        m = most;
        l = l * shrink + weight;
        weights[lid] = weight;
        places[lid] = place;
        workgroupBarrier();
        let n = min(GROUP, pos - base + 1u);
        for (var i = 0u; i < PER_THREAD; i++) {
            let d = lid + i * GROUP;
            if (d >= HEAD_DIM) { break; }
            var sum = out[i] * shrink;
            for (var j = 0u; j < n; j++) { sum += weights[j] * number(places[j] + P.kv_v, d); }
            out[i] = sum;
        }
    }
    l = group_sum(lid, l);
    for (var i = 0u; i < PER_THREAD; i++) {
        let d = lid + i * GROUP;
        if (d < HEAD_DIM) { y_put(r, head * HEAD_DIM + d, out[i] / l); }
    }
}
