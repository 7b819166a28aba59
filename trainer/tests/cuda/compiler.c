// A stand-in for NVIDIA's run-time compiler (libnvrtc.so) that compiles kernels for the CPU: CUDA C++ goes to compile.sh, and comes
// back as the path of a library, which driver.c loads. What was compiled before is taken from STAND_IN_CACHE.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, OUT_OF_MEMORY = 1, COMPILATION = 6 };

typedef struct {
    char *source;
    char library[512];
    const char *log;
} Program;

// FNV-1a.
static uint64_t hash(const char *text) {
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

int nvrtcCreateProgram(Program **program, const char *source, const char *name, int headers, void *texts, void *names) {
    Program *p = calloc(1, sizeof *p);
    if (p) p->source = strdup(source);
    *program = p;
    return p && p->source ? SUCCESS : OUT_OF_MEMORY;
}

int nvrtcCompileProgram(Program *p, int count, const char **options) {
    const char *cache = getenv("STAND_IN_CACHE"), *script = getenv("STAND_IN_COMPILE");
    char source[560], command[2048];
    if (!cache || !script) return p->log = "STAND_IN_CACHE and STAND_IN_COMPILE have to be set", COMPILATION;
    p->log = "";
    snprintf(p->library, sizeof p->library, "%s/%016llx.so", cache, (unsigned long long)hash(p->source));
    if (access(p->library, R_OK) == 0) return SUCCESS;
    snprintf(source, sizeof source, "%s.cu", p->library);
    FILE *file = fopen(source, "w");
    if (!file || fputs(p->source, file) < 0 || fclose(file)) return p->log = "the source cannot be written", COMPILATION;
    snprintf(command, sizeof command, "LD_LIBRARY_PATH= '%s' '%s' '%s' > '%s.log' 2>&1", script, source, p->library, p->library);
    if (system(command) == 0) return SUCCESS;
    return p->log = "it does not compile for the CPU: see the .log beside the .cu of the newest in STAND_IN_CACHE", COMPILATION;
}

int nvrtcGetPTXSize(Program *p, size_t *size) { return *size = strlen(p->library) + 1, SUCCESS; }
int nvrtcGetPTX(Program *p, char *text) { return strcpy(text, p->library), SUCCESS; }
int nvrtcGetProgramLogSize(Program *p, size_t *size) { return *size = strlen(p->log) + 1, SUCCESS; }
int nvrtcGetProgramLog(Program *p, char *text) { return strcpy(text, p->log), SUCCESS; }
