/* How product_few and product_tile see a plain product: outputs n of the piece's rows. */
fn out_cols() -> u32 { return P.w_rows; }
fn weight_row(row: u32, n: u32) -> u32 { return n; }
fn in_piece(row: u32, n: u32) -> bool { return n < P.w_rows; }
fn input_row(row: u32) -> u32 { return row; }
fn put_result(row: u32, n: u32, v: f32) { y_put(row, P.w_row0 + n, v + bias_at(P.w_row0 + n)); }
