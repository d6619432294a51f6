"""The columns of every table, typed and explained: what a reader of an export has to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

TIMESTAMP = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    dtype: Any
    meaning: str


def schema(columns: Iterable[Column]) -> dict[str, Any]:
    return {column.name: column.dtype for column in columns}


TRIALS = (
    Column("id", pl.String, "the trial; unique in the table"),
    Column("campaign", pl.String, "the campaign it was run in"),
    Column("release", pl.String, "framework@version"),
    Column("framework", pl.String, "its name without the version"),
    Column("version", pl.String, "the version of it"),
    Column("workload", pl.String, "data set, model and recipe"),
    Column("device", pl.String, "cpu or gpu"),
    Column("engine", pl.String, "what ran it: docker or process"),
    Column("setting", pl.String, "matched or native"),
    Column("variant", pl.String, "the way of training, such as eager"),
    Column("point", pl.String, "the values of what is swept, such as batch=8; else empty"),
    Column("kernels", pl.String, "deterministic where such were asked for; else empty"),
    Column("switches_cover", pl.String, "the devices whose kernels its switches for that are for"),
    Column("seed", pl.Int64, "what pairs trials of different releases"),
    Column("repeat", pl.Int64, "which repeat, from 0"),
    Column("round", pl.Int64, "which interleaved round, from 0"),
    Column("index", pl.Int64, "its position in the campaign's order, from 0"),
    Column("outcome", pl.String, "ok, or how it failed"),
    Column("reason", pl.String, "why it failed"),
    Column("certified", pl.Boolean, "its model was proven equal to the reference; null: unchecked"),
    Column("certificate", pl.String, "the proof's key"),
    Column("machine", pl.String, "digest of the machine's fingerprint"),
    Column("started", TIMESTAMP, "when it was launched"),
    Column("wall_s", pl.Float64, "from launch to end"),
    Column("budget_epochs", pl.Int64, "epochs asked for"),
    Column("budget_steps", pl.Int64, "steps asked for; null: whole epochs"),
    Column("batch", pl.Int64, "rows a step"),
    Column("changes", pl.String, "what differs from the workload's recipe; else empty"),
    Column("scale", pl.String, "the scale that was asked for, such as smoke or 0.01; else empty"),
    Column("train_rows", pl.Int64, "training rows used; null: all"),
    Column("test_rows", pl.Int64, "test rows used; null: all"),
    Column("data", pl.String, "the data's digest"),
    Column("data_source", pl.String, "real, sample (a part of it) or synthetic"),
    Column("threads", pl.Int64, "threads asked for; null: the framework's default"),
    Column("threads_used", pl.Int64, "threads the framework says it uses"),
    Column("one_core", pl.String, "what it computes on one core all the same; else empty"),
    Column("cores", pl.Float64, "cores it might use; null: not recorded"),
    Column("pinned", pl.String, "the cores it was pinned to; empty: to none"),
    Column("machine_cores", pl.Int64, "cores of its machine; null: not recorded"),
    Column("cpus", pl.Float64, "limit of cores; null: none"),
    Column("memory_limit_bytes", pl.Int64, "limit of memory; null: none"),
    Column("parameters", pl.Int64, "trained numbers of the model"),
    Column("weights_sha256", pl.String, "digest of the initial weights"),
    Column("weights", pl.String, "digest of the file of weights it started from; else empty"),
    Column("weights_file", pl.String, "the name of that file"),
    Column("weights_given", pl.Int64, "parameters that came from the file; null: there is none"),
    Column("weights_drawn", pl.Int64, "parameters that the file did not have"),
    Column("constants_drawn", pl.Int64, "layers that never learn and had random numbers"),
    Column("final_weights_sha256", pl.String, "digest of the weights that it ended with"),
    Column("predictions_sha256", pl.String, "digest of its predictions of the test split"),
    Column("losses_sha256", pl.String, "digest of the losses of all its steps"),
    Column("lock", pl.String, "digest of the environment's lock"),
    Column("confounds", pl.String, "what of a study's code was put back into it; else empty"),
)
"""What every trial has. Metrics and resources follow."""

METRICS = (
    Column("accuracy", pl.Float64, "share of right answers on the test split, 0 to 1"),
    Column("mae", pl.Float64, "mean absolute error on the test split"),
    Column("mse", pl.Float64, "mean squared error on the test split"),
    Column(
        "perplexity", pl.Float64, "exponential of the mean cross-entropy a token, on the test split"
    ),
    Column("map", pl.Float64, "mean average precision of a detector on the test split"),
    Column("map_11", pl.Float64, "the same by eleven points"),
    Column("boxes_found", pl.Float64, "share of the test split's boxes that were found"),
    Column(
        "greedy_accuracy",
        pl.Float64,
        "share of right words where the decoder reads its own words, on test rows, 0 to 1",
    ),
    Column("decoded_rows", pl.Float64, "how many test rows were decoded for it"),
    Column("train_accuracy", pl.Float64, "accuracy on the training split, after training"),
    Column("train_map", pl.Float64, "mean average precision on the training split"),
    Column("train_mae", pl.Float64, "mean absolute error on the training split, after training"),
    Column("train_mse", pl.Float64, "mean squared error on the training split, after training"),
    Column("train_perplexity", pl.Float64, "perplexity on the training split, after training"),
    Column(
        "peak_epoch", pl.Float64, "after which epoch the first metric was best on the test split"
    ),
    Column(
        "test_peak_accuracy", pl.Float64, "accuracy there: chosen by the test rows, so no result"
    ),
    Column("test_peak_map", pl.Float64, "mean average precision there: chosen by the test rows"),
    Column("test_peak_mae", pl.Float64, "mean absolute error there: chosen by the test rows"),
    Column("test_peak_mse", pl.Float64, "mean squared error there: chosen by the test rows"),
    Column("test_peak_perplexity", pl.Float64, "perplexity there: chosen by the test rows"),
    Column("loss", pl.Float64, "mean training loss of the last epoch"),
    Column("train_s", pl.Float64, "training: first step, warm-up and steady steps"),
    Column("steady_s", pl.Float64, "training without first step and warm-up"),
    Column("import_s", pl.Float64, "phase import"),
    Column("load_s", pl.Float64, "phase load"),
    Column("build_s", pl.Float64, "phase build"),
    Column("first_step_s", pl.Float64, "phase first-step: compilation"),
    Column("warm_up_s", pl.Float64, "phase warm-up"),
    Column("evaluate_s", pl.Float64, "phase evaluate"),
    Column("validate_s", pl.Float64, "phase validate: rows that decide when to stop"),
    Column("decode_s", pl.Float64, "phase decode: greedy decoding"),
    Column("evaluate_train_s", pl.Float64, "phase evaluate-train: metrics of the training split"),
    Column("first_epoch_s", pl.Float64, "training time of the first epoch, without evaluation"),
    Column(
        "first_epoch_excess_s",
        pl.Float64,
        "the first epoch less the median of the later ones with as many steps",
    ),
    Column(
        "inference_s_per_thousand",
        pl.Float64,
        "predictions of a thousand rows in batches of the recipe's size: median of passes",
    ),
    Column("latency_ms_median", pl.Float64, "time of a prediction of one row, median"),
    Column(
        "latency_ms_p99", pl.Float64, "time that 99 % of the predictions of one row took at most"
    ),
    Column("best_epoch", pl.Float64, "whose weights the result is of"),
    Column("save_s", pl.Float64, "phase save"),
    Column("step_ms_median", pl.Float64, "median of the steady steps"),
    Column("step_ms_mean", pl.Float64, "mean of the steady steps"),
    Column("step_ms_p05", pl.Float64, "5 % of the steady steps are quicker"),
    Column("step_ms_p95", pl.Float64, "95 % of the steady steps are quicker"),
    Column("step_ms_sd", pl.Float64, "standard deviation of the steady steps"),
    Column("throughput", pl.Float64, "rows a second at the median step"),
    Column("host_ms_mean", pl.Float64, "of a step, what a host node took; null: there is none"),
    Column("model_bytes", pl.Float64, "the saved model, weights alone; null: it was not saved"),
    Column("model_with_optimizer_bytes", pl.Float64, "the same with the optimiser's state"),
    Column(
        "forward_ms", pl.Float64, "of a detector's step, the loss alone: median, measured apart"
    ),
    Column(
        "backward_ms", pl.Float64, "what its gradients take beside that: median, measured apart"
    ),
    Column("image_sizes", pl.Float64, "in how many sizes a detector's images come"),
    Column("padding_share", pl.Float64, "share of the pixels of these images that is padding"),
    Column("epochs", pl.Float64, "epochs done"),
    Column("steps", pl.Float64, "steps done"),
    Column("samples", pl.Float64, "rows trained on"),
)
"""Always there, null where a trial has none; other metrics of a workload follow, as Float64."""

RESOURCES = (
    Column("cpu_percent_mean", pl.Float64, "during training, averaged over the allotted cores"),
    Column("cpu_percent_of_one_core", pl.Float64, "during training; may exceed 100"),
    Column("cpu_seconds", pl.Float64, "of the whole trial, by the kernel"),
    Column("peak_memory_bytes", pl.Float64, "the larger of the trial's and its main process' peak"),
    Column("memory_mean_bytes", pl.Float64, "during training"),
    Column("anon_peak_bytes", pl.Float64, "peak without file cache"),
    Column("rss_main_mean_bytes", pl.Float64, "main process, during training"),
    Column("rss_main_peak_bytes", pl.Float64, "main process"),
    Column("system_cpu_percent_mean", pl.Float64, "the whole machine, during training"),
    Column("gpu_util_percent_mean", pl.Float64, "during training, of the GPU used most"),
    Column("gpu_memory_peak_bytes", pl.Float64, "of all GPUs together"),
    Column("gpu_power_w_mean", pl.Float64, "during training, of all GPUs together"),
    Column("gpu_energy_j", pl.Float64, "of the whole trial and all GPUs"),
    Column("gpu_energy_j_per_thousand", pl.Float64, "during training, for a thousand rows"),
    Column("cpu_energy_j", pl.Float64, "of the whole trial and all processors of the machine"),
    Column("cpu_energy_j_per_thousand", pl.Float64, "during training, for a thousand rows"),
    Column("monitor_cpu_seconds", pl.Float64, "what measuring cost"),
    Column("resource_source", pl.String, "where the readings come from"),
    Column("resource_samples", pl.Int64, "how many readings"),
)

CURVES = (
    Column("id", pl.String, "the trial"),
    Column("epoch", pl.Int64, "from 1"),
    Column("train_s", pl.Float64, "training time so far, without evaluation"),
    Column("loss", pl.Float64, "mean training loss of the epoch"),
    Column("accuracy", pl.Float64, "on the test split after the epoch"),
    Column("mae", pl.Float64, "on the test split after the epoch"),
    Column("mse", pl.Float64, "on the test split after the epoch"),
    Column("perplexity", pl.Float64, "on the test split after the epoch"),
    Column("map", pl.Float64, "on the test split after the epoch"),
    Column("map_11", pl.Float64, "on the test split after the epoch"),
    Column("boxes_found", pl.Float64, "on the test split after the epoch"),
)
"""Other metrics of a workload follow, as Float64."""

IDENTITY = pl.String

STEPS = (
    Column("id", IDENTITY, "the trial"),
    Column("epoch", pl.Int32, "from 1"),
    Column("step", pl.Int64, "within the trial, from 1; of a very long trial every k-th is here"),
    Column("ms", pl.Float64, "how long it took"),
    Column("steady", pl.Boolean, "false for the first step and the warm-up"),
)

SAMPLES = (
    Column("id", IDENTITY, "the trial"),
    Column("t", pl.Float64, "seconds since launch"),
    Column("cpu_s", pl.Float64, "CPU time so far, all processes"),
    Column("cpu_percent", pl.Float64, "since the sample before, averaged over the allotted cores"),
    Column("memory_bytes", pl.Int64, "all processes"),
    Column("rss_bytes", pl.Int64, "main process"),
    Column("anon_bytes", pl.Int64, "without file cache"),
    Column("system_cpu_percent", pl.Float64, "the whole machine"),
    Column("gpu_util_percent", pl.Float64, "of the GPU used most"),
    Column(
        "gpu_memory_bytes", pl.Int64, "the trial's own where that is known, of all GPUs together"
    ),
    Column("gpu_power_w", pl.Float64, "of all GPUs together"),
    Column("gpu_energy_j", pl.Float64, "so far, of all GPUs together"),
)

PHASES = (
    Column("id", IDENTITY, "the trial"),
    Column("phase", pl.String, "import, load, …, train, evaluate, …, save"),
    Column("start", pl.Float64, "seconds since launch"),
    Column("end", pl.Float64, "seconds since launch"),
)
"""A phase comes again for every stretch of it: one `train` an epoch."""

TABLES: dict[str, tuple[Column, ...]] = {
    "trials": (*TRIALS, *METRICS, *RESOURCES),
    "curves": CURVES,
    "samples": SAMPLES,
    "steps": STEPS,
    "phases": PHASES,
}
