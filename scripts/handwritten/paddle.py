"""mnist-cnn in plain PaddlePaddle."""

import paddle
from paddle import nn
from paddle.nn import functional as F

from handwritten import timed


class Cnn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(1, 32, 3)
        self.conv2 = nn.Conv2D(32, 64, 3)
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


def make(kind):
    net = Cnn()
    optimizer = paddle.optimizer.Momentum(0.01, 0.5, parameters=net.parameters())
    net.train()

    def ready(batch):
        image = batch["image"].transpose(0, 3, 1, 2).copy()
        return paddle.to_tensor(image), paddle.to_tensor(batch["label"])

    def step(image, label):
        loss = F.cross_entropy(net(image), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

    return timed(ready, step)
