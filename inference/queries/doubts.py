"""What is doubtful in a port mapping, scheme by scheme: ambiguous, excluded, badly predicted, in conflict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from inference.core.doubting import Doubt, DoubtKind, Doubts
from inference.core.explain import REASONS, Outcome, Reason
from inference.core.identity import Comparison, Kind
from inference.core.mapping import PortMapping as Mapping
from inference.core.residuals import SchemeError
from inference.exchange.evidence import Evidence
from inference.exchange.stored import load_mapping
from inference.models import Evaluation, PortMapping
from inference.queries.characterisations import is_explained, regularity_of
from inference.queries.comparing import comparable, comparison_of
from inference.queries.measured_slots import measured_slots_of
from inference.queries.reference import named_after
from inference.queries.scheme_residuals import residuals_in

USUAL_ERROR = 20.0
"""Per cent by which the experiments with a scheme may be off on average before it counts as badly
predicted."""


def doubts_of(
    row: PortMapping,
    other: PortMapping | None = None,
    evaluation: Evaluation | None = None,
    over: float = USUAL_ERROR,
    value: Mapping | None = None,
) -> Doubts:
    """The doubts of a mapping.

    Conflicts are those with `other`, up to a renaming of ports. Badly predicted are the schemes whose
    experiments in `evaluation` are off by more than `over` per cent on average. `value` is the mapping, where
    it is at hand.
    """
    value = load_mapping(row) if value is None else value
    found = [*_undetermined(row, value), *_judged(row, value), *_other_slots(row, value)]
    if evaluation is not None:
        found += _mispredicted(residuals_in(evaluation), value, over)
    ports = value.ports
    if other is not None:
        comparison = comparison_of(row, other)
        ports = comparison.ports
        found += _conflicts(comparison, other.name)
    places = {kind: place for place, kind in enumerate(DoubtKind)}
    merged = sorted(_merged(found), key=lambda each: (places[each.kind], -each.size, each.scheme))
    return Doubts(tuple(merged), ports)


def usual_other(row: PortMapping) -> PortMapping | None:
    """What a mapping is held against unless somebody says otherwise.

    Another one of the same machine, the imported ones first, or an imported one named after the machine's
    microarchitecture. None where nothing says that another mapping is of the same processor.
    """
    if row.machine is None:
        return None
    others = list(comparable(row).order_by("origin", "-id"))
    own = (each for each in others if each.machine_id == row.machine_id)
    imported = (each for each in others if each.origin == PortMapping.Origin.IMPORT)
    return next(own, None) or named_after(row.machine, imported)


def _undetermined(row: PortMapping, value: Mapping) -> Iterator[Doubt]:
    """What a search by counter-examples left open, and what it left out."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return
    for doubt in evidence.doubts(value):
        number = sum(each.alternatives for each in doubt.elsewhere)
        reasons = dict.fromkeys(reason for each in doubt.elsewhere for reason in each.reasons)
        explains = "another port mapping explains" if number == 1 else f"{number} other port mappings explain"
        words = f"{explains} the measurements as well: {'; '.join(reasons)}"
        others = tuple(each.uops for each in doubt.elsewhere)
        yield Doubt(DoubtKind.AMBIGUOUS, doubt.scheme, words, doubt.uops, others, float(number))
    for clash in evidence.clashes:
        for scheme in clash["dropped"]:
            yield Doubt(DoubtKind.EXCLUDED, scheme, f"left out after a clash: {clash['text']}")


def _judged(row: PortMapping, value: Mapping) -> Iterator[Doubt]:
    """What explainable inference said of schemes, and those that break a pattern (§6.3.5)."""
    if not is_explained(row):
        return
    rows = row.characterisations.exclude(outcome=Outcome.CHARACTERISED.value, doubts=[], alternatives=[])
    for each in rows.select_related("scheme"):
        reason = REASONS[Reason(each.reason)] if each.reason else ""
        told = [text for text in (reason, each.text, *map(str, each.doubts)) if text]
        others = tuple(tuple((mask, count) for mask, count in uops) for uops in each.alternatives)
        excluded = each.outcome == Outcome.EXCLUDED.value
        yield Doubt(
            DoubtKind.EXCLUDED if excluded else DoubtKind.AMBIGUOUS,
            each.scheme.text,
            "; ".join(told) or "the evidence allows other µops as well",
            value.usage.get(each.scheme.text),
            others,
            float(len(others)),
        )
    for check in regularity_of(row).breakers:
        words = f"irregular: {check.in_words(value.ports)}"
        yield Doubt(DoubtKind.AMBIGUOUS, check.scheme, words, check.usage, check.expected[:1])


def _other_slots(row: PortMapping, value: Mapping) -> Iterator[Doubt]:
    """Where padding shows other numbers of slots than the mapping has; a bound only where that has more."""
    measured = None if value.issue_width is None else measured_slots_of(row)
    if measured is None:
        return
    for scheme, reading in measured.readings.items():
        said, shown = value.slots_of(scheme), reading.number
        if scheme not in value.usage or said == shown or (said < shown and not reading.exact):
            continue
        many = f"{'' if reading.exact else 'at most '}{shown} slot{'' if shown == 1 else 's'}"
        words = (
            f"{many} measured, {said} here: {reading.experiment} takes {reading.cycles:.3g} cycles, "
            f"and the core issues {measured.width:.3g} slots per cycle"
        )
        yield Doubt(DoubtKind.SLOTS, scheme, words, value.usage[scheme], (), float(abs(said - shown)))


def _mispredicted(errors: Iterable[SchemeError], value: Mapping, over: float) -> Iterator[Doubt]:
    for error in errors:
        if error.absolute <= over:
            continue
        side = "too long" if error.signed > 0 else "too short"
        experiments = "1 experiment" if error.n == 1 else f"{error.n:,} experiments"
        words = f"{error.absolute:.0f} % off on average over {experiments}"
        if abs(error.signed) > error.absolute / 2:
            words += f", predictions {side}"
        yield Doubt(
            DoubtKind.MISPREDICTED, error.scheme, words, value.usage.get(error.scheme), (), error.absolute
        )


def _conflicts(comparison: Comparison, name: str) -> Iterator[Doubt]:
    for each in comparison.schemes:
        here, there = each.uops
        if each.kind is not Kind.DIFFERENT or there is None:
            continue
        first, second = each.cycles
        alone = "as long alone" if first == second else f"{second:.4g} cycles alone, not {first:.4g}"
        words = f"other µops in {name}: {alone}"
        yield Doubt(DoubtKind.CONFLICT, each.scheme, words, here, (there,), each.factor)


def _merged(found: Sequence[Doubt]) -> Iterator[Doubt]:
    """One doubt of a kind for each scheme."""
    together: dict[tuple[DoubtKind, str], list[Doubt]] = {}
    for each in found:
        together.setdefault((each.kind, each.scheme), []).append(each)
    for (kind, scheme), same in together.items():
        others = tuple(dict.fromkeys(uops for each in same for uops in each.others))
        words = "; ".join(dict.fromkeys(each.words for each in same))
        yield Doubt(kind, scheme, words, same[0].here, others, max(each.size for each in same))
