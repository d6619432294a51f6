"""Faults that people make in adapters, planted into TensorFlow's, Keras 3's and JAX's."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from dlbench.planning.plan import find_contender
from dlbench.running.workshop import open_workshop
from tests.bench.known_graphs import KNOWN
from tests.bench.proof.faulty import Json
from tests.bench.proof.test_faults_in_torch import CHECKOUT, check_named
from tests.bench.proving import write_graph

pytestmark = pytest.mark.slow  # about fifty certificates in four environments
Wanted = tuple[str, str, str | None]
FAULTS: dict[str, dict[str, Wanted]] = {
    "tensorflow@1.11.0": {
        "update_operations_are_never_run": ("vgg", "batchnorm", "batchnorm1/mean"),
        "gates_in_the_order_of_tensorflow": ("language_model", "forward", "lstm1"),
        "one_is_added_to_the_forget_gate": ("language_model", "forward", "lstm1"),
        "epsilon_of_the_first_step": ("mixer", "adam-decay-steps", None),
        "gradients_are_clipped_after_the_decay": (
            "preactivation_bottlenecks", "recipe-steps", None,
        ),
        "each_gradient_is_clipped_by_itself": ("preactivation_bottlenecks", "recipe-steps", None),
        "rate_is_never_fed": ("language_model", "recipe-steps", None),
        "evaluation_of_norms_as_in_training": ("vgg", "forward", "batchnorm1"),
        "second_loss_is_ignored": ("inception", "loss", "logits, auxiliary"),
        "initial_states_are_swapped": ("encoder_decoder", "forward", "decoder"),
        "frozen_layers_learn": ("frozen_trunk", "gradients", "conv2d1"),
        "statistics_do_not_move_in_the_last_batch": ("vgg", "batchnorm", "batchnorm1/mean"),
    },
    "tensorflow@2.21.0": {
        "epsilon_inside_the_bias_correction": ("mixer", "recipe-steps", None),
        "frozen_kernels_are_among_the_trained": ("frozen_trunk", "gradients", "conv2d1"),
        "smaller_batches_are_divided_by_the_full_size": ("lenet", "loss", "dense3"),
        "state_of_the_padded_end": ("encoder_decoder", "forward", "encoder"),
        "rate_comes_a_step_late": ("language_model", "recipe-steps", None),
        "predictions_are_those_of_the_epoch_before": ("lenet", "prediction", "dense3"),
        "dropout_in_predictions": ("small_dropout", "evaluation", "dense3"),
        "momentum_without_nesterov": ("lenet", "sgd-nesterov-decay-steps", None),
        "masks_are_ignored": ("encoder_decoder", "loss", "logits"),
    },
    "tensorflow@2.21.0:fit": {
        "epochs_skip_their_last_batch": ("lenet", "batch-order", None),
        "statistics_do_not_move_in_the_last_batch": ("vgg", "batchnorm", "batchnorm1/mean"),
    },
    "keras@3.15.1-tensorflow": {
        "logits_are_what_stands_before_the_sigmoid": ("sigmoid_of_a_sigmoid", "loss", "out, out"),
        "masked_loss_over_all_places": ("encoder_decoder", "loss", "logits"),
        "velocities_keep_the_old_rate": ("preactivation_bottlenecks", "recipe-steps", None),
        "losses_are_running_means": ("lenet", "loss", "dense3"),
        "epochs_count_one_step_more": ("mixer", "long-run", None),
        "decay_after_the_step": ("lenet", "sgd-nesterov-decay-steps", None),
        "biased_running_variance": ("vgg", "batchnorm", "batchnorm1/variance"),
        "clip_is_ten_times_larger": ("preactivation_bottlenecks", "recipe-steps", None),
    },
    "jax@0.12.0.1": {
        "predictions_close_over_the_first_weights": ("lenet", "prediction", "dense3"),
        "keys_of_dropout_do_not_move_on": ("small_dropout", "dropout", "dropout1, dropout2"),
        "statistics_are_dropped_with_the_state": ("vgg", "batchnorm", "batchnorm1/mean"),
        "decay_on_every_parameter": ("lenet", "sgd-nesterov-decay-steps", "conv2d1/bias"),
        "decay_before_the_clipping": ("small_gradients_clipped", "recipe-steps", None),
        "cell_and_hidden_state_change_places": ("states_everywhere", "forward", "first:h"),
        "absolute_error_by_jnp_abs": ("many_heads", "kinks", None),
    },
}  # fmt: skip


def certified(name: str, folder: Path) -> dict[str, list[Json]]:
    """The checks that failed, by fault, as they are planted in a release's environment."""
    release, variant = find_contender(name)
    requests = []
    for fault, (graph, _, _) in FAULTS[name].items():
        if not (folder / graph).exists():
            run = {"adapter": release.adapter, "variant": variant}
            write_graph(folder / graph, *KNOWN[graph](), 1, **run)
        job = json.loads((folder / graph / "job.json").read_text())
        requests.append([fault, job, str(folder / graph)])
    (folder / "requests.json").write_text(json.dumps(requests))
    python = open_workshop("process").environment(release, "cpu")
    quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, Path(__file__).parent / "tensorflow_jax_faults.py", folder / "requests.json"],
        env={**os.environ, **quiet, **release.variables, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {fault: [each for each in checks if not each["passed"]] for fault, checks in lines}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_an_adapter(name: str, tmp_path: Path) -> None:
    found = certified(name, tmp_path)
    wrong = {}
    for fault, (_, check, node) in FAULTS[name].items():
        try:
            check_named(found[fault], check, node)
        except AssertionError as error:
            wrong[fault] = str(error)
    assert wrong == {}
