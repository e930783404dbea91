"""What is doubtful in a port mapping, scheme by scheme, and the experiments that speak for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.shortcuts import get_object_or_404

from inference.core.doubting import LABELS, Doubt, DoubtKind, Doubts
from inference.core.experiment import Experiment
from inference.core.explain import REASONS, NotCharacterised, SchemeFate
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import described
from inference.core.metrics import SchemeError
from inference.features.judging.engine.tables import Column, choice, code, csv_of, table_of, text, usage
from inference.features.judging.findings.evidence import (
    REPEATS,
    DoubtDecision,
    Remeasurement,
    again,
    decisions,
)
from inference.features.judging.findings.request import NONE, DoubtsRequest
from inference.features.learning.explained.query import is_explained, regularity_of
from inference.features.learning.inferring.reference import named_after
from inference.features.library.mappings.query import comparable, comparison_of, measured_slots_of
from inference.models import Evaluation, PortMapping
from inference.models.scheme_search import texts_found
from inference.storage.evaluations import evaluations_of, residuals_in
from inference.storage.evidence import Evidence
from inference.storage.judging import conflicts_of
from inference.storage.provenance import provenance_of
from inference.storage.rows import load_mapping
from inference.web.published_page import PublishedTable
from inference.web.validation import RequestError


@dataclass(frozen=True)
class DoubtsOf:
    """The doubts of a mapping, compared with `other`, judged by one of its `evaluations` in cycles.

    `doubts` are all of them, `listed` those of the kind and the schemes that were asked for.
    """

    row: PortMapping
    other: PortMapping | None
    evaluations: tuple[Evaluation, ...]
    evaluation: Evaluation | None
    doubts: Doubts
    listed: tuple[Doubt, ...]

    @property
    def csv(self) -> str:
        """Those that are listed, as CSV."""
        return csv_of(doubts_table(self.listed_doubts), doubts_head(self.row, self.other))

    @property
    def listed_doubts(self) -> Doubts:
        """Those that are listed, with the names of ports."""
        return Doubts(self.listed, self.doubts.ports)

    def decisions(self, doubts: Sequence[Doubt]) -> dict[Doubt, DoubtDecision]:
        """For each of these an experiment that would decide, where a short one does."""
        return decisions(self.row, self.other, doubts)

    def again(self, doubt: Doubt) -> list[Experiment]:
        """The experiments that a doubt rests on, for measuring them again."""
        return again(self.row, doubt, self.other, self.evaluation)

    def remeasurement(self, kind: str, scheme: str, *, decides: bool) -> Remeasurement:
        """Of what a doubt rests on, or of what decides it. Raises `RequestError` where there is none."""
        right = "a doubt that the scheme's list has"
        doubt = next((doubt for doubt in self.doubts.of(scheme) if doubt.kind == kind), None)
        if doubt is None:
            raise RequestError("kind", f"nothing of this kind is doubtful in {scheme}", right)
        if not decides:
            experiments, words = self.again(doubt), LABELS[doubt.kind]
        elif decision := self.decisions([doubt]).get(doubt):
            experiments, words = [decision.distinction.experiment], "what decides"
        else:
            raise RequestError("kind", "no short experiment decides this doubt", right)
        return Remeasurement(self.row, experiments, REPEATS, f"{scheme[:100]}: {words}, measured")


def ask(row: PortMapping, request: DoubtsRequest, value: Mapping | None = None) -> DoubtsOf:
    """What a request asks for. `value`: the mapping, where it is at hand.

    Raises `RequestError` or `Http404` for what the mapping cannot be compared with or judged by, and
    `SearchError` for a search that makes no sense.
    """
    other = _other(row, request.other)
    evaluations = tuple(evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES))
    evaluation = _evaluation(evaluations, request.evaluation)
    doubts = doubts_of(row, other, evaluation, request.over, value)
    texts = texts_found(row.isa_id, request.q) if request.q else None
    listed = (
        each
        for each in doubts.rows
        if request.kind in (None, each.kind) and (texts is None or each.scheme in texts)
    )
    return DoubtsOf(row, other, evaluations, evaluation, doubts, tuple(listed))


def _other(row: PortMapping, wanted: int | str | None) -> PortMapping | None:
    if wanted is None:
        return usual_other(row)
    if wanted == NONE:
        return None
    other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=wanted)
    if other.isa_id != row.isa_id:
        raise RequestError(
            "other",
            f"{other.name!r} describes {other.isa.name}, not {row.isa.name}",
            "a mapping of the same instruction set",
        )
    return other


def _evaluation(evaluations: Sequence[Evaluation], wanted: int | None) -> Evaluation | None:
    if wanted is None:
        return next(iter(evaluations), None)
    found = next((each for each in evaluations if each.pk == wanted), None)
    if found is None:
        raise RequestError("evaluation", "not one of this mapping in cycles", "the number of one that it has")
    return found


def doubts_of(
    row: PortMapping,
    other: PortMapping | None = None,
    evaluation: Evaluation | None = None,
    over: float = DoubtsRequest().over,
    value: Mapping | None = None,
) -> Doubts:
    """The doubts of a mapping.

    Conflicts are those with `other`, up to a renaming of ports, and those with other results of the machine.
    Badly predicted are the schemes whose experiments in `evaluation` are off by more than `over` per cent on
    average. `value` is the mapping, where it is at hand.
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
    found += _unsettled(row, value, other)
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
    rows = row.characterisations.exclude(outcome=SchemeFate.CHARACTERISED.value, doubts=[], alternatives=[])
    for each in rows.select_related("scheme"):
        reason = REASONS[NotCharacterised(each.reason)] if each.reason else ""
        told = [text for text in (reason, each.text, *map(str, each.doubts)) if text]
        others = tuple(tuple((mask, count) for mask, count in uops) for uops in each.alternatives)
        excluded = each.outcome == SchemeFate.EXCLUDED.value
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


def _conflicts(comparison: MappingComparison, name: str) -> Iterator[Doubt]:
    for each in comparison.schemes:
        here, there = each.uops
        if each.kind is not SchemeRelation.DIFFERENT or there is None:
            continue
        first, second = each.cycles
        alone = "as long alone" if first == second else f"{second:.4g} cycles alone, not {first:.4g}"
        words = f"other µops in {name}: {alone}"
        yield Doubt(DoubtKind.CONFLICT, each.scheme, words, here, (there,), each.factor)


def _unsettled(row: PortMapping, value: Mapping, other: PortMapping | None) -> Iterator[Doubt]:
    """What results of the machine beside `other` say of schemes."""
    for (_, scheme), texts in conflicts_of([row.pk]).items():
        words = "; ".join(text.words for text in texts if other is None or text.name != other.name)
        if words:
            yield Doubt(DoubtKind.CONFLICT, scheme, words, value.usage.get(scheme))


def _merged(found: Sequence[Doubt]) -> Iterator[Doubt]:
    """One doubt of a kind for each scheme."""
    together: dict[tuple[DoubtKind, str], list[Doubt]] = {}
    for each in found:
        together.setdefault((each.kind, each.scheme), []).append(each)
    for (kind, scheme), same in together.items():
        others = tuple(dict.fromkeys(uops for each in same for uops in each.others))
        words = "; ".join(dict.fromkeys(each.words for each in same))
        yield Doubt(kind, scheme, words, same[0].here, others, max(each.size for each in same))


def doubts_table(
    doubts: Doubts,
    *more: Column[Doubt],
    scheme: Callable[[Doubt], str] = attrgetter("scheme"),
    why: Callable[[Doubt], str] = attrgetter("words"),
) -> PublishedTable:
    """A row per doubt, in their order; `scheme`, `why` and `more` columns are what a page adds."""

    def others(doubt: Doubt) -> str:
        return " or ".join(described(uops, doubts.ports) for uops in doubt.others)

    return table_of(
        "doubts",
        "Doubts",
        doubts.rows,
        (choice("kind"), lambda doubt: LABELS[doubt.kind]),
        (code("scheme"), scheme),
        (usage("µops", doubts.ports), lambda doubt: doubt.here),
        (text("other µops"), others),
        (text("why"), why),
        *more,
    )


def doubts_head(row: PortMapping, other: PortMapping | None) -> str:
    """Lines of comments: whose doubts, and what it was held against."""
    head = provenance_of(row).commented("#")
    return head if other is None else f"{head}# held against\n{provenance_of(other).commented('#')}"
