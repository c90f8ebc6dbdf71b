fn value_of(r: u32, c: u32) -> f32 {
    return silu(gate_get(r, c)) * up_get(r, c);
}
