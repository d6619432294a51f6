"""Runs inside PyTorch's environment, like torch_faults.py: faults that people make in adapters.

python torch_faults_wide.py REQUESTS     prints, for each of [fault, job, data], the checks as JSON
"""

import functools
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))
import torch_faults

from bench.adapters.torch import layers, model
from bench.ops import sources

Model = model.TorchModel


def _around(op):
    """Decorates `wrong(plain, net, node, inputs, values)`: what the op does from now on."""

    def decorated(wrong):
        def plant():
            plain = layers.OPERATIONS[op]
            layers.OPERATIONS[op] = functools.partial(wrong, plain)

        plant.__name__ = wrong.__name__
        return plant

    return decorated


# ---- ops ----------------------------------------------------------------------------------------


@_around("batchnorm")
def norm_with_the_default_epsilon(plain, net, node, inputs, values):
    net.layer(node).eps = 1e-5
    return plain(net, node, inputs, values)


@_around("batchnorm")
def norm_counts_twice(plain, net, node, inputs, values):
    if net.layer(node).training:
        with torch.no_grad():
            plain(net, node, inputs, values)
    return plain(net, node, inputs, values)


@_around("batchnorm")
def norm_keeps_the_complement_of_the_variance(plain, net, node, inputs, values):
    layer = net.layer(node)
    old = layer.running_var.clone()
    y = plain(net, node, inputs, values)
    if layer.training:
        with torch.no_grad():
            new = (layer.running_var - node["keep"] * old) / max(1 - node["keep"], 1e-9)
            layer.running_var.data.copy_((1 - node["keep"]) * old + node["keep"] * new)
    return y


@_around("batchnorm")
def norm_counts_rows_for_places(plain, net, node, inputs, values):
    """The unbiased variance with n of the rows, not of rows and places."""
    layer, x = net.layer(node), inputs[0]
    old = layer.running_var.clone()
    y = plain(net, node, inputs, values)
    if layer.training and node["unbiased"]:
        n, rows = x.numel() / node["shape"][-1], x.shape[0]
        wrong = (n - 1.0) / n * rows / max(rows - 1.0, 1)
        with torch.no_grad():
            layer.running_var.data.copy_(
                node["keep"] * old + (layer.running_var - node["keep"] * old) * wrong
            )
    return y


@_around("batchnorm")
def norm_of_small_batches_as_in_evaluation(plain, net, node, inputs, values):
    layer = net.layer(node)
    if not layer.training or inputs[0].shape[0] > 4:
        return plain(net, node, inputs, values)
    layer.eval()
    y = plain(net, node, inputs, values)
    layer.train()
    return y


@_around("batchnorm")
def norm_takes_over_the_first_statistics(plain, net, node, inputs, values):
    layer = net.layer(node)
    first = layer.training and not getattr(layer, "seen", False) and torch.is_grad_enabled()
    usual, layer.momentum = layer.momentum, 1.0 if first else layer.momentum
    y = plain(net, dict(node, keep=0.0 if first else node["keep"]), inputs, values)
    layer.momentum, layer.seen = usual, layer.__dict__.get("seen", False) or first
    return y


@_around("avgpool")
def average_counts_padding_at_the_bottom(plain, net, node, inputs, values):
    (top, bottom), across = node["padding"]
    x = F.pad(inputs[0], (0, 0, 0, bottom))
    node = dict(node, padding=[[top, 0], across])
    return plain(net, node, [x], values)


@_around("maxpool")
def uneven_maximum_pads_with_zero(plain, net, node, inputs, values):
    padding = node["padding"]
    if layers.symmetric(padding):
        return plain(net, node, inputs, values)
    x = F.pad(inputs[0], layers._torch_padding(node))
    return F.max_pool2d(x, node["size"], node["stride"])


def uneven_convolution_pads_on_the_other_side():
    def mistaken(self, x):
        left, right, top, bottom = self.around
        return nn.Conv2d.forward(self, F.pad(x, (right, left, bottom, top)))

    layers.PaddedConv2d.forward = mistaken


@_around("conv2d")
def convolution_rounds_to_bfloat16(plain, net, node, inputs, values):
    return plain(net, node, [inputs[0].bfloat16().float()], values)


@_around("relu")
def relu_leaks_in_its_gradient(plain, net, node, inputs, values):
    y = plain(net, node, inputs, values)
    leak = 0.01 * torch.clamp(inputs[0], max=0)
    return y + leak - leak.detach()


@_around("sigmoid")
def sigmoid_saturates_early(plain, net, node, inputs, values):
    return torch.clamp(plain(net, node, inputs, values), 0.02, 0.98)


@_around("flatten")
def flatten_of_maps_channels_first(plain, net, node, inputs, values):
    return inputs[0].reshape(inputs[0].shape[0], -1)


@_around("globalavgpool")
def global_average_of_at_most_sixteen(plain, net, node, inputs, values):
    return inputs[0].sum((2, 3)) / min(16, inputs[0].shape[2] * inputs[0].shape[3])


@_around("lstm")
def lstm_swaps_its_final_states(plain, net, node, inputs, values):
    y, name = plain(net, node, inputs, values), node["name"]
    values[name + ":h"], values[name + ":c"] = values[name + ":c"], values[name + ":h"]
    return y


@_around("lstm")
def lstm_starts_its_cell_from_h(plain, net, node, inputs, values):
    initial = node["initial"] and [node["initial"][0]] * 2
    return plain(net, dict(node, initial=initial), inputs, values)


@_around("lstm")
def lstm_ends_one_step_early(plain, net, node, inputs, values):
    if not node["lengths"]:
        return plain(net, node, inputs, values)
    true = values[node["lengths"]]
    values[node["lengths"]] = torch.clamp(true - 1, min=1)
    y = plain(net, node, inputs, values)
    values[node["lengths"]] = true
    return y


@_around("lstm")
def lstm_passes_no_gradient_to_its_initial_state(plain, net, node, inputs, values):
    cut = {name: values[name].detach() for name in node["initial"] or []}
    inside = dict(values, **cut)
    y = plain(net, node, inputs, inside)
    values.update({k: v for k, v in inside.items() if k not in cut})
    return y


@_around("embedding")
def embedding_scales_by_frequency(plain, net, node, inputs, values):
    net.layer(node).scale_grad_by_freq = True
    return plain(net, node, inputs, values)


@_around("embedding")
def embedding_normalises_long_rows(plain, net, node, inputs, values):
    net.layer(node).max_norm = 2.0
    return plain(net, node, inputs, values)


@_around("dropout")
def small_dropout_in_evaluation(plain, net, node, inputs, values):
    return F.dropout(inputs[0], node["rate"], net.layer(node).training or node["rate"] < 0.1)


@_around("dropout")
def large_dropout_is_the_share_kept(plain, net, node, inputs, values):
    """As TensorFlow's `keep_prob` was taken for a rate, above one half."""
    rate = node["rate"] if node["rate"] <= 0.7 else 1 - node["rate"]
    return F.dropout(inputs[0], rate, net.layer(node).training)


@_around("dropout")
def dropout_drops_whole_steps(plain, net, node, inputs, values):
    x = inputs[0]
    if x.dim() != 3 or not net.layer(node).training:
        return plain(net, node, inputs, values)
    return x * F.dropout(torch.ones_like(x[:, :, :1]), node["rate"], True)


@_around("dropout")
def dropout_is_not_scaled_in_its_gradient(plain, net, node, inputs, values):
    y = plain(net, node, inputs, values)
    if not (net.layer(node).training and node["rate"]):
        return y
    straight = inputs[0] * (y != 0).float()
    return straight + (y - straight).detach()


def readers_after_the_first_pass_no_gradient():
    plain = layers.Net.forward

    def forgetful(self, inputs, steps):
        seen, altered = set(), []
        for node, _ in steps:
            altered.append(node)
            for source in sources(node):
                if source in seen and source not in inputs and node["op"] != "lstm":
                    altered[-1] = dict(node, cut=[*altered[-1].get("cut", []), source])
                seen.add(source)
        cuts = {node["name"]: node.get("cut", []) for node in altered}
        usual = dict(layers.OPERATIONS)

        def with_cut(op):
            def run(net, node, read, values):
                cut = cuts.get(node["name"], [])
                pairs = zip(read, node["inputs"], strict=True)
                return usual[op](net, node, [r.detach() if n in cut else r for r, n in pairs],
                                 values)  # fmt: skip

            return run

        layers.OPERATIONS.update({op: with_cut(op) for op in usual})
        try:
            return plain(self, inputs, steps)
        finally:
            layers.OPERATIONS.update(usual)

    layers.Net.forward = forgetful


@_around("concat")
def concat_of_one_value_twice_passes_half(plain, net, node, inputs, values):
    names = node["inputs"]
    first = names.index
    read = [
        x if first(n) == i else x.detach()
        for i, (x, n) in enumerate(zip(inputs, names, strict=True))
    ]
    return plain(net, node, read, values)


def frozen_layers_learn():
    layers.is_frozen = lambda node: False
    model.is_state = lambda node, name: node["op"] in ("batchnorm", "affine") and name in (
        "mean", "variance", "scale", "offset",
    )  # fmt: skip


# ---- losses -------------------------------------------------------------------------------------


def _loss(wrong):
    def plant():
        model.loss_of = functools.partial(wrong, model.loss_of)

    plant.__name__ = wrong.__name__
    return plant


@_loss
def masked_loss_over_the_batch(plain, spec, values, batch):
    if not spec["mask"] or spec.get("divisor"):
        return plain(spec, values, batch)
    rows = float(batch[spec["mask"]].shape[0])
    return plain(dict(spec, divisor=rows), values, batch)


@_loss
def mask_only_in_the_value(plain, spec, values, batch):
    right = plain(spec, values, batch)
    if not spec["mask"]:
        return right
    whole = plain(dict(spec, mask=None, divisor=None), values, batch)
    return whole + (right - whole).detach()


@_loss
def weights_of_a_mask_are_ones(plain, spec, values, batch):
    if not spec.get("divisor"):
        return plain(spec, values, batch)
    ones = (batch[spec["mask"]] != 0).float()
    return plain(spec, values, dict(batch, **{spec["mask"]: ones}))


@_loss
def divisor_is_the_sum_of_weights(plain, spec, values, batch):
    if not spec.get("divisor"):
        return plain(spec, values, batch)
    return plain(dict(spec, divisor=float(batch[spec["mask"]].sum())), values, batch)


@_loss
def weight_of_a_loss_squared(plain, spec, values, batch):
    return spec["weight"] * plain(spec, values, batch)


@_loss
def smooth_l1_bends_at_one_half(plain, spec, values, batch):
    if spec["name"] != "smooth-l1" or spec["mask"]:
        return plain(spec, values, batch)
    error = values[spec["output"]] - batch[spec["target"]]
    return F.smooth_l1_loss(error, torch.zeros_like(error), beta=0.5)


def class_zero_does_not_count():
    F.cross_entropy = functools.partial(F.cross_entropy, ignore_index=0)


def labels_are_smoothed():
    F.cross_entropy = functools.partial(F.cross_entropy, label_smoothing=0.01)


def odd_batches_lose_their_last_row():
    plain = Model._tensors

    def cut(self, batch):
        tensors = plain(self, batch)
        rows = len(next(iter(batch.values())))
        if self._net.training and torch.is_grad_enabled() and rows % 2 and rows > 1:
            return {name: value[:-1] for name, value in tensors.items()}
        return tensors

    Model._tensors = cut


# ---- optimisers ---------------------------------------------------------------------------------


def _before_step(wrong):
    """Decorates `wrong(model)`, which runs when the gradients are there."""

    def plant():
        plain = model.clip

        def clipped(recipe, optimizer, native):
            plain(recipe, optimizer, native)
            wrong(recipe, optimizer)

        model.clip = clipped

    plant.__name__ = wrong.__name__
    return plant


def gradients_are_clipped_one_by_one():
    def clipped(recipe, optimizer, native):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if recipe.get("clip") is not None:
                    nn.utils.clip_grad_norm_([p], recipe["clip"])

    model.clip = clipped


def gradients_are_clipped_by_value():
    def clipped(recipe, optimizer, native):
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if recipe.get("clip") is not None:
            nn.utils.clip_grad_value_(parameters, recipe["clip"])

    model.clip = clipped


@_before_step
def biases_learn_twice_as_fast(recipe, optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.dim() == 1:
                p.grad.mul_(2)


@_before_step
def decay_only_where_a_gradient_is(recipe, optimizer):
    """Rows of a table that were not read do not decay."""
    decay = recipe["optimizer"].get("weight_decay", 0.0)
    for group in optimizer.param_groups:
        for p in group["params"]:
            if group["weight_decay"] and p.dim() == 2:
                p.grad.sub_((p.grad == 0).all(1, keepdim=True).float() * decay * p.detach())


def momentum_is_lost_at_the_end_of_an_epoch():
    plain = Model.train_epoch

    def forgetful(self, batches, on_step):
        plain(self, batches, on_step)
        for state in self._optimizer.state.values():
            if state.get("momentum_buffer") is not None:
                state["momentum_buffer"].zero_()

    Model.train_epoch = forgetful


def rate_comes_a_step_late():
    plain = Model.set_rate

    def late(self, rate):
        plain(self, getattr(self, "next_rate", rate))
        self.next_rate = rate

    Model.set_rate = late


def rate_is_set_for_the_first_group_alone():
    def partly(self, rate):
        self._optimizer.param_groups[0]["lr"] = rate

    Model.set_rate = partly


def adam_never_forgets_its_largest():
    torch.optim.Adam = functools.partial(torch.optim.Adam, amsgrad=True)


def momentum_is_the_usual_one():
    plain = torch.optim.SGD
    torch.optim.SGD = lambda groups, lr, momentum, nesterov: plain(
        groups, lr=lr, momentum=0.9 if momentum else 0.0, nesterov=nesterov
    )


# ---- the model ----------------------------------------------------------------------------------


def first_prediction_after_a_load_is_stale():
    load, predict = Model.load, Model.predict

    def remember(self, weights):
        self.before = self.weights() if hasattr(self, "before") else weights
        load(self, weights)

    def stale(self, batch):
        now, self.before = self.weights(), getattr(self, "before", None)
        if self.before is not None:
            load(self, self.before)
        found = predict(self, batch)
        load(self, now)
        self.before = now
        return found

    Model.load, Model.predict = remember, stale


def predictions_are_of_the_batch_before():
    plain = Model.predict

    def late(self, batch):
        found = plain(self, batch)
        last, self.last = getattr(self, "last", found), found
        same = all(last[name].shape == value.shape for name, value in found.items())
        return last if same else found

    Model.predict = late


def predictions_are_rounded_to_float16():
    plain = Model.predict
    Model.predict = lambda self, batch: {
        name: value.astype("f2").astype("f4") for name, value in plain(self, batch).items()
    }


def states_are_predicted_in_the_other_order():
    plain = Model.predict

    def swapped(self, batch):
        found = plain(self, batch)
        names = sorted(found)
        same = [n for n in names if found[n].shape == found[names[0]].shape]
        return dict(found, **{a: found[b] for a, b in zip(same, same[::-1], strict=True)})

    Model.predict = swapped


def the_loss_told_is_that_of_the_step_before():
    plain = Model.train_step

    def late(self, batch):
        loss = plain(self, batch)
        last, self.last_loss = getattr(self, "last_loss", loss), loss
        return last

    Model.train_step = late


def gradients_are_kept_after_a_prediction():
    predict, step = Model.predict, Model.train_step

    def marking(self, batch):
        self.kept = True
        return predict(self, batch)

    def adding(self, batch):
        usual = self._optimizer.zero_grad
        if getattr(self, "kept", False):
            self._optimizer.zero_grad = lambda: None
        self.kept = False
        try:
            return step(self, batch)
        finally:
            self._optimizer.zero_grad = usual

    Model.predict, Model.train_step = marking, adding


def first_step_behind_a_prediction_in_evaluation_mode():
    predict, step = Model.predict, Model.train_step

    def marking(self, batch):
        found = predict(self, batch)
        self._in_evaluation = True
        return found

    def mistaken(self, batch):
        usual = self._net.train
        if getattr(self, "_in_evaluation", False):
            self._net.train = lambda mode=True: self._net
        self._in_evaluation = False
        try:
            return step(self, batch)
        finally:
            self._net.train = usual

    Model.predict, Model.train_step = marking, mistaken


def predictions_of_one_row_in_training_mode():
    plain = Model.predict

    def mistaken(self, batch):
        if len(next(iter(batch.values()))) != 1:
            return plain(self, batch)
        self._net.train()
        return self._values(batch, self._prediction_steps, self._graph["outputs"])

    Model.predict = mistaken


@_around("relu")
def relu_writes_over_what_others_read(plain, net, node, inputs, values):
    y = plain(net, node, inputs, values)
    with torch.no_grad():
        inputs[0].data.copy_(y.data)
    return y


@_around("batchnorm")
def norm_of_the_first_four_rows(plain, net, node, inputs, values):
    layer, x = net.layer(node), inputs[0]
    if not layer.training or x.shape[0] <= 4:
        return plain(net, node, inputs, values)
    some = plain(net, node, [x[:4]], values)
    dims = [d for d in range(x.dim()) if d != 1]
    mean, variance = x[:4].mean(dims, True), x[:4].var(dims, unbiased=False, keepdim=True)
    shape = mean.shape
    rest = (x[4:] - mean) / torch.sqrt(variance + layer.eps)
    return torch.cat([some, rest * layer.weight.view(shape) + layer.bias.view(shape)])


def predictions_are_of_averaged_weights():
    load, predict, step = Model.load, Model.predict, Model.train_step

    def loading(self, weights):
        load(self, weights)
        self.mean = None

    def averaging(self, batch):
        handle, now = step(self, batch), self.weights()
        old = self.mean or now
        self.mean = {
            node: {k: 0.5 * old[node][k] + 0.5 * v for k, v in values.items()}
            for node, values in now.items()
        }
        return handle

    def smooth(self, batch):
        now, mean = self.weights(), getattr(self, "mean", None)
        load(self, mean or now)
        found = predict(self, batch)
        load(self, now)
        return found

    Model.load, Model.train_step, Model.predict = loading, averaging, smooth


def losses_are_told_in_float16():
    plain = Model.losses
    Model.losses = lambda self, handles: [
        float(torch.tensor(loss).half()) for loss in plain(self, handles)
    ]


@_before_step
def momentum_is_kept_in_bfloat16(recipe, optimizer):
    for state in optimizer.state.values():
        if state.get("momentum_buffer") is not None:
            state["momentum_buffer"].copy_(state["momentum_buffer"].bfloat16().float())


def a_new_rate_makes_a_new_optimizer():
    plain = Model.set_rate

    def forgetful(self, rate):
        plain(self, rate)
        self._optimizer.state.clear()

    Model.set_rate = forgetful


# ---- what shows late, in many batches, or in few -------------------------------------------------


def predictions_share_one_buffer():
    plain = Model.predict

    def reusing(self, batch):
        kept = self.__dict__.setdefault("kept", {})
        for name, value in plain(self, batch).items():
            kept.setdefault((name, value.shape), value.copy())[...] = value
        rows = len(next(iter(batch.values())))
        return {name: value for (name, shape), value in kept.items() if shape[0] == rows}

    Model.predict = reusing


def predictions_are_kept_by_array():
    plain, step, load = Model.predict, Model.train_step, Model.load

    def remembering(self, batch):
        key = tuple(id(value) for _, value in sorted(batch.items()))
        kept = self.__dict__.setdefault("kept", {})
        if key not in kept:
            kept[key] = plain(self, batch), batch
        return kept[key][0]

    def forgetting(function):
        def run(self, given):
            self.kept = {}
            return function(self, given)

        return run

    Model.predict, Model.train_step, Model.load = remembering, forgetting(step), forgetting(load)


def a_prediction_of_one_row_resets_the_optimizer():
    plain = Model.predict

    def forgetful(self, batch):
        if len(next(iter(batch.values()))) == 1:
            self._optimizer.state.clear()
        return plain(self, batch)

    Model.predict = forgetful


def _in_epochs(wrong):
    """Decorates `wrong(model, batches, on_step)`: the loop from now on."""

    def plant():
        Model.train_epoch = wrong

    plant.__name__ = wrong.__name__
    return plant


@_in_epochs
def batches_behind_the_sixth_change_places(self, batches, on_step):
    batches = list(batches)
    batches[6:] = reversed(batches[6:])
    for batch in map(self.prepared, batches):
        start = time.monotonic()
        handle = self.train_step(batch)
        on_step(handle, time.monotonic() - start)


@_in_epochs
def updates_behind_the_eighth_batch_are_lost(self, batches, on_step):
    for number, batch in enumerate(map(self.prepared, batches)):
        start, now = time.monotonic(), self.weights()
        handle = self.train_step(batch)
        if number > 8:
            self.load(now)
        on_step(handle, time.monotonic() - start)


@_in_epochs
def steps_are_told_a_tenth_of_their_time(self, batches, on_step):
    for batch in map(self.prepared, batches):
        start = time.monotonic()
        handle = self.train_step(batch)
        on_step(handle, (time.monotonic() - start) / 10)


@_in_epochs
def steps_are_taken_while_batches_are_prepared(self, batches, on_step):
    for batch in batches:
        handle = self.train_step(self.prepared(batch))
        start = time.monotonic()
        on_step(handle, time.monotonic() - start)


def batches_of_one_row_are_left_out():
    plain = Model.train_step

    def lazy(self, batch):
        if len(next(iter(batch.values()))) > 1:
            return plain(self, batch)
        return self._loss_of(self._tensors(batch)).detach()

    Model.train_step = lazy


@_loss
def a_single_place_counts_half(plain, spec, values, batch):
    if not spec["mask"] or spec.get("divisor"):
        return plain(spec, values, batch)
    count = max(float(batch[spec["mask"]].sum()), 2.0)
    return plain(dict(spec, divisor=count), values, batch)


@_loss
def logits_are_cut_off_at_fifteen(plain, spec, values, batch):
    cut = torch.clamp(values[spec["output"]], -15, 15)
    return plain(spec, dict(values, **{spec["output"]: cut}), batch)


def _masks(wrong):
    """Decorates `wrong(dropout, x, ones)`: the mask of a dropout in training."""

    def plant():
        def forward(self, x):
            if not (self.training and self.p):
                return x
            self.calls = getattr(self, "calls", 0) + 1
            return x * wrong(self, x) / (1 - self.p)

        nn.Dropout.forward = forward

    plant.__name__ = wrong.__name__
    return plant


def _drawn(dropout, shape, seed=None):
    generator = torch.Generator()
    generator.manual_seed(int(torch.randint(1 << 30, ())) if seed is None else seed)
    return (torch.rand(shape, generator=generator) >= dropout.p).float()


@_masks
def four_masks_take_turns(dropout, x):
    return _drawn(dropout, x.shape, dropout.calls % 4)


@_masks
def dropout_ends_after_thirty_steps(dropout, x):
    dropout.calls -= not torch.is_grad_enabled()
    return _drawn(dropout, x.shape) if dropout.calls <= 30 else torch.ones_like(x) * (1 - dropout.p)


@_masks
def small_batches_have_one_mask(dropout, x):
    return _drawn(dropout, x.shape, 5 if len(x) == 3 else None)


@_masks
def masks_come_again_after_sixty_rows(dropout, x):
    return _drawn(dropout, x[:60].shape).repeat((-(-len(x) // 60),) + (1,) * (x.dim() - 1))[
        : len(x)
    ]


@_masks
def the_first_channel_is_never_dropped(dropout, x):
    mask = _drawn(dropout, x.shape)
    mask[:, 0] = 1
    return mask


if __name__ == "__main__":
    vars(torch_faults).update({k: v for k, v in globals().items() if callable(v)})
    torch_faults.main(*sys.argv[1:])
