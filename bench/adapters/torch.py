"""PyTorch: nn modules, autograd, torch.optim. Images are NCHW inside."""

import math
import os
import shutil

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from bench.adapters.base import Model, cells_read, shapes_of, spent_after
from bench.adapters.channels_first import Layout, symmetric, value_in
from bench.formats import Unsupported
from bench.weights import is_decayed, is_state

VARIANTS = ("eager", "compile")

_RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def set_up(options):
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "gpu" and not torch.cuda.is_available():
        raise Unsupported("this PyTorch sees no CUDA device")
    if options.variant == "compile":
        _set_up_compiler()
    torch.manual_seed(options.seed)  # before any layer draws its weights


def _set_up_compiler():
    if not hasattr(torch, "compile"):
        raise Unsupported("torch.compile came with PyTorch 2.0")
    if not any(shutil.which(name) for name in ("g++", "clang++")):
        raise Unsupported("torch.compile needs a C++ compiler and finds none")
    if not shutil.which("openssl"):  # hashes the headers that it compiles in advance
        raise Unsupported("torch.compile needs the program openssl and does not find it")
    if os.environ.get("BENCH_CACHE"):  # compiled code, worth keeping
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["BENCH_CACHE"], "inductor")


def describe():
    mkldnn = getattr(torch.backends, "mkldnn", None)
    return {
        "framework": "pytorch",
        "version": torch.__version__,
        "threads": torch.get_num_threads(),
        "kernels": {
            "mkldnn": bool(mkldnn and mkldnn.is_available()),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
        },
        "build": torch.__config__.show() if hasattr(torch, "__config__") else None,
    }


def build(graph, recipe, options):
    return TorchModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _layer(node, features, native):
    """The module of a node that has parameters or a mode; None for a pure function."""
    op = node["op"]
    if op == "conv2d":
        padding = [p[0] for p in node["padding"]] if symmetric(node["padding"]) else 0
        return nn.Conv2d(
            features, node["filters"], node["kernel"], node["stride"], padding, bias=node["bias"]
        )
    if op == "dense":
        return nn.Linear(features, node["units"], bias=node["bias"])
    if op == "batchnorm":
        norm = nn.BatchNorm2d if len(node["shape"]) == 3 else nn.BatchNorm1d
        if native:
            return norm(features)
        return norm(features, eps=node["epsilon"], momentum=1 - node["keep"])
    if op == "embedding":
        return nn.Embedding(node["vocabulary"], node["units"])
    if op == "lstm":
        lstm = nn.LSTM(features, node["units"], batch_first=True)
        if not native:  # two biases would learn twice as fast as the one of the graph
            nn.init.constant_(lstm.bias_hh_l0, 0.0)
            lstm.bias_hh_l0.requires_grad = False
        return lstm
    if op == "dropout":
        return nn.Dropout(node["rate"])
    return None


class Net(nn.Module):
    """The graph as a module: its layers by node, run in the graph's order."""

    def __init__(self, graph, layout, native):
        super(Net, self).__init__()
        self._graph, self._layout, self._native = graph, layout, native
        self._spent = spent_after(graph)
        self.layers = nn.ModuleDict()
        self._cells_read = cells_read(graph)
        shapes = shapes_of(graph)
        for node in graph["nodes"]:
            source = shapes[node["inputs"][0]]
            layer = _layer(node, source[-1] if source else 0, native)
            if layer is not None:
                self.layers[node["name"]] = layer

    def forward(self, inputs, keep=False):
        """The outputs by name; with `keep` every node's value."""
        values = dict(inputs)
        for node in self._graph["nodes"]:
            self._run(node, values)
            for name in () if keep else self._spent[node["name"]]:
                values.pop(name, None)
        return values

    def _run(self, node, values):
        op, name = node["op"], node["name"]
        x = values[node["inputs"][0]]
        if op == "conv2d":
            if not symmetric(node["padding"]):
                x = F.pad(x, _torch_padding(node))
            y = self.layers[name](x)
        elif op in ("dense", "embedding", "dropout"):
            y = self.layers[name](x)
        elif op == "maxpool":
            if symmetric(node["padding"]):
                padding = [p[0] for p in node["padding"]]
                y = F.max_pool2d(x, node["size"], node["stride"], padding)
            else:
                padded = F.pad(x, _torch_padding(node), value=-math.inf)
                y = F.max_pool2d(padded, node["size"], node["stride"])
        elif op == "avgpool":
            y = _average_pool(node, x)
        elif op == "globalavgpool":
            y = x.mean(3).mean(2)
        elif op == "globalmaxpool":
            y = x.flatten(2).max(2)[0]
        elif op == "batchnorm":
            y = self._batchnorm(node, x)
        elif op == "lstm":
            y = self._lstm(node, x, values)
        elif op == "relu":
            y = F.relu(x)
        elif op in ("tanh", "sigmoid"):
            y = getattr(torch, op)(x)
        elif op == "flatten":
            if x.dim() == 4 and not self._layout.keeps_order(name):
                x = x.permute(0, 2, 3, 1).contiguous()
            y = x.reshape(x.shape[0], -1)
        elif op == "add":
            y = sum((values[source] for source in node["inputs"][1:]), x)
        elif op == "concat":
            y = torch.cat([values[s] for s in node["inputs"]], dim=1 if x.dim() == 4 else -1)
        else:
            raise Unsupported("no {} in the PyTorch adapter".format(op))
        values[name] = y

    def _batchnorm(self, node, x):
        layer = self.layers[node["name"]]
        sequence = x.dim() == 3
        if sequence:
            x = x.transpose(1, 2)
        if self.training and not node["unbiased"] and not self._native:
            # PyTorch keeps the unbiased variance: take the factor n/(n-1) out of what it adds
            old = layer.running_var.clone() * node["keep"]
            y = layer(x)
            rows = x.numel() / x.shape[1]
            with torch.no_grad():
                layer.running_var.copy_(old + (layer.running_var - old) * ((rows - 1) / rows))
        else:
            y = layer(x)
        return y.transpose(1, 2) if sequence else y

    def _lstm(self, node, x, values):
        layer, name = self.layers[node["name"]], node["name"]
        initial = None
        if node["initial"]:
            initial = tuple(values[source].unsqueeze(0).contiguous() for source in node["initial"])
        lengths = values[node["lengths"]] if node["lengths"] else None
        if lengths is not None and name in self._cells_read:
            sequence, (h, c) = _packed(layer, x, lengths, initial)
        else:
            # the true last output is gathered: causal, so padding can't reach it; this way
            # PyTorch's fused kernel runs, which packed sequences do not get on a CPU
            sequence, (h, c) = layer(x, initial)
            if lengths is not None:
                last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, node["units"])
                h = sequence.gather(1, last).transpose(0, 1)
        values[name + ":h"], values[name + ":c"] = h[0], c[0]
        if node["output"] == "last":
            return h[0]
        if lengths is not None:
            steps = torch.arange(x.shape[1], device=x.device, dtype=lengths.dtype)
            sequence = sequence * (steps < lengths.unsqueeze(1)).unsqueeze(2).to(x.dtype)
        return sequence


def _torch_padding(node):
    (top, bottom), (left, right) = node["padding"]
    return (left, right, top, bottom)


def _average_pool(node, x):
    if symmetric(node["padding"]):
        padding = [p[0] for p in node["padding"]]
        return F.avg_pool2d(x, node["size"], node["stride"], padding, count_include_pad=False)
    pads = _torch_padding(node)
    inside = F.avg_pool2d(F.pad(torch.ones_like(x[:1, :1]), pads), node["size"], node["stride"])
    return F.avg_pool2d(F.pad(x, pads), node["size"], node["stride"]) / inside


def _packed(layer, x, lengths, initial):
    """An LSTM over packed sequences, sorted by hand: PyTorch 1.0 takes no other order."""
    _, order = torch.sort(lengths, descending=True)
    back = torch.sort(order)[1]
    packed = nn.utils.rnn.pack_padded_sequence(x[order], lengths[order].cpu(), batch_first=True)
    if initial is not None:
        initial = tuple(state[:, order].contiguous() for state in initial)
    out, (h, c) = layer(packed, initial)
    sequence = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])[0]
    return sequence[back], (h[:, back], c[:, back])


# ---- weights ------------------------------------------------------------------------------------


def _tensors(node, layer):
    """{canonical parameter: tensor}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        tensors = {"kernel": layer.weight}
        if node["bias"]:
            tensors["bias"] = layer.bias
        return tensors
    if op == "batchnorm":
        return {
            "gamma": layer.weight,
            "beta": layer.bias,
            "mean": layer.running_mean,
            "variance": layer.running_var,
        }
    if op == "embedding":
        return {"table": layer.weight}
    return {
        "input_kernel": layer.weight_ih_l0,
        "recurrent_kernel": layer.weight_hh_l0,
        "bias": layer.bias_ih_l0,
    }


# ---- loss and optimiser -------------------------------------------------------------------------


def _loss(spec, values, batch):
    output, target = values[spec["output"]], batch[spec["target"]]
    name = spec["name"]
    if name == "softmax-cross-entropy":
        flat = output.reshape(-1, output.shape[-1])
        if spec["mask"] is None:
            return F.cross_entropy(flat, target.reshape(-1))
        places = F.cross_entropy(flat, target.reshape(-1), reduction="none")
        places = places.reshape(target.shape)
    else:
        function = {
            "sigmoid-cross-entropy": F.binary_cross_entropy_with_logits,
            "mean-squared-error": F.mse_loss,
            "mean-absolute-error": F.l1_loss,
        }[name]
        if spec["mask"] is None:
            return function(output, target)
        places = function(output, target, reduction="none")
    mask = batch[spec["mask"]].to(places.dtype)
    return (places * mask).sum() / mask.sum()


def _optimizer(recipe, net, native):
    o = recipe["optimizer"]
    decay = o.get("weight_decay", 0.0)
    groups = [{"params": [], "weight_decay": decay}, {"params": [], "weight_decay": 0.0}]
    for _, name, tensor in net.trained():
        groups[0 if native or is_decayed(name) else 1]["params"].append(tensor)
    groups = [group for group in groups if group["params"]]
    if o["name"] == "sgd":
        return torch.optim.SGD(groups, lr=o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if o["name"] == "adam":
        explicit = {} if native else {"betas": (o["beta1"], o["beta2"]), "eps": o["epsilon"]}
        return torch.optim.Adam(groups, lr=o["lr"], **explicit)
    explicit = {} if native else {"rho": o["rho"], "eps": o["epsilon"]}
    return torch.optim.Adadelta(groups, lr=o["lr"], **explicit)


# ---- model --------------------------------------------------------------------------------------


class TorchModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._layout = Layout(graph)
        self._device = torch.device("cuda" if options.device == "gpu" else "cpu")
        native = options.setting == "native"
        self._net = Net(graph, self._layout, native).to(self._device)
        self._forward = self._loss_of
        if options.variant == "compile":
            torch.compiler.reset()  # after a few models in one process it would stop compiling
            # 2.13 loses gradients behind a max-pooling, at some sizes of batch, when the compiler
            # chooses the convolutions' layout
            told = {} if native else {"options": {"layout_optimization": False}}
            self._forward = torch.compile(self._loss_of, **told)
        self._optimizer = _optimizer(recipe, self, native)
        self._steps = 0
        o = recipe["optimizer"]
        # Adam's epsilon stands inside the bias correction in 1.0; torch.compile and 1.4+ have
        # Algorithm 1 as the graph's recipe does
        self._helped = o["name"] == "adam" and _RELEASE < (1, 4) and not native
        self.path = {
            "loop": options.variant,
            "layout": "the compiler's" if native and options.variant == "compile" else "NCHW",
            "adam": "epsilon helped each step" if self._helped else "as it is",
            "weight decay": "on every parameter" if native else "on kernels and tables",
        }

    def trained(self):
        """(node, canonical name, tensor) of everything that learns."""
        for node in self._nodes_with_weights():
            layer = self._net.layers[node["name"]]
            for name, tensor in sorted(_tensors(node, layer).items()):
                if not is_state(node, name):
                    yield node, name, tensor
            if node["op"] == "lstm" and layer.bias_hh_l0.requires_grad:
                yield node, "second_bias", layer.bias_hh_l0

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _loss_of(self, batch):
        values = self._net(batch)
        return sum(spec["weight"] * _loss(spec, values, batch) for spec in self._recipe["losses"])

    def _tensors_of(self, batch):
        tensors = {k: torch.from_numpy(value_in(v)).to(self._device) for k, v in batch.items()}
        # indices, labels and lengths are int64 in PyTorch: before 1.8 it takes nothing else
        return {k: t if t.is_floating_point() else t.long() for k, t in tensors.items()}

    def train_step(self, batch):
        self._net.train()
        self._optimizer.zero_grad()
        loss = self._forward(self._tensors_of(batch))
        loss.backward()
        if self._helped:
            self._help_adam()
        self._optimizer.step()
        return loss.detach()

    def _help_adam(self):
        self._steps += 1
        o = self._recipe["optimizer"]
        for group in self._optimizer.param_groups:
            group["eps"] = o["epsilon"] * math.sqrt(1 - o["beta2"] ** self._steps)

    def losses(self, handles):
        return torch.stack(list(handles)).tolist()

    def predict(self, batch):
        self._net.eval()
        with torch.no_grad():
            values = self._net(self._tensors_of(batch))
        return {
            name: self._layout.value_out(name, values[name].cpu().numpy())
            for name in self._graph["outputs"]
        }

    def activations(self, batch, training=False):
        self._net.train(training)
        with torch.no_grad():
            values = self._net(self._tensors_of(batch), keep=True)
        return {
            node["name"]: self._layout.value_out(node["name"], values[node["name"]].cpu().numpy())
            for node in self._graph["nodes"]
        }

    def gradients(self, batch):
        self._net.train()
        self._optimizer.zero_grad()
        loss = self._loss_of(self._tensors_of(batch))
        loss.backward()
        found = {}
        for node, name, tensor in self.trained():
            if name != "second_bias":
                grads = found.setdefault(node["name"], {})
                grads[name] = self._canonical(node, name, tensor.grad)
        self._optimizer.zero_grad()
        return loss.item(), found

    def _canonical(self, node, name, tensor):
        return self._layout.parameter_out(node, name, tensor.detach().cpu().numpy())

    def weights(self):
        return {
            node["name"]: {
                name: self._canonical(node, name, tensor)
                for name, tensor in _tensors(node, self._net.layers[node["name"]]).items()
            }
            for node in self._nodes_with_weights()
        }

    def load(self, weights):
        with torch.no_grad():
            for node in self._nodes_with_weights():
                tensors = _tensors(node, self._net.layers[node["name"]])
                for name, tensor in tensors.items():
                    value = self._layout.parameter_in(node, name, weights[node["name"]][name])
                    tensor.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    def sync(self):
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def save_native(self, folder):
        torch.save(self._net.state_dict(), os.path.join(folder, "model.pt"))
        torch.save(self._optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
