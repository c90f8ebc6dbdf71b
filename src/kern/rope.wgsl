/* A thread per element: the half of its pair that it is. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let i = group_of(wg, nwg) * GROUP + lid;
    let r = i / P.y_cols;
    let c = i % P.y_cols;
    if (r >= y_n_rows()) { return; }
    let n = P.angles_cols / 2u; /* pairs of a head; what is beyond passes through */
    let in_head = c % P.head_dim;
    let head = c - in_head;
    if (in_head >= 2u * n) {
        y_put(r, c, x_get(r, c));
        return;
    }
    let neox = P.neox != 0u;
    let j = select(in_head / 2u, in_head % n, neox);
    let second = select((in_head & 1u) == 1u, in_head >= n, neox);
    let u = x_get(r, head + select(2u * j, j, neox));
    let v = x_get(r, head + select(2u * j + 1u, j + n, neox));
    let cos_j = angles_get(r, j);
    let sin_j = angles_get(r, n + j);
    y_put(r, c, select(u * cos_j - v * sin_j, u * sin_j + v * cos_j, second));
}
