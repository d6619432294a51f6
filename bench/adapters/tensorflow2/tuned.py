"""The variant `tuned`: TensorFlow's compiler, XLA, for models without convolutions."""

import tensorflow as tf

from bench.adapters import tensorflow_xla
from bench.adapters.tensorflow2.model import FunctionModel


class TunedModel(FunctionModel):
    def __init__(self, graph, recipe, options):
        super().__init__(graph, recipe, options)
        self._compiles = tensorflow_xla.compiles(graph, options)
        self.path["tuned"] = tensorflow_xla.tricks(self._compiles)

    def _step_function(self, batch):
        if not self._compiles:
            return super()._step_function(batch)
        signature = {name: self._open_spec(name, value) for name, value in batch.items()}
        return tf.function(
            self._take_step, input_signature=[signature], autograph=False, jit_compile=True
        )
