fn value_of(r: u32, c: u32) -> f32 {
    return P.scale * x_get(r, c);
}
