"""The variant `fused`: RoI align by an operator of the framework's own instead of two products.

An adapter offers it where the operator was found to be equal (docs/detector.md). Such an operator
reads the regions themselves, so its node is given them in the place of the two matrices.
"""

from bench.ops import host_nodes, owner


def built(build, usual, operator, graph, recipe, options):
    """The model of the usual variant, with the operator where the graph has regions."""
    model = build(with_regions(graph), recipe, options._replace(variant=usual))
    model.path["fused"] = ["RoI align: " + operator] if _aligns(graph) else []
    return model


def _aligns(graph):
    return any(node["op"] == "roialign" for node in graph["nodes"])


def with_regions(graph):
    """The graph whose RoI align reads the image and the regions; `regions` is their host node."""
    hosts = {node["name"]: node for node in host_nodes(graph)}
    nodes = []
    for node in graph["nodes"]:
        if node["op"] == "roialign":
            host = hosts[owner(node["inputs"][1])]
            node = dict(node, inputs=[node["inputs"][0], host["name"]], regions=host)
        nodes.append(node)
    return dict(graph, nodes=nodes)


def moved(edges, empty, stride):
    """The edges y1, x1, y2, x2 of the regions, moved where `empty` is 1: these rows are padding.

    They become a cell that is too far from the image for any sample to count, and so the zeros
    that the two products have there. A region without area would end MXNet's process.
    """
    return [edge - empty * (cells * stride) for edge, cells in zip(edges, (4, 4, 3, 3))]
