"""Batches for fit on TensorFlow: a queue that is filled between two steps.

From a generator fit gets them through a Python function, in a thread, while a step runs.
"""

import tensorflow as tf


class Queue:
    """Batches like the first one, of any number of rows, with inputs of these shapes."""

    def __init__(self, first, inputs):
        arrays = tf.nest.flatten(first)
        self._queue = tf.queue.FIFOQueue(1, [array.dtype for array in arrays])
        shapes = inputs + [(None,) + array.shape[1:] for array in arrays[len(inputs) :]]

        def taken(_):
            tensors = tf.nest.flatten(self._queue.dequeue())
            for tensor, shape in zip(tensors, shapes):
                tensor.set_shape(shape)
            return tf.nest.pack_sequence_as(first, tensors)

        options = tf.data.Options()
        # a batch is taken in its step: what was fetched ahead would be lost when fit ends
        options.experimental_optimization.inject_prefetch = False
        options.autotune.enabled = False
        self.dataset = tf.data.Dataset.from_tensors(0).repeat().map(taken).with_options(options)

    def put(self, batch):
        with tf.device("CPU:0"):
            self._queue.enqueue(tf.nest.flatten(batch))
