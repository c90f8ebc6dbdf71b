/* Memory of this process while a model goes to a GPU.
 *
 * A software GPU keeps its buffers in the memory of the process, too, so they must be taken off
 * what is seen. What is resident of them is no more than was written to them, and what was written
 * is either there or still on its way, in staging. So at any time
 *
 *     own memory - that before loading - bytes written + limits.staging
 *
 * is at least what loading takes beyond buffers and mapped pages (more by what of a buffer is
 * cleared before it is written). Own memory is what is no file's: anonymous and shared, which is
 * where Mesa has its buffers; the test sees that they are there. A GPU with memory of its own gives
 * nothing to subtract, and there own memory itself is held to the cap. A thread looks all the time.
 */
#include "unit.h"

#include "file/gguf_write.h"
#include "gpu_rig.h"
#include "run/session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB ((i64)1 << 20)

/* What loading may take beyond buffers and mapped pages, and how many pages may be mapped at a
 * time: two parts that are being read ahead, and what the system maps around them. */
static const i64 CAP = 256 * MIB, MAPPED_CAP = 64 * MIB;

/* ---- A file larger than the cap -------------------------------------------------------------- */

enum { D = 2048, F = 8192, V = 65536, HEADS = 16, LAYERS = 3 };

static u64 weights; /* bytes of the file's */

static void declare(struct gguf_writer *w, const char *name, u32 type, u64 cols, u64 rows) {
    u64 dims[] = {cols, rows}, bytes = cols * rows * (type == QUANT_F32 ? 4 : 2);
    gguf_write_tensor(w, name, type, rows > 1 ? 2 : 1, dims, bytes);
    weights += (bytes + 31) & ~(u64)31;
}

static void declare_layer(struct gguf_writer *w, u32 i) {
    static const struct {
        const char *name;
        u32 cols, rows;
    } parts[] = {{"attn_norm", D, 1}, {"attn_q", D, D},      {"attn_k", D, D},
                 {"attn_v", D, D},    {"attn_output", D, D}, {"ffn_norm", D, 1},
                 {"ffn_gate", D, F},  {"ffn_up", D, F},      {"ffn_down", F, D}};
    for (u32 k = 0; k < COUNT(parts); k++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%u.%s.weight", i, parts[k].name);
        declare(w, name, parts[k].rows == 1 ? QUANT_F32 : QUANT_F16, parts[k].cols, parts[k].rows);
    }
}

/* A llama of zeros: what is loaded makes no difference to loading. */
static void make_file(const char *path) {
    static const u8 zeros[1 << 20];
    struct gguf_writer *w;
    glim_err e = {0};
    FILE *f = fopen(path, "wb");
    if (!f) fail_test("cannot write %s", path);
    assert_int_equal(gguf_write_open(&w, f, &mem_libc, &e), 0);
    gguf_write_str(w, "general.architecture", (struct str){"llama", 5});
    gguf_write_u32(w, "llama.block_count", LAYERS);
    gguf_write_u32(w, "llama.context_length", 1024);
    gguf_write_u32(w, "llama.embedding_length", D);
    gguf_write_u32(w, "llama.feed_forward_length", F);
    gguf_write_u32(w, "llama.attention.head_count", HEADS);
    gguf_write_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    weights = 0;
    declare(w, "token_embd.weight", QUANT_F16, D, V);
    declare(w, "output.weight", QUANT_F16, D, V);
    declare(w, "output_norm.weight", QUANT_F32, D, 1);
    for (u32 i = 0; i < LAYERS; i++)
        declare_layer(w, i);
    for (u64 at = 0; at < weights; at += sizeof zeros)
        gguf_write_data(w, zeros, MIN(weights - at, (u64)sizeof zeros));
    if (gguf_write_close(w, &e) || fclose(f)) fail_test("%s: %s", path, e.msg);
}

/* ---- Looking --------------------------------------------------------------------------------- */

static i64 status_bytes(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) fail_test("/proc/self/status has no %s", key);
    return strtoll(at + strlen(key), NULL, 10) * 1024;
}

struct seen {
    i64 own, mapped;
};
static struct seen look(void) {
    char text[4096] = "";
    FILE *f = fopen("/proc/self/status", "r");
    if (f) {
        text[fread(text, 1, sizeof text - 1, f)] = 0;
        fclose(f);
    }
    return (struct seen){status_bytes(text, "RssAnon:") + status_bytes(text, "RssShmem:"),
                         status_bytes(text, "RssFile:")};
}

struct watch {
    const struct gpu *gpu;
    pthread_t thread;
    atomic_bool stop;
    struct seen before, most; /* most.own: of what no buffer of this process accounts for */
    u32 looks;
};
static void *watch(void *ud) {
    struct watch *w = ud;
    while (!w->stop) {
        /* Written first: what is written in between only makes the difference larger. */
        i64 buffers = gpu_info(w->gpu)->software ? (i64)gpu_written(w->gpu) : 0;
        struct seen s = look();
        w->most.own = MAX(w->most.own, s.own - w->before.own - buffers);
        w->most.mapped = MAX(w->most.mapped, s.mapped - w->before.mapped);
        w->looks++;
        usleep(500);
    }
    return NULL;
}

static void watch_begin(struct watch *w, const struct gpu *g) {
    assert_int_equal(gpu_written(g), 0);
    *w = (struct watch){.gpu = g, .before = look()};
    assert_int_equal(pthread_create(&w->thread, NULL, watch, w), 0);
}
static void watch_end(struct watch *w) {
    w->stop = true;
    pthread_join(w->thread, NULL);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static char path[] = P_tmpdir "/glim-gpu-memory-XXXXXX";

static int make(void **state) {
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    make_file(path);
    return 0;
}
static int unmake(void **state) {
    (void)state;
    return unlink(path);
}

static void load(const struct gpu_choice *choice) {
    struct gpu_choice c = *choice;
    glim_session_params p = {.n_ctx = 64, .n_batch = 16};
    struct engine *g;
    struct loaded l;
    struct session s;
    struct watch w;
    glim_err e = {0};
    c.library = GPU_LIBRARY;
    if (engine_open_gpu(&g, NULL, &c, &e)) fail_test("%s", e.msg);
    watch_begin(&w, g->device->gpu);
    int rc = loaded_open(&l, g, path, &e);
    if (rc == GLIM_OK) rc = session_open(&s, &l, &p, &e);
    watch_end(&w);
    if (rc) fail_test("%s", e.msg);
    const struct gpu_info *info = gpu_info(g->device->gpu);
    i64 staging = (i64)info->limits.staging, over = w.most.own + staging;
    print_message("# %" PRId64 " MiB of weights: %" PRId64 " MiB beyond buffers and mapped pages, "
                  "of which %" PRId64 " staging; %" PRId64 " MiB mapped; %u looks\n",
                  (i64)weights / MIB, over / MIB, staging / MIB, w.most.mapped / MIB, w.looks);
    assert_true((i64)weights > 2 * CAP);
    assert_true((i64)gpu_written(g->device->gpu) >= (i64)weights); /* all of it went there */
    assert_true(gpu_held(g->device->gpu) >= weights);
    /* Nothing is subtracted that is not in what was looked at. */
    if (info->software) assert_true(look().own - w.before.own >= (i64)weights);
    assert_true(w.looks > 20);
    assert_true(over < CAP);
    assert_true(w.most.mapped < MAPPED_CAP);
    session_close(&s);
    loaded_close(&l);
    assert_int_equal(gpu_held(g->device->gpu), 0);
    engine_close(g);
}

static void on_device(void **state) {
    (void)state;
    load(&(struct gpu_choice){0});
}
static void on_floor(void **state) {
    (void)state;
    load(&(struct gpu_choice){.floor = true});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_device), cmocka_unit_test(on_floor)};
    struct statvfs disk;
    if (!rig_has_gpu()) return 0;
    if (statvfs(P_tmpdir, &disk) == 0 && (u64)disk.f_bavail * disk.f_frsize < 2ull << 30) {
        printf("1..0 # SKIP less than 2 GB free for a model\n");
        return 0;
    }
    return cmocka_run_group_tests_name("gpu memory", tests, make, unmake);
}
