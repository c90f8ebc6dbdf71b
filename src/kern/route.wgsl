/* A workgroup per token: chooses one expert after the other. Experts are ordered by rank, of equal ones
 * the lower id first; the next choice is the first after the last. Each thread looks through every
 * GROUP-th. */

/* An order of all numbers, NaN among them, by which choices are never made twice. */
fn key_of(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    return select(u | 0x80000000u, ~u, (u & 0x80000000u) != 0u);
}
fn weight_at(x: f32, most: f32, total: f32) -> f32 {
    if (P.gate == 1u) { return logistic(1.0, x); }
    return exp(x - most) / total;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let r = group_of(wg, nwg);
    if (r >= P.groups) { return; }
    var most = x_get(r, 0u);
    for (var e = lid; e < P.x_cols; e += GROUP) { most = max(most, x_get(r, e)); }
    most = group_max(lid, most);
    var total = 0.0;
    for (var e = lid; e < P.x_cols; e += GROUP) { total += exp(x_get(r, e) - most); }
    total = group_sum(lid, total);
    var last = vec2<u32>(); /* {key, id} */
    var sum = select(0.0, 1e-6, P.gate == 1u);
    for (var j = 0u; j < P.used; j++) {
        var best = vec2(0u, 0xffffffffu);
        for (var e = lid; e < P.x_cols; e += GROUP) {
            let it = vec2(key_of(weight_at(x_get(r, e), most, total) + bias_of(e)), e);
            if ((j == 0u || comes_first(last, it)) && comes_first(it, best)) { best = it; }
        }
        last = group_first(lid, best);
        if (lid == 0u) {
            let p = weight_at(x_get(r, last.y), most, total);
            y_put(r, j, f32(last.y));
            y_put(r, P.used + j, p);
            sum += p;
        }
    }
    if (lid > 0u) { return; }
    for (var j = 0u; j < P.used; j++) {
        y_put(r, P.used + j, y_get(r, P.used + j) / sum * scale_of(u32(y_get(r, j))));
    }
}
