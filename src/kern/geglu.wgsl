fn value_of(r: u32, c: u32) -> f32 {
    return gelu(gate_get(r, c)) * up_get(r, c);
}
