/* The sum over the token's slots. */
fn value_of(r: u32, c: u32) -> f32 {
    var sum = 0.0;
    for (var j = 0u; j < P.used; j++) {
        sum += route_get(r, P.used + j) * x_get(r * P.used + j, c);
    }
    return sum;
}
