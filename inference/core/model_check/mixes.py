"""Random mixes of schemes that follow the model alone (thesis §3.2.2, "Varying Experiment Length").

All in cycles per instruction, so that lengths can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from inference.core.experiment import Experiment, Measured
from inference.core.metrics import Scores, score
from inference.core.model_check.alone import NEAR
from inference.core.sampling import random_mixes

MIX_LENGTHS = (1, 2, 3, 4, 5, 6, 10, 15, 20)
"""Those of Figure 3.7."""


def drawn_mixes(schemes: Sequence[str], n: int, seed: int) -> dict[int, list[Experiment]]:
    """{length: up to n random mixes}; of length 1 every scheme, since they are measured already."""
    if not n or not schemes:
        return {}
    return {
        length: [Experiment.of([scheme]) for scheme in schemes]
        if length == 1
        else random_mixes(schemes, n, seed, length)
        for length in MIX_LENGTHS
    }


@dataclass(frozen=True, slots=True)
class MixSummary:
    """The mixes of one length: how many were asked for and settled, and how well the reference predicts them.

    `scores` is None without a reference. `slower` took over 10 % longer than their instructions one after the
    other, `faster` were over 10 % quicker than one of their schemes alone: no port mapping says either.
    """

    length: int
    asked: int
    settled: int
    scores: Scores | None
    slower: int
    faster: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class MixTally:
    """Takes the mixes of one length; `alone` is {scheme: cycles} of all that occur in them."""

    length: int
    alone: Mapping[str, float]
    asked: int = 0
    measured: list[float] = field(default_factory=list)
    modelled: list[float] = field(default_factory=list)
    _settled: int = 0
    _slower: int = 0
    _faster: int = 0

    def add(self, result: Measured, modelled: float | None) -> None:
        """A mix that was measured, and what the reference says in cycles; None without a reference."""
        self.asked += 1
        if not result.usable or result.cycles is None:
            return
        self._settled += 1
        each = [count * self.alone[scheme] for scheme, count in result.experiment.terms]
        self._slower += result.cycles > (1 + NEAR) * sum(each)
        self._faster += result.cycles < (1 - NEAR) * max(each)
        if modelled is not None:
            self.measured.append(result.cycles / self.length)
            self.modelled.append(modelled / self.length)

    @property
    def summary(self) -> MixSummary:
        """Of everything taken in so far."""
        scores = score(self.measured, self.modelled) if self.measured else None
        return MixSummary(self.length, self.asked, self._settled, scores, self._slower, self._faster)
