/* A thread per element. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let i = group_of(wg, nwg) * GROUP + lid;
    let r = i / P.a_cols;
    let c = i % P.a_cols;
    if (r >= a_n_rows()) { return; }
    let row = step_row(P.a_rows, r);
    let pos = row_pos(row);
    kv[page_of(row_seq(row), pos) + (pos % KV_PAGE) * HEAD_DIM + c] =
        bitcast<u32>(a_get(r, c) * b_get(r, c));
}
