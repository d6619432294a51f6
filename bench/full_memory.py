"""How a framework says that memory is full: in its own words, for it has no common exception.

Words are compared in small letters. tests/bench/test_full_memory.py has a whole message for each.
"""

import re

_HOST = re.compile(
    # PyTorch, c10/core/CPUAllocator.cpp (1.1 on) and impl/alloc_cpu.cpp; 1.0: aten/src/TH/THGeneral
    r"defaultcpuallocator|posix_memalign|torch: not enough memory"
    # PyTorch, memory for copies to the GPU: THC/THCCachingHostAllocator.cpp, CachingHostAllocator
    r"|cachinghostallocator"
    # TensorFlow, core/framework/op_kernel.cc with the allocators' names; the last three are of
    # common_runtime/gpu/gpu_process_state.cc and mkl_cpu_allocator.h
    r"|by allocator (cpu|gpu_host_bfc|cuda_host_bfc|mklcpu)"
    # XLA, in the plug-in of JAX 0.12: what a GPU is fed through, and where it puts things aside
    r"|pinned host|host memory|host offloading"
    # MXNet 1, src/storage/cpu_device_storage.h
    r"|failed to allocate cpu memory"
    # PaddlePaddle, phi/core/memory/allocation/cpu_allocator.cc
    r"|fail to alloc memory of"
    # cuDNN 9, cudnn_graph.h
    r"|internal_error_host_allocation_failed"
    # C++ and C, through every framework. Thrust, in PyTorch, MXNet and CuPy, says "std::bad_alloc:
    # cudaErrorMemoryAllocation" of a full GPU, MAGMA, in PyTorch, "… memory on GPU device"
    r"|bad_alloc(?!: )|cannot allocate memory(?! on gpu)"
)
"""In the message of a GPU trial, too: what was full was the host's memory."""

_FULL = re.compile(
    # PyTorch, c10/cuda/CUDACachingAllocator.cpp: "CUDA out of memory. Tried to allocate";
    # 1.0, THC/THCGeneral.cpp: "cuda runtime error (2) : out of memory at". MXNet 1.3,
    # src/storage/pooled_storage_manager.h: "cudaMalloc failed: out of memory"; 1.5 to 1.9 also
    # "cudaMalloc retry failed: out of memory". CuPy,
    # cuda/memory.pyx: "out of memory to allocate" up to 7, "Out of memory allocating" from 8 on.
    # XLA, bfc_allocator.cc: "Out of memory while trying to allocate". PaddlePaddle 2
    # and 3, memory/allocation/cuda_allocator.cc: "Out of memory error on GPU 0"
    r"out of memory"
    # MAGMA, in PyTorch
    r"|cannot allocate memory on gpu"
    # the exceptions of PyTorch (1.13 on) and CuPy
    r"|outofmemoryerror"
    # CUDA's own names: the driver's, the runtime's
    r"|cuda_error_out_of_memory|cudaerrormemoryallocation"
    # TensorFlow, core/framework/op_kernel.cc; core/common_runtime/gpu/gpu_util.cc, which copies
    r"|oom when allocating|dst tensor is not initialized"
    # MXNet before 1.0, src/storage/pooled_storage_manager.h
    r"|pooled_storage_manager\.h:\d+: memory allocation failed"
    # cuDNN's, cuBLAS's and their sisters' status, in the words of every framework; PyTorch up to
    # 1.4 has a sentence for that of cuBLAS, THC/THCGeneral.cpp
    r"|cu(dnn|blas|solver|sparse)_status_(internal_error_device_)?alloc(ation)?_failed"
    r"|cufft_alloc_failed|curand_status_allocation_failed|resource allocation failed"
    # The status of TensorFlow and XLA is that of every resource, also of a disk or of a kernel's
    # shared memory. "RESOURCE_EXHAUSTED: Failed to allocate request for 2.99GiB on device ordinal"
    r"|resource.?exhausted.*(failed|unable) to allocate\b",
    re.DOTALL,
)


def outcome(error, device):
    """`gpu-oom` or `oom` if this exception says that memory is full, else None.

    The type alone does not tell which memory: CuPy's and PaddlePaddle's errors of a full GPU are
    `MemoryError`s, and TensorFlow has one type for both kinds of memory."""
    words = described(error).lower()
    if _HOST.search(words):
        return "oom"
    if _FULL.search(words):
        return "gpu-oom" if device == "gpu" else "oom"
    return "oom" if isinstance(error, MemoryError) else None


def described(error):
    """An exception's type and words."""
    return "{}: {}".format(type(error).__name__, error) if str(error) else type(error).__name__
