"""Recorded experiments and chains as measurers: only what was recorded can be measured."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.latency import ChainReading
from inference.core.protocols import Json
from inference.isa.chains import DependencyChain

MISSING = "not in the recorded data"


class RecordedMeasurer:
    """Answers from existing results.

    An experiment that was recorded several times has the median of its usable repeats.
    """

    def __init__(self, results: Iterable[Measured]) -> None:
        repeats: dict[Experiment, list[Measured]] = {}
        for result in results:
            repeats.setdefault(result.experiment, []).append(result)
        self._answers = {experiment: _merge(group) for experiment, group in repeats.items()}

    @cached_property
    def identity(self) -> Json:
        """Computed once: `isinstance` with a protocol of Python 3.11 reads it each time."""
        digest = hashlib.sha256()
        for experiment, answer in sorted(self._answers.items(), key=lambda item: item[0]):
            digest.update(f"{experiment.terms!r} {answer.cycles!r} {answer.state}\n".encode())
        return {"kind": "recorded", "digest": digest.hexdigest()}

    def offers(self) -> Sequence[Experiment]:
        """All recorded experiments, in the order of the results."""
        return tuple(self._answers)

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """The recorded results; an experiment that was not recorded fails with a note."""
        for experiment in experiments:
            answer = self._answers.get(experiment)
            yield (
                answer
                if answer is not None
                else Measured(
                    experiment, None, MeasurementState.FAILED, note="not among the recorded experiments"
                )
            )


def _merge(repeats: Sequence[Measured]) -> Measured:
    """One result of repeated ones: the median of the usable, with their range as spread."""
    usable = [result for result in repeats if result.usable and result.cycles is not None]
    if len(repeats) == 1 or not usable:
        return repeats[0]
    cycles = [result.cycles for result in usable if result.cycles is not None]
    return Measured(
        usable[0].experiment,
        statistics.median(cycles),
        spread=max(cycles) - min(cycles),
        passes=len(cycles),
        note=f"median of {len(cycles)} recorded results" if len(cycles) > 1 else usable[0].note,
        annotations=usable[0].annotations,
    )


class RecordedChains:
    """Answers from `recorded`: {(code, whether it is a loop): (cycles, spread, note)}."""

    def __init__(self, recorded: Mapping[tuple[bytes, bool], tuple[float | None, float, str]]) -> None:
        self._recorded = recorded

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        """The readings in order, the same for every `repeat`; a missing chain has no cycles and a note.

        Earlier versions put no chain into a loop, so code of a loop is also looked up without one.
        """
        del repeat
        for chain in chains:
            reading = self._recorded.get((chain.code, chain.loop)) or self._recorded.get((chain.code, False))
            yield ChainReading(chain, *(reading or (None, 0.0, MISSING)))
