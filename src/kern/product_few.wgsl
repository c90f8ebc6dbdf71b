/* Few rows: a workgroup per FEW_ROWS outputs of a row; its threads share out the columns by 32. */
var<workgroup> sums: array<f32, GROUP * FEW_ROWS>;
var<private> acc: f32;
var<private> met_row: u32; /* row and first column of x that the decoded values meet */
var<private> met_col: u32;
fn emit(i: u32, v: f32) { acc += v * x_get(met_row, met_col + i); }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let group = group_of(wg, nwg);
    if (group >= P.groups) { return; }
    let strips = (out_cols() + FEW_ROWS - 1u) / FEW_ROWS;
    let row = group / strips;
    let n0 = (group % strips) * FEW_ROWS;
    met_row = input_row(row);
    for (var k = 0u; k < FEW_ROWS; k++) {
        acc = 0.0;
        if (in_piece(row, n0 + k)) {
            let weights = weight_row(row, n0 + k);
            for (var g = lid; g * 32u < P.x_cols; g += GROUP) {
                met_col = 32u * g;
                decode_group(weights, g, P.x_cols);
            }
        }
        sums[k * GROUP + lid] = acc;
    }
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid < half) {
            for (var k = 0u; k < FEW_ROWS; k++) {
                sums[k * GROUP + lid] += sums[k * GROUP + lid + half];
            }
        }
    }
    workgroupBarrier();
    if (lid < FEW_ROWS && in_piece(row, n0 + lid)) { put_result(row, n0 + lid, sums[lid * GROUP]); }
}
