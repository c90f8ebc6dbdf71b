/* Many rows: a workgroup per TILE_N outputs by TILE_T rows, in steps of 32 columns that are decoded into
 * workgroup memory once. A thread has 4 outputs of 8 rows. For experts the rows are those of the
 * expert's slots, gathered STRETCH slots at a time. */
var<workgroup> tile_w: array<f32, 32u * TILE_N>; /* [column][output] */
var<workgroup> tile_x: array<f32, 32u * TILE_T>; /* [column][row] */
var<private> lane: u32;
fn emit(i: u32, v: f32) { tile_w[i * TILE_N + lane] = v; }

/* Outputs n0 .. of count rows, the k-th being row row_at(k). All threads come here together. */
fn product(lid: u32, n0: u32, count: u32) {
    let tn = (lid % 16u) * 4u;
    let tt = (lid / 16u) * 8u;
    var acc = array<vec4<f32>, 8>();
    let here = in_piece(row_at(0u), n0 + lid);
    let weights = weight_row(row_at(0u), n0 + lid);
    lane = lid;
    for (var g = 0u; g * 32u < P.x_cols; g++) {
        workgroupBarrier();
        if (!here || P.x_cols - 32u * g < 32u) {
            for (var i = 0u; i < 32u; i++) { emit(i, 0.0); }
        }
        if (here) { decode_group(weights, g, P.x_cols); }
        for (var i = lid; i < 32u * TILE_T; i += GROUP) {
            let c = 32u * g + i % 32u;
            let k = i / 32u;
            var v = 0.0;
            if (k < count && c < P.x_cols) { v = x_get(input_row(row_at(k)), c); }
            tile_x[(i % 32u) * TILE_T + k] = v;
        }
        workgroupBarrier();
        for (var c = 0u; c < 32u; c++) {
            let at = c * TILE_N + tn;
            let four = vec4(tile_w[at], tile_w[at + 1u], tile_w[at + 2u], tile_w[at + 3u]);
            for (var k = 0u; k < 8u; k++) { acc[k] += four * tile_x[c * TILE_T + tt + k]; }
        }
    }
    for (var k = 0u; k < 8u; k++) {
        if (tt + k >= count) { break; }
        let row = row_at(tt + k);
        for (var i = 0u; i < 4u; i++) {
            if (in_piece(row, n0 + tn + i)) { put_result(row, n0 + tn + i, acc[k][i]); }
        }
    }
}
