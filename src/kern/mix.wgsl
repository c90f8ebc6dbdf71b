/* A thread per element: the sum over the token's slots. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let i = group_of(wg, nwg) * GROUP + lid;
    let r = i / P.y_cols;
    let c = i % P.y_cols;
    if (r >= y_n_rows()) { return; }
    var sum = 0.0;
    for (var j = 0u; j < P.used; j++) {
        sum += route_get(r, P.used + j) * x_get(r * P.used + j, c);
    }
    y_put(r, c, sum);
}
