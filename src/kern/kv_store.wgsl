/* A thread per pair of neighbouring columns: one word of an f16 cache. */
/* By integers, to nearest even: pack2x16float may round otherwise and has no result beyond 65504, where
 * finite numbers become the largest half. What is not finite stays so. */
fn half_bits(x: f32) -> u32 {
    let sign = (bitcast<u32>(x) >> 16u) & 0x8000u;
    let rest = bitcast<u32>(x) & 0x7fffffffu;
    if (rest > 0x7f800000u) { return sign | 0x7e00u; }
    if (rest == 0x7f800000u) { return sign | 0x7c00u; }
    if (rest >= 0x477fe000u) { return sign | 0x7bffu; }
    if (rest < 0x38800000u) { return sign | u32(round(bitcast<f32>(rest) * 0x1p24f)); }
    return sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u);
}
fn half_pair(low: f32, high: f32) -> u32 { return half_bits(low) | (half_bits(high) << 16u); }

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
        kv[page + item / 2u] = half_pair(k_get(r, c), k_get(r, c + 1u));
        kv[page + P.kv_v + item / 2u] = half_pair(v_get(r, c), v_get(r, c + 1u));
    } else {
        kv[page + item] = bitcast<u32>(k_get(r, c));
        kv[page + item + 1u] = bitcast<u32>(k_get(r, c + 1u));
        kv[page + P.kv_v + item] = bitcast<u32>(v_get(r, c));
        kv[page + P.kv_v + item + 1u] = bitcast<u32>(v_get(r, c + 1u));
    }
}
