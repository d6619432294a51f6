"""mnist-cnn in plain PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.drop1 = nn.Dropout(0.25)
        self.dense1 = nn.Linear(9216, 128)
        self.drop2 = nn.Dropout(0.5)
        self.dense2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.drop1(x).flatten(1)
        x = self.drop2(F.relu(self.dense1(x)))
        return self.dense2(x)


def make(images, labels):
    xs = [torch.from_numpy(batch.transpose(0, 3, 1, 2).copy()) for batch in images]
    ys = [torch.from_numpy(batch).long() for batch in labels]
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
    net.train()

    def run(ks, done):
        for k in ks:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(xs[k]), ys[k])
            loss.backward()
            optimizer.step()
            done()

    return run
