"""Which keys each event has, and what their values may be. FORMATS.md says so under *Events*."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

LONGEST_S = 1e9
"""No time is longer, in seconds: 30 years."""
PHASES = (
    "import", "load", "build", "first-step", "warm-up", "train", "evaluate", "validate", "decode",
    "evaluate-train", "inference", "latency", "save", "parts",
    "verify",
)  # fmt: skip
_MOST_METRICS = 100
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST_COUNT = 2**53
_MOST_TIMES = 10_000
"""Of predictions."""
_SCORES = (
    "accuracy", "binary-accuracy", "greedy-accuracy", "average-precision", "average-precision-11",
    "boxes-found",
)  # fmt: skip
"""Metrics from 0 to 1; a mean error and a perplexity are 0 or more."""


Check = Callable[[Any], bool]


def _is(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _or_none(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_time(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= LONGEST_S


def _times_ms(value: Any) -> bool:
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        return False
    # a NaN is neither the least nor the largest, but the sum of all is NaN then
    within = not value or (min(value) >= 0 and max(value) <= 1000 * LONGEST_S)
    return within and not math.isnan(sum(value))


def _some_times(value: Any) -> bool:
    return _times_ms(value) and len(value) <= _MOST_TIMES


def _count(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and 0 <= value <= _LARGEST_COUNT


def _metrics(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_METRICS
        and all(_NAME.fullmatch(name) for name in value)
        and all(_metric(name, number) for name, number in value.items())
    )


def _metric(name: str, value: Any) -> bool:
    if not _is_number(value) or value != value:  # it could not be computed: NaN, null
        return value is None or _is_number(value)
    if name in _SCORES:
        return bool(0 <= value <= 1)
    return bool(value >= 0) if name.startswith(("mean-", "perplexity")) else True


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, str) for x in value)


_text, _yes_or_no, _object = _is(str), _is(bool), _is(dict)
_loss = _or_none(_is_number)
_error = _or_none(lambda value: _is_number(value) and not value < 0)
_ms_or_none = _or_none(lambda value: _times_ms([value]))
_times_or_none = _or_none(_some_times)
_count_or_none, _time_or_none = _or_none(_count), _or_none(is_time)
_metrics_or_none, _text_or_none = _or_none(_metrics), _or_none(_text)
_digest_or_none = _or_none(_matches(_DIGEST))

EVENTS: dict[str, dict[str, Check]] = {
    "hello": {"bench": _text, "python": _text, "pid": _count},
    "phase": {"phase": lambda value: value in PHASES, "seconds": is_time},
    "stack": {"framework": _text, "version": _text},
    "model": {
        "parameters": _count,
        "weights_sha256": _text,
        "path": _object,
        "weights_given": _count_or_none,
        "weights_drawn": _count_or_none,
        "drawn": _or_none(_texts),
        "constants_drawn": _count_or_none,
    },
    "progress": {"epoch": _count, "step": _count, "steps": _count, "loss": _loss},
    "epoch": {
        "epoch": _count,
        "loss": _loss,
        "steps": _count_or_none,
        "steps_s": _time_or_none,
        "steps_ms": _times_ms,
        "every": _count_or_none,
        "metrics": _metrics,
        "validation": _metrics_or_none,
        "train_s": is_time,
        "first": _count,
        "host_ms": _ms_or_none,
        "host_ms_median": _ms_or_none,
    },
    "check": {
        "name": _matches(_NAME),
        "passed": _yes_or_no,
        "error": _error,
        "tolerance": _error,
        "node": _text_or_none,
        "detail": _text_or_none,
    },
    "result": {
        "metrics": _metrics,
        "train_metrics": _metrics_or_none,
        "decoded_rows": _count_or_none,
        "loss": _loss,
        "epochs": _count,
        "best_epoch": _count_or_none,
        "steps": _count,
        "samples": _count,
        "inference_ms": _times_or_none,
        "inference_rows": _count_or_none,
        "latency_ms": _times_or_none,
        "model_bytes": _count_or_none,
        "model_with_optimizer_bytes": _count_or_none,
        "optimizer_state": _text_or_none,
        "forward_ms": _times_or_none,
        "backward_ms": _times_or_none,
        "weights_sha256": _digest_or_none,
        "predictions_sha256": _digest_or_none,
        "losses_sha256": _digest_or_none,
        "audit": _or_none(_object),
    },
    "error": {"outcome": _text, "message": _text},
    "end": {},
}
"""What a value must be, by event and key. Null, and so a missing key, is allowed where it says."""
