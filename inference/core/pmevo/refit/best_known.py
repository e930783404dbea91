"""A start of the search from the schemes that most is known of.

Of many schemes, most occur in a few experiments each, and several µops explain these alike. Some occur in
many, and among themselves: so their µops are found first, from what consists of them alone, which takes
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
_MORE = 3  # times as many experiments as the median scheme: with less, none stands out

_SEARCHES = 300
_PATIENCE = 120
_DEARER = 2.0  # kinds in little use than in the search that follows: what is begun with must be certain
_STREAMS = 1000  # of the starts, beyond those of the searches


def best_known_first(
    arrays: SearchArrays,
    settings: PMEvoSettings,
    random: Callable[[int], np.random.Generator],
    pulse: Callable[[], None],
) -> RefitPoint | None:
    """The mapping, with the issue width that was found on the way; None where there are too few schemes.

    `random(k)`: the stream of the k-th local search; `pulse` beats between steps.
    """
    order = np.argsort(-arrays.occurrences, kind="stable")
    if len(order) < 2 * _KNOWN or arrays.occurrences[order[_KNOWN - 1]] < _MORE * np.median(
        arrays.occurrences
    ):
        return None
    known = np.sort(order[:_KNOWN])
    few = arrays.among(known)
    starts = [
        few.point(Usage.random(few.times, settings.n_ports, random(_STREAMS + k))) for k in range(STARTS)
    ]
    longer = replace(settings, perturbations=_SEARCHES, perturbation_patience=_PATIENCE)
    search = BoundedSearch(few, starts, longer, random, pulse, dearer=_DEARER)
    while not search.ended:
        search.advance()
    found = search.point
    whole = BoundedSearch(arrays, (), settings, random, pulse)
    usage = Usage.empty(len(order))
    for k, scheme in enumerate(known.tolist()):
        usage.put(scheme, found.usage.row(k))
        usage.slots[scheme] = found.usage.slots[k]
    for scheme in order[_KNOWN:].tolist():
        arrays.refit(
            usage, scheme, in_use(usage), whole.prices, whole.objective(found.issue_width), keep=False
        )
        pulse()
    return arrays.point(usage, found.issue_width)
