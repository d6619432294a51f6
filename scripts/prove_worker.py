"""Proves one job after the other in one process, inside a release's environment.

Reads folders (each with job.json and its data) from standard input, one a line, and writes one JSON
line each. Runs on every Python that bench runs on. `prove_graphs.py` starts it.
"""

import importlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import data, formats, verify
from bench.trial import options_of


def prove(folder):
    """How the proof of one job went."""
    started, worked = time.time(), time.process_time()
    job = formats.read_job(os.path.join(folder, "job.json"))
    result = {"folder": folder, "outcome": "ok", "failed": [], "checks": 0}
    try:
        adapter = importlib.import_module("bench.adapters." + job["adapter"])
        adapter.set_up(options_of(job))
        splits = data.load(folder, job["data"], job["graph"], job["recipe"])
        for check in verify.checks(job, splits, adapter, folder):
            result["checks"] += 1
            if not check["passed"]:
                result["failed"].append(check)
    except formats.Unsupported as error:
        result.update(outcome="unsupported", reason=str(error))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        result.update(outcome="crashed", reason=reason)
    if result["outcome"] == "ok" and result["failed"]:
        result["outcome"] = "differs"
    result["seconds"] = round(time.time() - started, 3)
    result["cpu_seconds"] = round(time.process_time() - worked, 3)
    return result


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a framework prints must not stand between the results
    for line in sys.stdin:
        out.write(json.dumps(prove(line.strip())) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
