"""A static net as two programs, with a host node between them.

A program of Paddle 3 can't call NumPy: `paddle.static.py_func` refuses the values of its graphs.
"""

import paddle

from bench import host
from bench.ops import around_host, extras_of, host_nodes, owner, sources

_FIRST, _SECOND = "before ", "behind "


class Parts:
    """Which programs there are, what each of them reads, and how they follow each other."""

    def __init__(self, graph, purposes):
        """`purposes` are those of the whole graph, as `Net` has them."""
        (self._node,) = host_nodes(graph)
        self._made = [self._node["name"]] + extras_of(self._node)
        self._wanted = {name: wanted for name, (_, wanted) in purposes.items()}
        self.programs = {}
        """{name: (nodes to run, values to keep)}: two for each purpose."""
        for name, (nodes, wanted) in purposes.items():
            early, late, crossing = around_host(graph, nodes, wanted)
            self.programs[_FIRST + name] = early, set(crossing)
            self.programs[_SECOND + name] = late, set(wanted) - set(crossing) - set(self._made)
        self._read = {name: _read_by(nodes) for name, (nodes, _) in self.programs.items()}

    def run(self, net, inputs, purpose):
        """The values by name that this purpose keeps."""
        known = dict(inputs)
        self._run_program(net, known, _FIRST + purpose)
        arrays = [known[name].numpy() for name in self._node["inputs"]]
        arrays = [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in arrays]
        made = host.call(self._node, arrays, net.training)
        known.update(zip(self._made, map(paddle.to_tensor, made)))
        self._run_program(net, known, _SECOND + purpose)
        return {name: known[name] for name in self._wanted[purpose]}

    def _run_program(self, net, known, program):
        known.update(net({name: known[name] for name in self._read[program]}, program))


def _read_by(nodes):
    """What these nodes read and do not make."""
    made = {node["name"] for node in nodes}
    read = {name for node in nodes for name in sources(node) + [node.get("lengths")] if name}
    return sorted(name for name in read if owner(name) not in made)
