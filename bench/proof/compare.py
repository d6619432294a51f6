"""When two arrays count as equal, and what is said when they do not.

Errors are relative to the largest value of the compared array. The tolerances are for float32,
where one rounding is 6e-8: a forward pass or a loss is a chain of sums of some hundred to thousand
products each; a gradient is a sum over batch and places of what two such passes gave; a step adds
the optimiser's own roundings; and twenty steps add up what the state of the optimiser carries on
and what is lost where a small step is added to a large weight. A wrong formula misses by 1e-2 and
more.
"""

import numpy as np

TOLERANCE = {"forward": 1e-5, "loss": 1e-5, "gradient": 1e-4, "step": 1e-4, "steps": 1e-3}


class Mismatch(Exception):
    """The first place where the two differ."""

    def __init__(self, detail, error=None, tolerance=None, node=None):
        super(Mismatch, self).__init__(detail)
        self.fields = {"detail": detail, "error": error, "tolerance": tolerance, "node": node}


def compare(got, wanted, kind, node=None, floor=0.0, when=""):
    """The error relative to the largest wanted value; raises Mismatch above the tolerance."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if got.shape != wanted.shape:
        raise Mismatch("{}shape {} against {}".format(when, got.shape, wanted.shape), node=node)
    if not got.size:
        return 0.0
    distance = np.abs(got - wanted)
    distance[np.isnan(distance)] = np.inf
    error = float(distance.max() / max(np.abs(wanted).max(), floor, 1e-12))
    if not error <= TOLERANCE[kind]:
        place = np.unravel_index(int(np.argmax(distance)), distance.shape)
        raise Mismatch(
            "{}{:.9g} against {:.9g} at {}".format(
                when, got[place], wanted[place], [int(index) for index in place]
            ),
            error,
            TOLERANCE[kind],
            node,
        )
    return error


def compare_nodes(graph, got, wanted, kind):
    """The values of nodes, in the graph's order: the first to differ is named."""
    worst = 0.0
    for name in [node["name"] for node in graph["nodes"] if node["name"] in wanted]:
        worst = max(worst, compare(got[name], wanted[name], kind, name))
    return worst


def compare_gradients(graph, got, wanted):
    """Every gradient, from the loss backwards: the first to differ is named."""
    worst = 0.0
    for node in reversed(graph["nodes"]):
        parameters = wanted.get(node["name"], {})
        # a bias in front of a batch normalisation has no gradient but rounding: the node's
        # largest gradient is the measure
        floor = max([float(np.abs(value).max()) for value in parameters.values()] or [0.0])
        for name, value in sorted(parameters.items()):
            label = "{}/{}".format(node["name"], name)
            found = got.get(node["name"], {}).get(name)
            if found is None:
                raise Mismatch("there is no gradient", node=label)
            worst = max(worst, compare(found, value, "gradient", label, floor))
    return worst


def compare_moved(graph, initial, got, wanted, kind, when=""):
    """How far every parameter went from where it began."""
    worst, idle = 0.0, idle_biases(graph)
    for node in graph["nodes"]:
        moved = wanted.get(node["name"], {})
        furthest = max([float(np.abs(value).max()) for value in moved.values()] or [0.0])
        for name, value in sorted(moved.items()):
            if (node["name"], name) in idle:
                continue
            # a float32 weight can't say more about its displacement than its own rounding
            rounding = 4 * np.finfo(np.float32).eps * np.abs(initial[node["name"]][name]).max()
            floor = max(furthest, float(rounding) / TOLERANCE[kind])
            label = "{}/{}".format(node["name"], name)
            worst = max(worst, compare(got[node["name"]][name], value, kind, label, floor, when))
    return worst


def idle_biases(graph):
    """Biases that a batch normalisation right behind takes out again.

    Their gradient is rounding alone, which Adam blows up to whole steps: no formula can be read
    from where they go, and it changes nothing that the model computes.
    """
    consumers = {}
    for node in graph["nodes"]:
        for source in node["inputs"]:
            consumers.setdefault(source, set()).add(node["op"])
    return {(name, "bias") for name, ops in consumers.items() if ops == {"batchnorm"}}
