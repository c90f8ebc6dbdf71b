/* A workgroup per `width` columns of a row. */
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
    let factor = 1.0 / sqrt(group_sum(lid, sum) / f32(P.width) + P.eps);
    for (var i = lid; i < P.width; i += GROUP) {
        y_put(r, first + i, x_get(r, first + i) * factor * weight_of(i));
    }
}
