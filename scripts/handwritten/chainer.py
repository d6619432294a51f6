"""mnist-cnn in plain Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
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


def make(images, labels):
    net = Net()
    optimizer = chainer.optimizers.MomentumSGD(0.01, 0.5)
    optimizer.setup(net)
    xs = [batch.transpose(0, 3, 1, 2).copy() for batch in images]

    def run(ks, done):
        for k in ks:
            loss = F.softmax_cross_entropy(net(xs[k]), labels[k])
            net.cleargrads()
            loss.backward()
            optimizer.update()
            done()

    return run
