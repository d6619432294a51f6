"""The operations that a graph is made of: the one list that everything else is held against.

The graph's builder, the reference and every adapter have one entry for each; a test compares them
with this list.
"""

OPS = (
    "conv2d",
    "maxpool",
    "avgpool",
    "globalmaxpool",
    "globalavgpool",
    "batchnorm",
    "dense",
    "embedding",
    "lstm",
    "dropout",
    "relu",
    "tanh",
    "sigmoid",
    "flatten",
    "add",
    "concat",
)

ELEMENTWISE = frozenset({"dropout", "relu", "tanh", "sigmoid"})
"""Each value of the output depends on the same place of one input alone."""


def sources(node):
    """The names of the values that a node reads, an LSTM's initial state included."""
    return list(node["inputs"]) + list(node.get("initial") or [])


def owner(name):
    """The node that makes a value: `encoder` of `encoder:h`."""
    return name.partition(":")[0]


def shapes_of(graph):
    """{name: shape} of everything that a node can read: inputs, nodes, the LSTMs' final states."""
    shapes = {spec["name"]: spec["shape"] for spec in graph["inputs"]}
    for node in graph["nodes"]:
        shapes[node["name"]] = node["shape"]
        if node["op"] == "lstm":
            shapes[node["name"] + ":h"] = shapes[node["name"] + ":c"] = [node["units"]]
    return shapes


def values_of(graph):
    """The names of all values that are computed and read, in order: nodes, and LSTM states."""
    read = states_read(graph)
    names = []
    for node in graph["nodes"]:
        states = [node["name"] + ":h", node["name"] + ":c"] if node["op"] == "lstm" else []
        names += [node["name"]] + [state for state in states if state in read]
    return names


def nodes_for(graph, names):
    """The nodes that must be computed to know these values, in the graph's order."""
    wanted = {owner(name) for name in names}
    for node in reversed(graph["nodes"]):
        if node["name"] in wanted:
            wanted.update(owner(name) for name in sources(node))
    return [node for node in graph["nodes"] if node["name"] in wanted]


def trained_nodes(graph, recipe):
    """The nodes that a training step computes: those that some loss depends on.

    The others keep their parameters and their running statistics as they are.
    """
    return nodes_for(graph, [spec["output"] for spec in recipe["losses"]])


def states_read(graph):
    """The LSTM states (`NAME:h`, `NAME:c`) that a node reads or that are outputs.

    Fused kernels have the cell's state at the padded end only: what nobody reads is not asked for.
    """
    read = {name for node in graph["nodes"] for name in sources(node)} | set(graph["outputs"])
    return {name for name in read if ":" in name}
