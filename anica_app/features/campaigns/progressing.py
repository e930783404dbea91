"""The reporter of a campaign's search: counters become progress, and what was answered is kept on the way."""

from __future__ import annotations

from collections.abc import Callable

from anica_app.core.search.events import Counted
from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.rows import RowKeeper
from inference.core.events import Event, Progress
from inference.core.pacing import PacedReporter
from inference.core.protocols import Checkpoint
from inference.runs.reporter import JournalReporter

_KEEP_EVERY = 5.0  # seconds


class Progressing:
    """A `Reporter`. `flush` has the predictors keep their answers.

    Blocks may be generalised for longer than between two checkpoints. Whoever takes the run up again asks for
    the same answers, finds them remembered and is soon where it was; the checkpoint, saved once more, tells
    that the run gets on.
    """

    def __init__(
        self, reporter: JournalReporter, end: Termination, keeper: RowKeeper, flush: Callable[[], None]
    ) -> None:
        self._reporter = reporter
        self._end = end
        self._keeper = keeper
        self._flush = flush
        self._pace = PacedReporter(self)

    def emit(self, event: Event) -> None:
        """Pass it on; counters become progress towards whichever end is nearest."""
        self._reporter.emit(event)
        if not isinstance(event, Counted):
            return
        self._reporter.emit(_progress(event, self._end))
        if self._pace.due("keep", _KEEP_EVERY):
            self._flush()
            if self._keeper.last is not None:
                self._reporter.save(_with_seconds(self._keeper.last, event.seconds))

    def save(self, checkpoint: Checkpoint) -> None:
        self._reporter.save(checkpoint)

    def pulse(self) -> None:
        """Raises `InterruptedRunError` when asked to stop."""
        self._reporter.pulse()


def _with_seconds(checkpoint: Checkpoint, seconds: float) -> Checkpoint:
    """The same state, but for the time that has been spent since."""
    counters = {**checkpoint.meta["counters"], "seconds": seconds}
    return Checkpoint({**checkpoint.meta, "counters": counters}, checkpoint.arrays)


def _progress(counters: Counted, end: Termination) -> Progress:
    """How far the campaign is towards the end that is nearest."""
    ways = [
        (done, total, unit)
        for done, total, unit in (
            (counters.seconds, 60 * (end.minutes or 0), "seconds"),
            (counters.standing, end.discoveries, "discoveries"),
            (counters.sampled, end.blocks, "blocks"),
            (counters.barren, end.barren, "blocks without a discovery"),
        )
        if total
    ]
    done, total, unit = max(ways, key=lambda way: way[0] / way[1], default=(0, 1, "seconds"))
    seconds = counters.seconds
    rate = done / seconds if seconds > 0 else 0.0
    steady = unit != "blocks without a discovery"  # the next one sets them back
    return Progress(
        phase="search",
        done=round(min(done, total), 1),
        total=round(total, 1),
        rate=round(rate, 3) if unit == "blocks" else 0.0,
        unit=unit,
        eta=round(max(0.0, total - done) / rate, 1) if rate > 0 and steady else None,
    )
