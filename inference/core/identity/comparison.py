"""Two port mappings side by side: their µops of every scheme, their agreement, an experiment that decides.

A µop is hidden in a scheme where its presence changes no prediction of the judged experiments by more than
the noise: one that can use as many ports as the core issues slots, or the address of a store whose data takes
longer. Two mappings agree on a scheme up to hidden µops if what each has in addition to the other is hidden.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.experiment import Experiment
from inference.core.identity.distinguishing import Distinction, distinguishing_experiment
from inference.core.identity.renaming import StructuralAgreement, best_renaming, structural_agreement
from inference.core.mapping import PortMapping, Uops, hidden_kinds
from inference.core.throughput import inverse_throughput, issue_bound, port_bound, work_of

NOISE = 0.02
"""Cycles per instruction that a measurement may be off (thesis §4.3), and share of a prediction."""

MAX_SEARCHED = 100_000
"""Largest number of experiments searched for one that distinguishes the mappings; those of length 1 always
are.
"""

MAX_CONSTRUCTED = 2_000_000
"""Largest number of pairs of a set of classes and a class that are examined: about a second."""

MAX_PARTNERS = 10
"""Largest number of schemes that are combined with the scheme in question."""

MAX_EXPERIMENTS = 20_000
"""Largest number of experiments examined: about ten milliseconds."""

MAX_LENGTH = 8  # instructions in an experiment that tells two schemes apart


class SchemeRelation(StrEnum):
    """Which of two mappings describe a scheme, and whether equally."""

    DIFFERENT = "different"
    ONLY_FIRST = "only-first"
    ONLY_SECOND = "only-second"
    EQUAL = "equal"


@dataclass(frozen=True)
class ComparedScheme:
    """A scheme in two mappings: µops, and cycles of one instance; None where a mapping lacks it.

    The µops of the second mapping are under the best renaming, with the indices of `MappingComparison.ports`.
    `differs_in_hidden`: the mappings differ only in µops that no experiment can show.
    """

    scheme: str
    kind: SchemeRelation
    uops: tuple[Uops | None, Uops | None]
    cycles: tuple[float | None, float | None]
    differs_in_hidden: bool = False

    @property
    def difference(self) -> float | None:
        """The second mapping's cycles minus the first's, in per cent of the first's; None where undefined."""
        first, second = self.cycles
        if first is None or second is None:
            return None
        if first == second:
            return 0.0
        return 100 * (second - first) / first if first else math.inf

    @property
    def factor(self) -> float:
        """Quotient of the longer and the shorter prediction, ≥ 1; 1 where that is undefined."""
        if not self.difference:
            return 1.0
        first, second = (cycles or 0.0 for cycles in self.cycles)
        return max(first, second) / min(first, second) if first and second else math.inf


@dataclass(frozen=True)
class MappingComparison:
    """Two mappings up to a renaming of the second one's ports.

    `limits` outside the ports of each.

    Attributes:
        ports: The first mapping's port names, then those of the second that have no partner.
        schemes: All that either describes, sorted.
        other_slots: The schemes that both describe with different numbers of issue slots, where one of the
            mappings has an issue width.
        distinction: A smallest experiment whose predictions differ by more than 2 · `noise` cycles per
            instruction; `noise` is 0 where only exact measurements could show it; None where no such
            experiment was found.
    """

    ports: tuple[str, ...]
    agreement: StructuralAgreement
    schemes: tuple[ComparedScheme, ...]
    limits: tuple[dict[str, float], dict[str, float]]
    other_slots: tuple[str, ...]
    distinction: Distinction | None
    noise: float

    @property
    def are_equal(self) -> bool:
        """Whether both have the same schemes with the same µops, limits and slots included."""
        agreement = self.agreement
        differences = (*agreement.differing, *agreement.only_first, *agreement.only_second)
        return not differences and self.limits[0] == self.limits[1] and not self.other_slots

    @property
    def same_number(self) -> float | None:
        """Share of the common schemes with equally many µops in both, 0 to 1; None where there are none."""
        common = [scheme.uops for scheme in self.schemes if None not in scheme.uops]
        if not common:
            return None
        counts = [[sum(count for _, count in uops or ()) for uops in pair] for pair in common]
        return sum(first == second for first, second in counts) / len(counts)

    @property
    def largest(self) -> ComparedScheme | None:
        """The scheme whose cycles differ by the largest factor; None where all take equally long."""
        differing = [scheme for scheme in self.schemes if scheme.difference]
        return max(differing, key=lambda scheme: scheme.factor, default=None)


def compare(a: PortMapping, b: PortMapping) -> MappingComparison:
    """Compare two mappings; a fraction of a second for thousands of schemes."""
    agreement = structural_agreement(a, b)
    renamed = agreement.renaming.apply(b)
    distinction, noise = _distinction(a, b)
    return MappingComparison(
        ports=renamed.ports,
        agreement=agreement,
        schemes=tuple(_side_by_side(a, renamed, agreement)),
        limits=(a.limits, b.limits),
        other_slots=_other_slots(a, b),
        distinction=distinction,
        noise=noise,
    )


def _other_slots(a: PortMapping, b: PortMapping) -> tuple[str, ...]:
    if a.issue_width is None and b.issue_width is None:
        return ()
    common = a.usage.keys() & b.usage.keys()
    return tuple(sorted(scheme for scheme in common if a.slots_of(scheme) != b.slots_of(scheme)))


def _side_by_side(a: PortMapping, b: PortMapping, agreement: StructuralAgreement) -> Iterator[ComparedScheme]:
    """All schemes of both mappings, by name, with µops, cycles alone and hidden differences."""
    kinds = {
        **dict.fromkeys(agreement.agreeing, SchemeRelation.EQUAL),
        **dict.fromkeys(agreement.differing, SchemeRelation.DIFFERENT),
        **dict.fromkeys(agreement.only_first, SchemeRelation.ONLY_FIRST),
        **dict.fromkeys(agreement.only_second, SchemeRelation.ONLY_SECOND),
    }
    cached: dict[tuple[int, Uops, int], float] = {}
    hidden = hidden_kinds(a), hidden_kinds(b)
    for scheme in sorted(kinds):
        cycles: list[float | None] = []
        for k, mapping in enumerate((a, b)):
            uops = mapping.usage.get(scheme)
            if uops is None:
                cycles.append(None)
                continue
            key = k, uops, mapping.slots_of(scheme)
            if key not in cached:
                cached[key] = inverse_throughput(mapping, Experiment.of([scheme]))
            cycles.append(cached[key])
        first, second = a.usage.get(scheme), b.usage.get(scheme)
        yield ComparedScheme(
            scheme,
            kinds[scheme],
            (first, second),
            (cycles[0], cycles[1]),
            kinds[scheme] is SchemeRelation.DIFFERENT and differ_in_hidden(hidden, first or (), second or ()),
        )


def differ_in_hidden(hidden: tuple[frozenset[int], frozenset[int]], first: Uops, second: Uops) -> bool:
    """Whether the µops that each has in addition to the other are hidden in its own mapping.

    `hidden`: the results of `hidden_kinds` for both mappings.
    """
    first_counts, second_counts = Counter(dict(first)), Counter(dict(second))
    return (first_counts - second_counts).keys() <= hidden[0] and (
        second_counts - first_counts
    ).keys() <= hidden[1]


def _distinction(a: PortMapping, b: PortMapping) -> tuple[Distinction | None, float]:
    """An experiment that real measurements can decide, else one that exact ones could; with its noise."""
    common = a.usage.keys() & b.usage.keys()
    different = {(a.usage[scheme], b.usage[scheme]) for scheme in common}
    classes = len({(a.usage[s], b.usage[s], a.slots_of(s), b.slots_of(s)) for s in common})
    # In two levels an experiment is constructed, and each set of classes is held against all classes.
    two_level = not _other_slots(a, b) and all(
        len(uops) == 1 and uops[0][1] == 1 for pair in different for uops in pair
    )
    allowed = MAX_CONSTRUCTED // max(1, classes) if two_level else MAX_SEARCHED
    length = 1
    while length < 5 and math.comb(classes + length, length + 1) <= allowed:
        length += 1
    for noise in (NOISE, 0.0):
        distinction = distinguishing_experiment(a, b, noise=noise, max_length=length)
        if distinction is not None:
            return distinction, noise
    return None, 0.0


def deciding_experiment(
    a: PortMapping, b: PortMapping, scheme: str, agreeing: Iterable[str], *, noise: float = NOISE
) -> Distinction | None:
    """A smallest experiment with the scheme for which the mappings predict what measuring can distinguish.

    Args:
        a: First mapping.
        b: Second mapping; the smaller R_max of the two holds for both.
        scheme: Part of every experiment that can decide, since others take equally long in both.
        agreeing: Schemes that have equal µops in both under one renaming of the ports. Only a few of them are
            used: those of few µops on ports that the scheme may use, since these can fill its ports (§6.2.2).
        noise: See `distinguishing_experiment`.

    Returns:
        The experiment with the cycles that each mapping predicts; None where no short experiment decides.
    """
    partners = _partners(a, scheme, agreeing)
    length = 1
    while length < MAX_LENGTH and math.comb(len(partners) + 1 + length, length + 1) <= MAX_EXPERIMENTS:
        length += 1
    rates = [rate for rate in (a.r_max, b.r_max) if rate is not None]
    return distinguishing_experiment(
        a,
        b,
        noise=noise,
        r_max=min(rates, default=None),
        max_length=length,
        schemes=[scheme, *partners],
    )


def _partners(a: PortMapping, scheme: str, agreeing: Iterable[str]) -> list[str]:
    """One scheme of each usage that shares a port with the scheme, those first that block ports best."""
    ports = _ports(a.usage[scheme])
    representatives: dict[Uops, str] = {}
    for candidate in sorted(agreeing):
        uops = a.usage[candidate]
        if candidate != scheme and _ports(uops) & ports:
            representatives.setdefault(uops, candidate)

    def rank(uops: Uops) -> tuple[int, int, Uops]:
        return sum(count for _, count in uops), -(_ports(uops) & ports).bit_count(), uops

    ranked = sorted(representatives, key=rank)
    return [representatives[uops] for uops in ranked[:MAX_PARTNERS]]


def _ports(uops: Uops) -> int:
    ports = 0
    for mask, _ in uops:
        ports |= mask
    return ports


def agreement_up_to_hidden(a: PortMapping, b: PortMapping, judged: Iterable[Experiment]) -> float | None:
    """The share of schemes, 0 to 1, that agree up to hidden µops, under the best renaming of b's ports.

    Args:
        a: Its predictions, with its limits and slots, show what is hidden.
        b: The other mapping.
        judged: Experiments whose schemes are compared; those with a scheme that one mapping lacks are
            skipped.

    Returns:
        None where no experiment is left.
    """
    common = sorted(a.usage.keys() & b.usage.keys())
    first, second = a.restricted(common), b.restricted(common)
    described = [mix for mix in dict.fromkeys(judged) if all(s in first.usage for s in mix.schemes)]
    if not described:
        return None
    other = best_renaming(first, second).apply(second).usage
    containing = _experiments_by_scheme(first, described)
    agreeing = sum(
        all(
            is_hidden(first, scheme, beside, containing[scheme])
            for beside in _beyond_common(first.usage[scheme], other[scheme])
        )
        for scheme in containing
    )
    return agreeing / len(containing)


def is_hidden(
    mapping: PortMapping,
    scheme: str,
    change: Counter[int],
    judged: Sequence[tuple[Experiment, float]],
) -> bool:
    """Whether changing a scheme's µops changes no prediction of experiments with it by more than `NOISE`.

    Args:
        change: {port mask: µops more, or fewer if negative}.
        judged: (experiment, the mapping's prediction).
    """
    return not change or all(
        abs(_cycles_with(mapping, experiment, scheme, change) - cycles) <= NOISE * cycles
        for experiment, cycles in judged
    )


def _experiments_by_scheme(
    mapping: PortMapping, judged: Sequence[Experiment]
) -> dict[str, list[tuple[Experiment, float]]]:
    """{scheme: (experiment with it, its prediction)}, short experiments first, since these show most."""
    by_scheme: dict[str, list[tuple[Experiment, float]]] = {}
    for experiment in sorted(judged, key=lambda experiment: experiment.length):
        cycles = inverse_throughput(mapping, experiment)
        for scheme in experiment.schemes:
            by_scheme.setdefault(scheme, []).append((experiment, cycles))
    return by_scheme


def _beyond_common(first: Uops, second: Uops) -> tuple[Counter[int], Counter[int]]:
    """The changes that remove what the second lacks, and that add what only the second has."""
    first_counts, second_counts = Counter(dict(first)), Counter(dict(second))
    return Counter(
        {mask: -count for mask, count in (first_counts - second_counts).items()}
    ), second_counts - first_counts


def _cycles_with(mapping: PortMapping, experiment: Experiment, scheme: str, change: Counter[int]) -> float:
    """Cycles of an experiment if each instance of one of its schemes had these additional µops."""
    work = work_of(mapping, experiment)
    repeats = dict(experiment.terms)[scheme]
    for mask, count in change.items():
        work[mask] = work.get(mask, 0) + count * repeats
    return max(port_bound(work), issue_bound(mapping, experiment))
