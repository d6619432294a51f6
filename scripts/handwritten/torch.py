"""Plain PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from handwritten import LSTM, WIDTHS, timed


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(LSTM["vocabulary"], LSTM["width"])
        self.lstm = nn.LSTM(LSTM["width"], LSTM["units"], batch_first=True)
        self.dense = nn.Linear(LSTM["units"], 1)

    def forward(self, tokens, length):
        sequence, _ = self.lstm(self.embedding(tokens))
        last = sequence[torch.arange(len(length)), length - 1]
        return self.dense(last)


class Block(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet():
    channels = WIDTHS[0]
    layers = [nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    for stage, width in enumerate(WIDTHS):
        layers += [Block(channels, width, 2 if stage else 1), Block(width, width, 1)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def cnn():
    return nn.Sequential(
        *[nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)],
        *[nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5)],
        nn.Linear(128, 10),
    )


def mlp():
    return nn.Sequential(
        *[nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()],
        nn.Linear(128, 10),
    )


def make(kind):
    net = {"cnn": cnn, "mlp": mlp, "lstm": Lstm, "resnet": resnet}[kind]()
    loss_of = nn.BCEWithLogitsLoss() if kind == "lstm" else nn.CrossEntropyLoss()
    if kind in ("mlp", "lstm"):
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    else:
        momentum = 0.5 if kind == "cnn" else 0.0
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=momentum)
    net.train()

    def ready(batch):
        tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
        if kind == "lstm":
            return tensors["label"], tensors["tokens"].long(), tensors["length"].long()
        image = torch.from_numpy(batch["image"].transpose(0, 3, 1, 2).copy())
        return tensors["label"].long(), image

    def step(target, *inputs):
        optimizer.zero_grad()
        loss = loss_of(net(*inputs), target)
        loss.backward()
        optimizer.step()

    return timed(ready, step)
