/* The last tap is the row's own position. */
fn value_of(r: u32, c: u32) -> f32 {
    let row = step_row(P.y_rows, r);
    let pos = row_pos(row);
    var sum = 0.0;
    for (var j = 0u; j < P.taps; j++) {
        let back = P.taps - 1u - j;
        if (pos < back) { continue; }
        let p = pos - back;
        let z = bitcast<f32>(kv[page_of(row_seq(row), p) + (p % KV_PAGE) * HEAD_DIM + c]);
        sum += bitcast<f32>(w[j * (P.w_pitch / 4u) + c]) * z;
    }
    return sum * x_get(r, c);
}
