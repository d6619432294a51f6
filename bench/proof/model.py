"""Checks of the model itself: its weights, and what it computes from one batch."""

import numpy as np

from bench import weights
from bench.formats import Unsupported
from bench.proof.compare import Mismatch, compare, compare_gradients, compare_nodes
from bench.trial import options_of


def parameters(sides):
    """Every node has the parameters of the graph, of the same shapes."""
    found = sides.built().weights()
    for node in sides.graph["nodes"]:
        wanted = {name: tuple(spec["shape"]) for name, spec in node["parameters"].items()}
        got = {name: value.shape for name, value in found.get(node["name"], {}).items()}
        if wanted != got:
            detail = "{} against {}".format(sorted(got.items()), sorted(wanted.items()))
            raise Mismatch(detail, node=node["name"])
    return {"detail": "{} parameters".format(weights.count(sides.graph))}


def initial_weights(sides):
    """What was loaded is what is in the model: one hash for every release."""
    found = sides.at_start().weights()
    for node, values in sides.initial.items():
        for name, value in values.items():
            if not np.array_equal(found[node][name], value):
                raise Mismatch("{} is not what was loaded".format(name), node=node)
    return {"detail": weights.digest(found)}


def shapes(sides):
    """What leaves each node has the graph's shape, before any weights are loaded."""
    try:
        found = sides.built().activations(sides.batch())
    except Unsupported:
        raise
    except Exception as error:
        _first_broken(sides, error)
        raise
    for node in sides.graph["nodes"]:
        _same_shape(node, found)


def _same_shape(node, found):
    got, wanted = tuple(found[node["name"]].shape[1:]), tuple(node["shape"])
    if got != wanted:
        raise Mismatch("{} against {}".format(got, wanted), node=node["name"])


def _first_broken(sides, error):
    """The model does not run as a whole: it is run up to each node in turn."""
    for count, node in enumerate(sides.plain["nodes"], 1):
        graph = dict(sides.plain, nodes=sides.plain["nodes"][:count], outputs=[node["name"]])
        head = {"output": node["name"], "target": node["name"], "mask": None, "weight": 1.0}
        losses = [dict(head, name="mean-squared-error")]
        recipe = dict(sides.recipe, losses=losses, metrics=[])
        try:
            model = sides.adapter.build(graph, recipe, options_of(sides.job))
            found = model.activations(sides.batch())
        except Exception:
            raise Mismatch("{}: {}".format(type(error).__name__, error), node=node["name"])
        _same_shape(node, found)


def forward(sides):
    wanted = sides.wanted_values()
    worst = compare_nodes(sides.graph, sides.values(), wanted, "forward")
    outputs = {name: wanted[name] for name in sides.graph["outputs"]}
    found = sides.at_start().predict(sides.batch())
    return {"error": max(worst, compare_nodes(sides.graph, found, outputs, "forward"))}


def lengths(sides):
    """Whatever stands behind a sequence's true length changes nothing: the release by itself."""
    spoilt = with_garbage(sides.graph, sides.batch())
    wanted = {name: sides.values()[name] for name in behind_lengths(sides.graph)}
    model = sides.at_start()
    worst = compare_nodes(sides.graph, model.activations(spoilt), wanted, "forward")
    outputs = {name: wanted[name] for name in sides.graph["outputs"] if name in wanted}
    worst = max(worst, compare_nodes(sides.graph, model.predict(spoilt), outputs, "forward"))
    _, found = sides.at_start().gradients(spoilt)
    return {"error": max(worst, compare_gradients(sides.graph, found, sides.gradients()[1]))}


def loss(sides):
    """As it is differentiated, and as training reports it."""
    wanted, _ = sides.wanted_gradients()
    outputs = ", ".join(spec["output"] for spec in sides.recipe["losses"])
    worst = compare([sides.gradients()[0]], [wanted], "loss", outputs)
    reported = sides.recipe_walk().losses[0]
    return {"error": max(worst, compare([reported], [wanted], "loss", outputs, when="reported: "))}


def gradients(sides):
    _, wanted = sides.wanted_gradients()
    return {"error": compare_gradients(sides.graph, sides.gradients()[1], wanted)}


def seeds(sides):
    """The framework's own weights: one seed, the same ones; another seed, others.

    A seed that is set when the weights have already been drawn changes nothing about them.
    """
    drawn = []
    for seed in (11, 12, 11):
        options = options_of(sides.job)._replace(seed=seed, setting="native")
        sides.adapter.set_up(options)
        drawn.append(sides.adapter.build(sides.graph, sides.recipe, options).weights())
    first, other, again = drawn
    for node, values in first.items():
        for name, value in values.items():
            if not np.array_equal(value, again[node][name]):
                raise Mismatch("one seed gave two different values of {}".format(name), node=node)
    if weights.digest(first) == weights.digest(other):
        raise Mismatch("two seeds gave the same weights")
    sides.adapter.set_up(options_of(sides.job))


# ---- sequences -----------------------------------------------------------------------------------


def has_lengths(graph):
    return any(node.get("lengths") for node in graph["nodes"])


def padded_inputs(graph):
    """{graph input: name of its lengths} of the sequences that an LSTM reads up to a length."""
    sources = {node["name"]: node["inputs"] for node in graph["nodes"]}
    inputs = {spec["name"] for spec in graph["inputs"]}
    found = {}
    for node in graph["nodes"]:
        waiting = list(node["inputs"]) if node.get("lengths") else []
        while waiting:
            name = waiting.pop()
            if name in inputs:
                found[name] = node["lengths"]
            waiting += sources.get(name, [])
    return found


def behind_lengths(graph):
    """The nodes that padding can't reach."""
    dirty = set(padded_inputs(graph))
    for node in graph["nodes"]:
        read = list(node.get("initial") or [])
        if not node.get("lengths"):
            read += node["inputs"]
        if dirty & {name.partition(":")[0] for name in read}:  # also an LSTM's final state
            dirty.add(node["name"])
    return [node["name"] for node in graph["nodes"] if node["name"] not in dirty]


def with_garbage(graph, batch):
    """The batch with random values where sequences are padded."""
    random, spoilt = np.random.RandomState(5), dict(batch)
    top = {
        node["inputs"][0]: node["vocabulary"]
        for node in graph["nodes"]
        if node["op"] == "embedding"
    }
    for name, length in padded_inputs(graph).items():
        old = batch[name]
        padding = np.arange(old.shape[1]) >= batch[length][:, None]
        padding = padding.reshape(padding.shape + (1,) * (old.ndim - 2))
        rubbish = random.randint(0, top.get(name, 9), old.shape)
        spoilt[name] = np.where(padding, rubbish, old).astype(old.dtype)
    return spoilt
