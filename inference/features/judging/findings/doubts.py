"""The doubts about the schemes of a port mapping."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.shortcuts import get_object_or_404

from inference.core.experiment import Experiment
from inference.core.explain import REASONS, NotCharacterised, SchemeFate
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import described
from inference.core.metrics import SchemeError
from inference.core.misfits import LABELS, Doubt, DoubtKind, Doubts
from inference.features.judging.engine.tables import Column, choice, code, csv_of, table_of, text, usage
from inference.features.judging.findings.evidence import (
    REPEATS,
    DoubtDecision,
    Remeasurement,
    decisions,
    experiments_of_doubt,
)
from inference.features.judging.findings.request import NONE, DoubtsRequest
from inference.features.learning.explained.query import is_explained, regularity_of
from inference.features.learning.inferring.reference import named_after
from inference.features.library.mappings.query import comparable, comparison_of, measured_slots_of
from inference.models import Evaluation, PortMapping
from inference.models.scheme_search import matching_texts
from inference.storage.evaluations import evaluations_of, residuals_in
from inference.storage.evidence import Evidence
from inference.storage.export_values import provenance_of
from inference.storage.judging import conflicts_of
from inference.storage.mappings import load_mapping
from inference.web.published_page import PublishedTable
from inference.web.validation import RequestError

MANY = 25
"""Schemes with the same reason above which a page states it once, not in each row."""


@dataclass(frozen=True)
class MappingDoubts:
    """The doubts about a mapping, compared with `other`, judged by one of its `evaluations` in cycles.

    Attributes:
        doubts: All of them.
        listed: Doubts of the requested kind and schemes.
        shared_reasons: {reason: schemes} of the reasons of more than `MANY` schemes, most frequent first.
    """

    row: PortMapping
    other: PortMapping | None
    evaluations: tuple[Evaluation, ...]
    evaluation: Evaluation | None
    doubts: Doubts
    listed: tuple[Doubt, ...]
    shared_reasons: dict[str, int]

    @property
    def csv(self) -> str:
        return csv_of(doubts_table(self.listed_doubts), doubts_head(self.row, self.other))

    @property
    def listed_doubts(self) -> Doubts:
        return Doubts(self.listed, self.doubts.ports)

    def own_words(self, doubt: Doubt) -> tuple[str, list[int]]:
        """The words of a doubt without the shared reasons, and the numbers of these, from 1."""
        words, numbers = doubt.words, []
        for number, reason in enumerate(self.shared_reasons, start=1):
            if doubt.kind is DoubtKind.AMBIGUOUS and reason in words:
                words = words.replace(reason, "")
                numbers.append(number)
        return re.sub(r"(; )+", "; ", words).strip("; "), numbers

    def decisions(self, doubts: Sequence[Doubt]) -> dict[Doubt, DoubtDecision]:
        """{doubt: an experiment that decides it}, for doubts that a short one decides."""
        return decisions(self.row, self.other, doubts)

    def again(self, doubt: Doubt) -> list[Experiment]:
        """The experiments of a doubt's evidence, to repeat them."""
        return experiments_of_doubt(self.row, doubt, self.other, self.evaluation)

    def remeasurement(self, kind: str, scheme: str, *, decides: bool) -> Remeasurement:
        """The measurement of a doubt's evidence, or of what decides it. Raises `RequestError` if there is
        none."""
        right = "a doubt in the scheme's list"
        doubt = next((doubt for doubt in self.doubts.of(scheme) if doubt.kind == kind), None)
        if doubt is None:
            raise RequestError("kind", f"{scheme} has no doubt of this kind", right)
        if not decides:
            experiments, words = self.again(doubt), LABELS[doubt.kind]
        elif decision := self.decisions([doubt]).get(doubt):
            experiments, words = [decision.distinction.experiment], "what decides"
        else:
            raise RequestError("kind", "no short experiment decides this doubt", right)
        return Remeasurement(self.row, experiments, REPEATS, f"{scheme[:100]}: {words}, measured")


def requested_doubts(row: PortMapping, request: DoubtsRequest, value: Mapping | None = None) -> MappingDoubts:
    """The doubts that a request selects. `value`: the mapping, if it is loaded already.

    Raises `RequestError` or `Http404` for a mapping or an evaluation that does not fit, and `SearchError` for
    an invalid search.
    """
    other = _requested_comparison(row, request.other)
    evaluations = tuple(evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES))
    evaluation = _evaluation(evaluations, request.evaluation)
    doubts = doubts_of(row, other, evaluation, request.over, value)
    texts = matching_texts(row.isa_id, request.q) if request.q else None
    listed = (
        doubt
        for doubt in doubts.rows
        if request.kind in (None, doubt.kind) and (texts is None or doubt.scheme in texts)
    )
    return MappingDoubts(row, other, evaluations, evaluation, doubts, tuple(listed), _shared_reasons(row))


def _shared_reasons(row: PortMapping) -> dict[str, int]:
    rows = row.characterisations.exclude(doubts=[]).values_list("doubts", flat=True)
    counts = Counter(reason for reasons in rows for reason in set(map(str, reasons)))
    return {reason: number for reason, number in counts.most_common() if number > MANY}


def _requested_comparison(row: PortMapping, requested: int | str | None) -> PortMapping | None:
    if requested is None:
        return default_comparison(row)
    if requested == NONE:
        return None
    other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=requested)
    if other.isa_id != row.isa_id:
        raise RequestError(
            "other",
            f"{other.name!r} describes {other.isa.name}, not {row.isa.name}",
            "a mapping of the same instruction set",
        )
    return other


def _evaluation(evaluations: Sequence[Evaluation], requested: int | None) -> Evaluation | None:
    if requested is None:
        return next(iter(evaluations), None)
    evaluation = next((candidate for candidate in evaluations if candidate.pk == requested), None)
    if evaluation is None:
        raise RequestError(
            "evaluation", "no evaluation of this mapping in cycles", "the number of one of its evaluations"
        )
    return evaluation


def doubts_of(
    row: PortMapping,
    other: PortMapping | None = None,
    evaluation: Evaluation | None = None,
    over: float = DoubtsRequest().over,
    value: Mapping | None = None,
) -> Doubts:
    """Find the doubts about a mapping.

    Args:
        row: The mapping.
        other: A mapping to compare with up to a renaming of ports, None for none. Conflicts with other
            results of the machine are always found.
        evaluation: Schemes whose experiments in it are off by more than `over` are badly predicted.
        over: Mean absolute error in per cent.
        value: The mapping, if it is loaded already.
    """
    value = load_mapping(row) if value is None else value
    all_doubts = [*_ambiguous(row, value), *_inferred_doubts(row, value), *_other_slots(row, value)]
    if evaluation is not None:
        all_doubts += _prediction_doubts(residuals_in(evaluation), value, over)
    ports = value.ports
    if other is not None:
        comparison = comparison_of(row, other)
        ports = comparison.ports
        all_doubts += _conflicts(comparison, other.name)
    all_doubts += _conflicting_results(row, value, other)
    places = {kind: place for place, kind in enumerate(DoubtKind)}
    merged = sorted(_merge(all_doubts), key=lambda doubt: (places[doubt.kind], -doubt.size, doubt.scheme))
    return Doubts(tuple(merged), ports)


def default_comparison(row: PortMapping) -> PortMapping | None:
    """The mapping that a mapping is compared with by default.

    Another one of the same machine, the imported ones first, or an imported one named after the machine's
    microarchitecture. None if no other mapping is known to be of the same processor.
    """
    if row.machine is None:
        return None
    candidates = list(comparable(row).order_by("origin", "-id"))
    of_machine = (candidate for candidate in candidates if candidate.machine_id == row.machine_id)
    imported = (candidate for candidate in candidates if candidate.origin == PortMapping.Origin.IMPORT)
    return next(of_machine, None) or named_after(row.machine, imported)


def _ambiguous(row: PortMapping, value: Mapping) -> Iterator[Doubt]:
    """Doubts of a search by counter-examples: ambiguous schemes, and schemes left out after a clash."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return
    for doubt in evidence.doubts(value):
        number = sum(alternative.alternatives for alternative in doubt.alternatives)
        reasons = dict.fromkeys(reason for other in doubt.alternatives for reason in other.reasons)
        explains = "another port mapping explains" if number == 1 else f"{number} other port mappings explain"
        words = f"{explains} the measurements as well: {'; '.join(reasons)}"
        other_uops = tuple(alternative.uops for alternative in doubt.alternatives)
        yield Doubt(DoubtKind.AMBIGUOUS, doubt.scheme, words, doubt.uops, other_uops, float(number))
    for clash in evidence.clashes:
        for scheme in clash["dropped"]:
            yield Doubt(DoubtKind.EXCLUDED, scheme, f"left out after a clash: {clash['text']}")


def _inferred_doubts(row: PortMapping, value: Mapping) -> Iterator[Doubt]:
    """Doubts of explainable inference, and irregular schemes (§6.3.5)."""
    if not is_explained(row):
        return
    rows = row.characterisations.exclude(outcome=SchemeFate.CHARACTERISED.value, doubts=[], alternatives=[])
    for characterisation in rows.select_related("scheme"):
        reason = REASONS[NotCharacterised(characterisation.reason)] if characterisation.reason else ""
        texts = [text for text in (reason, characterisation.text, *map(str, characterisation.doubts)) if text]
        other_uops = tuple(
            tuple((mask, count) for mask, count in uops) for uops in characterisation.alternatives
        )
        excluded = characterisation.outcome == SchemeFate.EXCLUDED.value
        yield Doubt(
            DoubtKind.EXCLUDED if excluded else DoubtKind.AMBIGUOUS,
            characterisation.scheme.text,
            "; ".join(texts) or "the evidence allows other µops as well",
            value.usage.get(characterisation.scheme.text),
            other_uops,
            float(len(other_uops)),
        )
    for check in regularity_of(row).breakers:
        words = f"irregular: {check.in_words(value.ports)}"
        yield Doubt(DoubtKind.AMBIGUOUS, check.scheme, words, check.usage, check.expected[:1])


def _other_slots(row: PortMapping, value: Mapping) -> Iterator[Doubt]:
    """Schemes whose measured issue slots differ from the mapping's; an upper bound counts if that has
    more."""
    measured = None if value.issue_width is None else measured_slots_of(row)
    if measured is None:
        return
    for scheme, reading in measured.readings.items():
        in_mapping, in_measurement = value.slots_of(scheme), reading.number
        if (
            scheme not in value.usage
            or in_mapping == in_measurement
            or (in_mapping < in_measurement and not reading.exact)
        ):
            continue
        count_text = (
            f"{'' if reading.exact else 'at most '}{in_measurement} slot{'' if in_measurement == 1 else 's'}"
        )
        words = (
            f"{count_text} measured, {in_mapping} here: {reading.experiment} takes {reading.cycles:.3g} "
            f"cycles, and the core issues {measured.width:.3g} slots per cycle"
        )
        yield Doubt(
            DoubtKind.SLOTS, scheme, words, value.usage[scheme], (), float(abs(in_mapping - in_measurement))
        )


def _prediction_doubts(errors: Iterable[SchemeError], value: Mapping, over: float) -> Iterator[Doubt]:
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
    for compared in comparison.schemes:
        here, there = compared.uops
        if compared.kind is not SchemeRelation.DIFFERENT or there is None:
            continue
        first, second = compared.cycles
        alone = "as long alone" if first == second else f"{second:.4g} cycles alone, not {first:.4g}"
        words = f"other µops in {name}: {alone}"
        yield Doubt(DoubtKind.CONFLICT, compared.scheme, words, here, (there,), compared.factor)


def _conflicting_results(row: PortMapping, value: Mapping, other: PortMapping | None) -> Iterator[Doubt]:
    """Conflicts with other results of the machine than `other`."""
    for (_, scheme), texts in conflicts_of([row.pk]).items():
        words = "; ".join(text.words for text in texts if other is None or text.name != other.name)
        if words:
            yield Doubt(DoubtKind.CONFLICT, scheme, words, value.usage.get(scheme))


def _merge(doubts: Sequence[Doubt]) -> Iterator[Doubt]:
    by_scheme: dict[tuple[DoubtKind, str], list[Doubt]] = {}
    for doubt in doubts:
        by_scheme.setdefault((doubt.kind, doubt.scheme), []).append(doubt)
    for (kind, scheme), doubts_of_scheme in by_scheme.items():
        other_uops = tuple(dict.fromkeys(uops for doubt in doubts_of_scheme for uops in doubt.alternatives))
        words = "; ".join(dict.fromkeys(doubt.words for doubt in doubts_of_scheme))
        yield Doubt(
            kind,
            scheme,
            words,
            doubts_of_scheme[0].uops,
            other_uops,
            max(doubt.size for doubt in doubts_of_scheme),
        )


def doubts_table(
    doubts: Doubts,
    *extra_columns: Column[Doubt],
    scheme: Callable[[Doubt], str] = attrgetter("scheme"),
    why: Callable[[Doubt], str] = attrgetter("words"),
) -> PublishedTable:
    """A row per doubt; a page adds links by `scheme` and `why`, and columns by `extra_columns`."""

    def other_uops(doubt: Doubt) -> str:
        return " or ".join(described(uops, doubts.ports) for uops in doubt.alternatives)

    return table_of(
        "doubts",
        "Doubts",
        doubts.rows,
        (choice("kind"), lambda doubt: LABELS[doubt.kind]),
        (code("scheme"), scheme),
        (usage("µops", doubts.ports), lambda doubt: doubt.uops),
        (text("other µops"), other_uops),
        (text("why"), why),
        *extra_columns,
    )


def doubts_head(row: PortMapping, other: PortMapping | None) -> str:
    """Comment lines of a CSV file: the mapping, and the one it was compared with."""
    head = provenance_of(row).commented("#")
    return head if other is None else f"{head}# held against\n{provenance_of(other).commented('#')}"
