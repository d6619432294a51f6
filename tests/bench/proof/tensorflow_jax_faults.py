"""Runs inside the environment of TensorFlow 1 or 2, Keras 3 or JAX: faults in their adapters.

python tensorflow_jax_faults.py REQUESTS    prints the checks of each [fault, job, data] as JSON,
                                            up to the first that fails

Every fault is put in, certified and taken out again. It runs on Python 3.6.
"""

import functools
import importlib
import json
import os
import sys
from pathlib import Path

from bench import data, verify
from bench.ops import trained_nodes
from bench.trial import options_of
from bench.weights import is_state

REQUESTS = json.loads(Path(sys.argv[1]).read_text())
ADAPTER = REQUESTS[0][1]["adapter"]
adapter = importlib.import_module("bench.adapters." + ADAPTER)
layers, model, training = (
    importlib.import_module(f"bench.adapters.{ADAPTER}.{part}")
    for part in ("layers", "model", "training")
)
KINDS = {
    "session": ("model", "SessionModel"),
    "function": ("model", "FunctionModel"),
    "fit": ("fit" if ADAPTER == "tensorflow2" else "model", "FitModel"),
    "jit": ("model", "JaxModel"),
}
part, kind = KINDS[REQUESTS[0][1]["variant"]]
Model = getattr(importlib.import_module(f"bench.adapters.{ADAPTER}.{part}"), kind)
_undo = []


def put(owner, name, value):
    """Put this in the place of an attribute, or of an entry of a dictionary."""
    if isinstance(owner, dict):
        _undo.append(functools.partial(owner.__setitem__, name, owner[name]))
        owner[name] = value
        return
    if name in vars(owner):
        _undo.append(functools.partial(setattr, owner, name, vars(owner)[name]))
    else:
        _undo.append(functools.partial(delattr, owner, name))
    setattr(owner, name, value)


# ---- the same in every adapter: what is asked of the model, or how the job is read --------------


def building(change):
    """From now on models are built of the graph and the recipe as `change` alters them."""
    plain = adapter.build
    put(adapter, "build", lambda graph, recipe, options: plain(*change(graph, recipe), options))


def second_loss_is_ignored():
    building(lambda graph, recipe: (graph, dict(recipe, losses=recipe["losses"][:1])))


def masks_are_ignored():
    def change(graph, recipe):
        losses = [dict(spec, mask=None, divisor=None) for spec in recipe["losses"]]
        return graph, dict(recipe, losses=losses)

    building(change)


def frozen_layers_learn():
    def change(graph, recipe):
        nodes = [dict(node, frozen=False) for node in graph["nodes"]]
        return dict(graph, nodes=nodes), recipe

    building(change)


def initial_states_are_swapped():
    def change(graph, recipe):
        nodes = [
            dict(node, initial=node["initial"][::-1]) if node.get("initial") else node
            for node in graph["nodes"]
        ]
        return dict(graph, nodes=nodes), recipe

    building(change)


def clip_is_ten_times_larger():
    building(lambda graph, recipe: (graph, dict(recipe, clip=recipe["clip"] * 10)))


def momentum_without_nesterov():
    def change(graph, recipe):
        return graph, dict(recipe, optimizer=dict(recipe["optimizer"], nesterov=False))

    building(change)


def rate_comes_a_step_late():
    plain = Model.set_rate

    def late(self, rate):
        if hasattr(self, "_next_rate"):
            plain(self, self._next_rate)
        self._next_rate = rate

    put(Model, "set_rate", late)


def predictions_are_those_of_the_epoch_before():
    predict, epoch = Model.predict, Model.train_epoch

    def remembering(self, batches, on_step):
        self._before = self.weights()
        epoch(self, batches, on_step)

    def stale(self, batch):
        if not hasattr(self, "_before"):
            return predict(self, batch)
        now = self.weights()
        self.load(self._before)
        found = predict(self, batch)
        self.load(now)
        return found

    put(Model, "train_epoch", remembering)
    put(Model, "predict", stale)


def dropout_in_predictions():
    def dropping(self, batch):
        values = self.activations(batch, training=True)
        return {name: values[name] for name in self._graph["outputs"]}

    put(Model, "predict", dropping)


def statistics_do_not_move_in_the_last_batch():
    plain = Model.train_epoch

    def forgetful(self, batches, on_step):
        batches, norms = list(batches), {}

        if batches[:-1]:
            plain(self, iter(batches[:-1]), on_step)
        for node in trained_nodes(self._graph, self._recipe):
            if node["op"] == "batchnorm":
                norms[node["name"]] = self.weights()[node["name"]]
        plain(self, iter(batches[-1:]), on_step)
        after = self.weights()
        for name, values in norms.items():
            after[name].update({key: values[key] for key in ("mean", "variance")})
        self.load(after)

    put(Model, "train_epoch", forgetful)


def epochs_skip_their_last_batch():
    plain = Model.train_epoch

    def shorter(self, batches, on_step):
        batches = list(batches)
        plain(self, iter(batches[:-1] or batches), on_step)

    put(Model, "train_epoch", shorter)


# ---- TensorFlow 1 -------------------------------------------------------------------------------


def update_operations_are_never_run():
    plain = Model._lay_out_step
    put(Model, "_lay_out_step", lambda self, trained, statistics: plain(self, trained, []))


def gates_in_the_order_of_tensorflow():
    put(layers, "_swap_gates", lambda value: value)


def one_is_added_to_the_forget_gate():
    put(layers, "forget_bias", lambda native: 1.0)


def epsilon_of_the_first_step():
    """The step's number is not told to the optimiser: its epsilon stays that of the first."""
    plain = training.optimizer_of

    def deaf(recipe, rate, native, step):
        import tensorflow as tf

        return plain(recipe, rate, native, tf.constant(0, tf.int64))

    put(model, "optimizer_of", deaf)


def gradients_are_clipped_after_the_decay():
    """The decay is in what is clipped: TensorFlow 1's functions in the other order."""
    plain, decayed = training.clipped, training.with_decay

    def late(recipe, pairs):
        def with_decay(gradient, variable):
            name = "kernel" if len(variable.shape) > 1 else "bias"
            return decayed(recipe, False, name, gradient, variable)

        return plain(recipe, [(with_decay(*pair), pair[1]) for pair in pairs])

    put(model, "clipped", late)
    put(model, "with_decay", lambda recipe, native, name, gradient, variable: gradient)


def each_gradient_is_clipped_by_itself():
    def clipped(recipe, pairs):
        import tensorflow as tf

        if recipe.get("clip") is None:
            return pairs
        return [(tf.clip_by_norm(gradient, recipe["clip"]), v) for gradient, v in pairs]

    put(model, "clipped", clipped)


def rate_is_never_fed():
    put(Model, "set_rate", lambda self, rate: None)


def evaluation_of_norms_as_in_training():
    plain = layers.OPERATIONS["batchnorm"]

    def always(layer, node, inputs, context):
        return plain(layer, node, inputs, context._replace(training=True))

    put(layers.OPERATIONS, "batchnorm", always)


# ---- TensorFlow 2 -------------------------------------------------------------------------------


def epsilon_inside_the_bias_correction():
    plain = training._corrected

    def as_it_is(kind, recipe, decayed, native):
        other = dict(recipe["optimizer"], name="as Keras has it")
        return plain(kind, dict(recipe, optimizer=other), decayed, native)

    put(training, "_corrected", as_it_is)


def frozen_kernels_are_among_the_trained():
    put(model, "is_state", lambda node, name: is_state(dict(node, frozen=False), name))


def smaller_batches_are_divided_by_the_full_size():
    import tensorflow as tf

    plain = Model._loss_of

    def divided(self, batch):
        rows = tf.shape(next(iter(batch.values())))[0]
        return plain(self, batch) * tf.cast(rows, tf.float32) / 6.0

    put(Model, "_loss_of", divided)


def state_of_the_padded_end():
    """LSTMs do not get their mask; the sequence is cut all the same."""
    plain = layers.OPERATIONS["lstm"]

    def whole(layer, node, inputs, context):
        import tensorflow as tf

        y = plain(layer, dict(node, lengths=None), inputs, context)
        if node["lengths"] and node["output"] == "sequence":
            mask = tf.sequence_mask(context.values[node["lengths"]], inputs[0].shape[1])
            y = y * tf.cast(mask, y.dtype)[:, :, None]
        return y

    put(layers.OPERATIONS, "lstm", whole)


# ---- Keras 3 ------------------------------------------------------------------------------------


def logits_are_what_stands_before_the_sigmoid():
    put(training, "_without_past", lambda output: output)


def masked_loss_over_all_places():
    plain = training.PlaceLoss.__init__

    def careless(self, spec):
        plain(self, dict(spec, mask=None))

    put(training.PlaceLoss, "__init__", careless)


def velocities_keep_the_old_rate():
    put(training, "velocities", lambda optimizer: [])


def losses_are_running_means():
    import keras

    put(keras.Model, "reset_metrics", lambda self: None)


def epochs_count_one_step_more():
    plain = Model.train_epoch

    def counting(self, batches, on_step):
        plain(self, batches, on_step)
        self._net.optimizer.iterations.assign(self._net.optimizer.iterations + 1)

    put(Model, "train_epoch", counting)


def decay_after_the_step():
    """Decoupled, as Keras' own `weight_decay` is."""
    plain = training.adjusted

    def decoupled(kind, decayed, decay, *others):
        made = plain(kind, decayed, 0.0, *others)

        class Decoupled(made):
            def apply(self, grads, trainable_variables=None):
                super().apply(grads, trainable_variables)
                for variable in trainable_variables or self._trainable_variables:
                    if id(variable) in decayed and decay:
                        variable.assign(variable * (1 - self.learning_rate * decay))

        return Decoupled

    put(training, "adjusted", decoupled)


def biased_running_variance():
    put(layers.BatchNorm, "unbiased", property(lambda self: False, lambda self, value: None))


# ---- JAX ----------------------------------------------------------------------------------------


def predictions_close_over_the_first_weights():
    """A jitted function that reads the model's attributes has them as constants."""
    plain = Model.__init__

    def closing(self, graph, recipe, options):
        import jax

        plain(self, graph, recipe, options)
        inner = jax.jit(lambda inputs: self._pure_predict(self._params, self._others, inputs))
        self._predict = lambda params, others, inputs: inner(inputs)

    put(Model, "__init__", closing)


def keys_of_dropout_do_not_move_on():
    _others_of_a_step(lambda path: "rngs" in path or "count" in path)


def statistics_are_dropped_with_the_state():
    _others_of_a_step(lambda path: "mean" in path or "var" in path)


def _others_of_a_step(is_old):
    """What a step gives back holds the old values of these."""
    plain = Model._pure_step

    def keeping(self, params, others, slots, batch):
        import jax

        loss, params, new, slots = plain(self, params, others, slots, batch)

        def chosen(path, before, after):
            words = {str(getattr(key, "key", getattr(key, "name", ""))) for key in path}
            return before if is_old(words) else after

        return loss, params, jax.tree_util.tree_map_with_path(chosen, others, new), slots

    put(Model, "_pure_step", keeping)


def decay_on_every_parameter():
    import jax

    plain = Model._decayed
    put(Model, "_decayed", lambda self: jax.tree.map(lambda _: True, plain(self)))


def decay_before_the_clipping():
    import optax

    plain = training.optimizer_of

    def other_order(recipe, decayed, native):
        decay = recipe["optimizer"].get("weight_decay", 0.0)
        if not decay or recipe.get("clip") is None:
            return plain(recipe, decayed, native)
        without = dict(recipe, optimizer=dict(recipe["optimizer"], weight_decay=0.0))
        return optax.chain(
            optax.add_decayed_weights(decay, decayed), plain(without, decayed, native)
        )

    put(model, "optimizer_of", other_order)


def cell_and_hidden_state_change_places():
    plain = layers.OPERATIONS["lstm"]

    def swapped(net, node, inputs, values, training):
        y = plain(net, node, inputs, values, training)
        h, c = node["name"] + ":h", node["name"] + ":c"
        values[h], values[c] = values[c], values[h]
        return y

    put(layers.OPERATIONS, "lstm", swapped)


def absolute_error_by_jnp_abs():
    import jax.numpy as jnp

    put(training._PER_PLACE, "mean-absolute-error", lambda output, target: jnp.abs(output - target))


# ---- one after the other ------------------------------------------------------------------------


def certify(fault, job, folder):
    """The checks up to the first that fails."""
    globals()[fault]()
    try:
        adapter.set_up(options_of(job))
        splits = data.load(folder, job["data"], job["graph"], job["recipe"])
        done = []
        for check in verify.checks(job, splits, adapter, folder):
            done.append(check)
            if not check["passed"]:
                break
        return done
    finally:
        while _undo:
            _undo.pop()()


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a framework prints must not stand between the results
    for fault, job, folder in REQUESTS:
        out.write(json.dumps([fault, certify(fault, job, folder)]) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
