"""Checks of the two modes: what is on in training and off in evaluation."""

import numpy as np

from bench import weights
from bench.ops import host_nodes
from bench.proof import drawn, masks
from bench.proof.compare import FLOOR, Mismatch, compare, compare_gradients, compare_values
from bench.proof.noise import UNIT, Copies, largest
from bench.proof.sides import ROWS

_MANY = 40 * ROWS
"""Rows, at least, to count what dropout drops."""
_COUNTED = 40000
"""Values of each node to count: with fewer, a share that is wrong by 0.02 could be chance."""
_MOST_VALUES = 4000000
"""Values of all nodes that are kept for it."""
_AVERAGED = 12
"""Draws of the reference, to know the mean of gradients with dropout and how far they stray."""
_TAKEN = 4
"""Draws of the release."""
_MOST_ROWS = 1000
_MOST_AVERAGED = 3000000
"""Values of all nodes in all draws of the reference."""
_EQUAL = 16 * UNIT
"""Relative: losses that are further apart than this are not the same number in float32."""
_SIMULATED = 24
"""Losses with dropout, to see how often one of them comes up."""
_DOUBT = 0.15
"""What the true share of the most frequent one may be above that."""
_TOO_OFTEN = 0.85
_CHANCE = 1e-6
"""Of a right model whose losses are all the same."""
_LONG = 40
"""Steps of an epoch in which dropout neither ends nor begins again."""
_AGAIN = 0.05
"""Of all pairs of its losses, how many more than chance makes equal may be so: a mask that comes
again after up to a dozen steps makes as many."""


def evaluation(sides):
    """With dropout in the graph: none of it, twice the same, and nothing is changed by it."""
    return {"error": max(_evaluated(sides, *pair) for pair in sides.dropping())}


def _evaluated(sides, graph, model):
    batch = sides.batch()
    wanted = sides.reference(graph).activations(batch)
    spreads = Copies(graph, sides.recipe).values(sides.start(), batch, wanted)
    worst = compare_values(sides.graph, model.activations(batch), wanted, spreads)
    first, again = model.predict(batch), model.predict(batch)
    for name in sides.graph["outputs"]:
        error = compare(first[name], wanted[name], "forward", name, spread=spreads[name])
        worst = max(worst, error)
        if not np.array_equal(first[name], again[name]):
            raise Mismatch("two evaluations of one batch differ", node=name)
    if weights.digest(model.weights()) != weights.digest(sides.start()):
        raise Mismatch("evaluation changed the weights or the running statistics")
    if not host_nodes(graph):  # whose rows are regions
        size = sides.own_rows()
        got = model.predict(drawn.repeated(batch, size))
        outputs = {name: wanted[name] for name in sides.graph["outputs"]}
        when = "{} rows: ".format(size)
        error = compare_values(graph, got, drawn.repeated(outputs, size), spreads, when)
        worst = max(worst, error)
    return worst


def dropout(sides):
    """Training drops the stated share of what is not zero and scales the rest by 1/(1-rate)."""
    batch = drawn.Batches(sides.graph, sides.recipe, 18).rows(_rows_to_count(sides))
    worst = 0.0
    for graph, model in sides.dropping():
        values, pairs = model.activations(batch, training=True), []
        for node in graph["nodes"]:
            if node["op"] == "dropout":
                source = node["inputs"][0]
                before = values[source] if source in values else batch[source]
                pairs.append((node, before, values[node["name"]]))
                worst = max(worst, masks.check_one(*pairs[-1]))
        masks.check_pairs(pairs)
    _steps_drop(sides)
    _gradients_drop(sides)
    _gradients_scale(sides)
    return {"error": worst, "detail": "share dropped, against the stated one"}


def _rows_to_count(sides):
    fewest = min(int(np.prod(node["shape"])) for node in sides.dropouts)
    values = sum(int(np.prod(node["shape"])) for node in sides.graph["nodes"])
    return max(_MANY, min(_COUNTED // fewest, _MOST_VALUES // values))


def _steps_drop(sides):
    """Real training steps drop, too, each time and in each epoch something else."""
    batch = sides.batch()
    plain, to_drop, to_vary, again = _losses_with_dropout(sides, batch)
    names = ", ".join(node["name"] for node in sides.dropouts)
    most = max(to_drop, to_vary)
    for what, take in (
        ("epoch", lambda model: _of_epoch(model, batch, 2)[:1]),
        ("step of an epoch", lambda model: _of_epoch(model, batch, max(most, 2))),
        ("training step", lambda model: model.losses([model.train_step(batch)])),
    ):
        losses = []
        while len(losses) < most and (len(losses) < 2 or len(set(losses)) == 1):
            model = sides.with_dropout()
            model.predict(batch)  # an evaluation in between must not leave its mode behind
            losses += take(model)
        _has_dropped(what, losses, plain, to_drop, names)
        if to_vary and len(set(losses)) == 1:
            raise Mismatch("every {} drops the same".format(what), node=names)
    losses = _of_epoch(sides.with_dropout(), batch, _LONG)
    _has_dropped("late step", losses[-max(to_drop, 1) :], plain, to_drop, names)
    counts = [losses.count(loss) for loss in set(losses)]
    equal = sum(count * (count - 1) for count in counts) / float(_LONG * (_LONG - 1))
    if to_vary and equal > 2 * again + _AGAIN:
        words = "{:.0%} of {} steps of an epoch drop the same, by chance {:.0%}"
        raise Mismatch(words.format(equal, _LONG, again), node=names)
    _partial_batches_drop(sides, names)


def _has_dropped(what, losses, plain, to_drop, names):
    if to_drop and max(abs(loss - plain) for loss in losses) <= FLOOR["loss"] * abs(plain):
        detail = "the loss of a {} is {:.9g}, as without dropout".format(what, losses[0])
        raise Mismatch(detail, node=names)


def _partial_batches_drop(sides, names):
    small = {name: value[: sides.partial] for name, value in sides.batch().items()}
    plain, to_drop, to_vary, _ = _losses_with_dropout(sides, small)
    model = sides.with_dropout()
    losses = _of_epoch(model, small, max(to_drop, to_vary, 1))
    _has_dropped("smaller batch", losses, plain, to_drop, names)
    if to_vary and len(set(losses)) == 1:
        raise Mismatch("every smaller batch drops the same", node=names)


def _gradients_drop(sides):
    """Where everything is dropped, nothing before it gets a gradient.

    A rate just below one makes this certain but for a few cases in a million values, without
    knowing the masks.
    """
    graph = drawn.all_dropped(sides.graph)
    _, usual, _ = sides.wanted_gradients()[0]
    exact = sides.reference(graph).backward(sides.batch())
    if all(
        np.array_equal(usual[n][p], g) for n, values in exact[1].items() for p, g in values.items()
    ):
        return  # nothing lies before it
    _, spreads, _ = Copies(graph, sides.recipe).backward(sides.start(), sides.batch(), exact)
    model = sides.loaded(graph)
    for last in (False, False, True):
        try:
            compare_gradients(
                sides.trained, model.gradients(sides.batch())[1], exact[1], spreads, "all dropped: "
            )
            return
        except Mismatch:
            if last:
                raise


def _gradients_scale(sides):
    """On the whole, what lies before dropout gets the gradient that the reference gets.

    A gradient that is masked, but not scaled, is too small by the share that is dropped. One
    release's mask is not the other's, so what is compared is an average over masks: how much of
    the reference's mean gradient there is in a draw, over all parameters before a dropout. The rows
    are all the same one, so that only the masks differ. How far it strays by chance is measured
    with the reference itself: with few values, by so much that hardly anything can be told.
    """
    nodes = sides.upstream_of([node["name"] for node in sides.dropouts])
    values = sum(int(np.prod(node["shape"])) for node in sides.graph["nodes"])
    rows = min(_MOST_ROWS, _MOST_AVERAGED // (values * _AVERAGED))
    if rows < sides.size or host_nodes(sides.graph):
        return
    batch = {name: np.repeat(value[:1], rows, axis=0) for name, value in sides.batch().items()}
    reference = sides.reference(sides.redrawn)
    draws = [reference.backward(batch)[1] for _ in range(_AVERAGED)]
    keys = [(n, p) for n, values in draws[0].items() for p in values if n in nodes]
    mean = {key: np.mean([draw[key[0]][key[1]] for draw in draws], axis=0) for key in keys}
    parts = {key: _parts(draws, key, mean[key]) for key in keys}
    # one that is next to nothing beside the others, or beside its rounding, is rounding alone
    least = 1e-4 * max([largest(value) for value in mean.values()] or [0.0])
    rounding = sides.wanted_gradients()[1][1]
    telling = [
        key
        for key in keys
        if largest(mean[key]) > max(least, 100 * rounding.get(key, 0.0))
        and 0 < np.std(parts[key], ddof=1) < 0.3
    ]
    if not telling:
        return
    strays = np.std(np.mean([parts[key] for key in telling], axis=0), ddof=1)
    room = max(0.05, 8 * strays * np.sqrt(1.0 / _TAKEN + 1.0 / _AVERAGED))
    model = sides.with_dropout()
    for _ in range(2):
        got = [model.gradients(batch)[1] for _ in range(_TAKEN)]
        share = float(np.mean([_parts(got, key, mean[key]) for key in telling]))
        if abs(share - 1) <= room:
            return
    names = ", ".join(node["name"] for node in sides.dropouts)
    detail = "gradients before dropout are {:.3f} times as large as they should be".format(share)
    raise Mismatch(detail, abs(share - 1), float(room), names)


def _parts(draws, key, mean):
    """How much of the mean gradient there is in each draw."""
    square = max(float(np.sum(np.square(mean))), 1e-60)
    return [float(np.sum(draw[key[0]][key[1]] * mean)) / square for draw in draws]


def _of_epoch(model, batch, steps):
    """Losses of so many steps of the loop, all of one batch: they move nothing."""
    handles = []
    model.train_epoch(iter([batch] * steps), lambda handle, _seconds: handles.append(handle))
    return model.losses(handles)


def _losses_with_dropout(sides, batch):
    """(the loss without dropout, after how many losses like it, after how many equal ones it is not
    chance, how many of all pairs are equal by chance), by the reference.

    Where dropout hardly ever changes the loss, or mostly to the same value, as it drops what is
    zero in any case or one of very few values, no number of losses tells: 0.
    """
    plain = sides.reference(sides.redrawn_plain).backward(batch)[0]
    reference = sides.reference(sides.redrawn)
    losses = [reference.backward(batch)[0] for _ in range(_SIMULATED)]
    usual = sum(abs(loss - plain) <= 3 * FLOOR["loss"] * abs(plain) for loss in losses)
    equal = [sum(abs(other - loss) <= _EQUAL * abs(loss) for other in losses) for loss in losses]
    again = float(np.mean([count - 1 for count in equal])) / (_SIMULATED - 1)
    return plain, _tries(usual), _tries(max(equal)), again


def _tries(often):
    """How many times something must happen until it is not chance, if it came up so often."""
    share = often / float(_SIMULATED) + _DOUBT
    return int(np.ceil(np.log(_CHANCE) / np.log(share))) if share <= _TOO_OFTEN else 0


def batchnorm(sides):
    """The running statistics after each step of the recipe's optimiser."""
    worst = 0.0
    for result in sides.recipe_walk().statistics:
        if isinstance(result, Mismatch):
            raise result
        worst = max(worst, result)
    return {"error": worst}
