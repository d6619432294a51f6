"""Faults of what all releases share (rows, rates, metrics, stopping, times): the check `course`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench import (
    after_training,
    audit,
    data,
    decoding,
    determinism,
    inference,
    metrics,
    schedule,
    trial,
    weights,
    weights_file,
)
from bench.adapters import base
from bench.formats import Invalid
from bench.proof.compare import Mismatch
from bench.proof.course import course

Plant = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[str, tuple[Plant, str]] = {}
"""By what is wrong: how it is planted, and a part of what the check says."""


def fault(words: str, owner: Any, name: str) -> Callable[[Callable[..., Any]], None]:
    """Decorates `wrong(plain, …)`: what the attribute does from now on."""

    def decorated(wrong: Callable[..., Any]) -> None:
        def plant(patch: pytest.MonkeyPatch) -> None:
            plain = getattr(owner, name)
            patch.setattr(owner, name, lambda *given, **named: wrong(plain, *given, **named))

        FAULTS[wrong.__name__.strip("_")] = plant, words

    return decorated


# ---- rows ---------------------------------------------------------------------------------------


@fault("batch 6 of training", data, "epoch_order")
def every_epoch_has_the_order_of_the_first(plain, seed, epoch, rows, shuffle=True):
    return plain(seed, 1, rows, shuffle)


@fault("of training", data, "epoch_order")
def rows_are_drawn_with_replacement(plain, seed, epoch, rows, shuffle=True):
    return np.random.RandomState(seed + epoch).randint(0, rows, rows) if shuffle else plain(
        seed, epoch, rows, shuffle
    )  # fmt: skip


@fault("batch 1 of training", data, "epoch_order")
def what_is_not_to_be_shuffled_is(plain, seed, epoch, rows, shuffle=True):
    return plain(seed, epoch, rows)


@fault("4 steps in epoch 1, and there were 5 batches", trial.Training, "_batches")
def the_last_partial_batch_is_left_out(plain, self, epoch):
    for batch in plain(self, epoch):
        if len(next(iter(batch.values()))) == self._recipe["batch"]:
            yield batch


@fault("image of batch 6 of training", data, "augmented")
def pictures_are_altered_alike_in_every_epoch(plain, batch, augment, images, seed, epoch, step):
    return plain(batch, augment, images, seed, 1, step)


@fault("image of batch", data, "augmented")
def pictures_are_altered_alike_in_every_batch(plain, batch, augment, images, seed, epoch, step):
    return plain(batch, augment, images, seed, epoch, 0)


@fault("image of batch", data, "augmented")
def pictures_are_never_mirrored(plain, batch, augment, *more):
    return plain(batch, dict(augment, flip=False), *more)


@fault("image of batch 1 of training", data, "augmented")
def pictures_are_mirrored_upside_down(plain, batch, augment, images, *more):
    turned = {n: v.transpose(0, 2, 1, 3) if n in images else v for n, v in batch.items()}
    made = plain(turned, augment, images, *more)
    return {n: v.transpose(0, 2, 1, 3) if n in images else v for n, v in made.items()}


@fault("batch 1 of training", data, "with_validation")
def validation_rows_are_trained_on(plain, splits, stopping):
    found = plain(splits, stopping)
    return dict(found, train=splits["train"]) if stopping else found


@fault("(validation) of epoch 1", data, "with_validation")
def validation_rows_are_those_of_the_test(plain, splits, stopping):
    found = plain(splits, stopping)
    return dict(found, validation=splits["test"]) if stopping else found


@fault("of training", data, "_read")
def fewer_rows_are_the_first_ones(plain, path, rows, mapped):
    return plain(path, None, mapped)[:rows]


@fault("image of batch 1 of training", data.Split, "_cut")
def values_are_divided_by_one_less(plain, split, name, rows):
    value = plain(split, name, rows)
    return value * np.float32(255 / 254) if name == "image" else value


@fault("of training", data.Split, "part")
def a_part_is_of_the_rows_behind(plain, split, rows):
    return plain(split, (np.asarray(rows) + 1) % split.rows)


@fault("mask of batch", trial.Training, "_batches")
def masks_are_all_ones(plain, self, epoch):
    for batch in plain(self, epoch):
        yield dict(batch, mask=np.ones_like(batch["mask"])) if "mask" in batch else batch


@fault("batch 2 of training", trial.Training, "_batches")
def every_second_batch_is_left_out(plain, self, epoch):
    return (batch for number, batch in enumerate(plain(self, epoch)) if number % 2 == 0)


@fault("4 steps in epoch 1, and there were 5 batches", base.Model, "train_epoch")
def epochs_end_a_batch_early(plain, self, batches, on_step):
    plain(self, iter(list(batches)[:-1]), on_step)


# ---- rates --------------------------------------------------------------------------------------


@fault("the learning rate of step 1", schedule, "rate")
def rates_are_those_of_the_next_step(plain, recipe, step, an_epoch, steps):
    return plain(recipe, step + 1, an_epoch, steps)


@fault("the learning rate of step 2", schedule, "rate")
def rates_follow_the_epoch(plain, recipe, step, an_epoch, steps):
    return plain(recipe, step // an_epoch * an_epoch, an_epoch, steps)


@fault("the learning rate of step 4", schedule, "rate")
def there_is_no_warm_up(plain, recipe, step, an_epoch, steps):
    # FORMATS counts the share that is done behind the warm-up
    without = dict(recipe, schedule=dict(recipe["schedule"], warmup=0))
    return plain(recipe if step < 3 else without, step, an_epoch, steps)


@fault("the learning rate of step", schedule, "rate")
def a_cosine_ends_an_epoch_early(plain, recipe, step, an_epoch, steps):
    return plain(recipe, step, an_epoch, steps - an_epoch)


@fault("the learning rate of step", schedule, "rate")
def the_least_rate_is_zero(plain, recipe, step, an_epoch, steps):
    changed = dict(recipe["schedule"], least=0.0)
    return plain(dict(recipe, schedule=changed), step, an_epoch, steps)


@fault("the learning rate of step 1", trial.Training, "_set_rate")
def rates_are_never_set(plain, self):
    pass


# ---- what is measured ---------------------------------------------------------------------------


@fault("perplexity (metrics) of epoch 1", metrics, "_value")
def perplexity_is_of_the_sum(plain, name, total):
    return plain(name, (total[0], 1.0 if name == "perplexity" else total[1]))


@fault("accuracy (metrics) of epoch 1", metrics, "_tally")
def masked_places_count_in_metrics(plain, name, output, target, mask=None):
    return plain(name, output, target, None)


@fault("of epoch 1", metrics, "_tally")
def metrics_divide_by_all_places(plain, name, output, target, mask=None):
    total, number = plain(name, output, target, mask)
    return total, number if mask is None else mask.size


@fault("accuracy (metrics) of epoch 1", metrics, "_tally")
def accuracy_is_of_the_two_best(plain, name, output, target, mask=None):
    if name != "accuracy":
        return plain(name, output, target, mask)
    hit = (np.argsort(output, axis=-1)[..., -2:] == target[..., None]).any(axis=-1)
    return float(
        (hit if mask is None else hit * mask).sum()
    ), hit.size if mask is None else mask.sum()


@fault("of epoch 1", metrics, "evaluate")
def the_last_test_rows_are_not_measured(plain, model, split, recipe, batch=None):
    size = batch or recipe["batch"]
    return plain(model, split.part(np.arange(split.rows - split.rows % size)), recipe, batch)


@fault("of epoch 1", metrics, "evaluate")
def metrics_are_means_over_batches(plain, model, split, recipe, batch=None):
    size, values = batch or recipe["batch"], []
    _, raw = plain(model, split, recipe, batch)
    for first in range(0, split.rows, size):
        rows = np.arange(first, min(first + size, split.rows))
        values.append(plain(model, split.part(rows), recipe, batch)[0])
    return {name: float(np.mean([value[name] for value in values])) for name in values[0]}, raw


@fault("of epoch 1", trial.Training, "_evaluate")
def the_training_rows_are_the_test_rows(plain, self):
    self._splits = dict(self._splits, test=self._splits["train"])
    plain(self)


@fault("epochs", trial.Stopping, "see")
def what_is_less_is_better(plain, self, epoch, values, model):
    plain(self, epoch, {name: -value for name, value in values.items()}, model)


@fault("perplexity of the result", trial.Stopping, "see")
def the_weights_that_are_put_back_are_the_last(plain, self, epoch, values, model):
    plain(self, epoch, values, model)
    self.weights = model.weights()


@fault("perplexity of the result", trial.Stopping, "see")
def the_weights_that_are_put_back_are_the_first(plain, self, epoch, values, model):
    kept = self.weights
    plain(self, epoch, values, model)
    self.weights = kept or self.weights


@fault("epochs", trial.Stopping, "ends")
def training_stops_an_epoch_late(plain, self, epoch):
    return plain(self, epoch - 1)


@fault("epochs", trial.Stopping, "ends")
def training_never_stops(plain, self, epoch):
    return False


@fault("greedy-accuracy", decoding, "decoded")
def the_decoder_sees_the_right_words(plain, metric, model, batch, mask):
    return model.predict(batch)[metric["output"]].argmax(axis=-1)


@fault("greedy-accuracy", decoding, "greedy")
def words_behind_the_end_are_counted(plain, metric, model, split, batch):
    return plain(dict(metric, mask=None), model, split, batch)


@fault("of the training rows", after_training, "measure")
def the_test_rows_stand_for_the_training_rows(plain, job, model, splits, events):
    return plain(job, model, dict(splits, train=splits["test"]), events)


@fault("saved are not those that it ended with", trial, "_save")
def what_is_saved_is_not_what_was_learnt(plain, model, *more):
    model.load({n: {k: 0.99 * v for k, v in e.items()} for n, e in model.weights().items()})
    return plain(model, *more)


@fault("in predictions.npz", trial, "_write_arrays")
def arrays_are_kept_in_half_the_precision(plain, path, arrays):
    return plain(path, {name: value.astype(np.float16) for name, value in arrays.items()})


# ---- what it begins with ------------------------------------------------------------------------


@fault("numbers drawn by glorot-uniform", weights, "_draw")
def kernels_are_drawn_too_wide(plain, spec, stream):
    value = plain(spec, stream)
    return value * np.float32(1.1) if spec["init"].startswith("glorot") else value


@fault("numbers drawn by", weights, "_draw")
def all_parameters_are_drawn_from_one_stream(plain, spec, stream):
    return plain(spec, "one")


@fault("of epoch 1", weights_file, "over")
def weights_from_a_file_are_left_out(plain, start, given):
    return start


@fault("what was asked of the adapter", determinism, "ask")
def nobody_asks_for_deterministic_kernels(plain, adapter, options):
    return {"switches": {}, "covers": ["cpu"]}


# ---- times --------------------------------------------------------------------------------------


@fault("step times of epoch 1", base.Model, "train_epoch")
def steps_are_not_waited_for(plain, self, batches, on_step):
    for batch in map(self.prepared, batches):
        start = time.monotonic()
        handle = self.train_step(batch)
        on_step(handle, time.monotonic() - start)
        self.sync()


@fault("step times of epoch 1", base.Model, "train_epoch")
def steps_are_taken_before_the_clock_starts(plain, self, batches, on_step):
    for batch in batches:
        handle = self.train_step(self.prepared(batch))
        start = time.monotonic()
        self.sync()
        on_step(handle, time.monotonic() - start)


@fault("step times of epoch 1", base.Model, "train_epoch")
def the_batch_is_prepared_in_the_step(plain, self, batches, on_step):
    for batch in batches:
        start = time.monotonic()
        handle = self.train_step(self.prepared(batch))
        self.sync()
        on_step(handle, time.monotonic() - start)


@fault("step times of epoch 1", base.Model, "train_epoch")
def steps_are_timed_by_another_clock(plain, self, batches, on_step):
    for batch in map(self.prepared, batches):
        start = time.perf_counter()
        handle = self.train_step(batch)
        self.sync()
        on_step(handle, time.perf_counter() - start)


@fault("the data's time of epoch 1", trial.Training, "_batches")
def the_batches_are_made_where_nobody_looks(plain, self, epoch):
    batches = list(plain(self, epoch))
    self._data_s = 0.0
    yield from batches


@fault("a batch of what is timed", inference, "_timed")
def predictions_are_timed_two_by_two(plain, once, most, fewest):
    return plain(lambda: (once(), once()), most, fewest)


@fault("were to be timed", inference, "_timed")
def predictions_are_not_timed_at_all(plain, once, most, fewest):
    return [1.0] * most


@fault("a batch of what is timed", inference, "latencies")
def latencies_are_all_of_the_first_row(plain, model, split):
    return plain(model, split.part(np.array([0])))


@fault("times of single rows", inference, "latencies")
def latencies_are_not_waited_for(plain, model, split):
    waits, model.sync = model.sync, lambda: None
    try:
        return plain(model, split)
    finally:
        model.sync = waits


def test_a_right_trial() -> None:
    assert course() == {}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_a_trial(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, words = FAULTS[name]
    plant(monkeypatch)
    with pytest.raises((Mismatch, Invalid)) as raised:
        course()
    assert words in str(raised.value)


def test_the_clock_is_put_back() -> None:
    course()
    assert time.monotonic is trial.clock is inference.clock
    assert data.Split.batch.__name__ == "batch"
    assert audit.Start.__module__ == "bench.audit"
