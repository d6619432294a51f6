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
    "softmax",
    "flatten",
    "add",
    "concat",
    "affine",
    "proposals",
    "roialign",
)

EXTRAS = {
    "lstm": ("h", "c"),
    "proposals": ("wy", "wx", "labels", "label_weights", "deltas", "delta_weights"),
}
"""What a node of this op makes besides its own value: `NAME:h`, an LSTM's final state."""

ELEMENTWISE = frozenset({"dropout", "relu", "tanh", "sigmoid"})
"""Each value of the output depends on the same place of one input alone."""


def sources(node):
    """The names of the values that a node reads, an LSTM's initial state included."""
    return list(node["inputs"]) + list(node.get("initial") or [])


def owner(name):
    """The node that makes a value: `encoder` of `encoder:h`."""
    return name.partition(":")[0]


def shapes_of(graph):
    """{name: shape} of everything that can be read: inputs, nodes and what they make besides."""
    shapes = {spec["name"]: spec["shape"] for spec in graph["inputs"]}
    for node in graph["nodes"]:
        shapes[node["name"]] = node["shape"]
        for name, shape in _extra_shapes(node, shapes):
            shapes[name] = shape
    return shapes


def _extra_shapes(node, shapes):
    if node["op"] == "proposals":
        height, width = shapes[node["inputs"][0]][:2]
        columns, pool = [4 * node["classes"]], node["pool"]
        made = ([pool, height], [pool, width], [], [], columns, columns)
    else:
        made = ([node.get("units")],) * 2
    return zip(extras_of(node), made)


def extras_of(node):
    """The names of what a node makes besides its own value."""
    return ["{}:{}".format(node["name"], extra) for extra in EXTRAS.get(node["op"], ())]


def at_size(graph, size):
    """The graph with the shapes that it has for an image of this [height, width]."""
    inputs = [
        dict(spec, shape=list(size) + spec["shape"][2:]) if spec.get("sizes") else spec
        for spec in graph["inputs"]
    ]
    shapes, nodes = {spec["name"]: spec["shape"] for spec in inputs}, []
    for node in graph["nodes"]:
        read = shapes.get(node["inputs"][0])
        if read and len(read) == 3 and len(node["shape"]) == 3 and node["op"] != "roialign":
            places = list(read[:2])
            if "stride" in node:
                window = node["kernel"] if "kernel" in node else node["size"]
                places = [
                    (extent + sum(pads) - k) // step + 1
                    for extent, pads, k, step in zip(
                        places, node["padding"], window, node["stride"]
                    )
                ]
            node = dict(node, shape=places + node["shape"][2:])
        shapes[node["name"]] = node["shape"]
        nodes.append(node)
    return dict(graph, inputs=inputs, nodes=nodes)


def for_batch(graph, batch):
    """The graph with the shapes that it has for the images of this batch."""
    for spec in graph["inputs"]:
        if spec.get("sizes"):
            return at_size(graph, batch[spec["name"]].shape[1:3])
    return graph


def sizes_of(graph):
    """The sizes [height, width] that the graph's images come in; empty: one size, as stated."""
    return [size for spec in graph["inputs"] for size in spec.get("sizes", [])]


def open_shapes(graph):
    """`shapes_of`, with None for height and width that are not the same for all images."""
    shapes, sizes = shapes_of(graph), sizes_of(graph)
    others = [shapes_of(at_size(graph, size)) for size in sizes[1:]]
    return {
        name: [
            extent if all(other[name][axis] == extent for other in others) else None
            for axis, extent in enumerate(shape)
        ]
        for name, shape in shapes.items()
    }


def host_nodes(graph):
    """The nodes that bench computes in NumPy in the middle of a step."""
    return [node for node in graph["nodes"] if node["op"] == "proposals"]


def around_host(graph, nodes, wanted):
    """(nodes before the host node, those behind it, values of the first that are read elsewhere).

    Of these nodes; `wanted` are values that the caller reads. The host node is in neither part.
    """
    (host,) = host_nodes(graph)
    behind = {host["name"]}
    for node in nodes:
        if behind & {owner(name) for name in sources(node)}:
            behind.add(node["name"])
    early = [node for node in nodes if node["name"] not in behind]
    late = [node for node in nodes if node["name"] in behind and node is not host]
    made = {node["name"] for node in early}
    read = {name for node in late + [host] for name in sources(node)} | set(wanted)
    return early, late, sorted(name for name in read if owner(name) in made)


def values_of(graph):
    """The names of all values that are computed and read, in order: nodes, and LSTM states.

    What a host node makes is all read: by nodes or by losses.
    """
    read = states_read(graph)
    names = []
    for node in graph["nodes"]:
        extras = [e for e in extras_of(node) if e in read or node["op"] == "proposals"]
        names += [node["name"]] + extras
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
    return nodes_for(graph, read_by_losses(recipe))


def read_by_losses(recipe):
    """The values that losses read: outputs, and targets and masks that a host node makes."""
    outputs = {spec["output"] for spec in recipe["losses"]}
    given = {spec[key] or "" for spec in recipe["losses"] for key in ("target", "mask")}
    return outputs | {name for name in given if is_made(name)}


def is_made(name):
    """Whether a loss's target or mask is made by a host node, not an array of the batch."""
    return ":" in name


def states_read(graph):
    """The LSTM states (`NAME:h`, `NAME:c`) that a node reads or that are outputs.

    Fused kernels have the cell's state at the padded end only: what nobody reads is not asked for.
    """
    read = {name for node in graph["nodes"] for name in sources(node)} | set(graph["outputs"])
    return {name for name in read if ":" in name}
