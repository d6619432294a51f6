"""Which GPU TensorFlow uses: the one that the trial is given, and no more memory than it needs."""

from bench.formats import Unsupported

NONE = "this TensorFlow sees no GPU"


def choose(config, gpu):
    """TensorFlow 1: the settings of every session. Only with them may it look for GPUs: the first
    session of a process decides which of them there are."""
    from tensorflow.python.client import device_lib

    config.gpu_options.allow_growth = True
    config.gpu_options.visible_device_list = str(gpu)
    try:
        devices = device_lib.list_local_devices(config)
    except Exception as error:  # its type depends on the version: there is no GPU of that number
        raise Unsupported("{} of number {} ({})".format(NONE, gpu, error))
    if not any(device.device_type == "GPU" for device in devices):
        raise Unsupported(NONE)


def show(experimental, options):
    """TensorFlow 2: of all devices only the chosen one is seen; `experimental`: of tf.config."""
    gpus = experimental.list_physical_devices("GPU")
    if options.device == "cpu":
        experimental.set_visible_devices([], "GPU")
        return
    if options.gpu >= len(gpus):
        raise Unsupported(NONE)
    experimental.set_visible_devices(gpus[options.gpu], "GPU")
    experimental.set_memory_growth(gpus[options.gpu], True)
