"""Threads: what gives each framework a number of cores, and how many its pools have now.

`pools` of the event `stack` names every pool as it is in force; `threads` is the one that computes
a single layer. Each framework gets its cores the way that its own documentation advises: all of
them for one layer, and as many again for layers side by side, where it has a pool for these. The
trial as a whole has no more cores than that (the engine pins it), so pools do not add up.
"""

import os

from bench import libraries


def cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


# ---- PyTorch ------------------------------------------------------------------------------------


def set_torch(torch, threads):
    torch.set_num_threads(threads)
    has_more = hasattr(torch, "set_num_interop_threads")  # since 1.2
    if has_more and torch.get_num_interop_threads() != threads:
        torch.set_num_interop_threads(threads)  # once, and before anything is computed


def torch_pools(torch):
    if not hasattr(torch, "get_num_interop_threads"):
        # 1.0 always says one: it asks a part of itself that was built without OpenMP
        return {"intra_op": libraries.openmp_threads() or torch.get_num_threads()}
    return {"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads()}


# ---- TensorFlow ---------------------------------------------------------------------------------


def set_tensorflow(tf, threads):
    """TensorFlow 2. With one thread between layers an LSTM's steps, which are many small layers,
    wait for each other: TensorFlow's own default is as many as there are cores."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def tensorflow_pools(tf):
    """0 stands for as many as there are cores."""
    threading = tf.config.threading
    return {
        "intra_op": threading.get_intra_op_parallelism_threads() or cores(),
        "inter_op": threading.get_inter_op_parallelism_threads() or cores(),
    }


def set_session(config, threads):
    """TensorFlow 1: the settings of every session."""
    config.intra_op_parallelism_threads = threads
    config.inter_op_parallelism_threads = threads


def session_pools(config):
    return {
        "intra_op": config.intra_op_parallelism_threads or cores(),
        "inter_op": config.inter_op_parallelism_threads or cores(),
    }


# ---- XLA on a CPU (JAX) -------------------------------------------------------------------------


def set_xla(threads):
    """Its one pool is made at the first use, and has no other setting."""
    os.environ["NPROC"] = str(threads)


def xla_pools():
    return {"xla": int(os.environ.get("NPROC") or cores())}
