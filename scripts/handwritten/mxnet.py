"""mnist-cnn in plain MXNet: gluon, hybridised."""

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn


def make(images, labels):
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(32, 3, activation="relu"))
        net.add(nn.Conv2D(64, 3, activation="relu"))
        net.add(nn.MaxPool2D(2))
        net.add(nn.Dropout(0.25))
        net.add(nn.Flatten())
        net.add(nn.Dense(128, activation="relu"))
        net.add(nn.Dropout(0.5))
        net.add(nn.Dense(10))
    net.initialize()
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    options = {"learning_rate": 0.01, "momentum": 0.5}
    trainer = gluon.Trainer(net.collect_params(), "sgd", options)
    xs = [mx.nd.array(batch.transpose(0, 3, 1, 2)) for batch in images]
    ys = [mx.nd.array(batch) for batch in labels]

    def run(ks, done):
        for k in ks:
            with autograd.record():
                loss = loss_of(net(xs[k]), ys[k])
            loss.backward()
            trainer.step(len(ys[k]))
            loss.wait_to_read()
            mx.nd.waitall()
            done()

    return run
