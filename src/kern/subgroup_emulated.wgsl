/* Subgroups of EMULATED lanes in workgroup memory, for tests: functions with the names of the built-in
 * ones, which they hide. Where lanes are among the threads is no more to be relied on than how many there
 * are: a subgroup has neighbours in one reduction, in the next its threads are dealt out like cards, and
 * the last thread of each leads it. It may have room for more threads than the workgroup has. */
const SUBGROUPS = (THREADS + EMULATED - 1u) / EMULATED;
var<workgroup> lanes: array<u32, THREADS>;

fn dealt() -> bool { return half == 0u; }
/* Lanes are threads lane_first(), lane_first() + lane_step(), ... before lane_end(). */
fn lane_first() -> u32 { return select(thread - thread % EMULATED, thread % SUBGROUPS, dealt()); }
fn lane_step() -> u32 { return select(1u, SUBGROUPS, dealt()); }
fn lane_end() -> u32 { return select(min(lane_first() + EMULATED, THREADS), THREADS, dealt()); }

fn lanes_meet(x: u32) {
    workgroupBarrier();
    lanes[thread] = x;
    workgroupBarrier();
}
fn subgroupElect() -> bool { return thread + lane_step() >= lane_end(); }
fn subgroupAdd(x: f32) -> f32 {
    lanes_meet(bitcast<u32>(x));
    var y = 0.0;
    for (var i = lane_first(); i < lane_end(); i += lane_step()) { y += bitcast<f32>(lanes[i]); }
    return y;
}
fn subgroupMax(x: f32) -> f32 {
    lanes_meet(bitcast<u32>(x));
    var y = x;
    for (var i = lane_first(); i < lane_end(); i += lane_step()) { y = max(y, bitcast<f32>(lanes[i])); }
    return y;
}
fn subgroupMin(x: u32) -> u32 {
    lanes_meet(x);
    var y = x;
    for (var i = lane_first(); i < lane_end(); i += lane_step()) { y = min(y, lanes[i]); }
    return y;
}
