/* A workgroup per row. For one id, a maximum over all threads. For more, the n-th largest is found digit
 * by digit (radix selection): counts of the 256 values of a digit say which one it has, and how many
 * are still to be found among those that agree so far. Numbers are compared by keys, equal numbers by
 * ids: if not all of the equal ones are wanted, three more digits are those of the id. What is selected
 * is put in order by counting for each how many come before it. */
const WIDE = 256u; /* threads; values of a digit; TOP_MOST */
var<workgroup> counts: array<atomic<u32>, WIDE>;
var<workgroup> sums: array<u32, WIDE>;
var<workgroup> keys: array<u32, WIDE>;
var<workgroup> ids: array<u32, WIDE>;
var<workgroup> n_taken: atomic<u32>;
var<workgroup> lowest: atomic<u32>;
var<workgroup> found: vec3<u32>; /* the digit, how many are left to find with it, how many have it */

/* Orders all numbers; zeros are equal, NaN comes first. */
fn key_of(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    let size = u & 0x7fffffffu;
    if (size > 0x7f800000u) { return 0xffffffffu; }
    if (size == 0u) { return 0x80000000u; }
    return select(u | 0x80000000u, ~u, size != u);
}
fn put_choice(r: u32, at: u32, id: u32) {
    y_put(r, at, f32(id));
    act[P.y_at + r * P.y_pitch + P.n + at] = act[P.x_at + r * P.x_pitch + id];
}

fn put_smallest(r: u32) {
    let key = atomicLoad(&lowest);
    let bits = select(~key, key ^ 0x80000000u, key >= 0x80000000u);
    y_put(r, 2u * P.n, bitcast<f32>(select(bits, 0x7fc00000u, key == 0xffffffffu)));
}
/* How many to find. */
fn n_wanted() -> u32 { return select(step_words[5], P.n, step_words[5] == 0u); }

fn best_of(r: u32, lid: u32) {
    var best = vec2(0u, 0xffffffffu); /* {key, id} */
    var low = 0xffffffffu;
    for (var e = lid; e < P.x_cols; e += WIDE) {
        let it = vec2(key_of(x_get(r, e)), e);
        low = min(low, it.x);
        if (comes_first(it, best)) { best = it; }
    }
    atomicMin(&lowest, low);
    best = group_first(lid, best); /* with a barrier in it */
    if (lid == 0u) {
        put_choice(r, 0u, best.y);
        put_smallest(r);
    }
}

/* From counts: the digit that the left-th largest has. All threads come here together. */
fn find_digit(lid: u32, left: u32) -> vec3<u32> {
    let own = atomicLoad(&counts[lid]);
    sums[lid] = own;
    for (var step = 1u; step < WIDE; step *= 2u) { /* sums[i] = counts of digits from i */
        workgroupBarrier();
        var more = 0u;
        if (lid + step < WIDE) { more = sums[lid + step]; }
        workgroupBarrier();
        sums[lid] += more;
    }
    let above = sums[lid] - own;
    if (above < left && sums[lid] >= left) { found = vec3(lid, left - above, own); }
    return workgroupUniformLoad(&found);
}

@compute @workgroup_size(WIDE)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
        @builtin(local_invocation_index) lid: u32) {
    let r = group_of(wg, nwg);
    if (r >= P.groups) { return; }
    let n = n_wanted();
    if (lid == 0u) { atomicStore(&lowest, 0xffffffffu); }
    workgroupBarrier();
    if (n == 1u) {
        best_of(r, lid);
        return;
    }
    var key = 0u; /* digits known so far, and which bits they are */
    var key_bits = 0u;
    var id = 0u; /* the same of 2^24 - 1 - id, which is larger for lower ids */
    var id_bits = 0u;
    var left = n;
    var low = 0xffffffffu;
    for (var digit = 0u; digit < 7u; digit++) {
        let in_key = digit < 4u;
        let shift = select((6u - digit) * 8u, (3u - digit) * 8u, in_key);
        workgroupBarrier();
        atomicStore(&counts[lid], 0u);
        workgroupBarrier();
        for (var e = lid; e < P.x_cols; e += WIDE) {
            let k = key_of(x_get(r, e));
            let i = 0xffffffu - e;
            low = min(low, k);
            if ((k & key_bits) != key || (i & id_bits) != id) { continue; }
            atomicAdd(&counts[(select(i, k, in_key) >> shift) & 255u], 1u);
        }
        workgroupBarrier();
        let f = find_digit(lid, left);
        left = f.y;
        if (in_key) {
            key |= f.x << shift;
            key_bits |= 255u << shift;
        } else {
            id |= f.x << shift;
            id_bits |= 255u << shift;
        }
        if (digit >= 3u && f.y == f.z) { break; } /* all that agree so far are wanted */
    }
    if (lid == 0u) { atomicStore(&n_taken, 0u); }
    atomicMin(&lowest, low);
    workgroupBarrier();
    for (var e = lid; e < P.x_cols; e += WIDE) {
        let k = key_of(x_get(r, e));
        if (k > key || (k == key && ((0xffffffu - e) & id_bits) >= id)) {
            let at = atomicAdd(&n_taken, 1u);
            keys[at] = k;
            ids[at] = e;
        }
    }
    workgroupBarrier();
    if (lid == 0u) { put_smallest(r); }
    if (lid >= n) { return; }
    var at = 0u;
    for (var j = 0u; j < n; j++) {
        if (comes_first(vec2(keys[j], ids[j]), vec2(keys[lid], ids[lid]))) { at++; }
    }
    put_choice(r, at, ids[lid]);
}
