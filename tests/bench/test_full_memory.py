"""How frameworks say that memory is full: their messages, with the file that they are from."""

from __future__ import annotations

from typing import Any

import pytest

from bench import __main__ as program
from bench import full_memory

ON_A_GPU = {
    "PyTorch 1.0 to 2.0, c10/cuda/CUDACachingAllocator.cpp": "RuntimeError: CUDA out of memory."
    " Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total capacity; 5.20 GiB already allocated)",
    "PyTorch 2, c10/cuda/CUDACachingAllocator.cpp": "OutOfMemoryError: CUDA out of memory. Tried to"
    " allocate 20.00 MiB. GPU 0 has a total capacity of 7.79 GiB of which 8.62 MiB is free.",
    "PyTorch 1.0 and 1.4, THC/THCGeneral.cpp, CUDA": "RuntimeError: cuda runtime error (2) : out of"
    " memory at /pytorch/aten/src/THC/THCGeneral.cpp:405",
    "PyTorch 1.0 and 1.4, THC/THCGeneral.cpp, cuBLAS": "RuntimeError: cublas runtime error :"
    " resource allocation failed at /pytorch/aten/src/THC/THCGeneral.cpp:250",
    "PyTorch, c10/cuda/CUDAException.h": "RuntimeError: CUDA error: out of memory",
    "PyTorch, ATen/cuda/CublasHandlePool.cpp": "RuntimeError: CUDA error:"
    " CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "PyTorch, ATen/cudnn/Exceptions.h": "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "PyTorch 2 with cuDNN 9": "RuntimeError: cuDNN error:"
    " CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "PyTorch 1.13, c10/cuda/CUDACachingAllocator.cpp": "OutOfMemoryError: CUDA out of memory. Tried"
    " to allocate more than 1EB memory.",
    "PyTorch 2.13, c10/cuda/CUDACachingAllocator.cpp": "OutOfMemoryError: CUDA out of memory."
    " Allocation was preemptively rejected because it would exceed per_process_memory_fraction"
    " limit. Requested size: 2.00 GiB",
    "Thrust, system/cuda/detail/malloc_and_free.h": "RuntimeError: std::bad_alloc:"
    " cudaErrorMemoryAllocation: out of memory",
    "Thrust up to CUDA 10.0": "RuntimeError: std::bad_alloc: out of memory",
    "Thrust, as CuPy 4.5 meets it": "RuntimeError: parallel_for failed: out of memory",
    "PyTorch, MAGMA": "RuntimeError: cannot allocate memory on GPU device",
    "PyTorch, cuFFT": "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED",
    "TensorFlow, core/framework/op_kernel.cc": "ResourceExhaustedError: OOM when allocating tensor"
    " with shape[200,75,75,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by"
    " allocator GPU_0_bfc\n\t [[{{node conv}}]]\nHint: If you want to see a list of allocated"
    " tensors when OOM happens, add report_tensor_allocations_upon_oom to RunOptions",
    "TensorFlow 2, an op's message": "ResourceExhaustedError: failed to allocate memory [Op:AddV2]",
    "Keras on TensorFlow 2": "ResourceExhaustedError: Graph execution error:\n\nDetected at node"
    " 'model/conv2d/Conv2D'\nfailed to allocate memory\n\t [[{{node model/conv2d/Conv2D}}]]",
    "TensorFlow, core/common_runtime/gpu/gpu_util.cc": "InternalError: Dst tensor is not"
    " initialized.\n\t [[{{node input}}]]",
    "TensorFlow, core/common_runtime/gpu/gpu_device.cc": "InternalError: CUDA runtime implicit"
    " initialization on GPU:0 failed. Status: out of memory",
    "TensorFlow 1, stream_executor/cuda/cuda_driver.cc": "InternalError: failed initializing"
    " StreamExecutor for CUDA device ordinal 0: Internal: failed call to cuDevicePrimaryCtxRetain:"
    " CUDA_ERROR_OUT_OF_MEMORY; total memory reported: 11721506816",
    "MXNet 1.3, src/storage/pooled_storage_manager.h": "MXNetError: [20:01:01]"
    " src/storage/./pooled_storage_manager.h:157: cudaMalloc failed: out of memory",
    "MXNet 1.5 to 1.9, src/storage/pooled_storage_manager.h": "MXNetError: Traceback (most recent"
    ' call last):\n  File "src/storage/./pooled_storage_manager.h", line 161\nMXNetError:'
    " cudaMalloc retry failed: out of memory",
    "MXNet 0.7, src/storage/pooled_storage_manager.h": "MXNetError: [19:03:47]"
    " src/storage/./pooled_storage_manager.h:62: Memory allocation failed.",
    "MXNet, src/common/cuda_utils.h": "MXNetError: Check failed: e == cudaSuccess: CUDA: out of"
    " memory",
    "MXNet, src/common/cuda_utils.h, cuDNN": "MXNetError: Check failed: e == CUDNN_STATUS_SUCCESS"
    " (2 vs. 0) : cuDNN: CUDNN_STATUS_ALLOC_FAILED",
    "CuPy up to 7, cupy/cuda/memory.pyx": "OutOfMemoryError: out of memory to allocate 1024 bytes"
    " (total 2048 bytes)",
    "CuPy from 8 on, cupy/cuda/memory.pyx": "OutOfMemoryError: Out of memory allocating 1,024 bytes"
    " (allocated so far: 0 bytes).",
    "CuPy, cupy_backends/cuda/api/runtime.pyx": "CUDARuntimeError: cudaErrorMemoryAllocation: out"
    " of memory",
    "CuPy, cupy/cuda/curand.pyx": "CURANDError: CURAND_STATUS_ALLOCATION_FAILED",
    "JAX, tsl/framework/bfc_allocator.cc": "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory"
    " while trying to allocate 33762398024 bytes.",
    "JAX from 0.8 on": "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 60.91GiB.",
    "XLA, stream_executor/tf_allocator_adapter.cc": "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to"
    " allocate request for 2.99GiB (3206250496B) on device ordinal 0",
    "XLA in JAX 0.12, a graph of CUDA's": "JaxRuntimeError: RESOURCE_EXHAUSTED: Underlying backend"
    " ran out of memory trying to instantiate command buffer with 12 (total of 3 alive graphs in"
    " the process).",
    "JAX 0.12, a limit that was set": "JaxRuntimeError: RESOURCE_EXHAUSTED: Exceeded memory limit"
    " (failed to allocate 1024 bytes",
    "PaddlePaddle 2 and 3, memory/allocation/cuda_allocator.cc": "MemoryError: \n\n----\nError"
    " Message Summary:\n----\nResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot"
    " allocate 15.503906GB memory on GPU 0, 28.770508GB memory has been allocated and available"
    " memory is only 10.815613GB.",
    "PaddlePaddle 2, memory/allocation/cuda_virtual_mem_allocator.cc": "MemoryError: Out of memory"
    " error on GPU Virtual Memory 0. Cannot allocate 1.5GB memory on GPU Virtual Memory 0",
    "PaddlePaddle 2, platform/enforce.h": "OSError: (External) CUDA error(2), out of memory."
    " [Hint: 'cudaErrorMemoryAllocation'.]",
}
ON_THE_HOST = {
    "PyTorch 1.0, c10/core/CPUAllocator.cpp": "RuntimeError: [enforce fail at CPUAllocator.cpp:56]"
    " posix_memalign(&data, gAlignment, nbytes) == 0. 12 vs 0",
    "PyTorch 1.0, aten/src/TH/THGeneral.cpp": "RuntimeError: $ Torch: not enough memory: you tried"
    " to allocate 37GB. Buy new RAM! at /pytorch/aten/src/TH/THGeneral.cpp:201",
    "PyTorch from 1.4 on, c10/core/CPUAllocator.cpp": "RuntimeError: [enforce fail at"
    " alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate memory: you tried to allocate"
    " 4000000000000 bytes. Error code 12 (Cannot allocate memory)",
    "PyTorch, THC/THCCachingHostAllocator.cpp": "RuntimeError: cuda runtime error (2) : out of"
    " memory at /pytorch/aten/src/THC/THCCachingHostAllocator.cpp:278",
    "TensorFlow, core/framework/op_kernel.cc": "ResourceExhaustedError: OOM when allocating tensor"
    " with shape[1000000] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by"
    " allocator cpu",
    "TensorFlow, core/common_runtime/gpu/gpu_process_state.cc": "ResourceExhaustedError: OOM when"
    " allocating tensor with shape[1000000] and type float on"
    " /job:localhost/replica:0/task:0/device:CPU:0 by allocator gpu_host_bfc",
    "TensorFlow, platform/default/error.cc, errno 12": "ResourceExhaustedError: /tmp/x; Cannot"
    " allocate memory",
    "JAX, pjrt": "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate a 4096-byte pinned host"
    " staging buffer for a host-to-device transfer. The pinned host pool may be exhausted",
    "JAX 0.12, memory of one NUMA node": "JaxRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate"
    " 4.0KiB (4096 bytes) of host memory pinned to NUMA node 0",
    "JAX 0.12, memory to put things aside in": "JaxRuntimeError: RESOURCE_EXHAUSTED: Failed to"
    " allocate 4096 bytes for host offloading transfer buffer",
    "PyTorch, MAGMA": "RuntimeError: cannot allocate memory on CPU host",
    "MXNet 1, src/storage/cpu_device_storage.h": "MXNetError: [20:01:01]"
    " src/storage/./cpu_device_storage.h:74: Failed to allocate CPU Memory",
    "PaddlePaddle, memory/allocation/cpu_allocator.cc": "MemoryError: ResourceExhaustedError: Fail"
    " to alloc memory of 4000000000000 size, error code is 12.",
    "cuDNN 9": "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    "C++": "RuntimeError: std::bad_alloc",
    "Python, a process that could not be started": "OSError: [Errno 12] Cannot allocate memory",
    "NumPy, core/_exceptions.py": "MemoryError: Unable to allocate 7.28 TiB for an array with shape"
    " (1000000, 1000000) and data type float64",
    "Python": "MemoryError: ",
}
NEITHER = {
    "PyTorch, memory of others": "RuntimeError: CUDA error: an illegal memory access was"
    " encountered",
    "PyTorch, Triton's shared memory": "OutOfResources: out of resource: shared memory, Required:"
    " 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
    "CUDA, registers": "RuntimeError: CUDA error: too many resources requested for launch",
    "XLA, a kernel's shared memory": "XlaRuntimeError: RESOURCE_EXHAUSTED: Shared memory size limit"
    " exceeded: requested 131072, available: 101376",
    "TensorFlow, a full disk": "ResourceExhaustedError: /out/model; No space left on device\nHint:"
    " If you want to see a list of allocated tensors when OOM happens, add"
    " report_tensor_allocations_upon_oom to RunOptions for current allocation info.",
    "TensorFlow, open files": "ResourceExhaustedError: /data/x; Too many open files",
    "TensorFlow, another status": "InternalError: GPU sync failed",
    "MXNet, cudaMalloc of a GPU that failed before": "MXNetError: src/storage/./"
    "pooled_storage_manager.h:157: cudaMalloc failed: unspecified launch failure",
    "cuBLAS, not started": "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling"
    " `cublasCreate(handle)`",
    "Python": "ValueError: shapes do not match",
}


def raised(message: str) -> Exception:
    """The exception with this type and these words; a `MemoryError` where the framework's is."""
    name, _, words = message.partition(": ")
    cupy = name == "OutOfMemoryError" and "CUDA" not in words
    base = MemoryError if name == "MemoryError" or cupy else Exception
    kind: type[Exception] = type(name, (base,), {})
    return kind(words)


@pytest.mark.parametrize("message", ON_A_GPU.values(), ids=list(ON_A_GPU))
def test_a_full_gpu_is_recognised(message: str) -> None:
    assert full_memory.outcome(raised(message), "gpu") == "gpu-oom"
    assert full_memory.outcome(raised(message), "cpu") == "oom"


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("message", ON_THE_HOST.values(), ids=list(ON_THE_HOST))
def test_the_host_s_memory_is_another_matter(message: str, device: str) -> None:
    assert full_memory.outcome(raised(message), device) == "oom"


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("message", NEITHER.values(), ids=list(NEITHER))
def test_what_only_looks_like_it_is_not_full_memory(message: str, device: str) -> None:
    assert full_memory.outcome(raised(message), device) is None


@pytest.mark.parametrize(
    "error, device, outcome, said",
    [
        # CuPy's error of a full GPU is a MemoryError, and still one of the GPU
        (raised("OutOfMemoryError: out of memory to allocate 8 bytes (total 9 bytes)"), "gpu",
         "gpu-oom", "OutOfMemoryError: out of memory to allocate 8 bytes (total 9 bytes)"),
        (MemoryError(), "gpu", "oom", "MemoryError"),
        (ValueError("shapes do not match"), "gpu", "crashed", "ValueError: shapes do not match"),
    ],
    ids=["CuPy", "host", "neither"],
)  # fmt: skip
def test_a_trial_says_which_memory_was_full(
    error: Exception, device: str, outcome: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench import trial

    def fails(*_: Any) -> None:
        raise error

    class Silent:
        def write(self, *_: Any, **__: Any) -> None:
            pass

    monkeypatch.setattr(trial, "run", fails)
    job = {"adapter": "numpy", "action": "train", "device": device, "deterministic": False}
    assert program._run(job, "", "", Silent(), None) == (outcome, said)
