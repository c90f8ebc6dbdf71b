/* The rows of an expert's tile are the slots that chose it, found STRETCH slots at a time. */
const STRETCH = 512u;
var<workgroup> found: array<u32, STRETCH>;
var<workgroup> n_found: atomic<u32>;
var<private> first_found: u32;
fn row_at(k: u32) -> u32 { return found[first_found + k]; }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let group = group_of(wg, nwg);
    if (group >= P.groups) { return; }
    let strips = (out_cols() + TILE_N - 1u) / TILE_N;
    let expert = group / strips;
    for (var slot = 0u; slot < y_n_rows(); slot += STRETCH) {
        workgroupBarrier();
        if (lid == 0u) { atomicStore(&n_found, 0u); }
        workgroupBarrier();
        for (var s = slot + lid; s < min(slot + STRETCH, y_n_rows()); s += GROUP) {
            if (expert_of(s) == expert) { found[atomicAdd(&n_found, 1u)] = s; }
        }
        workgroupBarrier();
        if (lid == 0u) { count_found = atomicLoad(&n_found); }
        let n = workgroupUniformLoad(&count_found);
        for (var at = 0u; at < n; at += TILE_T) {
            first_found = at;
            product(lid, (group % strips) * TILE_N, min(TILE_T, n - at));
        }
    }
}
var<workgroup> count_found: u32;
