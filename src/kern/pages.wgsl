/* The layer's cache. Where the page of a position begins, in words. */
fn page_of(seq: u32, pos: u32) -> u32 {
    let at = step_words[4] + (seq * KV_KINDS + P.kv_kind) * 2u;
    let page = step_words[step_words[at] + (pos / KV_PAGE) % step_words[at + 1u]];
    return page * P.kv_page;
}
