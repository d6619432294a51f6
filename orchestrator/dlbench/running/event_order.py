"""What must hold between the events of one trial: their order, and times that can have passed.

A line alone may be in order (`formats.parse_event`) and still be forged: an `end` in front of the
`result`, an hour of steps in a trial that has run for a second.
"""

from __future__ import annotations

from dlbench.formats import BadEvent, Event

_ONCE = frozenset({"hello", "stack", "model", "result", "error", "end"})
_SLACK_S = 1.0
_MEASURED = {
    "predictions": ("inference_ms", "latency_ms"),
    "parts of steps": ("forward_ms", "backward_ms"),
}
"""Times of the event `result`, by what they were taken of."""


class EventOrder:
    """Is shown each event in turn, its time counted from the launch."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._t = 0.0
        self._spent = dict.fromkeys(("phases", "steps", "training", *_MEASURED), 0.0)
        self.epochs = self.steps = 0
        """How many epochs and step times so far."""

    def check(self, event: Event, now: float) -> None:
        """Raises `BadEvent` unless `event` can be the next one; `now` is the latest it can be of.

        Both count from the launch."""
        kind, fields = event.kind, event.fields
        if kind in _ONCE and kind in self._kinds:
            raise BadEvent(f"a second event {kind!r}")
        if "end" in self._kinds:
            raise BadEvent(f"an event {kind!r} behind the event 'end'")
        if "result" in self._kinds and kind not in ("error", "end"):
            raise BadEvent(f"an event {kind!r} behind the event 'result'")
        if not self._t <= event.t <= now:
            raise BadEvent(
                f"an event {kind!r} of {event.t:.3f} s after its launch, which is not"
                f" between {self._t:.3f} s, where the one before it is, and {now:.3f} s, when it"
                " was read"
            )
        self._kinds.add(kind)
        self._t = event.t
        if kind == "phase":
            self._spend("phases", fields["seconds"])
        elif kind == "epoch":
            self.epochs += 1
            self.steps += len(fields["steps_ms"])
            written = sum(fields["steps_ms"]) / 1000.0
            self._spend("steps", max(written, fields.get("steps_s") or 0.0))
            self._spend("training", fields["train_s"])
        elif kind == "result":
            for what, keys in _MEASURED.items():
                times = [ms for key in keys for ms in fields.get(key) or ()]
                self._spend(what, sum(times) / 1000.0)

    def _spend(self, what: str, seconds: float) -> None:
        """Of the time since the launch, which no more of anything can have taken."""
        self._spent[what] += seconds
        if self._spent[what] > self._t + _SLACK_S:
            raise BadEvent(f"{self._spent[what]:.3f} s of {what}, {self._t:.3f} s after its launch")
