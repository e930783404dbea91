"""What an algorithm needs from its world: a measurer, a listener, and a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from inference.agent.protocol import Batch, Result
from inference.core.events import Event
from inference.core.experiment import Experiment, Measured

Json = dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """Where a search can be taken up again: JSON facts and arrays, never pickled objects."""

    meta: Json
    arrays: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)


class Reporter(Protocol):
    """The listener of a search, and the only way in which it learns that somebody wants it to stop."""

    def emit(self, event: Event) -> None:
        """Tell what happened; cheap, may be coalesced."""
        ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Remember this point; a resumed search gets the last one saved."""
        ...

    def pulse(self) -> None:
        """Call at least every few hundred milliseconds; raises `InterruptedRunError` when asked to stop."""
        ...


class Measurer(Protocol):
    """Answers "how many cycles?": an agent on the target CPU, a simulated processor or recorded data."""

    @property
    def identity(self) -> Json:
        """Whatever changes the answers: machine, harness settings, seed. Part of a measurement's key."""
        ...

    def offers(self) -> Sequence[Experiment] | None:
        """The only experiments that can be asked (recorded data), or None where any can."""
        ...

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in the order asked, as they become known.

        A failure of one experiment is a result in state FAILED; an exception means that measuring as a
        whole is impossible.
        """
        ...


@runtime_checkable
class RepeatingMeasurer(Measurer, Protocol):
    """A measurer that can be asked to measure the same anew, which otherwise nobody does."""

    def again(self, number: int) -> Measurer:
        """The measurer of that repetition; 0 is itself. The same number means the same answers."""
        ...


class MeasurementStore(Protocol):
    """What measuring remembers, implemented over the database."""

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """Those of the experiments that were measured before under the same identity."""
        ...

    def remember(self, results: Sequence[Measured]) -> None:
        """Keep new results; storing one twice changes nothing."""
        ...


class BatchBoard(Protocol):
    """Where batches for one machine are posted and their results come back, implemented over the database."""

    def post(self, batch: Batch) -> int:
        """Post a batch; the number under which its results will come."""
        ...

    def collect(self) -> tuple[int, Sequence[Result]]:
        """Wait for any of the posted batches that has not been collected yet.

        Waiting includes a machine that is away or disturbed. Raises `InterruptedRunError` when the run shall
        stop, and `MeasuringError` where the machine will never answer.
        """
        ...

    def earlier(self) -> Mapping[str, Result]:
        """Results that came for earlier attempts of the same run and were never collected, by item."""
        ...

    def close(self) -> None:
        """Withdraw what has not been collected."""
        ...
