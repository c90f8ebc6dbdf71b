fn value_of(r: u32, c: u32) -> f32 {
    return x_get(r, c);
}
