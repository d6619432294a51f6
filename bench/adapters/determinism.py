"""What each framework documents to make its kernels repeat themselves to the last bit.

A function returns what `stack.deterministic` records: `switches`, what was set, and `covers`, the
devices whose kernels they are documented for. A release without a documented way has no function.
None of them sets a seed: that is done for every trial.
"""

import os


def torch_switches(torch):
    """PyTorch's note on reproducibility, as it is in the release at hand."""
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    switches = {"backends.cudnn.deterministic": True, "backends.cudnn.benchmark": False}
    for name in ("use_deterministic_algorithms", "set_deterministic"):  # since 1.8; in 1.7
        if hasattr(torch, name):
            # read when CUDA's library is first used; without it PyTorch refuses matrix products
            switches["CUBLAS_WORKSPACE_CONFIG"] = _variable("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            getattr(torch, name)(True)
            switches[name] = True
            return {"switches": switches, "covers": ["cpu", "gpu"]}
    return {"switches": switches, "covers": ["gpu"]}


def tensorflow_switches(tf):
    """TensorFlow 2."""
    enable = getattr(tf.config.experimental, "enable_op_determinism", None)  # since 2.8
    if enable is not None:
        enable()
        return {"switches": {"enable_op_determinism": True}, "covers": ["cpu", "gpu"]}
    switches = {"TF_DETERMINISTIC_OPS": _variable("TF_DETERMINISTIC_OPS", "1")}  # since 2.1
    return {"switches": switches, "covers": ["gpu"]}


def session_switches(tf):
    """TensorFlow 1; None: this release documents none."""
    if tuple(int(part) for part in tf.__version__.split(".")[:2]) < (1, 14):
        return None
    switches = {"TF_CUDNN_DETERMINISTIC": _variable("TF_CUDNN_DETERMINISTIC", "1")}
    return {"switches": switches, "covers": ["gpu"]}


def xla_switches():
    """Read when the first program is compiled."""
    flag = "--xla_gpu_deterministic_ops=true"
    given = os.environ.get("XLA_FLAGS", "").split()
    switches = {"XLA_FLAGS": _variable("XLA_FLAGS", " ".join([*given, flag]))}
    return {"switches": switches, "covers": ["gpu"]}


def theano_switches(theano):
    theano.config.deterministic = "more"
    return {"switches": {"config.deterministic": "more"}, "covers": ["gpu"]}


def _variable(name, value):
    os.environ[name] = value
    return value
