/* A workgroup per token: chooses one expert after the other. Experts are ordered by rank, of equal ones
 * the lower id first; the next choice is the first after the last. Each thread looks through every
 * GROUP-th. */
var<workgroup> values: array<f32, GROUP>;
var<workgroup> keys: array<u32, GROUP>;
var<workgroup> ids: array<u32, GROUP>;

/* An order of all numbers, NaN among them, by which choices are never made twice. */
fn key_of(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    return select(u | 0x80000000u, ~u, (u & 0x80000000u) != 0u);
}
fn comes_first(key_a: u32, a: u32, key_b: u32, b: u32) -> bool {
    return key_a > key_b || (key_a == key_b && a < b);
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
    values[lid] = most;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid < half) { values[lid] = max(values[lid], values[lid + half]); }
    }
    workgroupBarrier();
    most = values[0];
    workgroupBarrier();
    values[lid] = 0.0;
    for (var e = lid; e < P.x_cols; e += GROUP) { values[lid] += exp(x_get(r, e) - most); }
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid < half) { values[lid] += values[lid + half]; }
    }
    workgroupBarrier();
    let total = values[0];
    var last_key = 0xffffffffu;
    var last = 0u;
    var sum = select(0.0, 1e-6, P.gate == 1u);
    for (var j = 0u; j < P.used; j++) {
        var best_key = 0u;
        var best = 0xffffffffu;
        for (var e = lid; e < P.x_cols; e += GROUP) {
            let key = key_of(weight_at(x_get(r, e), most, total) + bias_of(e));
            let left = j == 0u || comes_first(last_key, last, key, e);
            if (left && comes_first(key, e, best_key, best)) {
                best_key = key;
                best = e;
            }
        }
        workgroupBarrier();
        keys[lid] = best_key;
        ids[lid] = best;
        for (var half = GROUP / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if (lid < half && comes_first(keys[lid + half], ids[lid + half], keys[lid], ids[lid])) {
                keys[lid] = keys[lid + half];
                ids[lid] = ids[lid + half];
            }
        }
        workgroupBarrier();
        last_key = keys[0];
        last = ids[0];
        if (lid == 0u) {
            let p = weight_at(x_get(r, last), most, total);
            y_put(r, j, f32(last));
            y_put(r, P.used + j, p);
            sum += p;
        }
    }
    if (lid > 0u) { return; }
    for (var j = 0u; j < P.used; j++) {
        y_put(r, P.used + j, y_get(r, P.used + j) / sum * scale_of(u32(y_get(r, j))));
    }
}
