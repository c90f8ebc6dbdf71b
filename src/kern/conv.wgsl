/* A thread per element; the last tap is the row's own position. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let i = group_of(wg, nwg) * GROUP + lid;
    let r = i / P.y_cols;
    let c = i % P.y_cols;
    if (r >= y_n_rows()) { return; }
    let row = step_row(P.y_rows, r);
    let pos = row_pos(row);
    var sum = 0.0;
    for (var j = 0u; j < P.taps; j++) {
        let back = P.taps - 1u - j;
        if (pos < back) { continue; }
        let p = pos - back;
        let z = bitcast<f32>(kv[page_of(row_seq(row), p) + (p % KV_PAGE) * HEAD_DIM + c]);
        sum += bitcast<f32>(w[j * (P.w_pitch / 4u) + c]) * z;
    }
    y_put(r, c, sum * x_get(r, c));
}
