"""Checks of a mapping on random mixes that its search has not measured."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.cegar.problem import Unexplained
from inference.core.cegar.search import CegarSearch
from inference.core.mapping import PortMapping
from inference.core.sampling import MIX_LENGTH, random_mixes

MIXES = 16
"""Mixes measured per check: enough to find a mapping that is wrong for one mix in ten (81 %)."""


@dataclass(frozen=True)
class MixCheck:
    """How many mixes had a usable measurement, and which of them a mapping leaves unexplained."""

    mixes: int
    unexplained: tuple[Unexplained, ...]


def check_on_mixes(search: CegarSearch, mapping: PortMapping, stream: int) -> MixCheck:
    """Measure `MIXES` random mixes, different ones for each `stream`, and compare them with a mapping.

    A mix that the mapping does not explain is measured again before it counts. With recorded data the search
    has used all experiments: the check then has no mixes.
    """
    if search.answers.offered is not None:
        return MixCheck(0, ())
    length = min(MIX_LENGTH, search.settings.max_length or MIX_LENGTH)
    random = random_mixes(sorted(mapping.usage), MIXES, search.seed, length, stream=stream)
    mixes = [mix for mix in random if search.can_measure(mix)]
    for measured in search.answers.measure(mixes):
        search.record(measured)
    mixes = [mix for mix in mixes if search.readings.cycles(mix) is not None]
    search.readings.repeat([unexplained.experiment for unexplained in search.unexplained(mapping, mixes)])
    return MixCheck(len(mixes), search.unexplained(mapping, mixes))
