"""Checks of the model itself: its weights, and what it computes from one batch."""

import numpy as np

from bench import weights
from bench.formats import Unsupported
from bench.ops import for_batch, host_nodes, shapes_of, values_of
from bench.proof.compare import FLOOR, Mismatch, compare, compare_gradients, compare_values
from bench.proof.noise import FACTOR, DisturbedBackward, largest
from bench.reference.model import Reference
from bench.trial import options_of

_DISTURBED = 4
"""Copies that are moved by rounding: of a single value, one may be moved by nothing."""
_CHOICES = 6
"""Times that maxima choose anew among equal values."""


def parameters(sides):
    """Every node has the parameters of the graph, of the same shapes."""
    got = sides.built().weights()
    for node in sides.graph["nodes"]:
        wanted = {name: tuple(spec["shape"]) for name, spec in node["parameters"].items()}
        own = {name: value.shape for name, value in got.get(node["name"], {}).items()}
        if wanted != own:
            detail = "{} against {}".format(sorted(own.items()), sorted(wanted.items()))
            raise Mismatch(detail, node=node["name"])
    return {"detail": "{} parameters".format(weights.count(sides.graph))}


def initial_weights(sides):
    """What was loaded is what is in the model: one hash for every release."""
    model = sides.built()
    for wanted in (sides.start(), sides.initial):
        model.load(wanted)
        got = model.weights()
        for node, values in wanted.items():
            for name, value in values.items():
                if not np.array_equal(got[node][name], value):
                    raise Mismatch("{} is not what was loaded".format(name), node=node)
    return {"detail": weights.digest(got)}


def shapes(sides):
    """What leaves each node has the graph's shape, before any weights are loaded."""
    try:
        got = sides.built().activations(sides.batch())
        sizes = shapes_of(for_batch(sides.graph, sides.batch()))
    except Unsupported:
        raise
    except Exception as error:
        _first_broken(sides, error)
        raise
    for name in values_of(sides.graph):
        _same_shape(name, got[name], tuple(sizes[name]))


def _same_shape(name, value, wanted):
    if tuple(value.shape[1:]) != wanted:
        raise Mismatch("{} against {}".format(tuple(value.shape[1:]), wanted), node=name)


def _first_broken(sides, error):
    """The model does not run as a whole: it is run up to each node in turn."""
    for count, node in enumerate(sides.plain["nodes"], 1):
        graph = dict(sides.plain, nodes=sides.plain["nodes"][:count], outputs=[node["name"]])
        head = {"output": node["name"], "target": node["name"], "mask": None, "weight": 1.0}
        losses = [dict(head, name="mean-squared-error")]
        recipe = dict(sides.recipe, losses=losses, metrics=[])
        try:
            model = sides.adapter.build(graph, recipe, options_of(sides.job))
            got = model.activations(sides.batch())
        except Exception:
            raise Mismatch("{}: {}".format(type(error).__name__, error), node=node["name"])
        shape = shapes_of(for_batch(graph, sides.batch()))[node["name"]]
        _same_shape(node["name"], got[node["name"]], tuple(shape))


def forward(sides):
    """Every value in evaluation, every value in training, and what is predicted."""
    worst = 0.0
    for batch in sides.batches():
        for training, when in ((False, ""), (True, "in training: ")):
            wanted = sides.reference().activations(batch, training)
            spreads = sides.copies().values(sides.start(), batch, wanted, training)
            got = sides.at_start().activations(batch, training)
            worst = max(worst, compare_values(sides.graph, got, wanted, spreads, when))
            if not training:
                outputs = {name: wanted[name] for name in sides.graph["outputs"]}
                got = sides.at_start().predict(batch)
                error = compare_values(sides.graph, got, outputs, spreads, "predicted: ")
                worst = max(worst, error)
    return {"error": worst}


def loss(sides):
    """As it is differentiated, and as training reports it."""
    (wanted, _, _), (spread, _, _) = sides.wanted_gradients()
    outputs = ", ".join(spec["output"] for spec in sides.recipe["losses"])
    worst = compare([sides.gradients()[0]], [wanted], "loss", outputs, spread=spread)
    walk = sides.recipe_walk()
    # one that happens to be next to nothing, as of a single row, is held against the usual ones
    usual = 0.3 * float(np.median(np.abs(walk.wanted_losses)))
    for step, pair in enumerate(zip(walk.losses, walk.wanted_losses, walk.loss_spreads), 1):
        when = "reported of step {}: ".format(step)
        error = compare([pair[0]], [pair[1]], "loss", outputs, usual, pair[2], when=when)
        worst = max(worst, error)
    return {"error": worst}


def gradients(sides):
    (_, wanted, _), (_, spreads, _) = sides.wanted_gradients()
    got = sides.gradients()[1]
    extra = sorted(set(got) - set(wanted))
    if extra:
        raise Mismatch("it has a gradient, and no loss reaches it", node=extra[0])
    lost = [key for key, spread in spreads.items() if spread >= largest(wanted[key[0]][key[1]])]
    worst = compare_gradients(sides.trained, got, wanted, spreads)
    detail = "{} of {} are rounding alone".format(len(lost), len(spreads)) if lost else ""
    return {"error": worst, "detail": detail}


_ADDED = ("bias", "beta", "mean", "table", "offset")


def kinks(sides):
    """Gradients exactly at the kinks of relu and of the losses: the formats say what is right.

    Inputs, tables and biases are zero, so what stands before relu and what the losses see is zero,
    too. Among equal values a maximum may choose any: gradients that depend on it are left out, and
    only their sums for each unit are compared, where these do not.
    """
    start = {
        node: {
            name: np.zeros_like(value) if name in _ADDED else value
            for name, value in values.items()
        }
        for node, values in sides.start().items()
    }
    batch = {
        name: np.zeros_like(value) if _is_real_input(sides, name) else value
        for name, value in sides.batch().items()
    }
    exact, single = (Reference(sides.plain, sides.recipe, 1, kind, start) for kind in ("f8", "f4"))
    model = sides.built()
    model.load(start)
    # a kernel that approximates tanh may miss a zero by 1e-9: then it does not stand at the kink
    values = [each.activations(batch, training=True) for each in (exact, single, model)]
    for spec in sides.recipe["losses"]:
        if spec["name"] == "mean-absolute-error":
            target = batch[spec["target"]]
            zero = np.all([value[spec["output"]] == 0 for value in values], axis=0)
            batch[spec["target"]] = np.where(zero, 0, target).astype(target.dtype)
    (loss, wanted, _), other = exact.backward(batch), single.backward(batch)
    if _made_by_rounding(sides, start, batch, values[0]):
        return {"detail": "nothing to see: a norm of equal rows makes whole values of rounding"}
    usual = sides.wanted_gradients()[1][1]  # where nothing is zero
    copies = [other[1]]
    for seed in range(_DISTURBED):
        moved = DisturbedBackward(sides.plain, sides.recipe, seed)
        moved.load(start)
        copies.append(moved.backward(batch)[1])
    spreads = {
        (node, name): max(
            [largest(value - copy[node][name]) for copy in copies] + [usual[node, name]]
        )
        for node, parameters in wanted.items()
        for name, value in parameters.items()
    }
    # each norm of equal rows makes gradients larger: float32 may not hold them
    beyond = {key for key, spread in spreads.items() if not np.isfinite(spread)}
    unsure = sides.upstream_of(_near_zero(sides.trained, values))
    others = _by_choice(exact, batch)
    model.load(start)
    got = model.gradients(batch)
    worst = compare([got[0]], [loss], "loss", spread=abs(loss - other[0]))
    settled, sums, rooms = {}, {}, {}
    for node, parameters in wanted.items():
        for name, value in parameters.items() if node not in unsure else ():
            if (node, name) in beyond:
                continue
            choices = [choice[node][name] for choice in others]
            if _settled(value, choices):
                settled.setdefault(node, {})[name] = value
            elif _settled(_summed(value), [_summed(choice) for choice in choices]):
                sums.setdefault(node, {})[name] = _summed(value)
                # what is summed up may cancel: each part has its own rounding
                parts = FLOOR["gradient"] / FACTOR * largest(value) + spreads[node, name]
                rooms[node, name] = value.size // value.shape[-1] * parts
    worst = max(worst, compare_gradients(sides.trained, got[1], settled, spreads))
    own = {
        node: {name: _summed(value) for name, value in parameters.items()}
        for node, parameters in got[1].items()
    }
    return {"error": max(worst, compare_gradients(sides.trained, own, sums, rooms, "summed: "))}


def _is_real_input(sides, name):
    if any(name in node["inputs"] for node in host_nodes(sides.graph)):
        return False
    return any(s["name"] == name and s["dtype"] == "float32" for s in sides.graph["inputs"])


def _made_by_rounding(sides, start, batch, exact):
    """Whether values are what rounding makes of equal rows, as a norm does whose epsilon is small.

    The reference's own copies tell, whatever the release has.
    """
    spreads = sides.copies().values(start, batch, exact, training=True)
    return any(
        spread > FLOOR["gradient"] * max(1.0, largest(exact[name]))
        for name, spread in spreads.items()
    )


def _near_zero(nodes, values):
    """What is read by a relu near zero but not at it, in float64, float32 or the release."""
    names = []
    for node in nodes:
        source = node["inputs"][0] if node["inputs"] else ""
        near = [v[source] for v in values if source in v]
        close = any(((np.abs(x) > 0) & (np.abs(x) < 1e-5)).any() for x in near)
        if node["op"] == "relu" and close:
            names.append(source)
    return names


def _by_choice(reference, batch):
    """The gradients, some times over, as maxima choose among equal values."""
    reference._choice = np.random.RandomState(3)
    return [reference.backward(batch)[1] for _ in range(_CHOICES)]


def _settled(value, others):
    """Whether a gradient does not depend on which of equal values a maximum chooses."""
    return all(largest(other - value) <= 1e-9 * largest(value) for other in others)


def _summed(value):
    """For each unit: which row of a table a maximum chose, for one, changes nothing about that."""
    return value.reshape(-1, value.shape[-1]).sum(axis=0, dtype=np.float64)


def seeds(sides):
    """The framework's own weights: one seed, the same ones; another seed, others.

    A seed that is set when the weights have already been drawn changes nothing about them.
    """
    made = []
    for seed in (11, 12, 11):
        options = options_of(sides.job)
        options = options._replace(seed=seed, setting="native", only_weights=True)
        sides.adapter.set_up(options)
        made.append(sides.adapter.build(sides.graph, sides.recipe, options).weights())
    first, other, again = made
    sides.adapter.set_up(options_of(sides.job))
    for node, values in first.items():
        for name, value in values.items():
            if not np.array_equal(value, again[node][name]):
                raise Mismatch("one seed gave two different values of {}".format(name), node=node)
    random = any(weights.is_decayed(name) for values in first.values() for name in values)
    if random and weights.digest(first) == weights.digest(other):
        raise Mismatch("two seeds gave the same weights")
    return {}
