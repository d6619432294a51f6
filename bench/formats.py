"""The job that comes in and the events that go out, as FORMATS.md has them."""

import contextlib
import json
import os
import time

VERSION = 1
PHASES = (
    "import", "load", "build", "first-step", "warm-up", "train", "evaluate", "validate", "decode",
    "evaluate-train", "inference", "latency", "save", "parts", "verify",
)  # fmt: skip

_JOB_KEYS = {
    "v": int, "id": str, "action": str, "framework": str, "version": str, "adapter": str,
    "variant": str, "device": str, "setting": str, "seed": int, "graph": dict, "recipe": dict,
    "data": dict, "budget": dict, "inference": bool, "deterministic": bool, "save": bool,
}  # fmt: skip
_CHOICES = {
    "action": ("train", "verify"),
    "device": ("cpu", "gpu"),
    "setting": ("matched", "native"),
}


_PLACES = ("job", "bench")
"""Where a confound acts: in the job's graph, recipe or data, or in bench."""


class BadJob(ValueError):
    """The job file is not one that this program can run."""


class Unsupported(Exception):
    """This release can't do what the job asks; the message says what and why."""


class Diverged(Exception):
    """The loss is no longer a finite number."""


class Invalid(Exception):
    """What was measured can't be true; the message says what and why."""


def read_job(path):
    """The job at `path`, checked."""
    try:
        with open(path, encoding="utf-8") as file:
            job = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise BadJob("the job can't be read: {}".format(error))
    if not isinstance(job, dict) or job.get("v") != VERSION:
        raise BadJob("the job is not of version {}".format(VERSION))
    job.setdefault("inference", False)
    job.setdefault("deterministic", False)
    for key, kind in _JOB_KEYS.items():
        if not isinstance(job.get(key), kind):
            raise BadJob("job.{} must be of type {}".format(key, kind.__name__))
    for key, allowed in _CHOICES.items():
        if job[key] not in allowed:
            raise BadJob("job.{} must be one of {}".format(key, ", ".join(allowed)))
    threads = job.setdefault("threads", None)
    if threads is not None and not (isinstance(threads, int) and threads > 0):
        raise BadJob("job.threads must be null or a positive whole number")
    weights = job.setdefault("weights", None)
    if weights is not None and not isinstance(weights, str):
        raise BadJob("job.weights must be null or a digest")
    confounds = job.setdefault("confounds", [])
    if not isinstance(confounds, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) and each.get("in") in _PLACES
        for each in confounds
    ):
        raise BadJob("job.confounds must be a list of objects with a name and where it acts")
    try:
        _make_real(job["graph"], job["recipe"])
    except (TypeError, OverflowError) as error:
        raise BadJob("job.graph and job.recipe are not as they should be: {}".format(error))
    return job


_REAL = {
    "keep", "epsilon", "rate", "lr", "momentum", "beta1", "beta2", "rho", "weight_decay", "weight",
    "divisor", "clip", "factor", "least", "decay", "validation",
}  # fmt: skip
"""Numbers of a graph and a recipe that are real, though people write 1 for 1.0."""


def _make_real(graph, recipe):
    """Frameworks that ask for a float refuse a whole number (Paddle's rates, PyTorch's betas)."""
    parts = [recipe] + [recipe.get(key) for key in ("optimizer", "schedule", "stopping")]
    for part in parts + list(graph.get("nodes", [])) + list(recipe.get("losses", [])):
        for name in _REAL & set({} if part is None else part):
            if type(part[name]) is int:
                part[name] = float(part[name])


class Events:
    """Writes events, each one line, each at once on disk for whoever follows the file."""

    def __init__(self, path):
        self._file = open(path, "a", buffering=1, encoding="utf-8")

    def write(self, event, **fields):
        line = {"v": VERSION, "t": round(time.monotonic(), 6), "event": event}
        line.update(fields)
        # allow_nan stays on: a diverged loss must be writable. The host reads NaN as such.
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    @contextlib.contextmanager
    def phase(self, name, sync=None):
        """Times a phase; `sync` is called before the clock stops."""
        start = time.monotonic()
        yield
        if sync is not None:
            sync()
        self.write("phase", phase=name, seconds=round(time.monotonic() - start, 6))

    def close(self):
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
