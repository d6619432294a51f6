"""The calls that a running campaign makes to whoever shows it: a terminal, a test.

Three things look at what runs, each from another side:
- CampaignObserver (here): called for the whole campaign, in the same process; `dlbench run` shows
  it (cli/live.py);
- TrialEvents (running/trial_events.py): reads the events file of one running trial;
- CampaignFollower (campaigns/follower.py): reads the folder of a campaign that another process
  runs; `dlbench watch` shows it (cli/watch.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from dlbench.campaigns.certificate_file import Certificate
from dlbench.campaigns.trial_result import TrialResult
from dlbench.environments.progress import Step
from dlbench.formats import Event
from dlbench.monitor.sampler import Monitor
from dlbench.planning.trial import Trial


class CampaignObserver:
    """Called as a campaign goes on; this one ignores all calls."""

    def note(self, text: str) -> None:
        """Something a person should know."""

    def preparing(self, step: Step) -> None:
        """An environment or data set is being made."""

    def planned(self, trials: Sequence[Trial], done: int) -> None:
        """These will run; `done` of them have already."""

    def certifying(self, release: str, workload: str) -> None:
        """A proof is being made."""

    def certified(self, certificate: Certificate) -> None:
        """A proof was made, or there was one already."""

    def started(self, trial: Trial) -> None:
        """A trial begins."""

    def event(self, trial: Trial, event: Event) -> None:
        """A trial wrote an event."""

    def tick(self, trial: Trial, monitor: Monitor) -> None:
        """A trial is running; about ten times a second."""

    def ended(self, trial: Trial, result: TrialResult) -> None:
        """A trial has ended."""

    def looked(self, repeats: int, known: bool) -> None:
        """With `--until decided`: the results so far were compared; `known`: there is a leader."""
