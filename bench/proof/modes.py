"""Checks of the two modes: what is on in training and off in evaluation."""

import itertools

import numpy as np

from bench import weights
from bench.ops import host_nodes
from bench.proof import drawn
from bench.proof.compare import FLOOR, Mismatch, compare, compare_gradients, compare_values
from bench.proof.noise import UNIT, Copies, largest
from bench.proof.sides import ROWS

_MANY = 40 * ROWS
"""Rows, at least, to count what dropout drops."""
_COUNTED = 12000
"""Values of each node to count: with fewer, a share that is wrong by 0.04 could be chance."""
_MOST_VALUES = 4000000
"""Values of all nodes that are kept for it."""
_AVERAGED = 12
"""Draws of the reference, to know the mean of gradients with dropout and how far they stray."""
_TAKEN = 4
"""Draws of the release."""
_MOST_ROWS = 1000
_MOST_AVERAGED = 3000000
"""Values of all nodes in all draws of the reference."""
_SIGMAS = 6.0
_EQUAL = 16 * UNIT
"""Relative: losses that are further apart than this are not the same number in float32."""
_SIMULATED = 24
"""Losses with dropout, to see how often one of them comes up."""
_DOUBT = 0.15
"""What the true share of the most frequent one may be above that."""
_TOO_OFTEN = 0.85
_CHANCE = 1e-6
"""Of a right model whose losses are all the same."""


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
                worst = max(worst, _dropped(*pairs[-1]))
        _dropped_by_own_masks(pairs)
    _steps_drop(sides)
    _gradients_drop(sides)
    _gradients_scale(sides)
    return {"error": worst, "detail": "share dropped, against the stated one"}


def _rows_to_count(sides):
    fewest = min(int(np.prod(node["shape"])) for node in sides.dropouts)
    values = sum(int(np.prod(node["shape"])) for node in sides.graph["nodes"])
    return max(_MANY, min(_COUNTED // fewest, _MOST_VALUES // values))


def _dropped(node, before, after):
    """How far the share of one node is from the stated one."""
    name, rate = node["name"], node["rate"]
    live = before != 0
    kept = after != 0
    if not live.any():
        return 0.0
    # in float32 a rate next to 1 is known to a unit, and what is kept to as much of 1 - rate
    rounding = FLOOR["forward"] + UNIT / (1 - rate)
    if not np.allclose(after[live & kept], before[live & kept] / (1 - rate), rounding, atol=0):
        raise Mismatch("what is kept is not scaled by 1/(1-rate)", node=name)
    share = 1 - float(kept[live].mean())
    room = max(0.01, _SIGMAS * np.sqrt(rate * (1 - rate) / live.sum()))
    if abs(share - rate) > room:
        detail = "drops {:.3f}, stated {:.3f}".format(share, rate)
        raise Mismatch(detail, abs(share - rate), room, name)
    _dropped_apart(name, rate, live, kept)
    return abs(share - rate)


def _dropped_apart(name, rate, live, kept):
    """Each value by itself: neighbours are dropped together no more often than by chance."""
    wanted = rate * rate + (1 - rate) * (1 - rate)
    for axis in range(live.ndim):
        ahead, behind = ([slice(None)] * live.ndim for _ in range(2))
        ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
        both = live[tuple(ahead)] & live[tuple(behind)]
        count = int(both.sum())
        if count < 100:
            continue
        same = float((kept[tuple(ahead)] == kept[tuple(behind)])[both].mean())
        # neighbouring pairs share a value, so the count is worth about a third of itself
        room = _SIGMAS * np.sqrt(wanted * (1 - wanted) * 3 / count)
        if abs(same - wanted) > max(0.02, room):
            words = "neighbours on axis {} are dropped together in {:.3f} of all cases, not {:.3f}"
            raise Mismatch(words.format(axis, same, wanted), abs(same - wanted), room, name)


def _dropped_by_own_masks(pairs):
    """What a node drops does not depend on what nodes before it drop at the same places."""
    for (other, *first), (node, *second) in itertools.combinations(pairs, 2):
        (early, kept_early), (live, kept) = (
            (before.ravel() != 0, after.ravel() != 0) for before, after in (first, second)
        )
        size = min(len(early), len(live))
        for mask in (kept_early[:size], ~kept_early[:size]):
            counted = early[:size] & live[:size] & mask
            count, rate = int(counted.sum()), node["rate"]
            if count < 100:
                continue
            share = 1 - float(kept[:size][counted].mean())
            room = max(0.02, _SIGMAS * np.sqrt(rate * (1 - rate) / count))
            if abs(share - rate) > room:
                words = "drops {:.3f}, stated {:.3f}, of what {} drops or keeps alike"
                detail = words.format(share, rate, other["name"])
                raise Mismatch(detail, abs(share - rate), room, node["name"])


def _steps_drop(sides):
    """Real training steps drop, too, each time and in each epoch something else."""
    plain, to_drop, to_vary = _losses_with_dropout(sides)
    names = ", ".join(node["name"] for node in sides.dropouts)
    most = max(to_drop, to_vary)
    for what, take in (
        ("epoch", lambda model: _of_epoch(model, sides.batch(), 2)[:1]),
        ("step of an epoch", lambda model: _of_epoch(model, sides.batch(), max(most, 2))),
        ("training step", lambda model: model.losses([model.train_step(sides.batch())])),
    ):
        losses = []
        while len(losses) < most and (len(losses) < 2 or len(set(losses)) == 1):
            model = sides.with_dropout()
            model.predict(sides.batch())  # an evaluation in between must not leave its mode behind
            losses += take(model)
        if to_drop and max(abs(loss - plain) for loss in losses) <= FLOOR["loss"] * abs(plain):
            detail = "the loss of a {} is {:.9g}, as without dropout".format(what, losses[0])
            raise Mismatch(detail, node=names)
        if to_vary and len(set(losses)) == 1:
            raise Mismatch("every {} drops the same".format(what), node=names)


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


def _losses_with_dropout(sides):
    """(the loss without dropout, after how many losses like it, after how many equal ones it is not
    chance), by the reference.

    Where dropout hardly ever changes the loss, or mostly to the same value, as it drops what is
    zero in any case or one of very few values, no number of losses tells: 0.
    """
    plain = sides.reference(sides.redrawn_plain).backward(sides.batch())[0]
    reference = sides.reference(sides.redrawn)
    losses = [reference.backward(sides.batch())[0] for _ in range(_SIMULATED)]
    usual = sum(abs(loss - plain) <= 3 * FLOOR["loss"] * abs(plain) for loss in losses)
    equal = [sum(abs(other - loss) <= _EQUAL * abs(loss) for other in losses) for loss in losses]
    return plain, _tries(usual), _tries(max(equal))


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
