"""What both generations of TensorFlow share: pooling, losses, and its words for padding."""

import math

import tensorflow as tf


def padding_word(node):
    """ "valid" or "same" where TensorFlow's word means just the graph's padding; else None."""
    if not any(node["padding"][0] + node["padding"][1]):
        return "valid"
    size = node.get("kernel") or node["size"]
    plain = node["stride"] == [1, 1] and all(
        [(k - 1) // 2, k // 2] == list(pad) for k, pad in zip(size, node["padding"])
    )
    return "same" if plain else None


def padded(node, x, value=0.0):
    """Padded by hand, for what no word means."""
    return tf.pad(x, [[0, 0]] + list(node["padding"]) + [[0, 0]], constant_values=value)


def max_pool(node, x):
    word = padding_word(node)
    return _pool(tf.nn.max_pool, node, x if word else padded(node, x, -math.inf), word)


def average_pool(node, x):
    word = padding_word(node)
    if word:  # TensorFlow's "same" does not count the padding either
        return _pool(tf.nn.avg_pool, node, x, word)
    inside = padded(node, tf.ones_like(x[:1, :, :, :1]))
    pooled = _pool(tf.nn.avg_pool, node, padded(node, x))
    return pooled / _pool(tf.nn.avg_pool, node, inside)


def _pool(function, node, x, word=None):
    size, stride = [1] + node["size"] + [1], [1] + node["stride"] + [1]
    return function(x, size, stride, (word or "valid").upper())


def loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    output, target = values[spec["output"]], batch[spec["target"]]
    name = spec["name"]
    if name == "softmax-cross-entropy":
        places = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    elif name == "sigmoid-cross-entropy":
        places = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    elif name == "mean-squared-error":
        places = tf.square(output - target)
    else:
        places = tf.abs(output - target)
    if spec["mask"] is None:
        return tf.reduce_mean(places)
    mask = tf.cast(batch[spec["mask"]], places.dtype)
    return tf.reduce_sum(places * mask) / tf.reduce_sum(mask)


def chosen(graph, layers, settings, native):
    """For the record: the optimiser's settings, and what was helped or left to TensorFlow."""
    ops = {node["op"] for node in graph["nodes"]}
    told = {k: v for k, v in sorted(settings.items()) if isinstance(v, (bool, int, float, str))}
    if native:
        norms = [layers[node["name"]] for node in graph["nodes"] if node["op"] == "batchnorm"]
        return {
            "optimizer": told,
            "initial": "kernels glorot-uniform, biases zero",
            "batchnorm": ["keep {:g}, epsilon {:g}".format(n.momentum, n.epsilon) for n in norms],
        }
    helped = []
    if "beta_2" in settings or "beta2" in settings:
        helped.append("Adam's epsilon outside the bias correction")
    if "embedding" in ops:
        helped.append("gradients of tables made dense")
    if "batchnorm" in ops:
        helped.append("batch-norm's running variance as the graph says")
    return {"optimizer": told, "helped": helped}
