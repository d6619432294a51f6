"""Lives a moment longer than a killed orchestrator, and ends the trial that it left behind.

A SIGKILLed orchestrator runs no clean-up code. A keeper is a small shell that waits on a pipe whose
other end only the orchestrator holds: when the orchestrator dies, by whatever cause, the pipe ends,
and the keeper ends the trial's process group, everything in its control group and every process
that carries its mark. The kernel's parent-death signal would not do: it reaches the main process
only and not its children, and it is sent as soon as the *thread* that started the trial ends.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_SCRIPT = r"""
read -r word && exit 0
group=$1 mark=$2 private=$3
shift 3
[ "$group" = 0 ] || kill -KILL -- "-$group" 2>/dev/null
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    alive=
    [ -z "$mark" ] || for file in $(grep -lszxF -- "$mark" /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        kill -KILL "${pid%/environ}" 2>/dev/null && alive=yes
    done
    for folder; do
        for procs in "$folder"/cgroup.procs "$folder"/*/cgroup.procs; do
            [ -e "$procs" ] || continue
            while read -r pid; do kill -KILL "$pid" 2>/dev/null; alive=yes; done < "$procs"
        done
    done
    [ -z "$alive" ] && break
    sleep 0.05
done
for folder; do rmdir "$folder" 2>/dev/null; done
[ -z "$private" ] || rm -rf -- "$private"
"""


class Keeper:
    """Watches over one trial until it is dismissed."""

    def __init__(
        self,
        folders: Iterable[Path],
        group: int = 0,
        mark: str = "",
        private: Path | None = None,
    ) -> None:
        """Over control groups, a process group, a variable's `NAME=value`, a folder to remove."""
        words = [str(group), mark, str(private or ""), *dict.fromkeys(map(str, folders))]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "dlbench-keeper", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            cwd="/",
            # Of its own session, so that Ctrl-C or a hang-up of the terminal does not reach it.
            start_new_session=True,
        )
        self.pid = self._process.pid

    def dismiss(self) -> None:
        """The trial has ended in an orderly way: leave without touching anything."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.closed:
            with suppress(BrokenPipeError):
                stdin.write(b"done\n")
                stdin.flush()
            with suppress(BrokenPipeError):
                stdin.close()
            self._process.wait()
