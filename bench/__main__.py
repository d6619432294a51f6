"""`python -m bench JOB DATA OUT [WEIGHTS]`: run one job.

Every way to end is an event and an exit code.
"""

import importlib
import os
import sys
import threading
import time
import traceback

from bench import __version__, determinism, formats, full_memory

EXIT = {
    "ok": 0, "unsupported": 3, "import-failed": 4, "diverged": 5, "gpu-oom": 6, "oom": 7,
    "invalid": 8,
}  # fmt: skip
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def main(arguments):
    if len(arguments) not in (3, 4):
        print("usage: python -m bench JOB DATA OUT [WEIGHTS]", file=sys.stderr)
        return 2
    job_file, data, out = arguments[:3]
    weights = arguments[3] if len(arguments) == 4 else None
    _hold_lifeline()
    try:
        job = formats.read_job(job_file)
    except formats.BadJob as error:
        print(error, file=sys.stderr)
        return 2
    if job["threads"]:  # before NumPy or a framework is imported: their pools read these once
        for name in _THREAD_VARIABLES:
            os.environ[name] = str(job["threads"])
    events = formats.Events(os.path.join(out, "events.jsonl"))
    events.write("hello", bench=__version__, python=sys.version.split()[0], pid=os.getpid())
    outcome, message = _run(job, data, out, events, weights)
    if outcome != "ok":
        events.write("error", outcome=outcome, message=message[:4000])
    events.write("end")
    events.close()
    return EXIT.get(outcome, 1)


def _run(job, data, out, events, weights):
    """(outcome, message); never raises."""
    start = time.monotonic()
    try:
        adapter = importlib.import_module("bench.adapters." + job["adapter"])
    except Exception as error:
        traceback.print_exc()
        return "import-failed", full_memory.described(error)
    events.write("phase", phase="import", seconds=round(time.monotonic() - start, 6))
    from bench import trial, verify

    try:
        if job["action"] == "train":
            trial.run(job, data, out, adapter, events, weights)
        else:
            verify.run(job, data, out, adapter, events)
        return "ok", ""
    except formats.Unsupported as error:
        return "unsupported", str(error)
    except formats.Diverged as error:
        return "diverged", str(error)
    except formats.Invalid as error:
        return "invalid", str(error)
    except Exception as error:
        traceback.print_exc()
        if job["deterministic"] and determinism.is_refusal(error):
            return "unsupported", "not deterministic: " + full_memory.described(error)
        full = full_memory.outcome(error, job["device"])
        return full or "crashed", full_memory.described(error)


def _hold_lifeline():
    """End with whoever started this: standard input stays open for as long as they live."""

    def wait():
        while os.read(0, 4096):
            pass
        os._exit(130)

    if not sys.stdin.isatty():
        threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
