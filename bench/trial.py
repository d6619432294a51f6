"""One trial: load, build, train with every step timed, evaluate after each epoch, save."""

import hashlib
import math
import os
import time
import zipfile

import numpy as np

from bench import (
    after_training,
    audit,
    data,
    determinism,
    gpus,
    host,
    metrics,
    parts,
    schedule,
    stack,
    step_sample,
    weights,
    weights_file,
)
from bench.adapters.base import Options
from bench.confounds import Confounds
from bench.formats import Diverged, Invalid

clock = time.monotonic
_REPORTS = 10000
"""Progress is told once a second; of a trial that takes days, so often in the time so far."""


def run(job, data_folder, out, adapter, events, weights_path=None):
    """`weights_path`: the file of the weights that the job starts from, if it names any."""
    confounds = Confounds(job)
    options = prepare(job, adapter, events)
    with events.phase("load"):
        splits = data.load(data_folder, job["data"], job["graph"], job["recipe"])
        splits = confounds.splits(splits)
        splits = data.with_validation(splits, job["recipe"].get("stopping"))
        given = {}
        if job.get("weights"):
            given = weights_file.read(weights_path, job["weights"], job["graph"])
    loaded = None
    with events.phase("build"):
        model = adapter.build(job["graph"], job["recipe"], options)
        if job["setting"] == "matched":
            first = weights.initial_weights(job["graph"], job["seed"])
            loaded = weights_file.over(first, given)
        elif given:  # the framework's own, but for those of the file
            loaded = weights_file.over(model.weights(), given)
        if loaded:
            model.load(loaded)
        model.sync()
    path = dict(model.path, **splits["train"].described())
    if confounds.names:
        path["confounds"] = confounds.names
    held = model.weights()
    start = audit.Start(job, loaded, held, splits["train"])
    events.write(
        "model",
        parameters=weights.count(job["graph"]),
        weights_sha256=weights.digest(held),
        path=path,
        **weights_file.described(job["graph"], given),
    )
    first = loaded = held = None  # they may be large
    model = confounds.model(model)
    training = Training(job, model, splits, events, confounds)
    training.run()
    _write_arrays(os.path.join(out, "predictions.npz"), training.predictions)
    learnt = model.weights()
    digests = training.digests(learnt)
    audited = audit.check(
        job, learnt, splits["test"], training.predictions, training.metrics, start,
        training.first_loss,
    )  # fmt: skip
    learnt = training.predictions = {}  # both are large
    found = after_training.measure(job, model, splits, events)
    found["metrics"] = dict(training.metrics, **found["metrics"])
    if job["save"]:
        with events.phase("save"):
            # a confound that predicts in training mode moves running statistics
            found.update(_save(model, out, None if confounds.names else digests["weights_sha256"]))
    if parts.wanted(job):  # the last: what is saved is as training left it
        with events.phase("parts", model.sync):
            found.update(parts.measure(job, model, splits["train"]))
    events.write(
        "result",
        loss=training.loss,
        epochs=training.epochs,
        best_epoch=training.best_epoch,
        steps=training.steps,
        samples=training.samples,
        threads_alive=stack.os_threads(),
        audit=audited,
        **dict(found, **digests),
    )


def prepare(job, adapter, events):
    """Set the framework up on the device that it was given, and tell what runs; the options."""
    options = options_of(job)
    seen = gpus.check() if options.device == "gpu" else []
    asked = determinism.ask(adapter, options)  # some of it is read by what `set_up` starts
    adapter.set_up(options)
    events.write("stack", gpus=seen, deterministic=asked, **stack.describe(adapter))
    return options


def options_of(job):
    chosen = (job[key] for key in ("seed", "variant", "threads", "device", "setting"))
    return Options(*chosen, gpu=job.get("gpu") or 0, deterministic=job.get("deterministic", False))


class Training:
    """Runs the epochs and keeps what they gave."""

    def __init__(self, job, model, splits, events, confounds=None):
        self._job, self._model, self._splits, self._events = job, model, splits, events
        self._confounds = confounds or Confounds(job)
        self._recipe = job["recipe"]
        rows, batch = splits["train"].rows, self._recipe["batch"]
        self._steps_an_epoch = math.ceil(rows / batch)
        budget = job["budget"]
        self._steps_total = budget["steps"] or budget["epochs"] * self._steps_an_epoch
        # first step + warm-up must leave at least three quarters of a short run to be measured
        self._warm = 1 + min(self._recipe["warmup"], max(0, (self._steps_total - 1) // 4))
        self.epochs = self.steps = self.samples = 0
        self.metrics, self.predictions, self.loss, self.first_loss = {}, {}, None, None
        self._every = step_sample.every(self._steps_an_epoch, self._steps_total)
        self._began = self._reported = clock()
        self._stopping = Stopping(self._recipe) if self._recipe.get("stopping") else None
        self._images = [spec["name"] for spec in job["graph"]["inputs"] if len(spec["shape"]) == 3]
        self._seen_losses = hashlib.sha256()

    @property
    def best_epoch(self):
        """The epoch whose weights the result is of."""
        return self._stopping.best_epoch if self._stopping else self.epochs

    def digests(self, learnt):
        """What a repeat of the same seed ends with, too, if it repeats to the last bit."""
        return {
            "weights_sha256": weights.digest(learnt),
            "predictions_sha256": weights.digest({"": self.predictions}),
            "losses_sha256": self._seen_losses.hexdigest(),
        }

    def run(self):
        while self.steps < self._steps_total:
            self._epoch(self.epochs + 1)
            if self._stopping and self._stopping.ends(self.epochs):
                break
        if self._stopping and self.best_epoch != self.epochs:
            self._model.load(self._stopping.weights)
            self._evaluate()

    def _evaluate(self):
        with self._events.phase("evaluate", self._model.sync):
            self.metrics, self.predictions = metrics.evaluate(
                self._model, self._splits["test"], self._recipe
            )

    def _validate(self, epoch):
        """{} or the metrics of the rows that decide when to stop."""
        if not self._stopping:
            return {}
        with self._events.phase("validate", self._model.sync):
            values, _ = metrics.evaluate(self._model, self._splits["validation"], self._recipe)
            self._stopping.see(epoch, values, self._model)
        return values

    def _set_rate(self):
        if self._recipe.get("schedule") and self.steps < self._steps_total:
            self._model.set_rate(
                schedule.rate(self._recipe, self.steps, self._steps_an_epoch, self._steps_total)
            )

    def _epoch(self, epoch):
        before = min(self.steps, self._warm)
        steps_ms, handles = [], []
        self._data_s, self._fed = 0.0, 0
        self._phase_start = started = clock()

        def on_step(handle, seconds):
            handles.append(handle)
            steps_ms.append(round(seconds * 1000, 4))
            self.steps += 1
            if self.steps in (1, self._warm):
                self._end_phase("first-step" if self.steps == 1 else "warm-up")
            self._set_rate()
            now = clock()
            if now - self._reported >= max(1.0, (now - self._began) / _REPORTS):
                self._report(epoch, handles)

        self._set_rate()
        host.take_seconds()  # what evaluation took
        self._model.train_epoch(self._batches(epoch), on_step)
        on_host = [1000 * seconds for seconds in host.take_seconds()]
        evaluated = self._confounds.evaluate_in_time(self._model, self._splits, self._recipe)
        if evaluated or self.steps not in (1, self._warm):  # else the phase has just been ended
            self._end_phase("train" if self.steps >= self._warm else "warm-up")
        train_s = clock() - started
        losses = self._model.losses(handles)
        _check_finite(losses, epoch)
        if len(losses) != self._fed:
            words = "{} steps in epoch {}, and there were {} batches"
            raise Invalid(words.format(len(losses), epoch, self._fed))
        if epoch == 1:
            self.first_loss = losses[0]
        self._seen_losses.update(np.asarray(losses, "<f8").tobytes())
        self._evaluate()
        validation = self._validate(epoch)
        self.epochs, self.loss = epoch, float(np.mean(losses))
        first = min(len(steps_ms), self._warm - before)
        self._events.write(
            "epoch",
            epoch=epoch,
            loss=self.loss,
            first_losses=losses[:20] if epoch == 1 else [],
            steps=len(steps_ms),
            steps_s=round(sum(steps_ms) / 1000, 6),
            steps_ms=step_sample.sampled(steps_ms, first, self._every),
            every=self._every,
            first=first,
            data_ms=round(self._data_s * 1000, 3),
            metrics=self.metrics,
            validation=validation,
            train_s=round(train_s, 6),
            **_host_times(on_host),
        )

    def _batches(self, epoch):
        """This epoch's batches, as many as the budget leaves; the time they take is kept apart."""
        train, size = self._splits["train"], self._recipe["batch"]
        start = clock()
        order = data.epoch_order(self._job["seed"], epoch, train.rows, self._recipe["shuffle"])
        left = (self._steps_total - self.steps) * size
        for first in range(0, min(train.rows, left), size):
            rows = order[first : first + size]
            batch = train.batch(rows)
            if self._recipe.get("augment"):
                batch = data.augmented(
                    batch, self._recipe["augment"], self._images, self._job["seed"], epoch, first
                )
            batch = train.for_training(
                self._confounds.batch(batch), self._job["seed"], epoch, first
            )
            self.samples += len(rows)
            self._fed += 1
            self._data_s += clock() - start
            yield batch
            start = clock()

    def _end_phase(self, name):
        now = clock()
        self._events.write("phase", phase=name, seconds=round(now - self._phase_start, 6))
        self._phase_start = now

    def _report(self, epoch, handles):
        loss = self._model.losses(handles[-1:])[0]
        _check_finite([loss], epoch)
        self._events.write(
            "progress", epoch=epoch, step=self.steps, steps=self._steps_total, loss=loss
        )
        self._reported = clock()


class Stopping:
    """Keeps the best weights, and tells when the first metric has long not been better."""

    def __init__(self, recipe):
        self._metric = recipe["metrics"][0]["name"]
        self._patience = recipe["stopping"]["patience"]
        self.best_epoch, self._best, self.weights = 0, None, None

    def see(self, epoch, values, model):
        score = values[self._metric] * metrics.SIGN[self._metric]
        # whatever is a number is better than none
        if self._best is None or score > self._best or math.isnan(self._best) > math.isnan(score):
            self.best_epoch, self._best, self.weights = epoch, score, model.weights()

    def ends(self, epoch):
        return epoch - self.best_epoch >= self._patience


def _host_times(milliseconds):
    """What host nodes took of an epoch's steps; nothing where there are none."""
    if not milliseconds:
        return {}
    return {
        "host_ms": round(sum(milliseconds), 3),
        "host_ms_median": round(float(np.median(milliseconds)), 4),
    }


def _check_finite(losses, epoch):
    for loss in losses:
        if not math.isfinite(loss):
            raise Diverged("the loss became {} in epoch {}".format(loss, epoch))


def _write_arrays(path, arrays):
    """As np.savez does, which takes some names, such as `file`, for its own arguments."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)


def _save(model, out, learnt):
    """Keep the weights, in the canonical layout and as the framework does; how large that is.

    `learnt` is the digest of those that the trial ended with; None: they need not be the same.
    """
    kept = model.weights()
    if learnt and weights.digest(kept) != learnt:
        raise Invalid("the weights that are saved are not those that it ended with")
    flat = {
        node + "/" + name: value
        for node, parameters in kept.items()
        for name, value in parameters.items()
    }
    _write_arrays(os.path.join(out, "weights.npz"), flat)
    folder = os.path.join(out, "native")
    os.makedirs(folder)
    return weights_file.saved_sizes(folder, model.save_native(folder))
