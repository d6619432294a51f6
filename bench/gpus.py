"""Which GPUs this trial can see, held against those that it was given.

The driver is asked in a process of its own, so that the framework finds it untouched.
"""

import hashlib
import os
import subprocess
import sys

from bench.formats import Unsupported

EXPECTED = "BENCH_GPUS"
"""The GPUs that the trial was given, as digests of their UUIDs, in this environment variable."""

_LIST = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
    ask = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
    for number in range(count.value):
        device, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        if driver.cuDeviceGet(ctypes.byref(device), number) == 0 and ask(uuid, device) == 0:
            print(bytes(uuid).hex())
"""


def visible():
    """Digests of the UUIDs of all GPUs that the driver shows here; nothing where it shows none."""
    try:
        listed = subprocess.check_output(
            [sys.executable, "-c", _LIST], stderr=subprocess.DEVNULL, universal_newlines=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return [digest(line) for line in listed.split()]


def digest(uuid):
    """A GPU's UUID, of which the hex digits count, as it is recorded: it names no device."""
    digits = "".join(letter for letter in uuid.lower() if letter in "0123456789abcdef")
    return hashlib.sha256(digits[-32:].encode()).hexdigest()[:16]


def check():
    """The GPUs that are seen; an error unless they are the ones that this trial was given, and in
    the same order: it trains on the first."""
    seen = visible()
    expected = [word for word in os.environ.get(EXPECTED, "").split(",") if word]
    if expected and set(expected) != set(seen):
        raise Unsupported(
            "it was given {} GPUs and sees {}, of which {} are among them".format(
                len(expected), len(seen), len(set(expected) & set(seen))
            )
        )
    if expected and expected[0] != seen[0]:
        raise Unsupported("the first GPU that it sees is another than the first it was given")
    return seen
