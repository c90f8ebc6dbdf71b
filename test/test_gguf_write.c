/* The GGUF writer: what it writes reads back the same, rewriting a file changes no byte, data may
 * come in any pieces, and misuse and full disks are reported. */
#include "load_gguf.h"
#include "file/gguf_write.h"

#include <dirent.h>

/* The stream's whole content, from its start; the caller frees it. */
static u8 *slurp(FILE *f, size_t *n) {
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    u8 *p = malloc(*n + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *n, f), *n);
    return p;
}

static struct gguf_writer *open_writer(FILE **f) {
    struct gguf_writer *w;
    *f = tmpfile();
    assert_non_null(*f);
    assert_int_equal(gguf_write_open(&w, *f, &mem_libc, NULL), 0);
    return w;
}

/* Closes w, which must succeed, and loads what it wrote. */
static void close_and_load(struct gguf_writer *w, FILE *f, struct load *l) {
    glim_err e = {0};
    if (gguf_write_close(w, &e)) fail_test("%s", e.msg);
    size_t n;
    u8 *p = slurp(f, &n);
    load_bytes(l, p, n);
    if (l->rc) fail_test("%s", l->e.msg);
    free(p);
    fclose(f);
}

/* Closes w, which must fail with code and words. */
static void close_fails(struct gguf_writer *w, FILE *f, int code, const char *words) {
    glim_err e = {0};
    assert_int_equal(gguf_write_close(w, &e), code);
    assert_int_equal(e.code, code);
    assert_says(&e, words);
    fclose(f);
}

/* ---- Round trips ----------------------------------------------------------------------------- */

static void metadata_reads_back(void **state) {
    (void)state;
    FILE *f;
    struct gguf_writer *w = open_writer(&f);
    const struct str words[] = {{"ab", 2}, {"", 0}, {"c\0d", 3}};
    const i16 shorts[] = {-1, 2, 30000};
    gguf_write_str(w, "general.architecture", (struct str){"tiny", 4});
    gguf_write_u32(w, "u", 4000000000u);
    gguf_write_f32(w, "f", -0.1f);
    gguf_write_bool(w, "yes", true);
    gguf_write_bool(w, "no", false);
    gguf_write_strs(w, "words", words, COUNT(words));
    gguf_write_array(w, "shorts", GGUF_I16, shorts, COUNT(shorts));
    gguf_write_array(w, "none", GGUF_F64, NULL, 0);
    struct load l;
    close_and_load(w, f, &l);
    u32 u;
    f32 x;
    bool yes, no;
    struct str s;
    assert_int_equal(l.g.n_kv, 8);
    assert_int_equal(gguf_str(&l.g, "general.architecture", &s, &l.e), 0);
    assert_true(str_is(s, "tiny"));
    assert_int_equal(gguf_u32(&l.g, "u", &u, &l.e), 0);
    assert_int_equal(u, 4000000000u);
    assert_int_equal(gguf_f32(&l.g, "f", &x, &l.e), 0);
    assert_true(x == -0.1f);
    assert_int_equal(gguf_bool(&l.g, "yes", &yes, &l.e), 0);
    assert_int_equal(gguf_bool(&l.g, "no", &no, &l.e), 0);
    assert_true(yes && !no);
    const struct gguf_kv *kv = gguf_find(&l.g, "words");
    assert_int_equal(kv->n, 3);
    assert_int_equal(kv->strings[2].n, 3);
    assert_memory_equal(kv->strings[2].p, "c\0d", 3);
    kv = gguf_find(&l.g, "shorts");
    assert_int_equal(gguf_item_int(kv, 0), -1);
    assert_int_equal(gguf_item_int(kv, 2), 30000);
    assert_int_equal(gguf_find(&l.g, "none")->n, 0);
    load_free(&l);
}

/* Sizes that need padding, an empty tensor in front, in the middle and at the end. */
static void data_comes_in_any_pieces(void **state) {
    (void)state;
    static const u64 sizes[] = {0, 5, 0, 64, 33, 0};
    u8 data[102];
    for (u32 i = 0; i < sizeof data; i++)
        data[i] = (u8)(i + 1);
    for (u32 piece = 1; piece <= sizeof data; piece++) {
        FILE *f;
        struct gguf_writer *w = open_writer(&f);
        gguf_write_u32(w, "general.alignment", 64);
        for (u32 i = 0; i < COUNT(sizes); i++) {
            const char name[] = {'t', (char)('0' + i), 0};
            gguf_write_tensor(w, name, 24, 1, &sizes[i], sizes[i]);
        }
        for (u32 at = 0; at < sizeof data; at += piece)
            gguf_write_data(w, data + at, MIN(piece, sizeof data - at));
        struct load l;
        close_and_load(w, f, &l);
        const u8 *want = data;
        assert_int_equal(l.g.n_tensors, COUNT(sizes));
        assert_int_equal(l.g.alignment, 64);
        for (u32 i = 0; i < COUNT(sizes); i++) {
            const struct gguf_tensor *t = &l.g.tensors[i];
            assert_int_equal(t->bytes, sizes[i]);
            assert_int_equal(t->offset % 64, 0);
            if (sizes[i]) assert_memory_equal(t->data, want, sizes[i]);
            want += sizes[i];
        }
        load_free(&l);
    }
}

static void empty_file_reads_back(void **state) {
    (void)state;
    FILE *f;
    struct gguf_writer *w = open_writer(&f);
    struct load l;
    close_and_load(w, f, &l);
    assert_int_equal(l.g.n_kv + l.g.n_tensors, 0);
    load_free(&l);
}

/* Copies g through the writer and compares with the n bytes at p, up to zeros at the end. */
static void assert_rewrites(const struct gguf *g, const u8 *p, size_t n) {
    FILE *f;
    struct gguf_writer *w = open_writer(&f);
    glim_err e = {0};
    for (u64 i = 0; i < g->n_kv; i++)
        gguf_write_kv(w, &g->kv[i]);
    for (u64 i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)t->name.n, t->name.p);
        gguf_write_tensor(w, name, t->type, t->n_dims, t->dims, t->bytes);
    }
    for (u64 i = 0; i < g->n_tensors; i++)
        gguf_write_data(w, g->tensors[i].data, g->tensors[i].bytes);
    if (gguf_write_close(w, &e)) fail_test("%s", e.msg);
    size_t written;
    u8 *copy = slurp(f, &written);
    /* Not all writers pad the end of the file. */
    assert_true(written >= n && written - n < g->alignment);
    assert_memory_equal(copy, p, n);
    for (size_t i = n; i < written; i++)
        assert_int_equal(copy[i], 0);
    free(copy);
    fclose(f);
}

static void rewriting_changes_no_byte(void **state) {
    (void)state;
    struct load l;
    struct build b = {0};
    build_small(&b); /* every value type */
    size_t n = b.n;
    assert_loads(&l, &b);
    assert_rewrites(&l.g, l.bytes, n);
    load_free(&l);
}

/* Every fixture, as another program's writer made it. */
static void rewriting_fixtures_changes_no_byte(void **state) {
    (void)state;
    DIR *dir = opendir("test/data");
    assert_non_null(dir);
    u32 n = 0;
    for (struct dirent *d; (d = readdir(dir));) {
        size_t len = strlen(d->d_name);
        if (len < 5 || strcmp(d->d_name + len - 5, ".gguf") != 0) continue;
        char path[300];
        struct load l;
        snprintf(path, sizeof path, "test/data/%s", d->d_name);
        load_path(&l, path);
        if (l.rc) fail_test("%s", l.e.msg);
        assert_rewrites(&l.g, l.g.parts[0]->map, l.g.parts[0]->size);
        load_free(&l);
        n++;
    }
    closedir(dir);
    assert_true(n > 0);
}

/* ---- Misuse and shortage --------------------------------------------------------------------- */

static void misuse_is_reported(void **state) {
    (void)state;
    FILE *f;
    const u64 dims[] = {8};
    struct gguf_writer *w = open_writer(&f);
    gguf_write_tensor(w, "x", 24, 1, dims, 8);
    gguf_write_data(w, "1234567", 7);
    close_fails(w, f, GLIM_ARG, "tensor number 1 of 1|lacks 1 bytes");

    w = open_writer(&f);
    gguf_write_tensor(w, "x", 24, 1, dims, 8);
    gguf_write_data(w, "123456789", 9);
    close_fails(w, f, GLIM_ARG, "1 bytes of data more");

    w = open_writer(&f);
    gguf_write_tensor(w, "x", 24, 1, dims, 8);
    gguf_write_u32(w, "late", 1);
    gguf_write_u32(w, "later", 1);
    close_fails(w, f, GLIM_ARG, "'late'|after the first tensor"); /* the first error counts */

    w = open_writer(&f);
    gguf_write_tensor(w, "x", 24, 1, dims, 8);
    gguf_write_data(w, "12345678", 8);
    gguf_write_tensor(w, "y", 24, 1, dims, 8);
    close_fails(w, f, GLIM_ARG, "'y'|after data");

    w = open_writer(&f);
    gguf_write_u32(w, "general.alignment", 24);
    close_fails(w, f, GLIM_ARG, "general.alignment|power of two");

    w = open_writer(&f);
    gguf_write_u32(w, "", 24);
    close_fails(w, f, GLIM_ARG, "key");

    w = open_writer(&f);
    gguf_write_array(w, "a", GGUF_STR, "", 1);
    close_fails(w, f, GLIM_ARG, "'a'|str");

    w = open_writer(&f);
    gguf_write_tensor(w, "big", 24, 1, dims, UINT64_MAX - 3);
    close_fails(w, f, GLIM_ARG, "big|18446744073709551612");

    assert_int_equal(gguf_write_close(NULL, NULL), 0);
}

static void full_disk_is_reported(void **state) {
    (void)state;
    FILE *f = fopen("/dev/full", "wb");
    if (!f) skip();
    struct gguf_writer *w;
    assert_int_equal(gguf_write_open(&w, f, &mem_libc, NULL), 0);
    gguf_write_u32(w, "u", 1);
    close_fails(w, f, GLIM_IO, "cannot write|No space left"); /* only flushing meets the end */
    f = fopen("/dev/full", "wb");
    assert_non_null(f);
    static const u8 data[1 << 20];
    const u64 dims[] = {sizeof data};
    assert_int_equal(gguf_write_open(&w, f, &mem_libc, NULL), 0);
    gguf_write_tensor(w, "x", 24, 1, dims, sizeof data);
    gguf_write_data(w, data, sizeof data);
    close_fails(w, f, GLIM_IO, "cannot write|No space left");
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    u32 failures = 0;
    for (u64 n = 1;; n++) {
        struct count_alloc count;
        struct gguf_writer *w;
        glim_err e = {0};
        char name[32];
        const u64 dims[] = {0};
        count_alloc_init(&count);
        count.fail_at = n;
        FILE *f = tmpfile();
        assert_non_null(f);
        int rc = gguf_write_open(&w, f, &count.alloc, &e);
        if (!rc) {
            for (u32 i = 0; i < 300; i++) { /* enough for every buffer to grow */
                snprintf(name, sizeof name, "metadata.key.%u", i);
                gguf_write_u32(w, name, i);
            }
            for (u32 i = 0; i < 300; i++) {
                snprintf(name, sizeof name, "tensor.%u", i);
                gguf_write_tensor(w, name, 0, 1, dims, 0);
            }
            rc = gguf_write_close(w, &e);
        }
        assert_int_equal(count.live, 0);
        fclose(f);
        if (rc == 0) break;
        failures++;
        assert_int_equal(rc, GLIM_NOMEM);
        assert_says(&e, "out of memory");
    }
    assert_true(failures > 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_reads_back),
        cmocka_unit_test(data_comes_in_any_pieces),
        cmocka_unit_test(empty_file_reads_back),
        cmocka_unit_test(rewriting_changes_no_byte),
        cmocka_unit_test(rewriting_fixtures_changes_no_byte),
        cmocka_unit_test(misuse_is_reported),
        cmocka_unit_test(full_disk_is_reported),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
