"""Compiled loops of congruence filtering, which compare experiments after exchanging two schemes.

Importing this module loads numba. An experiment is identified by a 64-bit sum over its terms, and the
*context* of a scheme in it by the same sum with the scheme's term replaced by its multiplicity. Among ten
million contexts, two different ones collide with a probability of about 3e-6; then two unrelated times are
compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from inference.core.compiling import compiled
from inference.core.pmevo.random_bits import hash_bits

Array = npt.NDArray[Any]

_S32 = np.uint64(32)


class Arrays(NamedTuple):
    """Experiments by the schemes that they contain (see `congruence._Table`).

    `offsets` int64[schemes + 1] are the rows of entries of a scheme; `contexts` uint64, ascending in a row;
    `owners` int64, the experiment of an entry; `counts` int64, the scheme's multiplicity there. `starts`
    int64[n + 1], `terms` int64[·, 2] (scheme, multiplicity) and `sums` uint64[n] are the experiments' own,
    `cycles` float64[n] their times; `sorted_sums` with `order` looks up a sum.
    """

    offsets: Array
    contexts: Array
    owners: Array
    counts: Array
    starts: Array
    terms: Array
    sums: Array
    sorted_sums: Array
    order: Array
    cycles: Array


@compiled
def term_value(scheme: Any, count: Any) -> Any:
    """The summand of a term: a hash of both numbers, which are below 2³²."""
    return hash_bits(((np.uint64(scheme) + np.uint64(1)) << _S32) | np.uint64(count))


@compiled
def fill_sums(starts: Array, terms: Array, n_schemes: Any, sums: Array, contexts: Array) -> None:
    """Fill in the sums of all experiments, and the contexts of all terms in the order of the experiments."""
    for e in range(len(starts) - 1):
        total = np.uint64(0)
        for k in range(starts[e], starts[e + 1]):
            total += term_value(terms[k, 0], terms[k, 1])
        sums[e] = total
        for k in range(starts[e], starts[e + 1]):
            term = term_value(terms[k, 0], terms[k, 1])
            contexts[k] = total - term + term_value(n_schemes, terms[k, 1])


@compiled
def _multiplicity(scheme: Any, experiment: Any, starts: Array, terms: Array) -> Any:
    for k in range(starts[experiment], starts[experiment + 1]):
        if terms[k, 0] == scheme:
            return terms[k, 1]
    return np.int64(0)


@compiled
def compare_exchange(a: Any, b: Any, epsilon: Any, limit: Any, of: Arrays) -> tuple[Any, Any, Any]:
    """(experiments of a compared, those that differ by epsilon or more, largest difference).

    The exchange pairs experiments of a with experiments of b, one to one. Gives up when more than `limit`
    differ.
    """
    compared, different, largest = 0, 0, 0.0
    at = of.offsets[b]
    for k in range(of.offsets[a], of.offsets[a + 1]):
        experiment = of.owners[k]
        beside = _multiplicity(b, experiment, of.starts, of.terms)
        if beside:
            count = of.counts[k]
            target_sum = of.sums[experiment] - term_value(a, count) - term_value(b, beside)
            target_sum += term_value(a, beside) + term_value(b, count)
            place = np.searchsorted(of.sorted_sums, target_sum)
            if place == len(of.sorted_sums) or of.sorted_sums[place] != target_sum:
                continue
            other = of.order[place]
        else:
            while at < of.offsets[b + 1] and of.contexts[at] < of.contexts[k]:
                at += 1
            if at == of.offsets[b + 1]:
                at -= 1  # later entries in the row of a may still be experiments with both
            if of.offsets[b] == of.offsets[b + 1] or of.contexts[at] != of.contexts[k]:
                continue
            other = of.owners[at]
        first, second = of.cycles[experiment], of.cycles[other]
        difference = abs(first - second) / (abs(first + second) / 2)
        compared += 1
        largest = max(largest, difference)
        if difference >= epsilon:
            different += 1
            if different > limit:
                break
    return compared, different, largest


@compiled
def home(
    scheme: Any,
    n_classes: Any,
    first: Array,
    following: Array,
    epsilon: Any,
    evidence: Any,
    outliers: Any,
    of: Arrays,
) -> Any:
    """The first class all of whose members are congruent to a scheme, -1 for none.

    Args:
        scheme: Index of the scheme.
        n_classes: Number of classes so far.
        first: Representative of each class.
        following: Next member of the class of each scheme, -1 after the last.
        epsilon: Relative difference from which on experiments differ.
        evidence: Share of the scheme's experiments that must be comparable.
        outliers: Share of compared experiments that may differ.
        of: The measured experiments.
    """
    n_terms = of.offsets[scheme + 1] - of.offsets[scheme]
    for k in range(n_classes):
        member = first[k]
        while member >= 0:
            theirs = of.offsets[member + 1] - of.offsets[member]
            least_compared = evidence * (n_terms + theirs) / 2
            if min(n_terms, theirs) < least_compared:
                break
            compared, different, _ = compare_exchange(
                scheme, member, epsilon, outliers * min(n_terms, theirs), of
            )
            if compared == 0 or compared < least_compared or different > outliers * compared:
                break
            member = following[member]
        if member < 0:
            return k
    return -1
