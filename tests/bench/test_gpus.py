"""How frameworks say that memory is full, in their own words; and which GPUs a trial was given."""

from __future__ import annotations

import pytest

from bench import gpus
from bench.formats import Unsupported

ON_A_GPU = {
    "PyTorch, CUDACachingAllocator.cpp": "RuntimeError: CUDA out of memory. Tried"
    " to allocate 2.00 GiB (GPU 0; 7.79 GiB total capacity; 5.20 GiB already allocated)",
    "PyTorch 2, torch.OutOfMemoryError": "OutOfMemoryError: CUDA out of memory. Tried to allocate"
    " 20.00 MiB. GPU 0 has a total capacity of 7.79 GiB of which 8.62 MiB is free.",
    "PyTorch, CUDABlas.cpp": "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED"
    " when calling `cublasCreate(handle)`",
    "PyTorch, cuDNN": "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "TensorFlow, core/framework/op_kernel.cc": "ResourceExhaustedError: OOM when allocating tensor"
    " with shape[200,75,75,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by"
    " allocator GPU_0_bfc",
    "TensorFlow 2, an op's message": "ResourceExhaustedError: failed to allocate memory [Op:AddV2]",
    "TensorFlow, gpu_util.cc": "InternalError: Dst tensor is not initialized.",
    "TensorFlow, gpu device": "InternalError: CUDA runtime implicit initialization on GPU:0"
    " failed. Status: out of memory",
    "MXNet, src/storage/pooled_storage_manager.h": "MXNetError: [20:01:01]"
    " src/storage/./pooled_storage_manager.h:157: cudaMalloc failed: out of memory",
    "CuPy up to 7, cupy/cuda/memory.pyx": "OutOfMemoryError: out of memory to allocate 1024 bytes"
    " (total 2048 bytes)",
    "CuPy from 8 on": "OutOfMemoryError: Out of memory allocating 1,024 bytes (allocated so far: 0"
    " bytes).",
    "JAX, XLA": "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    " 33762398024 bytes.",
    "PaddlePaddle": "ResourceExhaustedError: Out of memory error on GPU 0. Cannot"
    " allocate 2.000000GB memory on GPU 0",
}
ON_THE_HOST = {
    "PyTorch, c10/core/CPUAllocator.cpp": "RuntimeError: [enforce fail at alloc_cpu.cpp:75] ."
    " DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000000 bytes.",
    "TensorFlow, CPU": "ResourceExhaustedError: OOM when allocating tensor with shape[1000000]"
    " and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
    "C++": "RuntimeError: std::bad_alloc",
}
NEITHER = (
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "ValueError: shapes do not match",
    "MXNetError: Check failed: e == cudaSuccess: CUDA: unspecified launch failure",
    "InternalError: GPU sync failed",
)


@pytest.mark.parametrize("words", ON_A_GPU.values(), ids=list(ON_A_GPU))
def test_a_full_gpu_is_recognised(words: str) -> None:
    assert gpus.memory_outcome(words, "gpu") == "gpu-oom"


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("words", ON_THE_HOST.values(), ids=list(ON_THE_HOST))
def test_the_host_s_memory_is_another_matter(words: str, device: str) -> None:
    assert gpus.memory_outcome(words, device) == "oom"


def test_on_a_cpu_the_same_words_mean_the_host() -> None:
    words = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes."
    assert gpus.memory_outcome(words, "cpu") == "oom"


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("words", NEITHER)
def test_other_errors_are_not_full_memory(words: str, device: str) -> None:
    assert gpus.memory_outcome(words, device) is None


def test_a_uuid_is_the_same_however_it_is_spelled() -> None:
    plain = gpus.digest("00112233aaaabbbbcccc445566778899")
    assert gpus.digest("GPU-00112233-AAAA-BBBB-CCCC-445566778899") == plain
    assert gpus.digest("MIG-00112233-aaaa-bbbb-cccc-445566778899") == plain
    assert gpus.digest("GPU-00112233-aaaa-bbbb-cccc-44556677889a") != plain
    assert len(plain) == 16


def test_both_sides_of_the_wall_make_the_same_digest() -> None:
    from dlbench.monitor.gpu import _digest

    for uuid in ("GPU-00112233-aaaa-bbbb-cccc-445566778899", "MIG-1", ""):
        assert _digest(uuid) == gpus.digest(uuid)


def test_without_a_driver_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_LIST", "raise SystemExit(1)")
    monkeypatch.delenv(gpus.EXPECTED, raising=False)
    assert gpus.check() == []
    monkeypatch.setenv(gpus.EXPECTED, "0123456789abcdef")
    with pytest.raises(Unsupported, match="was given 1 GPUs and sees 0, of which 0 are among them"):
        gpus.check()
