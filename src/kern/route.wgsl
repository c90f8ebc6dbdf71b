/* A thread per token: chooses one expert after the other, of equal ones the lower id. */
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let r = group_of(wg, nwg) * GROUP + lid;
    if (r >= y_n_rows()) { return; }
    let sigmoid = P.gate == 1u;
    var most = x_get(r, 0u);
    for (var e = 1u; e < P.x_cols; e++) { most = max(most, x_get(r, e)); }
    var total = 0.0;
    for (var e = 0u; e < P.x_cols; e++) { total += exp(x_get(r, e) - most); }
    var sum = select(0.0, 1e-6, sigmoid);
    for (var j = 0u; j < P.used; j++) {
        var best = 0u;
        var best_rank = -3.0e38;
        var best_p = 0.0;
        var found = false;
        for (var e = 0u; e < P.x_cols; e++) {
            var taken = false;
            for (var k = 0u; k < j; k++) { taken = taken || u32(y_get(r, k)) == e; }
            if (taken) { continue; }
            let x = x_get(r, e);
            var p = exp(x - most) / total;
            if (sigmoid) { p = 1.0 / (1.0 + exp(min(-x, 88.0))); }
            let rank = p + bias_of(e);
            if (!found || rank > best_rank) {
                best = e;
                best_rank = rank;
                best_p = p;
                found = true;
            }
        }
        y_put(r, j, f32(best));
        y_put(r, P.used + j, best_p);
        sum += best_p;
    }
    for (var j = 0u; j < P.used; j++) {
        y_put(r, P.used + j, y_get(r, P.used + j) / sum * scale_of(u32(y_get(r, j))));
    }
}
