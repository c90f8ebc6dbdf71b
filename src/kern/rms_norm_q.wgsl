/* A workgroup per row: the norm over all of it, then a thread per 32 columns. */
var<workgroup> sums: array<f32, GROUP>;

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
    sums[lid] = sum;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid < half) { sums[lid] += sums[lid + half]; }
    }
    workgroupBarrier();
    let factor = 1.0 / sqrt(sums[0] / f32(P.x_cols) + P.eps);
    for (var b = lid; b * 32u < P.y_cols; b += GROUP) {
        var x: array<f32, 32>;
        for (var i = 0u; i < 32u; i++) {
            x[i] = x_get(r, 32u * b + i) * factor * weight_of(32u * b + i);
        }
        put_block(r, b, &x);
    }
}
