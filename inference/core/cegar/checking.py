"""Whether a mapping explains mixes that its search has not asked."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.cegar.problem import Unexplained
from inference.core.cegar.search import CegarSearch
from inference.core.mapping import PortMapping
from inference.core.sampling import MIX_LENGTH, random_mixes

MIXES = 16


@dataclass(frozen=True)
class MixCheck:
    """How many mixes had a usable measurement, and those that a mapping does not explain."""

    mixes: int
    unexplained: tuple[Unexplained, ...]


def check_on_mixes(search: CegarSearch, mapping: PortMapping, stream: int) -> MixCheck:
    """Measure random mixes, others for each `stream`; what is off is measured again before it counts.

    Recorded data have nothing that the search has not asked: then there are no mixes.
    """
    if search.answers.offered is not None:
        return MixCheck(0, ())
    length = min(MIX_LENGTH, search.settings.max_length or MIX_LENGTH)
    drawn = random_mixes(sorted(mapping.usage), MIXES, search.seed, length, stream=stream)
    mixes = [mix for mix in drawn if search.may_ask(mix)]
    for measured in search.answers.measure(mixes):
        search.take(measured)
    mixes = [mix for mix in mixes if search.readings.cycles(mix) is not None]
    search.readings.repeat([each.experiment for each in search.unexplained(mapping, mixes)])
    return MixCheck(len(mixes), search.unexplained(mapping, mixes))
