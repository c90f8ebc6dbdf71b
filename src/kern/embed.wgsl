/* A workgroup per row; a thread per 32 columns. Ids in other pieces of the table are left alone. */
var<private> to: u32;
fn emit(i: u32, v: f32) { act[to + i] = bitcast<u32>(v * P.scale); }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let t = group_of(wg, nwg);
    if (t >= P.groups) { return; }
    let id = row_id(step_row(P.y_rows, t));
    if (id < P.w_row0 || id - P.w_row0 >= P.w_rows) { return; }
    for (var g = lid; g * 32u < P.y_cols; g += GROUP) {
        to = P.y_at + t * P.y_pitch + 32u * g;
        decode_group(id - P.w_row0, g, P.y_cols);
    }
}
