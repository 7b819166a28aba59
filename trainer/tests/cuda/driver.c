// A stand-in for NVIDIA's driver (libcuda.so.1) on machines without one, for the calls that Burn makes.
//
// Memory is the CPU's. A kernel that compiler.c made is run there; one that the real libnvrtc made is counted and not run, which shows
// whether a program's kernels compile and how many it starts, with numbers that mean nothing.
//
// DEVICE_VERSION: the compute capability to claim, 80 unless set. KERNELS_LOG: a file for the names of the kernels that are started.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, UNKNOWN_TABLE = 500 };

typedef void Launch(void **arguments, const unsigned grid[3], const unsigned block[3]);

typedef struct {
    char name[256];
    Launch *launch;
} Function;

enum { MOST_THREADS = 1024, MOST_SHARED = 232448 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long launches, modules;
static FILE *kernels_log;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("KERNELS_LOG");
    kernels_log = path ? fopen(path, "w") : NULL;
}

__attribute__((destructor)) static void end(void) {
    if (launches) fprintf(stderr, "stand-in for CUDA: %ld kernels compiled, started %ld times\n", modules, launches);
    if (kernels_log) fclose(kernels_log);
}

// The device.

Result cuInit(unsigned flags) { return SUCCESS; }
Result cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
Result cuDeviceGetCount(int *count) { return *count = 1, SUCCESS; }
Result cuDeviceGet(int *device, int i) { return *device = i, i ? INVALID_VALUE : SUCCESS; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)64 << 30, SUCCESS; }

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    const char *version = getenv("DEVICE_VERSION");
    int capability = version ? atoi(version) : 80;
    switch (attribute) {
    case 1: case 2: case 3: *value = MOST_THREADS; break;          // MAX_THREADS_PER_BLOCK, MAX_BLOCK_DIM_X, _Y
    case 4: *value = 64; break;                                     // MAX_BLOCK_DIM_Z
    case 5: *value = 2147483647; break;                             // MAX_GRID_DIM_X
    case 6: case 7: *value = 65535; break;                          // MAX_GRID_DIM_Y, _Z
    case 10: *value = 32; break;                                    // WARP_SIZE
    case 16: *value = 132; break;                                   // MULTIPROCESSOR_COUNT
    case 75: *value = capability / 10; break;                       // COMPUTE_CAPABILITY_MAJOR
    case 76: *value = capability % 10; break;                       // COMPUTE_CAPABILITY_MINOR
    case 97: *value = MOST_SHARED; break;                           // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    default: fprintf(stderr, "stand-in for CUDA: attribute %d is not known\n", attribute); return INVALID_VALUE;
    }
    return SUCCESS;
}

Result cuDevicePrimaryCtxRetain(void **context, int device) { return *context = (void *)1, SUCCESS; }
Result cuCtxSetCurrent(void *context) { return SUCCESS; }
Result cuGetErrorName(Result error, const char **name) { return *name = "STAND_IN_ERROR", SUCCESS; }
Result cuGetErrorString(Result error, const char **text) { return *text = "an error of the stand-in for CUDA", SUCCESS; }
// libnvrtc asks for it, and does without.
Result cuGetExportTable(const void **table, const void *id) { return *table = NULL, UNKNOWN_TABLE; }

// Streams and events: everything is done when a call returns.

Result cuStreamCreate(void **stream, unsigned flags) { return *stream = malloc(1), SUCCESS; }
Result cuStreamSynchronize(void *stream) { return SUCCESS; }
Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return SUCCESS; }
Result cuEventCreate(void **event, unsigned flags) { return *event = malloc(1), SUCCESS; }
Result cuEventDestroy_v2(void *event) { return free(event), SUCCESS; }
Result cuEventRecord(void *event, void *stream) { return SUCCESS; }
Result cuEventSynchronize(void *event) { return SUCCESS; }

// Memory. What nobody writes to takes none, so that kernels that are not run can be given any amount.

Result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    void *memory = calloc(1, bytes);
    *address = (uint64_t)memory;
    return memory ? SUCCESS : OUT_OF_MEMORY;
}

Result cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) { return cuMemAlloc_v2(address, bytes); }
Result cuMemFree_v2(uint64_t address) { return free((void *)address), SUCCESS; }
Result cuMemFreeAsync(uint64_t address, void *stream) { return cuMemFree_v2(address); }
Result cuMemAllocHost_v2(void **memory, size_t bytes) { return posix_memalign(memory, 4096, bytes) ? OUT_OF_MEMORY : SUCCESS; }
Result cuMemFreeHost(void *memory) { return free(memory), SUCCESS; }

Result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    return memcpy((void *)to, from, bytes), SUCCESS;
}

Result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    return memcpy(to, (void *)from, bytes), SUCCESS;
}

enum { ON_HOST = 1 };

typedef struct {
    size_t x, y;
    int kind;
    void *host;
    uint64_t device;
    void *array;
    size_t pitch;
} Rows;

typedef struct {
    Rows from, to;
    size_t width, height;
} Copy;

static char *row(const Rows *rows, size_t i) {
    char *start = rows->kind == ON_HOST ? rows->host : (char *)rows->device;
    return start + (rows->y + i) * rows->pitch + rows->x;
}

Result cuMemcpy2DAsync_v2(const Copy *copy, void *stream) {
    for (size_t i = 0; i < copy->height; i++) memcpy(row(&copy->to, i), row(&copy->from, i), copy->width);
    return SUCCESS;
}

// Kernels.

Result cuModuleLoadData(void **module, const void *image) {
    modules++;
    // compiler.c gives the path of a library; PTX begins with a comment.
    int ours = *(const char *)image == '/' && ((const char *)image)[1] != '/';
    *module = ours ? dlopen(image, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (ours && !*module) fprintf(stderr, "stand-in for CUDA: %s\n", dlerror());
    return ours && !*module ? INVALID_IMAGE : SUCCESS;
}

Result cuModuleGetFunction(void **function, void *module, const char *name) {
    Function *f = calloc(1, sizeof *f);
    if (!f) return OUT_OF_MEMORY;
    snprintf(f->name, sizeof f->name, "%s", name);
    if (module) f->launch = (Launch *)dlsym(module, "launch");
    *function = f;
    return SUCCESS;
}

Result cuFuncSetAttribute(void *function, int attribute, int value) { return value > MOST_SHARED ? INVALID_VALUE : SUCCESS; }
Result cuTensorMapEncodeTiled(void *map) { return SUCCESS; }

Result cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                      void *stream, void **arguments, void **extra) {
    const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !bx || !by || !bz || bx * by * bz > MOST_THREADS || shared > MOST_SHARED) {
        fprintf(stderr, "stand-in for CUDA: %s: %u x %u x %u blocks of %u x %u x %u threads with %u bytes are refused\n", f->name, gx,
                gy, gz, bx, by, bz, shared);
        return INVALID_VALUE;
    }
    // Kernels have their threads' state and shared memory once.
    pthread_mutex_lock(&lock);
    launches++;
    if (kernels_log) fprintf(kernels_log, "%s %u %u %u / %u %u %u / %u\n", f->name, gx, gy, gz, bx, by, bz, shared);
    if (f->launch) f->launch(arguments, grid, block);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
