"""What a job asks to be done wrong on purpose: faults of published studies' code, put back.

A study's fault in the graph or the recipe is in the job's graph or recipe already. The others are
here, and nowhere else in bench: of the data, of the loss's targets, of the evaluation and of what
is timed. FORMATS.md has them under *Confounds*. Without any, nothing here does anything.
"""

import numpy as np

from bench import metrics
from bench.formats import Unsupported

NAMES = (
    "images-reshaped", "unshifted-decoder", "split-by-row", "test-is-training", "chosen-on-test",
    "broadcast-loss", "evaluation-in-training-mode", "timed-evaluation",
)  # fmt: skip
"""What is done here; what else a job names was done to its graph and recipe."""


class Confounds:
    """The confounds of one trial."""

    def __init__(self, job):
        self._job = job
        listed = job.get("confounds") or []
        self.names = [each["name"] for each in listed]
        self._here = {each["name"]: each for each in listed if each["in"] == "bench"}
        for name in self._here:
            if name not in NAMES:
                raise Unsupported("this bench knows no confound {!r}".format(name))

    def splits(self, splits):
        """The splits as the study's code had them."""
        splits = _by_row(splits) if "split-by-row" in self._here else dict(splits)
        reshaped = self._here.get("images-reshaped")
        unshifted = self._here.get("unshifted-decoder")
        for name, split in splits.items():
            if reshaped:
                split = split.with_arrays(
                    {one: _reshaped(split.array(one), reshaped["stored"])
                     for one in reshaped["inputs"]}
                )  # fmt: skip
            if unshifted:
                split = split.with_arrays(
                    {read: split.array(target) for read, target in unshifted["arrays"].items()}
                )
            splits[name] = split
        if "test-is-training" in self._here:
            splits["test"] = splits["train"]
        if "chosen-on-test" in self._here:
            splits["validation"] = splits["test"]
        return splits

    def model(self, model):
        """The model as evaluation sees it."""
        if "evaluation-in-training-mode" in self._here:
            return InTrainingMode(model, self._job["graph"]["outputs"])
        return model

    def batch(self, batch):
        """A training batch; each target of a loss that was stretched is its batch's mean.

        The mean over all i, j of (p_i - t_j)^2 has just the gradient of the squared error against
        the mean target; it is larger by the variance of the targets, which no weight changes.
        """
        stretched = self._here.get("broadcast-loss")
        if not stretched:
            return batch
        batch = dict(batch)
        for name in stretched["targets"]:
            value = batch[name]
            batch[name] = np.full_like(value, value.mean(dtype=np.float64))
        return batch

    def evaluate_in_time(self, model, splits, recipe):
        """Evaluate where the clock of training still runs; whether it was done."""
        timed = self._here.get("timed-evaluation")
        if not timed:
            return False
        for split in ("test", "train")[: 2 if timed["rows"] == "both" else 1]:
            metrics.evaluate(model, splits[split], recipe, timed["batch"])
        model.sync()
        return True


class InTrainingMode:
    """A model whose predictions are those of training: dropout drops, batch-norm takes the batch's
    own statistics."""

    def __init__(self, model, outputs):
        self._model, self._outputs = model, outputs

    def predict(self, batch):
        values = self._model.activations(batch, training=True)
        return {name: values[name] for name in self._outputs}

    def __getattr__(self, name):
        return getattr(self._model, name)


def _by_row(splits):
    """All rows in one pool, drawn by their number alone: each split has as many as before."""
    names = sorted(splits)
    rows = [splits[name].rows for name in names]
    order = np.random.RandomState(sum(rows) % 2**32).permutation(sum(rows))
    drawn = dict(zip(names, np.split(order, np.cumsum(rows)[:-1])))
    pool = {
        one: np.concatenate([splits[name].array(one) for name in names])
        for one in splits["train"].batch(slice(0, 0))
    }
    return {
        name: splits[name].with_arrays({one: values[drawn[name]] for one, values in pool.items()})
        for name in names
    }


def _reshaped(images, stored):
    """Images [rows,H,W,C] whose bytes were read in the order of the other layout.

    `channels-first`: stored as C,H,W and called H,W,C without a transpose; `channels-last`: stored
    as H,W,C and called C,H,W.
    """
    rows, height, width, channels = images.shape
    if stored == "channels-first":
        return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(images.shape)
    called = np.ascontiguousarray(images).reshape(rows, channels, height, width)
    return np.ascontiguousarray(called.transpose(0, 2, 3, 1))
