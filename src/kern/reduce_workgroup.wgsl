/* By workgroup memory alone, which is all that every device has. In two rounds a thread joins some ROUND
 * values each: two barriers, where halving again and again would need one per bit of THREADS. */
var<workgroup> first_round: array<f32, 2u * THREADS>;
var<workgroup> second_round: array<f32, ROUND>;
var<workgroup> first_pairs: array<vec2<u32>, 2u * THREADS>;
var<workgroup> second_pairs: array<vec2<u32>, ROUND>;

fn join(a: f32, b: f32, greatest: bool) -> f32 { return select(a + b, max(a, b), greatest); }

fn reduce(lid: u32, x: f32, greatest: bool) -> f32 {
    half = THREADS - half;
    first_round[half + lid] = x;
    workgroupBarrier();
    var y = first_round[half + lid % ROUND];
    for (var i = lid % ROUND + ROUND; i < THREADS; i += ROUND) {
        y = join(y, first_round[half + i], greatest);
    }
    if (lid < ROUND) { second_round[lid] = y; }
    workgroupBarrier();
    y = second_round[0];
    for (var i = 1u; i < ROUND; i++) { y = join(y, second_round[i], greatest); }
    return y;
}

fn quarter_sum(lid: u32, x: f32) -> f32 {
    half = THREADS - half;
    first_round[half + lid] = x;
    workgroupBarrier();
    var y = 0.0;
    for (var i = 0u; i < QUARTER; i++) { y += first_round[half + lid / QUARTER * QUARTER + i]; }
    return y;
}

fn group_first(lid: u32, pair: vec2<u32>) -> vec2<u32> {
    half = THREADS - half;
    first_pairs[half + lid] = pair;
    workgroupBarrier();
    var best = pair;
    for (var i = lid % ROUND; i < THREADS; i += ROUND) {
        let other = first_pairs[half + i];
        if (comes_first(other, best)) { best = other; }
    }
    if (lid < ROUND) { second_pairs[lid] = best; }
    workgroupBarrier();
    best = second_pairs[0];
    for (var i = 1u; i < ROUND; i++) {
        if (comes_first(second_pairs[i], best)) { best = second_pairs[i]; }
    }
    return best;
}
