/* main() of fuzz targets that are built without libFuzzer: feeds each file named by an argument, or
 * each file in a folder so named, to the target once. A target is test/fuzz_NAME.c, its corpus
 * test/corpus/NAME/. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the number of files fed. */
static unsigned feed(const char *path) {
    DIR *dir = opendir(path);
    if (dir) {
        unsigned n = 0;
        for (struct dirent *d; (d = readdir(dir));) {
            char inside[4096];
            if (d->d_name[0] == '.') continue;
            snprintf(inside, sizeof inside, "%s/%s", path, d->d_name);
            n += feed(inside);
        }
        closedir(dir);
        return n;
    }
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, f) != size) {
        perror(path);
        exit(2);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv) {
    unsigned n = 0;
    for (int i = 1; i < argc; i++)
        n += feed(argv[i]);
    printf("%u inputs replayed\n", n);
    return n ? 0 : 1;
}
