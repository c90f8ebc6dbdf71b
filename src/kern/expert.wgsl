/* How product_few and product_tile see the product of a slot with its expert's rows: output n is row
 * `expert * stride + first + n` of the whole matrix, which may be in another piece. */
fn expert_of(row: u32) -> u32 { return u32(route_get(row / P.used, row % P.used)); }
fn whole_row(row: u32, n: u32) -> u32 { return expert_of(row) * P.stride + P.first + n; }
fn out_cols() -> u32 { return P.n; }
fn weight_row(row: u32, n: u32) -> u32 { return whole_row(row, n) - P.w_row0; }
fn in_piece(row: u32, n: u32) -> bool {
    let at = whole_row(row, n);
    return n < P.n && at >= P.w_row0 && at - P.w_row0 < P.w_rows;
}
fn input_row(row: u32) -> u32 { return select(row / P.used, row, x_n_rows() == y_n_rows()); }
fn put_result(row: u32, n: u32, v: f32) { y_put(row, n, v); }
