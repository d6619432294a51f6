"""How much of this machine is in use right now, and waiting until it is not.

The load average looks a minute back and counts what waits for disks, too; here the kernel's own
counters say how busy the processors are at this moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from dlbench.monitor.main_process import SystemCpu

IDLE = 0.1
"""Up to this share in use, times are as good as on an idle machine."""
_LOOK_S = 0.5
_EVERY_S = 2.0
_CALM = 3
"""So many quiet looks in a row: a pause of a busy program is no idle machine."""


def busy_share(seconds: float = _LOOK_S, stat: Path = Path("/proc/stat")) -> float | None:
    """The share of all processors in use during the next `seconds`; None: it can't be told."""
    machine = SystemCpu(stat)
    machine.percent()  # from here on
    time.sleep(seconds)
    percent = machine.percent()
    machine.close()
    return None if percent is None else percent / 100


def busy_sentence(share: float) -> str:
    """What a person should know before the first trial; empty where the machine is idle."""
    if share <= IDLE:
        return ""
    return (
        f"The machine is busy: {share:.0%} of its processors are in use. Times will be longer and"
        " scatter more; --wait-until-idle 30m waits for up to half an hour."
    )


def wait_until_idle(
    seconds: float,
    say: Callable[[str], None],
    share: Callable[[], float | None] = busy_share,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait, at most this long, and tell how it went; whether the machine is idle now."""
    until, calm, waiting = clock() + seconds, 0, False
    while calm < _CALM:
        now = share()
        if now is None:
            say("How busy the machine is can't be told here: not waiting.")
            return False
        calm = calm + 1 if now <= IDLE else 0
        if clock() >= until and calm < _CALM:
            say(f"Waited {seconds:g} s; {now:.0%} of the processors are still in use. Going on.")
            return False
        if calm == 0 and not waiting:
            say(f"Waiting until the machine is idle: {now:.0%} of its processors are in use.")
            waiting = True
        if calm < _CALM:
            pause(_EVERY_S if calm == 0 else _LOOK_S)
    say("The machine is idle.")
    return True
