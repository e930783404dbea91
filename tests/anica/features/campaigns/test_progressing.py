"""What is saved of a campaign between the waves of its search."""

from __future__ import annotations

from types import SimpleNamespace

from anica_app.core.search.events import CountersEvent
from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.job import Progressing
from inference.core.protocols import Checkpoint


class Saves:
    """A reporter that keeps the checkpoints."""

    def __init__(self) -> None:
        self.saved: list[Checkpoint] = []

    def emit(self, event: object) -> None: ...

    def save(self, checkpoint: Checkpoint) -> None:
        self.saved.append(checkpoint)


def test_time_that_a_wave_has_taken_is_kept_before_the_wave_is_over():
    last = Checkpoint({"counters": {"rounds": 3, "seconds": 20.0}, "pending": [1]})
    reporter = Saves()
    keeper = SimpleNamespace(last=last)
    progressing = Progressing(reporter, Termination(minutes=10), keeper, flush=lambda: None)  # type: ignore[arg-type]
    progressing.emit(
        CountersEvent(seconds=170.0, discoveries=0, standing=0, generalising=3, rate=1.0, failures={})
    )
    (saved,) = reporter.saved
    assert saved.meta == {"counters": {"rounds": 3, "seconds": 170.0}, "pending": [1]}
    assert last.meta["counters"]["seconds"] == 20.0
