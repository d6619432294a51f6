/* A stand-in for NVIDIA's libnvidia-ml.so.1: two GPUs with fixed values, for machines without any.
 * GPU 0 tells everything; GPU 1 keeps no energy counter. With OLD_DRIVER newer calls are missing.
 * STAND_IN_PID in the environment names a process that uses GPU memory; STAND_IN_INIT an error;
 * STAND_IN_LOST after how many readings GPU 0 is lost. */
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

static int gpus[2] = {0, 1};
static const char *uuids[2] = {"GPU-00000000-aaaa-bbbb-cccc-000000000000",
                               "GPU-11111111-aaaa-bbbb-cccc-111111111111"};

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
    if (index > 1) return INVALID;
    *handle = &gpus[index];
    return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, int **handle) {
    for (int i = 0; i < 2; i++)
        if (!strcmp(uuid, uuids[i])) { *handle = &gpus[i]; return SUCCESS; }
    return NOT_FOUND;
}
int nvmlDeviceGetIndex(int *gpu, unsigned int *index) { *index = *gpu; return SUCCESS; }
int nvmlDeviceGetName(int *gpu, char *text, unsigned int size) {
    strncpy(text, *gpu ? "Stand-in B" : "Stand-in A", size);
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
    *millijoules = 5000000ULL + 10000ULL * asked++;
    return SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(int *gpu, unsigned long long *reasons) {
    *reasons = *gpu ? 4 : 0;
    return SUCCESS;
}
#endif
