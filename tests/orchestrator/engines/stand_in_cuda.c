/* A stand-in for NVIDIA's libcuda.so.1 with two GPUs, of which those are seen that the container was
 * given (NVIDIA_VISIBLE_DEVICES), or the process (CUDA_VISIBLE_DEVICES); STAND_IN_SHOW in the
 * environment shows others. */
#include <stdlib.h>
#include <string.h>

static const char *names[2] = {"GPU-00000000-aaaa-bbbb-cccc-000000000000",
                               "GPU-11111111-aaaa-bbbb-cccc-111111111111"};
static int seen[2], count;

int cuInit(unsigned flags) {
    (void)flags;
    const char *chosen = getenv("STAND_IN_SHOW");
    if (!chosen) chosen = getenv("NVIDIA_VISIBLE_DEVICES");
    if (!chosen) chosen = getenv("CUDA_VISIBLE_DEVICES");
    if (!chosen) chosen = "all";
    char text[512];
    strncpy(text, chosen, sizeof text - 1);
    text[sizeof text - 1] = 0;
    count = 0;
    for (char *part = strtok(text, ","); part; part = strtok(NULL, ","))
        for (int i = 0; i < 2; i++)
            if (!strcmp(part, "all") || !strcmp(part, names[i]) ||
                (part[0] == '0' + i && !part[1]))
                if (count < 2) seen[count++] = i;
    return count ? 0 : 100;
}
int cuDeviceGetCount(int *number) { *number = count; return 0; }
int cuDeviceGet(int *device, int number) { *device = seen[number]; return 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    const char *digits = names[device] + 4;
    for (int i = 0; i < 16; i++) {
        while (*digits == '-') digits++;
        char pair[3] = {digits[0], digits[1], 0};
        uuid[i] = (unsigned char)strtoul(pair, NULL, 16);
        digits += 2;
    }
    return 0;
}
