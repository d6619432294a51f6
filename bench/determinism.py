"""Asks the framework for kernels that repeat themselves, where the job wants them.

What was set is told, and never more than that: whether trials really repeat is seen in the digests
of what they end with.
"""

from bench.formats import Unsupported


def ask(adapter, options):
    """What was set, for the event `stack`; None where the job does not want it."""
    if not options.deterministic:
        return None
    if not hasattr(adapter, "deterministic"):
        raise Unsupported("its adapter knows no way to ask for deterministic kernels")
    return adapter.deterministic(options)


def is_refusal(error):
    """Whether this error says that a kernel has no deterministic version.

    PyTorch raises a RuntimeError, TensorFlow an UnimplementedError, MXNet a MXNetError; all of
    them use the word.
    """
    return "determinis" in str(error).lower()
