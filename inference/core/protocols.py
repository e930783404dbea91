"""What an algorithm needs from outside: a measurer, a reporter, stores for checkpoints and measurements."""

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
    """A point at which a search can be resumed; never pickled objects.

    Attributes:
        meta: Facts that JSON can represent.
        arrays: Arrays by name, stored as npz.
    """

    meta: Json
    arrays: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)


class Reporter(Protocol):
    """Receives a search's events and checkpoints, and stops it through `pulse`."""

    def emit(self, event: Event) -> None:
        """Report an event; cheap, and implementations may coalesce events."""
        ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Store this checkpoint; a resumed search gets the last one stored."""
        ...

    def pulse(self) -> None:
        """Call at least every few hundred milliseconds.

        Raises:
            InterruptedRunError: A stop was requested.
        """
        ...


class Measurer(Protocol):
    """Measures inverse throughputs: an agent on the target CPU, a simulated processor or recorded data.

    Results are equal for equal identities and experiments, except for noise, so they may be cached by both.
    """

    @property
    def identity(self) -> Json:
        """Everything that changes the results: machine, harness settings, seed. Part of a result's key."""
        ...

    def offers(self) -> Sequence[Experiment] | None:
        """The only experiments that can be measured (recorded data), or None where any can."""
        ...

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in the order of the experiments, as soon as it is known.

        An experiment that fails gives a result in state FAILED.

        Raises:
            MeasuringError: Where no experiment can be measured.
            InterruptedRunError: Where the run shall stop.
        """
        ...


@runtime_checkable
class RepeatingMeasurer(Measurer, Protocol):
    """A measurer that can measure the same experiments again, independently of earlier results."""

    def repetition(self, number: int) -> Measurer:
        """The measurer of repetition `number`; 0 is this measurer. The same number gives the same results."""
        ...


class MeasurementStore(Protocol):
    """Stores measurements of one measurer, implemented over the database."""

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """The stored results of those experiments that were measured before under the same identity."""
        ...

    def remember(self, results: Sequence[Measured]) -> None:
        """Store new results; storing one twice changes nothing."""
        ...


class BatchBoard(Protocol):
    """Posts batches to one machine and collects their results, implemented over the database."""

    def post(self, batch: Batch) -> int:
        """Post a batch; returns the number under which `collect` returns its results."""
        ...

    def collect(self) -> tuple[int, Sequence[Result]]:
        """Wait for a posted batch that has not been collected; returns its number and results.

        Waiting includes a machine that is disconnected or disturbed.

        Raises:
            InterruptedRunError: Where the run shall stop.
            MeasuringError: Where the machine will never answer.
        """
        ...

    def earlier(self) -> Mapping[str, Result]:
        """{item id: result} of results for earlier attempts of the same run that were never collected."""
        ...

    def close(self) -> None: ...
