/* A stand-in for NVIDIA's libnvidia-ml.so.1: two GPUs with fixed values, for machines without any.
 * GPU 0 tells everything; GPU 1 keeps no energy counter. With OLD_DRIVER newer calls are missing.
 * STAND_IN_PID in the environment names a process that uses GPU memory; STAND_IN_INIT an error;
 * STAND_IN_LOST after how many readings GPU 0 is lost; STAND_IN_BROKEN a GPU that can't be opened.
 * With STAND_IN_MIG GPU 1 is divided and has one part; with STAND_IN_RESET the energy counter of
 * GPU 0 begins anew at its fourth reading; with STAND_IN_NOBODY no program is listed. */
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, LOST = 15 };
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int gpu, memory; } Utilization;
typedef struct {
    unsigned int pid;
    unsigned long long used;
    unsigned int instance, compute;
} Process;

static int gpus[3] = {0, 1, 2};
static const char *uuids[3] = {"GPU-00000000-aaaa-bbbb-cccc-000000000000",
                               "GPU-11111111-aaaa-bbbb-cccc-111111111111",
                               "MIG-22222222-aaaa-bbbb-cccc-222222222222"};
static const char *names[3] = {"Stand-in A", "Stand-in B", "Stand-in B MIG 1g.5gb"};

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    const char *error = getenv("STAND_IN_INIT");
    return error ? atoi(error) : SUCCESS;
}
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { (void)code; return "stand-in error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) {
    strncpy(text, "535.104.05", size);
    return SUCCESS;
}
int nvmlSystemGetCudaDriverVersion(int *version) { *version = 12020; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, int **handle) {
    const char *broken = getenv("STAND_IN_BROKEN");
    if (index > 1) return INVALID;
    if (broken && (unsigned)atoi(broken) == index) return LOST;
    *handle = &gpus[index];
    return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, int **handle) {
    for (int i = 0; i < (getenv("STAND_IN_MIG") ? 3 : 2); i++)
        if (!strcmp(uuid, uuids[i])) { *handle = &gpus[i]; return SUCCESS; }
    return NOT_FOUND;
}
/* Of a part it is the number among the parts of its GPU. */
int nvmlDeviceGetIndex(int *gpu, unsigned int *index) { *index = *gpu % 2; return SUCCESS; }
int nvmlDeviceGetMigMode(int *gpu, unsigned int *now, unsigned int *pending) {
    if (*gpu > 1) return INVALID;
    *now = *pending = *gpu == 1 && getenv("STAND_IN_MIG");
    return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(int *gpu, unsigned int *count) {
    (void)gpu;
    *count = 7;
    return SUCCESS;
}
int nvmlDeviceGetMigDeviceHandleByIndex(int *gpu, unsigned int index, int **handle) {
    (void)gpu;
    if (index) return NOT_FOUND;
    *handle = &gpus[2];
    return SUCCESS;
}
int nvmlDeviceGetName(int *gpu, char *text, unsigned int size) {
    strncpy(text, names[*gpu], size);
    return SUCCESS;
}
int nvmlDeviceGetUUID(int *gpu, char *text, unsigned int size) {
    strncpy(text, uuids[*gpu], size);
    return SUCCESS;
}
int nvmlDeviceGetCudaComputeCapability(int *gpu, int *major, int *minor) {
    (void)gpu;
    *major = 8, *minor = 6;
    return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(int *gpu, Memory *memory) {
    memory->total = 8ULL << 30;
    memory->used = *gpu ? 1ULL << 30 : 3ULL << 30;
    static int looks;
    if (getenv("STAND_IN_NOBODY") && looks++ > 2) memory->used += 512ULL << 20;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}
static int readings;
int nvmlDeviceGetUtilizationRates(int *gpu, Utilization *rates) {
    const char *after = getenv("STAND_IN_LOST");
    if (after && !*gpu && ++readings > atoi(after)) return LOST;
    rates->gpu = *gpu ? 40 : 90;
    rates->memory = 10;
    return SUCCESS;
}
int nvmlDeviceGetPowerUsage(int *gpu, unsigned int *milliwatts) {
    *milliwatts = *gpu ? 50000 : 70500;
    return SUCCESS;
}
int nvmlDeviceGetTemperature(int *gpu, int sensor, unsigned int *celsius) {
    (void)sensor;
    *celsius = 60 + *gpu;
    return SUCCESS;
}
int nvmlDeviceGetPersistenceMode(int *gpu, int *mode) { (void)gpu; *mode = 1; return SUCCESS; }
int nvmlDeviceGetEccMode(int *gpu, int *now, int *pending) {
    (void)gpu;
    *now = *pending = 0;
    return SUCCESS;
}
int nvmlDeviceGetClockInfo(int *gpu, int kind, unsigned int *mhz) {
    (void)gpu;
    *mhz = kind == 1 ? 1410 : 877;
    return SUCCESS;
}
int nvmlDeviceGetMaxClockInfo(int *gpu, int kind, unsigned int *mhz) {
    (void)gpu;
    *mhz = kind == 1 ? 1980 : 877;
    return SUCCESS;
}
static int processes(Process *list, unsigned int *count) {
    const char *pid = getenv("STAND_IN_PID");
    if (getenv("STAND_IN_NOBODY")) { *count = 0; return SUCCESS; }
    if (*count < 2 || !list) { *count = 2; return INSUFFICIENT_SIZE; }
    list[0] = (Process){pid ? (unsigned)atoi(pid) : 4000001u, 2ULL << 30, 0, 0};
    list[1] = (Process){4000002u, 1ULL << 30, 0, 0};
    *count = 2;
    return SUCCESS;
}
#ifdef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v2(int *gpu, unsigned int *count, Process *list) {
    (void)gpu;
    return processes(list, count);
}
#else
int nvmlDeviceGetComputeRunningProcesses_v3(int *gpu, unsigned int *count, Process *list) {
    if (*gpu) { *count = 0; return SUCCESS; }
    return processes(list, count);
}
/* Each question finds 10 J more. */
static unsigned long long asked;
int nvmlDeviceGetTotalEnergyConsumption(int *gpu, unsigned long long *millijoules) {
    if (*gpu) return NOT_SUPPORTED;
    *millijoules = (getenv("STAND_IN_RESET") && asked > 3 ? 0 : 5000000ULL) + 10000ULL * asked;
    asked++;
    return SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(int *gpu, unsigned long long *reasons) {
    *reasons = *gpu ? 4 : 0;
    return SUCCESS;
}
#endif
