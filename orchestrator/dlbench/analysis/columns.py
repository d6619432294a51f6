"""The columns of every table, typed and explained: what a reader of an export has to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

TIMESTAMP = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Column:
    name: str
    meaning: str
    dtype: Any = pl.Float64


def schema(columns: Iterable[Column]) -> dict[str, Any]:
    return {column.name: column.dtype for column in columns}


TRIALS = (
    Column("id", "the trial; unique in the table", pl.String),
    Column("campaign", "the campaign it was run in", pl.String),
    Column("release", "framework@version", pl.String),
    Column("framework", "its name without the version", pl.String),
    Column("version", "its version", pl.String),
    Column("workload", "data set, model and recipe", pl.String),
    Column("device", "cpu or gpu", pl.String),
    Column("engine", "what ran it: docker or process", pl.String),
    Column("setting", "matched or native", pl.String),
    Column("variant", "the way of training, such as eager", pl.String),
    Column("point", "the values of what is swept, such as batch=8; else empty", pl.String),
    Column("kernels", "deterministic where such were asked for; else empty", pl.String),
    Column("switches_cover", "the devices that its switches for such kernels cover", pl.String),
    Column("seed", "what pairs trials of different releases", pl.Int64),
    Column("repeat", "which repeat, from 0", pl.Int64),
    Column("round", "which interleaved round, from 0", pl.Int64),
    Column("index", "its position in the campaign's order, from 0", pl.Int64),
    Column("outcome", "ok, or how it failed", pl.String),
    Column("reason", "why it failed", pl.String),
    Column("certified", "its model was proven equal to the reference; null: unchecked", pl.Boolean),
    Column("certificate", "the proof's key", pl.String),
    Column("machine", "digest of the machine's fingerprint", pl.String),
    Column("started", "when it was launched", TIMESTAMP),
    Column("wall_s", "from launch to end"),
    Column("budget_epochs", "epochs asked for", pl.Int64),
    Column("budget_steps", "steps asked for; null: whole epochs", pl.Int64),
    Column("batch", "rows a step", pl.Int64),
    Column("changes", "what differs from the workload's recipe; else empty", pl.String),
    Column("scale", "the scale that was asked for, such as smoke or 0.01; else empty", pl.String),
    Column("train_rows", "training rows used; null: all", pl.Int64),
    Column("test_rows", "test rows used; null: all", pl.Int64),
    Column("data", "the data's digest", pl.String),
    Column("data_source", "real, sample (a part of it) or synthetic", pl.String),
    Column("threads", "threads asked for; null: the framework's default", pl.Int64),
    Column("threads_used", "threads the framework says it uses", pl.Int64),
    Column("one_core", "what it computes on one core, however many it has; else empty", pl.String),
    Column("cores", "cores it might use; null: not recorded"),
    Column("pinned", "the cores it was pinned to; empty: to none", pl.String),
    Column("machine_cores", "cores of its machine; null: not recorded", pl.Int64),
    Column("cpus", "limit of cores; null: none"),
    Column("memory_limit_bytes", "limit of memory; null: none", pl.Int64),
    Column("parameters", "trained numbers of the model", pl.Int64),
    Column("weights_sha256", "digest of the initial weights", pl.String),
    Column("weights", "digest of the file of weights it started from; else empty", pl.String),
    Column("weights_file", "the name of that file", pl.String),
    Column("weights_given", "parameters that came from the file; null: there is none", pl.Int64),
    Column("weights_drawn", "parameters that the file did not have", pl.Int64),
    Column("constants_drawn", "layers that never learn and had random numbers", pl.Int64),
    Column("final_weights_sha256", "digest of the weights that it ended with", pl.String),
    Column("predictions_sha256", "digest of its predictions of the test split", pl.String),
    Column("losses_sha256", "digest of the losses of all its steps", pl.String),
    Column("lock", "digest of the environment's lock", pl.String),
    Column("confounds", "the faults of a study that were put into it; else empty", pl.String),
)
"""What every trial has. Metrics and resources follow."""

METRICS = (
    Column("accuracy", "share of right answers on the test split, 0 to 1"),
    Column("mae", "mean absolute error on the test split"),
    Column("mse", "mean squared error on the test split"),
    Column("perplexity", "exponential of the mean cross-entropy a token, on the test split"),
    Column("map", "mean average precision of a detector on the test split"),
    Column("map_11", "mean average precision by eleven points"),
    Column("boxes_found", "share of the test split's boxes that were found"),
    Column(
        "greedy_accuracy",
        "share of right words where the decoder reads its own words, on test rows, 0 to 1",
    ),
    Column("decoded_rows", "how many test rows were decoded for it"),
    Column("train_accuracy", "accuracy on the training split, after training"),
    Column("train_map", "mean average precision on the training split"),
    Column("train_mae", "mean absolute error on the training split, after training"),
    Column("train_mse", "mean squared error on the training split, after training"),
    Column("train_perplexity", "perplexity on the training split, after training"),
    Column("peak_epoch", "after which epoch the first metric was best on the test split"),
    Column(
        "test_peak_accuracy", "accuracy at that epoch: chosen by the test rows, so not a result"
    ),
    Column("test_peak_map", "mean average precision at that epoch: chosen by the test rows"),
    Column("test_peak_mae", "mean absolute error at that epoch: chosen by the test rows"),
    Column("test_peak_mse", "mean squared error at that epoch: chosen by the test rows"),
    Column("test_peak_perplexity", "perplexity at that epoch: chosen by the test rows"),
    Column("loss", "mean training loss of the last epoch"),
    Column("train_s", "training: first step, warm-up and steady steps"),
    Column("steady_s", "training without first step and warm-up"),
    Column("import_s", "phase import"),
    Column("load_s", "phase load"),
    Column("build_s", "phase build"),
    Column("first_step_s", "phase first-step: compilation"),
    Column("warm_up_s", "phase warm-up"),
    Column("evaluate_s", "phase evaluate"),
    Column("validate_s", "phase validate: rows that decide when to stop"),
    Column("decode_s", "phase decode: greedy decoding"),
    Column("evaluate_train_s", "phase evaluate-train: metrics of the training split"),
    Column("first_epoch_s", "training time of the first epoch, without evaluation"),
    Column(
        "first_epoch_excess_s",
        "the first epoch less the median of the later ones with as many steps",
    ),
    Column(
        "inference_s_per_thousand",
        "predictions of a thousand rows in batches of the recipe's size: median of passes",
    ),
    Column("latency_ms_median", "time of a prediction of one row, median"),
    Column("latency_ms_p99", "time that 99 % of the predictions of one row took at most"),
    Column("best_epoch", "the epoch whose weights gave the result"),
    Column("save_s", "phase save"),
    Column("step_ms_median", "median of the steady steps"),
    Column("step_ms_mean", "mean of the steady steps"),
    Column("step_ms_p05", "5 % of the steady steps are quicker"),
    Column("step_ms_p95", "95 % of the steady steps are quicker"),
    Column("step_ms_sd", "standard deviation of the steady steps"),
    Column("throughput", "rows a second at the median steady step of a whole batch"),
    Column("host_ms_mean", "of a step, what a host node took; null: there is none"),
    Column("model_bytes", "the saved model, weights alone; null: it was not saved"),
    Column("model_with_optimizer_bytes", "the same with the optimiser's state"),
    Column("forward_ms", "of a detector's step, the loss alone: median, measured apart"),
    Column("backward_ms", "what its gradients take beside that: median, measured apart"),
    Column("image_sizes", "in how many sizes a detector's images come"),
    Column("padding_share", "share of the pixels of these images that is padding"),
    Column("epochs", "epochs done"),
    Column("steps", "steps done"),
    Column("samples", "rows trained on"),
)
"""Always there, null where a trial has none; other metrics of a workload follow, as Float64."""

RESOURCES = (
    Column("cpu_percent_mean", "during training, averaged over the allotted cores"),
    Column("cpu_percent_of_one_core", "during training; may exceed 100"),
    Column("cpu_seconds", "of the whole trial, by the kernel"),
    Column("peak_memory_bytes", "the larger of the trial's and its main process' peak"),
    Column("memory_mean_bytes", "during training"),
    Column("anon_peak_bytes", "peak without file cache"),
    Column("rss_main_mean_bytes", "main process, during training"),
    Column("rss_main_peak_bytes", "main process"),
    Column("system_cpu_percent_mean", "the whole machine, during training"),
    Column("gpu_util_percent_mean", "during training, of the GPU used most"),
    Column("gpu_memory_peak_bytes", "of all GPUs together"),
    Column("gpu_power_w_mean", "during training, of all GPUs together"),
    Column("gpu_energy_j", "of the whole trial and all GPUs"),
    Column("gpu_energy_j_per_thousand", "during training, for a thousand rows"),
    Column("cpu_energy_j", "of the whole trial and all processors of the machine"),
    Column("cpu_energy_j_per_thousand", "during training, for a thousand rows"),
    Column("monitor_cpu_seconds", "what measuring cost"),
    Column("resource_source", "where the readings come from", pl.String),
    Column("resource_samples", "how many readings", pl.Int64),
)

CURVES = (
    Column("id", "the trial", pl.String),
    Column("epoch", "from 1", pl.Int64),
    Column("train_s", "training time so far, without evaluation"),
    Column("loss", "mean training loss of the epoch"),
    *(
        Column(name, "on the test split after the epoch")
        for name in ("accuracy", "mae", "mse", "perplexity", "map", "map_11", "boxes_found")
    ),
)
"""Other metrics of a workload follow, as Float64."""

STEPS = (
    Column("id", "the trial", pl.String),
    Column("epoch", "from 1", pl.Int32),
    Column("step", "within the trial, from 1; of a very long trial every k-th is here", pl.Int64),
    Column("ms", "how long it took"),
    Column("steady", "false for the first step and the warm-up", pl.Boolean),
)

SAMPLES = (
    Column("id", "the trial", pl.String),
    Column("t", "seconds since launch"),
    Column("cpu_s", "CPU time so far, all processes"),
    Column("cpu_percent", "since the sample before, averaged over the allotted cores"),
    Column("memory_bytes", "all processes", pl.Int64),
    Column("rss_bytes", "main process", pl.Int64),
    Column("anon_bytes", "without file cache", pl.Int64),
    Column("system_cpu_percent", "the whole machine"),
    Column("gpu_util_percent", "of the GPU used most"),
    Column(
        "gpu_memory_bytes", "the trial's own where that is known, of all GPUs together", pl.Int64
    ),
    Column("gpu_power_w", "of all GPUs together"),
    Column("gpu_energy_j", "so far, of all GPUs together"),
)

PHASES = (
    Column("id", "the trial", pl.String),
    Column("phase", "import, load, …, train, evaluate, …, save", pl.String),
    Column("start", "seconds since launch"),
    Column("end", "seconds since launch"),
)
"""A phase comes again for every stretch of it: one `train` an epoch."""

TABLES: dict[str, tuple[Column, ...]] = {
    "trials": (*TRIALS, *METRICS, *RESOURCES),
    "curves": CURVES,
    "samples": SAMPLES,
    "steps": STEPS,
    "phases": PHASES,
}
