"""In which order discoveries are listed (thesis §8.1.7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anica_app.core.discovery_selection import Covered
from anica_app.core.search.findings import FoundDiscovery
from anica_app.core.search.protocols import AbstractT


def by_interestingness(discoveries: Sequence[FoundDiscovery[AbstractT]]) -> list[FoundDiscovery[AbstractT]]:
    """The greatest mean difference first; failures before all of them, the earlier discovery of equals."""
    return sorted(discoveries, key=lambda one: (-one.interestingness, one.number))


def by_generality(discoveries: Sequence[FoundDiscovery[AbstractT]]) -> list[FoundDiscovery[AbstractT]]:
    """The one whose most special instruction represents the most schemes first; shorter ones of equals."""
    return sorted(discoveries, key=lambda one: (-one.generality, one.length, one.number))


def by_coverage(
    discoveries: Sequence[FoundDiscovery[AbstractT]], covered: Covered
) -> list[tuple[FoundDiscovery[AbstractT], int]]:
    """The one that subsumes the most blocks of a set first, with how many; `covered` has a row for each."""
    blocks = np.asarray(covered).sum(axis=1).tolist()
    pairs = list(zip(discoveries, (int(number) for number in blocks), strict=True))
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0].number))
