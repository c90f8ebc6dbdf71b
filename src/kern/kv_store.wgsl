/* A thread per pair of neighbouring columns: one word of an f16 cache. */
fn half_of(x: f32) -> f32 { return clamp(x, -65504.0, 65504.0); }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let i = group_of(wg, nwg) * GROUP + lid;
    let pairs = P.k_cols / 2u;
    let r = i / pairs;
    let c = (i % pairs) * 2u;
    if (r >= k_n_rows()) { return; }
    let row = step_row(P.k_rows, r);
    let pos = row_pos(row);
    let page = page_of(row_seq(row), pos);
    let item = ((c / HEAD_DIM) * KV_PAGE + pos % KV_PAGE) * HEAD_DIM + c % HEAD_DIM;
    if (KV_F16) {
        kv[page + item / 2u] = pack2x16float(vec2(half_of(k_get(r, c)), half_of(k_get(r, c + 1u))));
        kv[page + P.kv_v + item / 2u] = pack2x16float(vec2(half_of(v_get(r, c)), half_of(v_get(r, c + 1u))));
    } else {
        kv[page + item] = bitcast<u32>(k_get(r, c));
        kv[page + item + 1u] = bitcast<u32>(k_get(r, c + 1u));
        kv[page + P.kv_v + item] = bitcast<u32>(v_get(r, c));
        kv[page + P.kv_v + item + 1u] = bitcast<u32>(v_get(r, c + 1u));
    }
}
