"""Metrics: of all rows whatever the batches; perplexity; what is kept of the raw outputs."""

import numpy as np
import pytest

from bench import metrics
from bench.data import Split


class Echo:
    """A model whose output is one of its inputs."""

    def predict(self, batch):
        return {"logits": batch["given"]}


def _recipe(*names, mask=None):
    specs = [{"name": n, "output": "logits", "target": "label", "mask": mask} for n in names]
    return {"batch": 7, "metrics": specs}


def _split(rows, classes=5, seed=3):
    random = np.random.RandomState(seed)
    return Split(
        {
            "given": random.normal(0, 2, (rows, 4, classes)).astype(np.float32),
            "label": random.randint(0, classes, (rows, 4)),
            "mask": (random.uniform(size=(rows, 4)) < 0.6).astype(np.float32),
        }
    )


@pytest.mark.parametrize("mask", [None, "mask"])
def test_batches_do_not_matter(mask):
    split = _split(30)
    every = split.batch(slice(None))
    counted = every[mask] if mask else None
    for size in (1, 7, 30):
        values, raw = metrics.evaluate(Echo(), split, _recipe("accuracy", "perplexity", mask=mask),
                                       size)  # fmt: skip
        for name, value in values.items():
            whole = metrics.compute(name, every["given"], every["label"], counted)
            assert value == pytest.approx(whole, rel=1e-12)
        assert np.array_equal(raw["logits"], every["given"])


def test_perplexity_is_the_exponential_of_the_mean_cross_entropy():
    uniform = np.zeros((6, 9), np.float32)
    labels = np.arange(6)
    assert metrics.compute("perplexity", uniform, labels) == pytest.approx(9)
    sure = np.full((2, 3), -1000.0, np.float32)
    sure[0, 1] = sure[1, 2] = 0
    assert metrics.compute("perplexity", sure, np.array([1, 2])) == pytest.approx(1)
    assert metrics.compute("perplexity", sure, np.array([0, 2])) == pytest.approx(np.exp(500))
    assert metrics.compute("perplexity", 3 * sure, np.array([0, 0])) == np.inf
    only_right = np.array([0.0, 1.0])
    assert metrics.compute("perplexity", sure, np.array([0, 2]), only_right) == pytest.approx(1)
    with pytest.raises(ValueError, match="needs a target of the shape"):
        metrics.compute("perplexity", uniform, labels[:, None])


@pytest.mark.parametrize("room", [0.5, 1, 10, 11.5, 25])
def test_of_large_outputs_the_first_rows_are_kept(monkeypatch, room):
    split = _split(30)
    row = split.batch(slice(0, 1))["given"].nbytes
    monkeypatch.setattr(metrics, "MOST_KEPT", int(room * row))
    _, raw = metrics.evaluate(Echo(), split, _recipe("accuracy"))
    kept = max(1, int(room))
    assert np.array_equal(raw["logits"], split.batch(slice(0, kept))["given"])
