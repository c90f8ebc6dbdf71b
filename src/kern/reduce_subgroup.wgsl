/* By subgroups, then over what each of them leaves in workgroup memory: one barrier. A subgroup is
 * whichever threads do an operation together. Nothing is known of its size, of which threads it has, or
 * that it has the same ones next time: each leads one of its own to leave the result at that thread's
 * index, and a bit there says so. A bit of a time before does no harm: what stands there then is 0,
 * or a value of the reduction itself. */
var<workgroup> leads: array<atomic<u32>, THREADS / 32u>;
var<workgroup> sub_values: array<f32, 2u * THREADS>;
var<workgroup> sub_quarters: array<vec4<f32>, 2u * THREADS>;
var<workgroup> sub_pairs: array<vec2<u32>, 2u * THREADS>;
var<private> thread: u32; /* lid, for subgroup_emulated.wgsl */

/* Whether the thread leads its subgroup. */
fn takes_lead(lid: u32) -> bool {
    let lead = subgroupElect();
    if (lead) { atomicOr(&leads[lid / 32u], 1u << (lid % 32u)); }
    return lead;
}

fn reduce(lid: u32, x: f32, greatest: bool) -> f32 {
    thread = lid;
    half = THREADS - half;
    var y = 0.0;
    if (greatest) { y = subgroupMax(x); } else { y = subgroupAdd(x); }
    let lead = takes_lead(lid);
    sub_values[half + lid] = select(0.0, y, lead || greatest);
    workgroupBarrier();
    if (!greatest) { y = 0.0; }
    for (var k = 0u; k < THREADS / 32u; k++) {
        for (var bits = atomicLoad(&leads[k]); bits != 0u; bits &= bits - 1u) {
            let other = sub_values[half + 32u * k + firstTrailingBit(bits)];
            y = select(y + other, max(y, other), greatest);
        }
    }
    return y;
}

/* Which quarters a subgroup has threads of is not known either: it sums all four. */
fn quarter_sum(lid: u32, x: f32) -> f32 {
    thread = lid;
    half = THREADS - half;
    let quarter = lid / QUARTER;
    let sums = vec4(subgroupAdd(select(0.0, x, quarter == 0u)), subgroupAdd(select(0.0, x, quarter == 1u)),
                    subgroupAdd(select(0.0, x, quarter == 2u)), subgroupAdd(select(0.0, x, quarter == 3u)));
    sub_quarters[half + lid] = select(vec4(0.0), sums, takes_lead(lid));
    workgroupBarrier();
    var y = 0.0;
    for (var k = 0u; k < THREADS / 32u; k++) {
        for (var bits = atomicLoad(&leads[k]); bits != 0u; bits &= bits - 1u) {
            y += sub_quarters[half + 32u * k + firstTrailingBit(bits)][quarter];
        }
    }
    return y;
}

fn group_first(lid: u32, pair: vec2<u32>) -> vec2<u32> {
    thread = lid;
    half = THREADS - half;
    let key = ~subgroupMin(~pair.x);
    var best = vec2(key, subgroupMin(select(0xffffffffu, pair.y, pair.x == key)));
    sub_pairs[half + lid] = best;
    takes_lead(lid);
    workgroupBarrier();
    for (var k = 0u; k < THREADS / 32u; k++) {
        for (var bits = atomicLoad(&leads[k]); bits != 0u; bits &= bits - 1u) {
            let other = sub_pairs[half + 32u * k + firstTrailingBit(bits)];
            if (comes_first(other, best)) { best = other; }
        }
    }
    return best;
}
