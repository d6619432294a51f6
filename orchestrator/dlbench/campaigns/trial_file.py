"""Reads `trial.json`, the result of a trial, and believes none of it before it is checked.

`read_trial` gives the checked content, of which tables of thousands of trials are made;
`read_result` the same as a `TrialResult`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.plain_files import RESULT, read_record
from dlbench.campaigns.trial_result import DIGESTS, VERSION, Scale, TrialCores, TrialResult
from dlbench.event_fields import LONGEST_S
from dlbench.formats import check_version
from dlbench.monitor.resources import PhaseUse, Resources
from dlbench.shapes import (
    BYTES,
    COUNT,
    MOST_COUNTED,
    SECONDS,
    OutOfRange,
    Shape,
    WrongValue,
    anything,
    fields_of,
    identity,
    label,
    list_of,
    moment,
    number,
    one_of,
    optional,
    record,
    record_of,
    required_of,
    shown,
    table_of,
)

_MOST_METRICS = 200
_MOST_EPOCHS = 1_000_000
_PERCENT = optional(number(0.0, 1e6))
_MS = optional(number(0.0, 1000 * LONGEST_S))
_SECONDS, _BYTES, _POSITIVE = optional(SECONDS), optional(BYTES), optional(number(0.0))
_QUALITY: dict[str, Shape] = {
    **dict.fromkeys(("accuracy", "greedy_accuracy", "map", "map_11", "boxes_found"),
                    optional(number(0.0, 1.0))),
    "mae": _POSITIVE, "mse": _POSITIVE, "perplexity": _POSITIVE,
}  # fmt: skip
_SCORES: dict[str, Shape] = {**_QUALITY, "loss": optional(number())}
_TIMES = (
    "train_s", "steady_s", "import_s", "load_s", "build_s", "first_step_s", "warm_up_s",
    "evaluate_s", "validate_s", "decode_s", "evaluate_train_s", "save_s", "first_epoch_s",
    "inference_s_per_thousand",
)  # fmt: skip
_STEPS = (
    "step_ms_median", "step_ms_mean", "step_ms_p05", "step_ms_p95", "step_ms_sd",
    "latency_ms_median", "latency_ms_p99", "host_ms_mean",
    "forward_ms", "backward_ms",
)  # fmt: skip
_COUNTS = (
    "epochs", "steps", "samples", "best_epoch", "peak_epoch", "decoded_rows", "image_sizes",
)  # fmt: skip
_NUMBER = optional(number())
_METRICS = table_of(
    _NUMBER,
    {
        **_SCORES,
        **{
            f"{of}_{name}": shape
            for of in ("train", "test_peak")
            for name, shape in _QUALITY.items()
        },
        **dict.fromkeys(_TIMES, _SECONDS),
        **dict.fromkeys(_STEPS, _MS),
        **dict.fromkeys(_COUNTS, optional(number(0, MOST_COUNTED))),
        "throughput": _POSITIVE,
        **dict.fromkeys(("model_bytes", "model_with_optimizer_bytes"), _BYTES),
        "padding_share": optional(number(0.0, 1.0)),
    },
    _MOST_METRICS,
)
_POINT = table_of(_NUMBER, {**_SCORES, "epoch": COUNT, "train_s": SECONDS}, _MOST_METRICS)
_USE = record({"cpu_percent": _PERCENT, "memory_peak_bytes": _BYTES},
              required=("cpu_percent", "memory_peak_bytes"))  # fmt: skip
_RESOURCES = record(fields_of(
    Resources,
    source=label,
    per_phase=table_of(_USE),
    **dict.fromkeys(
        ("cpu_percent_mean", "cpu_percent_of_one_core", "system_cpu_percent_mean",
         "gpu_util_percent_mean"), _PERCENT),
    **dict.fromkeys(("cpu_seconds", "monitor_cpu_seconds"), _SECONDS),
    **dict.fromkeys(
        ("memory_peak_bytes", "memory_mean_bytes", "anon_peak_bytes", "rss_main_mean_bytes",
         "rss_main_peak_bytes", "gpu_memory_peak_bytes"), _BYTES),
    **dict.fromkeys(("gpu_power_w_mean", "gpu_energy_j"), _POSITIVE),
))  # fmt: skip
_MODEL = table_of(anything, {
    "parameters": COUNT, "weights_sha256": label,
    **dict.fromkeys(("weights_given", "weights_drawn", "constants_drawn"), optional(COUNT)),
})  # fmt: skip
_SWITCHES = table_of(anything, {"covers": list_of(label, 10)})
_STACK = table_of(
    anything,
    {"threads": optional(COUNT), "one_core": optional(label), "deterministic": optional(_SWITCHES)},
)
_FIELDS = fields_of(
    TrialResult,
    **dict.fromkeys(
        ("release", "workload", "device", "engine", "setting", "variant", "lock", "point"),
        label),
    id=identity,
    outcome=one_of([outcome.value for outcome in Outcome]),
    started=moment,
    wall_s=SECONDS,
    metrics=_METRICS,
    resources=_RESOURCES,
    curve=list_of(_POINT, _MOST_EPOCHS),
    phases=table_of(SECONDS),
    model=_MODEL,
    stack=_STACK,
    scale=record_of(
        Scale, data=label, source=label, setting=label, cpus=optional(number(0.0, 1e6)),
        name=label, changes=list_of(label, 100), weights=label, weights_file=label,
    ),
    cores=record_of(
        TrialCores, allotted=optional(number(0.0, 1e6)), pinned=list_of(COUNT, 100_000),
        machine=optional(COUNT),
    ),
    ended_with=record(dict.fromkeys(DIGESTS, label)),
    certificate=optional(identity),
    machine=lambda value: value if value == "" else identity(value),
    confounds=list_of(label, 100),
)  # fmt: skip
_NEEDED = frozenset(required_of(TrialResult))


def read_trial(folder: Path) -> dict[str, Any] | None:
    """What trial.json in a trial's folder says; None while the trial has not ended."""
    path = folder / RESULT

    def checked(content: Any) -> dict[str, Any]:
        found = _checked(content, path)
        if found["id"] != folder.name:
            raise WrongValue(f"{found['id']}, not that of its folder", "id")
        return found

    found: dict[str, Any] | None = read_record(path, checked)
    return found


def read_result(folder: Path) -> TrialResult | None:
    """The result in a trial's folder; None while the trial has not ended."""
    found = read_trial(folder)
    return None if found is None else _result(found)


def _result(checked: dict[str, Any]) -> TrialResult:
    resources = checked.get("resources") or None
    if resources:
        uses = resources.get("per_phase", {}).items()
        per_phase = {phase: PhaseUse(**use) for phase, use in uses}
        resources = Resources(**{"source": "", "samples": 0, **resources, "per_phase": per_phase})
    return TrialResult(
        **{
            **checked,
            "outcome": Outcome(checked["outcome"]),
            "scale": Scale(**checked.get("scale", {})),
            "cores": TrialCores(**checked.get("cores", {})),
            "resources": resources,
        }
    )


def _checked(content: Any, file: Path) -> dict[str, Any]:
    """The content of a trial.json whose values are all of the right type; others are left out.

    One with a number that can't be true is read as an `invalid` trial without measurements: it is
    listed, with the reason, and counts for nothing."""
    check_version(content, VERSION, file)
    if not isinstance(content, dict):
        raise WrongValue(f"{shown(content)}, not an object")
    checked: dict[str, Any] = {}
    untrue: WrongValue | None = None
    key = ""
    try:
        for key, shape in _FIELDS.items():
            if key not in content:
                if key in _NEEDED:
                    raise WrongValue("missing")
                continue
            try:
                checked[key] = shape(content[key])
            except OutOfRange as error:
                untrue = untrue or error.within(key)
                checked[key] = _nothing().get(key, 0)
    except WrongValue as error:
        raise error.within(key) from None
    if untrue is not None:
        why = f"Its trial.json can't be true: {untrue}."
        measured = {key: _nothing()[key] for key in ("metrics", "resources", "curve", "phases")}
        checked |= {**measured, "outcome": Outcome.INVALID.value, "reason": why}
    return checked


def _nothing() -> dict[str, Any]:
    """Empty values, in the place of those that can't be true."""
    return {"metrics": {}, "resources": {}, "curve": [], "phases": {}, "started": "", "scale": {},
            "model": {}, "stack": {}, "cores": {}, "ended_with": {}}  # fmt: skip
