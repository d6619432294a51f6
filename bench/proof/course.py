"""The check `course`: a whole trial, from its files to its result, against a plain one.

Rows, rates, metrics, stopping, decoding and times are bench's own, the same for every release: a
mistake there would be on both sides of all other checks. So two small trials of the NumPy model
are run as any trial is, and then once more by the plain loop below, which shares nothing with them
but that model. Their clock moves only when the model or the data take their time, so that every
time that is told is known, too.
"""

import contextlib
import hashlib
import json
import math
import os
import tempfile
import time

import numpy as np

from bench import data, inference, trial
from bench.adapters.base import Prepared
from bench.formats import Events, Invalid
from bench.proof.compare import Mismatch
from bench.proof.judged import MORE_IS_BETTER, judged
from bench.reference.model import Reference
from bench.weights import initial_weights

DATA, PREPARED, STEP, WAIT, PREDICTION = 0.016, 0.032, 0.064, 0.008, 0.004
"""Seconds that each takes."""
_NEAR = 1e-5
_NEAR_IN_TIME = 1e-3
"""Times are rounded when they are told."""


def course(_sides=None):
    """What each trial was fed, did, measured and left behind."""
    _same_start()
    for job, arrays, given in (_pictures(), _words()):
        with tempfile.TemporaryDirectory() as folder:
            notes, events, left, refused = _tried(job, arrays, given, folder)
        plain = _Plain(job, arrays, given)
        plain.run()
        _same_training(plain, notes)
        _same_epochs(plain, events)
        if refused:
            raise Mismatch("the trial ends as invalid: {}".format(refused))
        _same("epochs", len(_of(events, "epoch")), len(plain.epochs))
        _same("steps", len(notes.steps), len(plain.batches))
        _same_result(plain, job, events, left, notes)
        _same_times(plain, job, events)
    return {}


_DRAWN = {
    "zeros": [0, 0, 0], "ones": [1, 1, 1],
    "uniform-0.05": [-0.0386323, 0.0411803, -0.0276061],
    "glorot-uniform": [-0.3455378, 0.3683282, -0.2469164],
    "he-normal": [0.1139708, -0.2992465, -0.2380706],
    "orthogonal": [0.0812711, 0.0259351, -0.1831613],
}  # fmt: skip
"""Numbers of a kernel [2,3,2,3], drawn with each init: the same in every release."""


def _same_start():
    """NumPy's frozen generator, and the formulas of the inits."""
    for init, wanted in sorted(_DRAWN.items()):
        kernel = {"kernel": {"shape": [2, 3, 2, 3], "init": init}}
        drawn = initial_weights({"nodes": [{"name": "conv", "parameters": kernel}]}, 3)
        got = drawn["conv"]["kernel"].ravel()[[0, 7, 35]]
        _equal("numbers drawn by " + init, got, wanted, 1e-4)


# ---- the two trials -----------------------------------------------------------------------------


def _parameter(shape, init="glorot-uniform"):
    return {"shape": shape, "init": init}


def _pictures():
    """Augmented pictures, a schedule, a stop, a start from a file; all that can be asked for."""
    kernel = {"kernel": _parameter([3, 3, 2, 4]), "bias": _parameter([4], "zeros")}
    dense = {"kernel": _parameter([48, 3]), "bias": _parameter([3], "zeros")}
    nodes = [
        {"name": "conv", "op": "conv2d", "inputs": ["image"], "kernel": [3, 3], "filters": 4,
         "stride": [1, 1], "padding": [[1, 1], [1, 1]], "bias": True, "shape": [3, 4, 4],
         "parameters": kernel},
        {"name": "relu", "op": "relu", "inputs": ["conv"], "shape": [3, 4, 4], "parameters": {}},
        {"name": "flat", "op": "flatten", "inputs": ["relu"], "shape": [48], "parameters": {}},
        {"name": "logits", "op": "dense", "inputs": ["flat"], "units": 3, "bias": True,
         "shape": [3], "parameters": dense},
        {"name": "size", "op": "dense", "inputs": ["flat"], "units": 2, "bias": False,
         "shape": [2], "parameters": {"kernel": _parameter([48, 2])}},
    ]  # fmt: skip
    graph = {
        "inputs": [{"name": "image", "shape": [3, 4, 2], "dtype": "float32"}],
        "nodes": nodes, "outputs": ["logits", "size"],
    }  # fmt: skip
    recipe = {
        "batch": 5, "epochs": 9, "shuffle": True, "warmup": 3,
        "optimizer": _sgd(0.04), "clip": 1.3,
        "schedule": {"name": "cosine", "least": 0.1, "warmup": 3},
        "stopping": {"patience": 2, "validation": 0.3},
        "augment": {"flip": True, "crop": 1}, "evaluate": ["test", "train"],
        "losses": [_head("softmax-cross-entropy", "logits", "label", weight=1.0),
                   _head("mean-squared-error", "size", "sizes", weight=0.5)],
        "metrics": [_head("perplexity", "logits", "label"), _head("accuracy", "logits", "label"),
                    _head("mean-absolute-error", "size", "sizes"),
                    _head("mean-squared-error", "size", "sizes"),
                    _head("binary-accuracy", "size", "sizes")],
    }  # fmt: skip
    random = np.random.RandomState(41)
    arrays = {
        split: {
            "image": random.randint(0, 256, (rows, 3, 4, 2)).astype(np.uint8),
            "label": random.randint(0, 3, rows).astype(np.int64),
            "sizes": random.normal(0.4, 0.5, (rows, 2)),
        }
        for split, rows in (("train", 34), ("test", 13))
    }
    given = {"logits": {"kernel": random.normal(0, 0.1, (48, 3)).astype(np.float32)}}
    job = _job(graph, recipe, 29, {"epochs": 9, "steps": None}, inference=True, deterministic=True)
    job["data"].update(divide={"image": 255.0}, rows={"train": 31})
    return job, arrays, given


def _words():
    """Sentences that are decoded, in the order of the file, for a number of steps."""
    units, words, length = 4, 6, 5
    lstm = {
        "input_kernel": _parameter([3, 4 * units]), "bias": _parameter([4 * units], "forget-one"),
        "recurrent_kernel": _parameter([units, 4 * units], "orthogonal"),
    }  # fmt: skip
    dense = {"kernel": _parameter([units, words]), "bias": _parameter([words], "zeros")}
    nodes = [
        {"name": "table", "op": "embedding", "inputs": ["read"], "vocabulary": words, "units": 3,
         "shape": [length, 3], "parameters": {"table": _parameter([words, 3], "uniform-0.5")}},
        {"name": "lstm", "op": "lstm", "inputs": ["table"], "units": units, "lengths": None,
         "initial": None, "output": "sequence", "shape": [length, units], "parameters": lstm},
        {"name": "logits", "op": "dense", "inputs": ["lstm"], "units": words, "bias": True,
         "shape": [length, words], "parameters": dense},
    ]  # fmt: skip
    graph = {
        "inputs": [{"name": "read", "shape": [length], "dtype": "int32"}],
        "nodes": nodes, "outputs": ["logits"],
    }  # fmt: skip
    place = dict(output="logits", target="said", mask="mask")
    recipe = {
        "batch": 4, "epochs": 3, "shuffle": False, "warmup": 10,
        "optimizer": {"name": "adam", "lr": 0.2, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3},
        "clip": None, "schedule": {"name": "step", "every": 2, "factor": 0.3, "warmup": 2},
        "stopping": None, "augment": None, "evaluate": ["test"],
        "losses": [dict(place, name="softmax-cross-entropy", weight=1.0)],
        "metrics": [dict(place, name="accuracy"), dict(place, name="perplexity"),
                    dict(place, name="greedy-accuracy", input="read")],
    }  # fmt: skip
    random, arrays = np.random.RandomState(43), {}
    for split, rows in (("train", 14), ("test", 9)):
        said = random.randint(0, words, (rows, length)).astype(np.int32)
        true = random.randint(1, length + 1, (rows, 1))
        read = np.concatenate([np.ones((rows, 1), np.int32), said[:, :-1]], axis=1)
        mask = (np.arange(length) < true).astype(np.float32)
        arrays[split] = {"read": read, "said": said, "mask": mask}
    return _job(graph, recipe, 8, {"epochs": 3, "steps": 11}), arrays, {}


def _sgd(rate):
    return {"name": "sgd", "lr": rate, "momentum": 0.8, "nesterov": False, "weight_decay": 0.01}


def _head(name, output, target, **more):
    return dict(more, name=name, output=output, target=target, mask=None)


def _job(graph, recipe, seed, budget, **more):
    files = {"train": {}, "test": {}}
    job = {
        "graph": graph, "recipe": recipe, "seed": seed, "budget": budget, "setting": "matched",
        "variant": "", "threads": None, "device": "cpu", "confounds": [], "save": True,
        "weights": None, "data": {"splits": files, "divide": {}, "rows": None},
    }  # fmt: skip
    return dict(job, **more)


# ---- as it is done ------------------------------------------------------------------------------


class _Notes:
    """What a trial asked of its model."""

    def __init__(self):
        self.steps, self.predicted, self.order = [], [], []
        """(batch, learning rate) of each step, the batches that were predicted, calls in order."""


class _Noting(Reference):
    """The NumPy model: it takes its time and notes what it is asked."""

    def __init__(self, graph, recipe, seed, notes, clock):
        super(_Noting, self).__init__(graph, recipe, seed, np.float32)
        self._notes, self._time, self._waiting = notes, clock, 0

    def prepared(self, batch):
        self._time.now += PREPARED
        return Prepared(batch)

    def train_step(self, batch):
        self._time.now += STEP
        self._waiting = WAIT
        self._notes.steps.append((dict(batch), self._optimizer.lr))
        return super(_Noting, self).train_step(batch)

    def predict(self, batch):
        self._time.now += PREDICTION
        self._waiting = WAIT
        self._notes.predicted.append(dict(batch))
        return super(_Noting, self).predict(batch)

    def sync(self):
        self._time.now += self._waiting
        self._waiting = 0


class _Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    @contextlib.contextmanager
    def everywhere(self):
        """In the place of the real one, and moved by batches that are cut out of the data."""
        batch = data.Split.batch

        def taking_time(split, rows):
            self.now += DATA
            return batch(split, rows)

        places = (time, "monotonic"), (trial, "clock"), (inference, "clock")
        real = [getattr(*place) for place in places]
        try:
            data.Split.batch = taking_time
            for owner, name in places:
                setattr(owner, name, self)
            yield
        finally:
            data.Split.batch = batch
            for (owner, name), function in zip(places, real):
                setattr(owner, name, function)


class _Adapter:
    """NumPy's, with a model that takes notes."""

    VARIANTS = ("",)

    def __init__(self, notes, clock):
        self._notes, self._clock = notes, clock

    def set_up(self, options):
        self._notes.order.append("set_up")

    def describe(self):
        return {"framework": "numpy", "version": "", "threads": 1, "pools": {}}

    def deterministic(self, options):
        self._notes.order.append("deterministic")
        return {"switches": {"noted": True}, "covers": ["cpu"]}

    def build(self, graph, recipe, options):
        self._notes.order.append("build")
        return _Noting(graph, recipe, options.seed, self._notes, self._clock)


def _tried(job, arrays, given, folder):
    """(notes of the model, the events, the files that are left, why it is invalid) of the trial."""
    for split, values in arrays.items():
        for name, value in values.items():
            file = job["data"]["splits"][split][name] = "{}-{}.npy".format(split, name)
            np.save(os.path.join(folder, file), value)
    path = None
    if given:
        path = os.path.join(folder, "given.npz")
        np.savez(path, **_flat(given))
        with open(path, "rb") as file:
            job["weights"] = hashlib.sha256(file.read()).hexdigest()
    out, notes, clock = os.path.join(folder, "out"), _Notes(), _Clock()
    os.mkdir(out)
    events = Events(os.path.join(out, "events.jsonl"))
    left, refused = {}, None
    with clock.everywhere():
        try:
            trial.run(job, folder, out, _Adapter(notes, clock), events, path)
        except Invalid as error:
            refused = error
        events.close()
    with open(os.path.join(out, "events.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for name in () if refused else ("predictions", "weights", os.path.join("native", "model")):
        with np.load(os.path.join(out, name + ".npz")) as held:
            left[os.path.basename(name)] = {key: held[key] for key in held.files}
    return notes, lines, left, refused


def _flat(weights):
    return {n + "/" + k: value for n, values in weights.items() for k, value in values.items()}


# ---- the plain loop -----------------------------------------------------------------------------


class _Plain:
    """The same trial, written down as FORMATS.md words it."""

    def __init__(self, job, arrays, given):
        self.job, self.recipe, self.seed = job, job["recipe"], job["seed"]
        self.size = self.recipe["batch"]
        rows = {name: np.arange(len(next(iter(each.values())))) for name, each in arrays.items()}
        for split, most in (job["data"]["rows"] or {}).items():
            drawn = np.random.RandomState(len(rows[split])).permutation(len(rows[split]))
            rows[split] = np.array(sorted(drawn[:most]))
        if self.recipe["stopping"]:
            whole, share = rows["train"], self.recipe["stopping"]["validation"]
            kept = np.random.RandomState(len(whole)).permutation(len(whole))
            kept = set(kept[: round(share * len(whole))].tolist())
            rows["validation"] = np.array([r for k, r in enumerate(whole) if k in kept])
            rows["train"] = np.array([r for k, r in enumerate(whole) if k not in kept])
        self.splits = {
            name: [self._row(arrays["test" if name == "test" else "train"], row) for row in which]
            for name, which in rows.items()
        }
        start = initial_weights(job["graph"], self.seed)
        for node, values in given.items():
            start[node] = dict(start[node], **values)
        self.start = start
        self.model = Reference(job["graph"], self.recipe, self.seed, np.float32, start)
        self.batches, self.rates, self.epochs, self.best = [], [], [], None
        self.an_epoch = -(-len(self.splits["train"]) // self.size)
        self.total = job["budget"]["steps"] or job["budget"]["epochs"] * self.an_epoch

    def _row(self, arrays, row):
        divide = self.job["data"]["divide"]
        values = {name: array[row] for name, array in arrays.items()}
        for name, value in values.items():
            if name in divide or value.dtype.kind == "f":
                values[name] = (value / divide.get(name, 1.0)).astype(np.float32)
            else:
                values[name] = np.asarray(value, np.int32)
        return values

    def of(self, rows):
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def cut(self, split):
        """A split's batches in order."""
        rows = self.splits[split]
        return [self.of(rows[k : k + self.size]) for k in range(0, len(rows), self.size)]

    def run(self):
        patience = (self.recipe["stopping"] or {}).get("patience")
        while len(self.batches) < self.total:
            self._epoch(len(self.epochs) + 1)
            if patience and len(self.epochs) - self.best[0] >= patience:
                break
        if self.best:
            self.model.load(self.best[2])
        self.metrics, self.predictions = self.measured("test")

    def _epoch(self, number):
        rows = self.splits["train"]
        order = range(len(rows))
        if self.recipe["shuffle"]:
            seed = (self.seed * 1000003 + number) % 2**32
            order = np.random.RandomState(seed).permutation(len(rows))
        losses = []
        for first in range(0, len(rows), self.size):
            if len(self.batches) == self.total:
                break
            batch = self.of([rows[k] for k in order[first : first + self.size]])
            if self.recipe["augment"]:
                batch["image"] = self._altered(batch["image"], number, first)
            rate = self._rate(len(self.batches))
            self.model.set_rate(rate)
            self.batches.append(batch)
            self.rates.append(rate)
            losses.append(float(self.model.train_step(batch)))
        epoch = {"losses": losses, "metrics": self.measured("test")[0], "validation": {}}
        if self.recipe["stopping"]:
            epoch["validation"] = self.measured("validation")[0]
            name = self.recipe["metrics"][0]["name"]
            score = epoch["validation"][name] * (1 if name in MORE_IS_BETTER else -1)
            if self.best is None or score > self.best[1]:
                self.best = number, score, self.model.weights()
        self.epochs.append(epoch)

    def _altered(self, images, number, first):
        random = np.random.RandomState([self.seed, number, first])
        mirrored, pad = random.uniform(size=len(images)) < 0.5, self.recipe["augment"]["crop"]
        tops, lefts = random.randint(0, 2 * pad + 1, (2, len(images)))
        made = []
        for image, flip, top, left in zip(images, mirrored, tops, lefts):
            height, width = image.shape[:2]
            framed = np.zeros((height + 2 * pad, width + 2 * pad, image.shape[2]), np.float32)
            framed[pad : pad + height, pad : pad + width] = image
            image = framed[top : top + height, left : left + width]
            made.append(image[:, ::-1] if flip else image)
        return np.stack(made)

    def _rate(self, step):
        schedule, base = self.recipe["schedule"], self.recipe["optimizer"]["lr"]
        warm = schedule["warmup"]
        if step < warm:
            return base * (step + 1) / warm
        if schedule["name"] == "step":
            return base * schedule["factor"] ** ((step // self.an_epoch) // schedule["every"])
        done = (step - warm) / float(self.total - warm)
        least = schedule["least"]
        return base * (least + (1 - least) * (1 + math.cos(math.pi * done)) / 2)

    def measured(self, split):
        """(metrics, raw outputs) of a split, but for what is decoded."""
        parts = [self.model.predict(batch) for batch in self.cut(split)]
        raw = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        whole, found = self.of(self.splits[split]), {}
        for spec in self.recipe["metrics"]:
            mask = whole[spec["mask"]] if spec["mask"] else None
            value = judged(spec["name"], raw[spec["output"]], whole[spec["target"]], mask)
            if value is not None:
                found[spec["name"]] = value
        return found, raw

    def decoded(self, spec):
        """Word by word, each from those that were found before it."""
        right = counted = 0.0
        for row in self.splits["test"]:
            length = int(np.flatnonzero(row["mask"]).max()) + 1
            read = np.zeros_like(row["read"])
            read[0] = row["read"][0]
            for place in range(length):
                batch = self.of([dict(row, read=read)])
                word = int(self.model.predict(batch)["logits"][0, place].argmax())
                right += row["mask"][place] * (word == row["said"][place])
                if place + 1 < len(read):
                    read[place + 1] = word
            counted += row["mask"].sum()
        return right / counted


# ---- held against each other --------------------------------------------------------------------


def _equal(what, got, wanted, near=_NEAR):
    """Numbers or arrays, relative to the largest."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if got.shape != wanted.shape:
        raise Mismatch("{}: {} of them against {}".format(what, got.shape, wanted.shape))
    if got.size and not np.abs(got - wanted).max() <= near * max(np.abs(wanted).max(), 1e-12):
        place = np.unravel_index(int(np.argmax(np.abs(got - wanted))), got.shape)
        words = "{}: {:.9g} against {:.9g}"
        raise Mismatch(words.format(what, float(got[place]), float(wanted[place])))


def _timed(what, got, wanted):
    _equal(what, got, wanted, _NEAR_IN_TIME)


def _same(what, got, wanted):
    if got != wanted:
        raise Mismatch("{}: {} against {}".format(what, got, wanted))


def _same_batch(what, got, wanted):
    _same(what + " has", sorted(got), sorted(wanted))
    for name, value in wanted.items():
        _same("{} of {} is of".format(name, what), got[name].dtype.kind, value.dtype.kind)
        _equal("{} of {}".format(name, what), got[name], value, 1e-6)


def _same_training(plain, notes):
    """The batches that were trained on, and the learning rate of each."""
    for number, (got, batch, rate) in enumerate(zip(notes.steps, plain.batches, plain.rates), 1):
        _same_batch("batch {} of training".format(number), got[0], batch)
        _equal("the learning rate of step {}".format(number), got[1], rate)


def _same_epochs(plain, events):
    (told,) = _of(events, "model")
    _equal("parameters", told["parameters"], sum(v.size for v in _flat(plain.start).values()))
    for number, (got, wanted) in enumerate(zip(_of(events, "epoch"), plain.epochs), 1):
        label = "of epoch {}".format(number)
        _same("steps " + label, got["steps"], len(wanted["losses"]))
        _equal("the loss " + label, got["loss"], np.mean(wanted["losses"]))
        if number == 1:
            _equal("the first losses", got["first_losses"], wanted["losses"][:20])
        for key in ("metrics", "validation"):
            _same("{} {}".format(key, label), sorted(got[key]), sorted(wanted[key]))
            for name, value in wanted[key].items():
                _equal("{} ({}) {}".format(name, key, label), got[key][name], value)


def _of(events, kind):
    return [event for event in events if event["event"] == kind]


def _same_result(plain, job, events, left, notes):
    (result,) = _of(events, "result")
    best = plain.best[0] if plain.best else len(plain.epochs)
    _same("epochs of the result", result["epochs"], len(plain.epochs))
    _same("the best epoch", result["best_epoch"], best)
    _same("steps of the result", result["steps"], len(plain.batches))
    rows = sum(len(next(iter(batch.values()))) for batch in plain.batches)
    _same("samples", result["samples"], rows)
    _equal("the result's loss", result["loss"], np.mean(plain.epochs[-1]["losses"]))
    wanted = dict(plain.metrics)
    for spec in plain.recipe["metrics"]:
        if spec["name"] == "greedy-accuracy":
            wanted[spec["name"]] = plain.decoded(spec)
            _same("decoded rows", result["decoded_rows"], len(plain.splits["test"]))
    _same("metrics of the result", sorted(result["metrics"]), sorted(wanted))
    for name, value in wanted.items():
        _equal("{} of the result".format(name), result["metrics"][name], value)
    if "train" in plain.recipe["evaluate"]:
        for name, value in plain.measured("train")[0].items():
            _equal("{} of the training rows".format(name), result["train_metrics"][name], value)
    learnt = _flat(plain.model.weights())
    for what, file in (("predictions", plain.predictions), ("weights", learnt), ("model", learnt)):
        _same("arrays of {}.npz".format(what), sorted(left[what]), sorted(file))
        for name, value in file.items():
            _equal("{} in {}.npz".format(name, what), left[what][name], value)
    asked = ["deterministic"] * bool(job.get("deterministic")) + ["set_up", "build"]
    _same("what was asked of the adapter", notes.order, asked)
    if job.get("inference"):
        _same_inference(plain, notes, result)


def _same_inference(plain, notes, result):
    """The last predictions are those that were timed: full batches, then single rows."""
    full = len(plain.splits["test"]) // plain.size
    rows = [plain.of([row]) for row in plain.splits["test"]]
    wanted = (plain.cut("test")[:full] * inference.LEFT_OUT)[: inference.LEFT_OUT]
    wanted += plain.cut("test")[:full] * inference.PASSES
    calls = inference.LEFT_OUT + inference.PREDICTIONS
    wanted += [rows[k % len(rows)] for k in range(calls)]
    if len(notes.predicted) < len(wanted):
        words = "{} predictions, and {} were to be timed"
        raise Mismatch(words.format(len(notes.predicted), len(wanted)))
    for got, batch in zip(notes.predicted[-len(wanted) :], wanted):
        _same_batch("a batch of what is timed", got, batch)
    _same("rows of a pass", result["inference_rows"], full * plain.size)
    passes = [1000 * (full * PREDICTION + WAIT)] * inference.PASSES
    _timed("times of passes", result["inference_ms"], passes)
    single = [1000 * (PREDICTION + WAIT)] * inference.PREDICTIONS
    _timed("times of single rows", result["latency_ms"], single)


def _same_times(plain, job, events):
    """A step's time is that of the step and of waiting for it, and of nothing else."""
    epochs = _of(events, "epoch")
    for number, (event, epoch) in enumerate(zip(epochs, plain.epochs), 1):
        label, steps = "of epoch {}".format(number), len(epoch["losses"])
        _timed("step times " + label, event["steps_ms"], [1000 * (STEP + WAIT)] * steps)
        _timed("all steps' time " + label, event["steps_s"], steps * (STEP + WAIT))
        _timed("the data's time " + label, event["data_ms"], 1000 * steps * DATA)
        whole = steps * (DATA + PREPARED + STEP + WAIT)
        _timed("the time of training " + label, event["train_s"], whole)
    spent = {}
    for event in _of(events, "phase"):
        spent[event["phase"]] = spent.get(event["phase"], 0.0) + event["seconds"]
    a_step, steps = DATA + PREPARED + STEP + WAIT, len(plain.batches)
    warm = 1 + min(plain.recipe["warmup"], (plain.total - 1) // 4)
    _same("steps that are timed apart", sum(event["first"] for event in epochs), min(steps, warm))
    wanted = {
        "first-step": a_step,
        "warm-up": (warm - 1) * a_step,
        "train": (steps - warm) * a_step,
    }
    looks = {"evaluate": ("test", len(epochs) + bool(plain.best)), "validate": ("validation", 0)}
    if plain.best:
        looks["validate"] = "validation", len(epochs)
        if plain.best[0] == len(epochs):
            looks["evaluate"] = "test", len(epochs)
    if "train" in plain.recipe["evaluate"]:
        looks["evaluate-train"] = "train", 1
    for phase, (split, times) in looks.items():
        if times:
            pieces = len(plain.cut(split))
            wanted[phase] = times * (pieces * (DATA + PREDICTION) + WAIT)
    for phase, seconds in sorted(wanted.items()):
        _timed("the phase " + phase, spent.get(phase, 0.0), seconds)
