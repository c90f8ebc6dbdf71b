/* y = a8(value_of), a workgroup per row and a thread per 32 columns. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let r = group_of(wg, nwg);
    if (r >= P.groups) { return; }
    for (var b = lid; b * 32u < P.y_cols; b += GROUP) {
        var x = array<f32, 32>();
        for (var i = 0u; i < 32u; i++) { x[i] = value_of(r, 32u * b + i); }
        put_block(r, b, &x);
    }
}
