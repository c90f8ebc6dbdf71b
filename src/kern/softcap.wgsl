fn value_of(r: u32, c: u32) -> f32 {
    return P.cap * tanh_of(x_get(r, c) / P.cap);
}
