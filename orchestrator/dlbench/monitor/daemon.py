"""Readings from the container daemon's stats stream, where its cgroups are not visible from here.

The daemon gives one message a second, whatever rate is asked for. The stream blocks, so a thread of
its own waits for it; it ends with the stream, or at the first message after `close`.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from dlbench.monitor.samples import Reading
from dlbench.monitor.source import Gone, StatsStream


class DaemonStats:
    """The latest message of the stream."""

    name = "daemon-stats"
    origin = "samples"

    def __init__(self, stats: StatsStream) -> None:
        self._stats = stats
        self._latest: tuple[Reading, int | None] | None = None
        self._anon: int | None = None
        self._ended = False
        self._closed = False
        self._cpu_s = 0.0
        self._thread = threading.Thread(target=self._follow, name="daemon-stats", daemon=True)
        self._thread.start()

    def read(self) -> Reading | None:
        latest, self._latest = self._latest, None
        if latest is not None:
            self._anon = latest[1]
            return latest[0]
        if self._ended:
            raise Gone
        return None

    def anon(self) -> int | None:
        return self._anon

    def pids(self) -> frozenset[int]:
        # The daemon may be on another machine or in another namespace: its numbers mean nothing.
        return frozenset()

    def cpu_seconds(self) -> float:
        return self._cpu_s

    def close(self) -> None:
        self._closed = True

    def _follow(self) -> None:
        try:
            for message in self._stats():
                if self._closed:
                    break
                if (reading := reading_of(message)) is not None:
                    self._latest = reading
                self._cpu_s = time.thread_time()
        except Exception:
            # The daemon went away, or the container did: for a monitor both are the end.
            pass
        finally:
            self._ended = True
            self._cpu_s = time.thread_time()


def reading_of(message: Any) -> tuple[Reading, int | None] | None:
    """A message's reading and anonymous memory; None for the empty one of an ended container."""
    try:
        memory = message["memory_stats"]
        cpu_s = message["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
        usage = memory.get("usage")
        if usage is None:
            return None
        details = memory.get("stats") or {}
        # Version 1 says `total_rss` and has a peak, version 2 says `anon` and has none.
        anon = details.get("total_rss", details.get("anon"))
        peak = memory.get("max_usage")
        return Reading(cpu_s, int(usage), int(peak) if peak else None), anon
    except (KeyError, TypeError, AttributeError):
        return None
