"""Plain JAX: flax nnx, optax, one jitted step."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from handwritten import LSTM, WIDTHS, timed


class Cnn(nnx.Module):
    def __init__(self, rngs):
        self.conv1 = nnx.Conv(1, 32, (3, 3), padding="VALID", rngs=rngs)
        self.conv2 = nnx.Conv(32, 64, (3, 3), padding="VALID", rngs=rngs)
        self.drop1 = nnx.Dropout(0.25, rngs=rngs)
        self.dense1 = nnx.Linear(9216, 128, rngs=rngs)
        self.drop2 = nnx.Dropout(0.5, rngs=rngs)
        self.dense2 = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.conv1(x))
        x = nnx.max_pool(nnx.relu(self.conv2(x)), (2, 2), strides=(2, 2))
        x = self.drop1(x).reshape(x.shape[0], -1)
        return self.dense2(self.drop2(nnx.relu(self.dense1(x))))


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.dense1 = nnx.Linear(784, 128, rngs=rngs)
        self.dense2 = nnx.Linear(128, 128, rngs=rngs)
        self.dense3 = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.dense1(x.reshape(x.shape[0], -1)))
        return self.dense3(nnx.relu(self.dense2(x)))


class Lstm(nnx.Module):
    def __init__(self, rngs):
        self.embedding = nnx.Embed(LSTM["vocabulary"], LSTM["width"], rngs=rngs)
        cell = nnx.OptimizedLSTMCell(LSTM["width"], LSTM["units"], rngs=rngs)
        self.lstm = nnx.RNN(cell, return_carry=True, rngs=False)
        self.dense = nnx.Linear(LSTM["units"], 1, rngs=rngs)

    def __call__(self, tokens, length):
        zeros = jnp.zeros((tokens.shape[0], LSTM["units"]))
        x = self.embedding(tokens)
        (_, h), _ = self.lstm(x, initial_carry=(zeros, zeros), seq_lengths=length)
        return self.dense(h)


class Normalised(nnx.Module):
    def __init__(self, channels, width, kernel, stride, rngs):
        self.conv = nnx.Conv(
            *(channels, width, (kernel, kernel), (stride, stride)),
            padding=kernel // 2,
            use_bias=False,
            rngs=rngs,
        )
        # as the graph has it: flax's faster variance loses digits, and is the biased one
        self.norm = nnx.BatchNorm(width, momentum=0.9, use_fast_variance=False, rngs=rngs)

    def __call__(self, x):
        x, kept = self.conv(x), 0.9 * self.norm.var[...]
        y, rows = self.norm(x), x.size // x.shape[-1]
        self.norm.var[...] = kept + (self.norm.var[...] - kept) * (rows / (rows - 1))
        return y


class Block(nnx.Module):
    def __init__(self, channels, width, stride, rngs):
        self.first = Normalised(channels, width, 3, stride, rngs)
        self.second = Normalised(width, width, 3, 1, rngs)
        other = stride != 1 or channels != width
        self.shortcut = Normalised(channels, width, 1, stride, rngs) if other else None

    def __call__(self, x):
        y = self.second(nnx.relu(self.first(x)))
        return nnx.relu(y + (self.shortcut(x) if self.shortcut else x))


class Resnet(nnx.Module):
    def __init__(self, rngs):
        channels, blocks = WIDTHS[0], []
        self.first = Normalised(3, channels, 3, 1, rngs)
        for stage, width in enumerate(WIDTHS):
            blocks += [
                Block(channels, width, 2 if stage else 1, rngs),
                Block(width, width, 1, rngs),
            ]
            channels = width
        self.blocks = nnx.List(blocks)
        self.dense = nnx.Linear(channels, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.first(x))
        for block in self.blocks:
            x = block(x)
        return self.dense(x.mean((1, 2)))


def make(kind):
    net = {"cnn": Cnn, "mlp": Mlp, "lstm": Lstm, "resnet": Resnet}[kind](nnx.Rngs(0))
    if kind in ("mlp", "lstm"):
        rule = optax.adam(1e-3)
    else:
        rule = optax.sgd(0.01, momentum=0.5 if kind == "cnn" else None)
    net.train()
    optimizer = nnx.Optimizer(net, rule, wrt=nnx.Param)
    loss_of = optax.softmax_cross_entropy_with_integer_labels
    if kind == "lstm":
        loss_of = optax.sigmoid_binary_cross_entropy

    # the whole state as one donated argument of jax.jit: nnx.jit looks through the module each time
    structure, state = nnx.split((net, optimizer))

    def train(state, target, *inputs):
        net, optimizer = nnx.merge(structure, state)

        def loss(net):
            return loss_of(net(*inputs), target).mean()

        value, gradients = nnx.value_and_grad(loss)(net)
        optimizer.update(net, gradients)
        return nnx.state((net, optimizer)), value

    train, kept = jax.jit(train, donate_argnums=0), [state]

    def ready(batch):
        names = ("label", "tokens", "length") if kind == "lstm" else ("label", "image")
        return [jnp.asarray(batch[name]) for name in names]

    def step(*arrays):
        kept[0], _ = train(kept[0], *arrays)
        jax.block_until_ready(kept[0])

    return timed(ready, step)
