/* The rows of a plain product's tile are neighbours. */
var<private> first_row: u32;
fn row_at(k: u32) -> u32 { return first_row + k; }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let group = group_of(wg, nwg);
    if (group >= P.groups) { return; }
    let strips = (out_cols() + TILE_N - 1u) / TILE_N;
    first_row = (group / strips) * TILE_T;
    product(lid, (group % strips) * TILE_N, min(TILE_T, y_n_rows() - first_row));
}
