/* A workgroup per row: the norm over all of it, then a thread per 32 columns. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let r = group_of(wg, nwg);
    if (r >= P.groups) { return; }
    var sum = 0.0;
    for (var i = lid; i < P.x_cols; i += GROUP) {
        let x = x_get(r, i);
        sum += x * x;
    }
    let factor = 1.0 / sqrt(group_sum(lid, sum) / f32(P.x_cols) + P.eps);
    for (var b = lid; b * 32u < P.y_cols; b += GROUP) {
        var x = array<f32, 32>();
        for (var i = 0u; i < 32u; i++) {
            x[i] = x_get(r, 32u * b + i) * factor * weight_of(32u * b + i);
        }
        put_block(r, b, &x);
    }
}
