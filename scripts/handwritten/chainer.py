"""Plain Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

from handwritten import LSTM, WIDTHS, timed


class Cnn(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 32, 3)
            self.conv2 = L.Convolution2D(32, 64, 3)
            self.dense1 = L.Linear(9216, 128)
            self.dense2 = L.Linear(128, 10)

    def __call__(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pooling_2d(F.relu(self.conv2(x)), 2)
        x = F.dropout(x, 0.25)
        x = F.dropout(F.relu(self.dense1(x)), 0.5)
        return self.dense2(x)


class Mlp(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.dense1 = L.Linear(784, 128)
            self.dense2 = L.Linear(128, 128)
            self.dense3 = L.Linear(128, 10)

    def __call__(self, x):
        return self.dense3(F.relu(self.dense2(F.relu(self.dense1(x)))))


class Lstm(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embedding = L.EmbedID(LSTM["vocabulary"], LSTM["width"])
            self.lstm = L.NStepLSTM(1, LSTM["width"], LSTM["units"], 0.0)
            self.dense = L.Linear(LSTM["units"], 1)

    def __call__(self, tokens, length):
        # as in Chainer's examples: one look-up for all words, then a list of ragged rows
        words = np.concatenate([row[:n] for row, n in zip(tokens, length)])
        rows = F.split_axis(self.embedding(words), np.cumsum(length)[:-1], 0)
        h, _, _ = self.lstm(None, None, rows)
        return self.dense(h[0])


class Block(chainer.Chain):
    def __init__(self, channels, width, stride):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(channels, width, 3, stride, 1, nobias=True)
            self.norm1 = L.BatchNormalization(width)
            self.conv2 = L.Convolution2D(width, width, 3, 1, 1, nobias=True)
            self.norm2 = L.BatchNormalization(width)
            self.other = stride != 1 or channels != width
            if self.other:
                self.conv3 = L.Convolution2D(channels, width, 1, stride, nobias=True)
                self.norm3 = L.BatchNormalization(width)

    def __call__(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        shortcut = self.norm3(self.conv3(x)) if self.other else x
        return F.relu(self.norm2(self.conv2(y)) + shortcut)


class Resnet(chainer.Chain):
    def __init__(self):
        super().__init__()
        channels, blocks = WIDTHS[0], []
        for stage, width in enumerate(WIDTHS):
            blocks += [Block(channels, width, 2 if stage else 1), Block(width, width, 1)]
            channels = width
        with self.init_scope():
            self.conv = L.Convolution2D(3, WIDTHS[0], 3, 1, 1, nobias=True)
            self.norm = L.BatchNormalization(WIDTHS[0])
            self.blocks = chainer.ChainList(*blocks)
            self.dense = L.Linear(channels, 10)

    def __call__(self, x):
        x = F.relu(self.norm(self.conv(x)))
        for block in self.blocks:
            x = block(x)
        return self.dense(F.average_pooling_2d(x, x.shape[2:]))


def make(kind):
    net = {"cnn": Cnn, "mlp": Mlp, "lstm": Lstm, "resnet": Resnet}[kind]()
    if kind in ("mlp", "lstm"):
        optimizer = chainer.optimizers.Adam(1e-3)
    elif kind == "cnn":
        optimizer = chainer.optimizers.MomentumSGD(0.01, 0.5)
    else:
        optimizer = chainer.optimizers.SGD(0.01)
    optimizer.setup(net)
    loss_of = F.sigmoid_cross_entropy if kind == "lstm" else F.softmax_cross_entropy

    def ready(batch):
        if kind == "lstm":
            return batch["label"].astype(np.int32), batch["tokens"], batch["length"]
        return batch["label"], batch["image"].transpose(0, 3, 1, 2).copy()

    def step(target, *inputs):
        loss = loss_of(net(*inputs), target)
        net.cleargrads()
        loss.backward()
        optimizer.update()

    return timed(ready, step)
