/* Few rows: a workgroup per FEW_ROWS outputs of a row, LANES threads for each, which share out the
 * columns by 32. */
const LANES = GROUP / FEW_ROWS;
const_assert LANES == QUARTER;
var<private> part: f32; /* of 32 columns, in units of the scale of x there */
var<private> met_row: u32; /* row and first column of x that the decoded values meet */
var<private> met_col: u32;
fn emit(i: u32, v: f32) { part += v * x_number(met_row, met_col + i); }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let group = group_of(wg, nwg);
    if (group >= P.groups) { return; }
    let strips = (out_cols() + FEW_ROWS - 1u) / FEW_ROWS;
    let row = group / strips;
    let n = (group % strips) * FEW_ROWS + lid / LANES;
    let here = in_piece(row, n);
    var acc = 0.0;
    met_row = input_row(row);
    if (here) {
        let weights = weight_row(row, n);
        for (var g = lid % LANES; g * 32u < P.x_cols; g += LANES) {
            part = 0.0;
            met_col = 32u * g;
            decode_group(weights, g, P.x_cols);
            acc += part * x_scale(met_row, g);
        }
    }
    let sum = quarter_sum(lid, acc);
    if (here && lid % LANES == 0u) { put_result(row, n, sum); }
}
