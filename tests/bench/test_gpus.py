"""Which GPUs a trial was given, and which it sees."""

from __future__ import annotations

import pytest

from bench import gpus
from bench.formats import Unsupported


def test_a_uuid_is_the_same_however_it_is_spelled() -> None:
    plain = gpus.digest("00112233aaaabbbbcccc445566778899")
    assert gpus.digest("GPU-00112233-AAAA-BBBB-CCCC-445566778899") == plain
    assert gpus.digest("MIG-00112233-aaaa-bbbb-cccc-445566778899") == plain
    assert gpus.digest("GPU-00112233-aaaa-bbbb-cccc-44556677889a") != plain
    assert len(plain) == 16


def test_both_sides_of_the_wall_make_the_same_digest() -> None:
    from dlbench.monitor.gpu import digest_of

    for uuid in ("GPU-00112233-aaaa-bbbb-cccc-445566778899", "MIG-1", ""):
        assert digest_of(uuid) == gpus.digest(uuid)


def test_the_first_must_be_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "visible", lambda: ["b", "a"])
    monkeypatch.setenv(gpus.EXPECTED, "b,a")
    assert gpus.check() == ["b", "a"]
    monkeypatch.setenv(gpus.EXPECTED, "a,b")
    with pytest.raises(Unsupported, match="the first GPU that it sees is another"):
        gpus.check()


def test_without_a_driver_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_LIST", "raise SystemExit(1)")
    monkeypatch.delenv(gpus.EXPECTED, raising=False)
    assert gpus.check() == []
    monkeypatch.setenv(gpus.EXPECTED, "0123456789abcdef")
    with pytest.raises(Unsupported, match="was given 1 GPUs and sees 0, of which 0 are among them"):
        gpus.check()
