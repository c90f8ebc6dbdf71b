fn value_of(r: u32, c: u32) -> f32 {
    return a_get(r, c) + P.scale * b_get(r, c);
}
