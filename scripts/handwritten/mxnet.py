"""Plain MXNet: gluon, hybridised."""

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

from handwritten import LSTM, WIDTHS, timed


class Lstm(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(LSTM["vocabulary"], LSTM["width"])
            self.lstm = rnn.LSTM(LSTM["units"], input_size=LSTM["width"])
            self.dense = nn.Dense(1)

    def hybrid_forward(self, F, tokens, length):
        words = F.swapaxes(self.embedding(tokens), 0, 1)
        last = F.SequenceLast(self.lstm(words), length, use_sequence_length=True)
        return self.dense(last)


class Block(nn.HybridBlock):
    def __init__(self, channels, width, stride):
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(nn.Conv2D(width, 3, stride, 1, use_bias=False), nn.BatchNorm())
            self.body.add(nn.Activation("relu"))
            self.body.add(nn.Conv2D(width, 3, 1, 1, use_bias=False), nn.BatchNorm())
            self.shortcut = None
            if stride != 1 or channels != width:
                self.shortcut = nn.HybridSequential()
                self.shortcut.add(nn.Conv2D(width, 1, stride, use_bias=False), nn.BatchNorm())

    def hybrid_forward(self, F, x):
        shortcut = self.shortcut(x) if self.shortcut else x
        return F.Activation(self.body(x) + shortcut, act_type="relu")


def resnet():
    net, channels = nn.HybridSequential(), WIDTHS[0]
    net.add(nn.Conv2D(channels, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    for stage, width in enumerate(WIDTHS):
        net.add(Block(channels, width, 2 if stage else 1), Block(width, width, 1))
        channels = width
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    return net


def cnn():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(32, 3, activation="relu"), nn.Conv2D(64, 3, activation="relu"))
    net.add(nn.MaxPool2D(2), nn.Dropout(0.25), nn.Flatten(), nn.Dense(128, activation="relu"))
    net.add(nn.Dropout(0.5), nn.Dense(10))
    return net


def mlp():
    net = nn.HybridSequential()
    net.add(nn.Dense(128, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(10))
    return net


def make(kind):
    net = {"cnn": cnn, "mlp": mlp, "lstm": Lstm, "resnet": resnet}[kind]()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    if kind == "lstm":
        loss_of = gluon.loss.SigmoidBCELoss()
    loss_of.hybridize()
    if kind in ("mlp", "lstm"):
        rule, options = "adam", {"learning_rate": 1e-3}
    else:
        rule, options = "sgd", {"learning_rate": 0.01, "momentum": 0.5 if kind == "cnn" else 0.0}
    trainer = gluon.Trainer(net.collect_params(), rule, options)

    def ready(batch):
        if kind == "lstm":
            return [mx.nd.array(batch[name]) for name in ("label", "tokens", "length")]
        return mx.nd.array(batch["label"]), mx.nd.array(batch["image"].transpose(0, 3, 1, 2))

    def step(target, *inputs):
        with autograd.record():
            loss = loss_of(net(*inputs), target)
        loss.backward()
        trainer.step(len(target))
        mx.nd.waitall()

    return timed(ready, step)
