"""Faults that releases really have: the certificate finds them when they are let run their own way.

The adapters avoid them under `matched`, and are certified; here nobody avoids anything.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from dlbench.environments import releases, venvs
from dlbench.planning.graph import Graph
from dlbench.planning.plan import find_contender
from dlbench.running.certificates import certify
from dlbench.running.workshop import open_workshop
from dlbench.workloads import find as find_workload
from tests.bench.known_graphs import KNOWN
from tests.bench.proof.faulty import job_of
from tests.bench.proof.test_faults_in_torch import certified, check_named
from tests.bench.proving import write_graph

pytestmark = pytest.mark.slow  # four environments that nothing else of the quick tier needs
CHECKOUT = Path(__file__).resolve().parents[3]


def native(name: str, workload: str, variant: str = "") -> dict[str, str]:
    """{check: node} of what differs when a release runs in its own way."""
    workshop, release = open_workshop("process"), releases.find(name)
    environment = workshop.environment(release, "cpu")
    made = certify(
        workshop, environment, release, find_workload(workload),
        variant=variant, setting="native", again=True,
    )  # fmt: skip
    assert made.checks, made.reason
    return {check.name: check.node or "" for check in made.checks if not check.passed}


def test_mxnet_1_9_1_ignores_lengths_on_a_cpu() -> None:
    assert native("mxnet@1.9.1", "imdb-lstm")["forward"] == "lstm1"


def test_torch_compile_2_13_loses_gradients_behind_a_maximum() -> None:
    """At some sizes of batch: here that of the last one."""
    found = native("pytorch@2.13.0", "cifar10-cnn", "compile")
    assert found["partial-batch"] == "conv2d1/bias"
    assert not {"forward", "loss", "gradients", "recipe-steps"} & set(found)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor: nothing can race")
def test_keras_2_2_4_races_with_two_threads() -> None:
    """Its SGD is the recipe's, native or not: only lost updates can lead elsewhere."""
    found = native("keras@2.2.4", "digits-cnn")
    assert {"recipe-steps", "repeat"} & set(found)
    assert not {"forward", "loss", "gradients", "evaluation", "metrics"} & set(found)


@pytest.mark.parametrize(("loss", "right"), [("own", False), ("explicit", True)])
def test_tf_keras_1_11_multiplies_the_loss_of_maps(tmp_path: Path, loss: str, right: bool) -> None:
    g = Graph("map")
    x = g.relu(g.conv2d(g.input("image", (8, 8, 1)), 4, 3, padding="same"))
    g.outputs(g.conv2d(x, 3, 1, name="map"))
    head = {"output": "map", "target": "value", "mask": None}
    recipe = {
        **find_workload("digits-cnn").recipe,
        "losses": [{"name": "mean-squared-error", **head, "weight": 1.0}],
        "metrics": [{"name": "mean-squared-error", **head}],
    }
    job, data = job_of(
        "digits-cnn", framework="tensorflow", version="1.11.0", adapter="none", variant="keras",
        graph=g.to_json(), recipe=recipe,
    )  # fmt: skip
    (tmp_path / "job.json").write_text(json.dumps(job))
    python = venvs.prepare(releases.find("tensorflow@1.11.0"), "cpu").python
    script = Path(__file__).parent / "tfkeras_maps.py"
    done = subprocess.run(
        [python, script, tmp_path / "job.json", data, loss],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    checks = {check["name"]: check for check in json.loads(done.stdout.splitlines()[-1])}
    assert checks["forward"]["passed"]
    for name in ("loss", "gradients", "recipe-steps"):
        assert checks[name]["passed"] is right, checks[name]
    if not right:
        assert checks["loss"]["node"] == "map"
        assert checks["loss"]["error"] == pytest.approx(5, abs=1e-3)  # six rows: six times as much


FAULTS = {
    "frozen_layers_learn": ("frozen_trunk", "gradients", "conv2d1"),
    "frozen_layers_drift": ("frozen_trunk", "recipe-steps", "affine1/offset"),
    "norms_that_no_loss_reaches_move": ("nothing_needs_it", "recipe-steps", "batchnorm2/mean"),
    "momentum_is_nesterovs": ("vgg", "recipe-steps", None),
    "gradients_are_never_clipped": ("language_model", "long-run", None),
    "decay_is_missing_where_clipped": ("preactivation_bottlenecks", "recipe-steps", None),
    "smooth_l1_is_the_squared_error": ("two_towers", "loss", "distance"),
    "auxiliary_loss_counts_in_full": ("inception", "loss", "logits, auxiliary"),
    "partial_batch_is_filled_up": ("lenet", "loss", "dense3"),
    "targets_are_rounded": ("wide_and_deep", "loss", "logit"),
    "rows_and_labels_part": ("lenet", "loss", "dense3"),
    "pictures_are_flipped_in_training": ("lenet", "loss", "dense3"),
    "mask_is_inverted": ("encoder_decoder", "loss", "logits"),
    "training_reads_the_next_word": ("board", "loss", "dense1"),
    "all_rows_are_as_long_as_the_longest": ("encoder_decoder", "forward", "logits"),
    "weights_are_rounded_after_an_epoch": ("lenet", "long-run", None),
    "predictions_are_of_the_epoch_before": ("lenet", "prediction", "dense3"),
    "epochs_take_the_first_rate": ("language_model", "long-run", None),
    "none": ("inception", None, None),
}  # fmt: skip
"""By fault (release_faults.py): the known graph, the first check that fails, the node it names."""


@pytest.mark.parametrize("name", ["mxnet@1.9.1", "chainer@7.8.1", "paddlepaddle@3.3.1"])
def test_faults_of_adapters_are_found(name: str, tmp_path: Path) -> None:
    release, variant = find_contender(name)
    requests = []
    for fault, (graph, _, _) in FAULTS.items():
        if not (tmp_path / graph).exists():
            run = {"adapter": release.adapter, "variant": variant}
            write_graph(tmp_path / graph, *KNOWN[graph](), 1, **run)
        job = json.loads((tmp_path / graph / "job.json").read_text())
        requests.append([fault, job, str(tmp_path / graph)])
    found = certified("release_faults.py", requests, tmp_path, release)
    for fault, (_, check, node) in FAULTS.items():
        try:
            check_named(found[fault], check, node)
        except AssertionError as error:
            raise AssertionError(f"{fault}: {found[fault][:1]}") from error
