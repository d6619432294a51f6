"""Faults that people make in adapters, planted into PyTorch's: found, and named right."""

from __future__ import annotations

import json

import pytest

from tests.bench.known_graphs import KNOWN
from tests.bench.proof.faulty import Json
from tests.bench.proof.test_faults_in_torch import certified, check_named
from tests.bench.proving import write_graph

pytestmark = pytest.mark.slow  # about eighty certificates
FAULTS = {
    "norm_with_the_default_epsilon": ("vgg", "evaluation", "batchnorm1"),
    "norm_counts_twice": ("vgg", "batchnorm", "batchnorm1/mean"),
    "norm_keeps_the_complement_of_the_variance": ("vgg", "batchnorm", "batchnorm1/variance"),
    "norm_counts_rows_for_places": ("vgg", "batchnorm", "batchnorm1/variance"),
    "norm_of_small_batches_as_in_evaluation": ("vgg", "loss", "dense2"),
    "norm_takes_over_the_first_statistics": ("resnet18", "adam-decay-steps", "batchnorm1/mean"),
    "average_counts_padding_at_the_bottom": ("uneven_paddings", "forward", "avgpool1"),
    "uneven_maximum_pads_with_zero": ("uneven_paddings", "forward", "maxpool1"),
    "uneven_convolution_pads_on_the_other_side": ("uneven_paddings", "forward", "conv2d1"),
    "convolution_rounds_to_bfloat16": ("lenet", "forward", "conv2d1"),
    "relu_leaks_in_its_gradient": ("many_heads", "gradients", "dense1/bias"),
    "sigmoid_saturates_early": ("repeated_readers", "forward", "sigmoid1"),
    "flatten_of_maps_channels_first": ("flattened_everything", "forward", "flatten1"),
    "global_average_of_at_most_sixteen": ("inception", "forward", "globalavgpool1"),
    "lstm_swaps_its_final_states": ("states_everywhere", "forward", "first:h"),
    "lstm_starts_its_cell_from_h": ("encoder_decoder", "forward", "decoder"),
    "lstm_ends_one_step_early": ("encoder_decoder", "forward", "encoder"),
    "lstm_passes_no_gradient_to_its_initial_state": (
        "encoder_decoder", "gradients", "encoder/bias",
    ),
    "embedding_scales_by_frequency": ("board", "gradients", "embedding2/table"),
    "embedding_normalises_long_rows": ("wide_and_deep", "forward", "embedding1"),
    "small_dropout_in_evaluation": ("small_dropout", "evaluation", "dropout1"),
    "large_dropout_is_the_share_kept": ("small_dropout", "dropout", "dropout2"),
    "dropout_drops_whole_steps": ("language_model", "dropout", "dropout1"),
    "dropout_is_not_scaled_in_its_gradient": ("dropout_between_relus", "dropout", "dropout1"),
    "readers_after_the_first_pass_no_gradient": ("resnet18", "gradients", "batchnorm18/beta"),
    "concat_of_one_value_twice_passes_half": ("repeated_readers", "gradients", "dense1/bias"),
    "frozen_layers_learn": ("frozen_trunk", "gradients", "conv2d1"),
    "masked_loss_over_the_batch": ("encoder_decoder", "loss", "logits"),
    "mask_only_in_the_value": ("encoder_decoder", "gradients", "logits/bias"),
    "weights_of_a_mask_are_ones": ("unet_without_upsampling", "loss", "logits, edges"),
    "divisor_is_the_sum_of_weights": ("unet_without_upsampling", "loss", "logits, edges"),
    "weight_of_a_loss_squared": ("many_heads", "loss", "head0, head0, head1, head2"),
    "smooth_l1_bends_at_one_half": ("two_towers", "loss", "distance"),
    "class_zero_does_not_count": ("lenet", "loss", "dense3"),
    "labels_are_smoothed": ("lenet", "loss", "dense3"),
    "odd_batches_lose_their_last_row": ("lenet", "loss", "dense3"),
    "gradients_are_clipped_one_by_one": ("preactivation_bottlenecks", "recipe-steps", None),
    "gradients_are_clipped_by_value": ("language_model", "long-run", None),
    "biases_learn_twice_as_fast": ("lenet", "recipe-steps", "conv2d1/bias"),
    "decay_only_where_a_gradient_is": (
        "wide_and_deep", "sgd-nesterov-decay-steps", "embedding1/table",
    ),
    "momentum_is_lost_at_the_end_of_an_epoch": ("alexnet", "long-run", None),
    "rate_comes_a_step_late": ("language_model", "recipe-steps", None),
    "rate_is_set_for_the_first_group_alone": (
        "preactivation_bottlenecks", "recipe-steps", "batchnorm1/beta",
    ),
    "adam_never_forgets_its_largest": ("mixer", "recipe-steps", None),
    "momentum_is_the_usual_one": ("lenet", "sgd-nesterov-decay-steps", None),
    "first_prediction_after_a_load_is_stale": ("lenet", "prediction", "dense3"),
    "predictions_are_of_the_batch_before": ("lenet", "forward", "dense3"),
    "predictions_are_rounded_to_float16": ("lenet", "forward", "dense3"),
    "states_are_predicted_in_the_other_order": ("uneven_paddings", "forward", "left"),
    "the_loss_told_is_that_of_the_step_before": ("lenet", "loss", "dense3"),
    "gradients_are_kept_after_a_prediction": ("lenet", "long-run", None),
    "first_step_behind_a_prediction_in_evaluation_mode": ("vgg", "loss", "dense2"),
    "predictions_of_one_row_in_training_mode": ("vgg", "repeat", None),
    "relu_writes_over_what_others_read": ("resnet18", "forward", "batchnorm1"),
    "norm_of_the_first_four_rows": ("vgg", "forward", "batchnorm1"),
    "predictions_are_of_averaged_weights": ("lenet", "prediction", "dense3"),
    "losses_are_told_in_float16": ("lenet", "loss", "dense3"),
    "momentum_is_kept_in_bfloat16": ("alexnet", "recipe-steps", None),
    "a_new_rate_makes_a_new_optimizer": ("preactivation_bottlenecks", "recipe-steps", None),
    "predictions_share_one_buffer": ("lenet", "prediction", "dense3"),
    "predictions_are_kept_by_array": ("lenet", "prediction", "dense3"),
    "a_prediction_of_one_row_resets_the_optimizer": ("lenet", "batch-order", None),
    "batches_behind_the_sixth_change_places": ("lenet", "batch-order", None),
    "updates_behind_the_eighth_batch_are_lost": ("lenet", "batch-order", None),
    "steps_are_told_a_tenth_of_their_time": ("lenet", "batch-order", None),
    "steps_are_taken_while_batches_are_prepared": ("lenet", "batch-order", None),
    "batches_of_one_row_are_left_out": ("lenet", "long-run", None),
    "a_single_place_counts_half": ("encoder_decoder", "loss", "logits"),
    "logits_are_cut_off_at_fifteen": ("lenet", "loss", "dense3"),
    "four_masks_take_turns": ("dropout_between_relus", "dropout", None),
    "dropout_ends_after_thirty_steps": ("dropout_between_relus", "dropout", None),
    "small_batches_have_one_mask": ("dropout_between_relus", "dropout", None),
    "masks_come_again_after_sixty_rows": ("dropout_between_relus", "dropout", None),
    "the_first_channel_is_never_dropped": ("dropout_between_relus", "dropout", None),
    "none": ("vgg", None, None),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Json]]:
    """The checks that failed, by fault."""
    place, requests = tmp_path_factory.mktemp("wide"), []
    for fault, (name, _, _) in FAULTS.items():
        if not (place / name).exists():
            write_graph(place / name, *KNOWN[name](), 1, adapter="torch", variant="eager")
        job = json.loads((place / name / "job.json").read_text())
        requests.append([fault, job, str(place / name)])
    return certified("torch_faults_wide.py", requests, place)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_an_adapter(found: dict[str, list[Json]], fault: str) -> None:
    check_named(found[fault], *FAULTS[fault][1:])
