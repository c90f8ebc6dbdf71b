/* Reductions over the THREADS of a workgroup: what kernels say. How is in reduce_workgroup.wgsl or
 * reduce_subgroup.wgsl. All threads of the workgroup come here together, lid being their index, and those
 * that get the same result get the same bits. A reduction's memory alternates between two halves: there is a barrier in each one,
 * so whoever writes a half knows that nobody still reads it from the time before last. */
var<private> half: u32;

fn group_sum(lid: u32, x: f32) -> f32 { return reduce(lid, x, false); }
fn group_max(lid: u32, x: f32) -> f32 { return reduce(lid, x, true); }

const QUARTER = THREADS / 4u;
/* quarter_sum(lid, x): the sum over the QUARTER neighbours that the thread is one of.
 * group_first(lid, pair): the pair {key, id} that comes first of all. */

/* The larger key comes first, of equal keys the lower id. */
fn comes_first(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x > b.x || (a.x == b.x && a.y < b.y);
}
