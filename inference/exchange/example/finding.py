"""The recorded example where it has been loaded, whatever it is called now."""

from __future__ import annotations

from dataclasses import dataclass

from inference.exchange.example.loading import MAPPING, MIXES, SINGLETONS_AND_PAIRS, source_of
from inference.models import ExperimentSet, PortMapping


@dataclass(frozen=True)
class Found:
    """What the example is looked at by."""

    training: ExperimentSet
    mixes: ExperimentSet
    mapping: PortMapping


def find_example() -> Found | None:
    """The example's sets and mapping; None where any of them is not here (three queries)."""
    sets = ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE).select_related("isa")
    training = sets.filter(source=source_of(SINGLETONS_AND_PAIRS)).first()
    mixes = sets.filter(source=source_of(MIXES)).first()
    mappings = PortMapping.objects.filter(origin=PortMapping.Origin.EXAMPLE, source=source_of(MAPPING))
    mapping = mappings.defer("report").first()
    if training is None or mixes is None or mapping is None:
        return None
    return Found(training, mixes, mapping)
