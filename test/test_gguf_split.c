/* Split sets: found whole from any member, and refused when a member is missing, renamed, from
 * another model or glued to the others. The sets are made in a temporary folder. */
#include "load_gguf.h"

#include <sys/stat.h>
#include <unistd.h>

enum { SHARDS = 3 };

/* What makes a shard differ from a sound one. */
struct odd {
    u32 no, count, n_tensors; /* keys split.*; count 0: no such keys */
    const char *arch;         /* or NULL */
    const char *name;         /* of the first tensor */
};

static char dir[64];

static int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "%s/glim-split-XXXXXX", P_tmpdir);
    return mkdtemp(dir) ? 0 : -1;
}

static const char *path_of(u32 no, u32 count) {
    static char path[128];
    snprintf(path, sizeof path, "%s/m-%05u-of-%05u.gguf", dir, no, count);
    return path;
}

static int remove_dir(void **state) {
    (void)state;
    for (u32 i = 1; i <= SHARDS; i++) {
        unlink(path_of(i, SHARDS));
        rmdir(path_of(i, SHARDS));
    }
    return rmdir(dir);
}

/* A shard with two tensors of 32 bytes, filled with the letter 'a' + shard. */
static void build_shard(struct build *b, const struct odd *o, u32 i) {
    const u64 dims[] = {32};
    char name[32];
    build_head(b, 3, 2, (o->count ? 3 : 0) + (o->arch ? 1 : 0));
    if (o->arch) build_kv_str(b, "general.architecture", o->arch);
    if (o->count) {
        build_key(b, "split.no", GGUF_U16), build_bytes(b, &o->no, 2);
        build_kv_u32(b, "split.count", o->count);
        build_key(b, "split.tensors.count", GGUF_I32), build_u32(b, o->n_tensors);
    }
    snprintf(name, sizeof name, "t%u", 2 * i);
    build_tensor(b, o->name ? o->name : name, 1, dims, 24, 0);
    snprintf(name, sizeof name, "t%u", 2 * i + 1);
    build_tensor(b, name, 1, dims, 24, 32);
    build_pad(b, 32);
    for (u32 j = 0; j < 64; j++)
        build_u8(b, (u8)('a' + i));
}

static void write_file(const char *path, const struct build *b) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->p, 1, b->n, f), b->n);
    assert_int_equal(fclose(f), 0);
}

static struct odd sound(u32 i) {
    return (struct odd){i, SHARDS, 2 * SHARDS, i == 0 ? "tiny" : NULL, NULL};
}

static void write_shard(u32 i, const struct odd *o) {
    struct build b = {0};
    build_shard(&b, o, i);
    write_file(path_of(i + 1, SHARDS), &b);
    build_free(&b);
}

/* A sound set, in which shard i is replaced if o is given. */
static void write_set(u32 i, const struct odd *o) {
    for (u32 j = 0; j < SHARDS; j++) {
        struct odd s = sound(j);
        write_shard(j, o && i == j ? o : &s);
    }
}

/* Opens the set from each of its members: all must be refused alike. */
static void set_refused(int code, const char *words) {
    for (u32 i = 1; i <= SHARDS; i++) {
        struct load l;
        load_path(&l, path_of(i, SHARDS));
        if (l.rc != code) fail_test("status %d (%s), expected %d", l.rc, l.e.msg, code);
        assert_says(&l.e, words);
        assert_true(l.g.n_parts == 0 && l.g.parts == NULL);
        load_free(&l);
    }
}

/* ---- Sound sets ------------------------------------------------------------------------------ */

static void set_opens_from_any_member(void **state) {
    (void)state;
    write_set(0, NULL);
    for (u32 i = 1; i <= SHARDS; i++) {
        struct load l;
        load_path(&l, path_of(i, SHARDS));
        if (l.rc) fail_test("%s", l.e.msg);
        struct str s;
        assert_int_equal(gguf_str(&l.g, "general.architecture", &s, &l.e), 0);
        assert_true(str_is(s, "tiny"));
        assert_int_equal(l.g.n_parts, SHARDS);
        assert_int_equal(l.g.n_tensors, 2 * SHARDS);
        for (u32 t = 0; t < 2 * SHARDS; t++) {
            char name[16];
            snprintf(name, sizeof name, "t%u", t);
            const struct gguf_tensor *found = gguf_tensor(&l.g, name);
            assert_true(found == &l.g.tensors[t]);
            assert_int_equal(found->part, t / 2);
            assert_int_equal(found->data[31], 'a' + t / 2);
            assert_true(found->data == l.g.parts[t / 2]->map + found->offset);
        }
        load_free(&l);
    }
}

static void set_of_one_is_a_plain_file(void **state) {
    (void)state;
    const struct odd whole[] = {
        {0, 0, 0, "tiny", NULL}, {0, 1, 2, "tiny", NULL}, {0, 1, 0, "tiny", NULL}};
    for (u32 i = 0; i < COUNT(whole); i++) {
        struct build b = {0};
        struct load l;
        build_shard(&b, &whole[i], 0);
        write_file(path_of(1, 1), &b);
        load_path(&l, path_of(1, 1));
        if (l.rc) fail_test("%s", l.e.msg);
        assert_int_equal(l.g.n_tensors, 2);
        load_free(&l);
        build_free(&b);
    }
    struct odd part = sound(0);
    struct build b = {0};
    struct load l;
    build_shard(&b, &part, 0);
    write_file(path_of(1, 1), &b);
    load_path(&l, path_of(1, 1));
    assert_int_equal(l.rc, GLIM_FORMAT);
    assert_says(&l.e, "m-00001-of-00001.gguf|whole|split.count says 3");
    load_free(&l);
    build_free(&b);
    unlink(path_of(1, 1));
}

/* ---- Incomplete and mixed sets --------------------------------------------------------------- */

static void missing_shards_are_listed(void **state) {
    (void)state;
    struct load l;
    write_set(0, NULL);
    unlink(path_of(2, SHARDS));
    load_path(&l, path_of(1, SHARDS));
    assert_int_equal(l.rc, GLIM_NOT_FOUND);
    assert_says(&l.e, "m-00001-of-00003.gguf|1 of the 3 shards|missing| 00002");
    load_free(&l);
    unlink(path_of(1, SHARDS));
    load_path(&l, path_of(3, SHARDS));
    assert_int_equal(l.rc, GLIM_NOT_FOUND);
    assert_says(&l.e, "2 of the 3 shards|missing| 00001 00002");
    load_free(&l);
    load_path(&l, path_of(2, SHARDS)); /* the one that was asked for */
    assert_int_equal(l.rc, GLIM_NOT_FOUND);
    assert_says(&l.e, "m-00002-of-00003.gguf|no such file");
    load_free(&l);
}

static void many_missing_shards_are_cut_short(void **state) {
    (void)state;
    struct odd o = {0, 60000, 0, "tiny", NULL};
    struct build b = {0};
    struct load l;
    build_shard(&b, &o, 0);
    write_file(path_of(1, 60000), &b);
    load_path(&l, path_of(1, 60000));
    assert_int_equal(l.rc, GLIM_NOT_FOUND);
    assert_says(&l.e, "59999 of the 60000|00002 00003|...");
    load_free(&l);
    unlink(path_of(1, 60000));
    build_free(&b);
}

static void damaged_shard_is_named(void **state) {
    (void)state;
    write_set(0, NULL);
    assert_int_equal(truncate(path_of(2, SHARDS), 200), 0);
    set_refused(GLIM_FORMAT, "m-00002-of-00003.gguf|interrupted download");
    assert_int_equal(truncate(path_of(2, SHARDS), 0), 0);
    set_refused(GLIM_FORMAT, "m-00002-of-00003.gguf|empty");
    unlink(path_of(2, SHARDS));
    assert_int_equal(mkdir(path_of(2, SHARDS), 0700), 0);
    struct load l;
    load_path(&l, path_of(1, SHARDS));
    assert_int_equal(l.rc, GLIM_ARG);
    assert_says(&l.e, "m-00002-of-00003.gguf|directory");
    load_free(&l);
    rmdir(path_of(2, SHARDS));
}

static void shuffled_shards_are_refused(void **state) {
    (void)state;
    struct odd second = sound(1), first = sound(0);
    write_set(0, &second);
    write_shard(1, &first);
    set_refused(GLIM_FORMAT, "m-00001-of-00003.gguf|shard 1 of 3|2 of 3");
}

static void wrong_shard_counts_are_refused(void **state) {
    (void)state;
    const u32 counts[] = {0, 1, 2, 4, 70000};
    for (u32 at = 0; at < SHARDS; at++) {
        for (u32 i = 0; i < COUNT(counts); i++) {
            struct odd o = sound(at);
            char words[64];
            o.count = counts[i];
            write_set(at, &o);
            snprintf(words, sizeof words, "m-%05u-of-00003.gguf|split.count|of %u:", at + 1,
                     counts[i]);
            set_refused(GLIM_FORMAT, words);
        }
    }
}

static void shards_of_other_models_are_refused(void **state) {
    (void)state;
    struct odd o = sound(1);
    o.arch = "other";
    write_set(1, &o);
    set_refused(GLIM_FORMAT, "m-00002-of-00003.gguf|another model|'other'|'tiny'");
    o = sound(2);
    o.n_tensors = 7;
    write_set(2, &o);
    set_refused(GLIM_FORMAT, "m-00003-of-00003.gguf|another model|split.tensors.count is 7|6");
    for (u32 i = 0; i < SHARDS; i++) { /* all agree, but it is not what they hold */
        o = sound(i);
        o.n_tensors = 5;
        write_shard(i, &o);
    }
    set_refused(GLIM_FORMAT, "6 tensors|split.tensors.count says 5");
}

static void duplicates_across_shards_are_refused(void **state) {
    (void)state;
    struct odd o = sound(2);
    o.name = "t1";
    write_set(2, &o);
    set_refused(GLIM_FORMAT, "tensor 't1' occurs twice");
}

/* ---- Wrong use ------------------------------------------------------------------------------- */

static void shard_under_another_name_is_refused(void **state) {
    (void)state;
    char path[128];
    struct odd o = sound(1);
    struct build b = {0};
    struct load l;
    build_shard(&b, &o, 1);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    write_file(path, &b);
    load_path(&l, path);
    assert_int_equal(l.rc, GLIM_UNSUPPORTED);
    assert_says(&l.e, "model.gguf|number 2 of the 3 shards|-00002-of-00003.gguf");
    load_free(&l);
    load_bytes(&l, b.p, b.n); /* a source has no folder to look into */
    assert_int_equal(l.rc, GLIM_UNSUPPORTED);
    load_free(&l);
    unlink(path);
    build_free(&b);
}

/* The next file begins right behind the last tensor, or behind its padding. */
static void joined_shards_are_refused(void **state) {
    (void)state;
    const u32 cut[] = {0, 5, 5};
    for (u32 i = 0; i < COUNT(cut); i++) {
        struct build all = {0};
        const u64 dims[] = {64 - cut[i]};
        build_head(&all, 3, 1, 0);
        build_tensor(&all, "x", 1, dims, 24, 0);
        build_pad(&all, 32);
        build_zeros(&all, 64 - cut[i]);
        if (i == 1) build_pad(&all, 32);
        struct odd o = sound(1);
        build_shard(&all, &o, 1);
        assert_refused(&all, GLIM_FORMAT, "another GGUF file begins at byte|cat");
    }
    struct build all = {0};
    for (u32 i = 0; i < SHARDS; i++) {
        struct odd o = sound(i);
        build_shard(&all, &o, i);
    }
    assert_refused(&all, GLIM_FORMAT, "another GGUF file begins at byte|cat");
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    write_set(0, NULL);
    u32 failures = 0;
    for (u64 n = 1;; n++) {
        struct load l = {0};
        count_alloc_init(&l.count);
        l.count.fail_at = n;
        arena_init(&l.arena, &l.count.alloc);
        l.rc = gguf_open(&l.g, path_of(2, SHARDS), &l.arena, test_type_size, &l.e);
        int rc = l.rc;
        assert_int_equal(l.e.code, rc);
        load_free(&l);
        if (rc == 0) break;
        assert_int_equal(rc, GLIM_NOMEM);
        failures++;
    }
    assert_true(failures >= 1 + SHARDS); /* the arena's block and each source */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_opens_from_any_member),
        cmocka_unit_test(set_of_one_is_a_plain_file),
        cmocka_unit_test(missing_shards_are_listed),
        cmocka_unit_test(many_missing_shards_are_cut_short),
        cmocka_unit_test(damaged_shard_is_named),
        cmocka_unit_test(shuffled_shards_are_refused),
        cmocka_unit_test(wrong_shard_counts_are_refused),
        cmocka_unit_test(shards_of_other_models_are_refused),
        cmocka_unit_test(duplicates_across_shards_are_refused),
        cmocka_unit_test(shard_under_another_name_is_refused),
        cmocka_unit_test(joined_shards_are_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
