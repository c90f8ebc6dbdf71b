/* y = value_of, a thread per element. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let i = group_of(wg, nwg) * GROUP + lid;
    let r = i / P.y_cols;
    let c = i % P.y_cols;
    if (r < y_n_rows()) { y_put(r, c, value_of(r, c)); }
}
