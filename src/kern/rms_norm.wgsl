/* A workgroup per `width` columns of a row. */
var<workgroup> sums: array<f32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let group = group_of(wg, nwg);
    if (group >= P.groups) { return; }
    let per_row = P.y_cols / P.width;
    let r = group / per_row;
    let first = (group % per_row) * P.width;
    var sum = 0.0;
    for (var i = lid; i < P.width; i += GROUP) {
        let x = x_get(r, first + i);
        sum += x * x;
    }
    sums[lid] = sum;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid < half) { sums[lid] += sums[lid + half]; }
    }
    workgroupBarrier();
    let factor = 1.0 / sqrt(sums[0] / f32(P.width) + P.eps);
    for (var i = lid; i < P.width; i += GROUP) {
        y_put(r, first + i, x_get(r, first + i) * factor * weight_of(i));
    }
}
