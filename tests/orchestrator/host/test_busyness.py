"""How busy the machine is, and waiting until it is not."""

from __future__ import annotations

from pathlib import Path

from dlbench.host.busyness import busy_sentence, busy_share, wait_until_idle


def test_the_kernels_counters_are_read() -> None:
    share = busy_share(0.05)
    assert share is not None
    assert 0 <= share <= 1


def test_what_is_not_readable_is_not_known(tmp_path: Path) -> None:
    assert busy_share(0.0, tmp_path / "none") is None
    (tmp_path / "stat").write_text("intr 1 2 3\n")
    assert busy_share(0.0, tmp_path / "stat") is None


def test_only_a_busy_machine_is_mentioned() -> None:
    assert busy_sentence(0.05) == ""
    assert "74% of its processors" in busy_sentence(0.74)
    assert "--wait-until-idle" in busy_sentence(0.74)


class World:
    """A machine whose use follows a script; time passes only while somebody waits."""

    def __init__(self, *shares: float | None) -> None:
        self.shares, self.now, self.said = list(shares), 0.0, []

    def wait(self, seconds: float) -> bool:
        return wait_until_idle(
            seconds,
            self.said.append,
            lambda: self.shares.pop(0) if len(self.shares) > 1 else self.shares[0],
            lambda pause: setattr(self, "now", self.now + pause),
            lambda: self.now,
        )


def test_an_idle_machine_is_not_waited_for() -> None:
    world = World(0.01)
    assert world.wait(60)
    assert world.said == ["The machine is idle."]


def test_a_short_pause_is_not_idle() -> None:
    world = World(0.9, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0)
    assert world.wait(600)
    assert "90% of its processors" in world.said[0]
    assert len(world.said) == 2, "it is said once that it waits"


def test_waiting_ends() -> None:
    world = World(0.9)
    assert not world.wait(30)
    assert world.now >= 30
    assert "still in use. Going on." in world.said[-1]


def test_where_it_can_not_be_told_nobody_waits() -> None:
    world = World(None)
    assert not world.wait(30)
    assert world.now == 0
