"""mnist-cnn in plain JAX: flax nnx, optax, one jitted step."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
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


def make(images, labels):
    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.sgd(0.01, momentum=0.5), wrt=nnx.Param)

    @nnx.jit
    def train(net, optimizer, x, y):
        def loss_of(net):
            return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()

        loss, gradients = nnx.value_and_grad(loss_of)(net)
        optimizer.update(net, gradients)
        return loss

    xs = [jnp.asarray(batch) for batch in images]
    ys = [jnp.asarray(batch) for batch in labels]

    def run(ks, done):
        for k in ks:
            jax.block_until_ready(train(net, optimizer, xs[k], ys[k]))
            done()

    return run
