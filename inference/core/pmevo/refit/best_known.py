"""A start of the search from the schemes with the most experiments.

Among many schemes, most occur in a few experiments each, which several µops explain equally well. Some occur
in many, also with one another: their µops are found first, from experiments of these alone, which takes
seconds. All others begin with the best of these kinds of µops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inference.core.pmevo.refit.bounded import STARTS, BoundedSearch, in_use
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings

_KNOWN = 20  # schemes
_MORE = 3  # factor on the median number of experiments that these schemes must exceed

_SEARCHES = 300
_PATIENCE = 120
_DEARER = 2.0  # price of rare kinds relative to the search that follows: the start must be reliable
_STREAMS = 1000  # first number of the starts' random streams, above those of the searches


def best_known_first(
    arrays: SearchArrays,
    settings: PMEvoSettings,
    random: Callable[[int], np.random.Generator],
    pulse: Callable[[], None],
) -> RefitPoint | None:
    """A mapping to start from, with an issue width; None where no schemes occur far more often than others.

    The schemes in the most experiments are searched first, by themselves; the others are added one by one.

    Args:
        arrays: Schemes, experiments and times.
        settings: Settings of the search that follows.
        random: The random stream of the k-th local search.
        pulse: Called between steps; what it raises ends the work.
    """
    order = np.argsort(-arrays.occurrences, kind="stable")
    if len(order) < 2 * _KNOWN or arrays.occurrences[order[_KNOWN - 1]] < _MORE * np.median(
        arrays.occurrences
    ):
        return None
    candidates = np.sort(order[:_KNOWN])
    subset = arrays.among(candidates)
    starts = [
        subset.point(Usage.random(subset.times, settings.n_ports, random(_STREAMS + k)))
        for k in range(STARTS)
    ]
    longer = replace(settings, perturbations=_SEARCHES, perturbation_patience=_PATIENCE)
    search = BoundedSearch(subset, starts, longer, random, pulse, dearer=_DEARER)
    while not search.ended:
        search.advance()
    point = search.point
    full = BoundedSearch(arrays, (), settings, random, pulse)
    usage = Usage.empty(len(order))
    for k, scheme in enumerate(candidates.tolist()):
        usage.set_row(scheme, point.usage.row(k))
        usage.slots[scheme] = point.usage.slots[k]
    for scheme in order[_KNOWN:].tolist():
        arrays.refit(usage, scheme, in_use(usage), full.prices, full.objective(point.issue_width), keep=False)
        pulse()
    return arrays.point(usage, point.issue_width)
