"""The tab of an explained mapping: blocking instructions, regularity, and the verdict on every scheme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from inference.core.explain import (
    REASONS,
    STAGES,
    NotCharacterised,
    SchemeFate,
)
from inference.core.explain.regularity import PATTERNS, Pattern, Regularity, RegularityCheck
from inference.core.judging.claims import ClaimWording
from inference.core.mapping import PortMapping as Value
from inference.core.mapping import Uops
from inference.features.learning.explained.query import (
    VERDICT_COLUMNS,
    Counts,
    VerdictQuery,
    counts_of,
    is_explained,
    regularity_of,
    usages_in,
    verdicts,
)
from inference.features.learning.inferring.explain_page import COUNTS, BlockingLine, blocking_lines
from inference.features.learning.inferring.outcome_lists import scheme_urls
from inference.isa.search import SearchError
from inference.models import Characterisation, ExperimentSet, PortMapping
from inference.storage.characterisations import ExplainedMapping
from inference.storage.importing import MEASURED_IN
from inference.storage.judging import MappingGrounds, grounds_of
from inference.storage.rows import ids_of_schemes
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.paging import Order, Page, page_of
from inference.web.validation import choice_parameter

PAGE = 25
LISTED_BREAKERS = 200
"""Maximum number of listed schemes that break a pattern."""


@dataclass(frozen=True)
class VerdictRow:
    """A row of the table: the verdict, the µops in the mapping, the reason as text.

    Attributes:
        word: The strongest claim that the evidence allows.
        conflicts: Differing results of the machine.
    """

    row: Characterisation
    uops: Uops | None
    words: str
    word: ClaimWording | None
    conflicts: Sequence[str]

    @property
    def remarks(self) -> int:
        return len(self.row.doubts) + len(self.row.alternatives)


@dataclass(frozen=True)
class VerdictFilter:
    value: str
    label: str
    count: int


@dataclass(frozen=True)
class Share:
    """The number of schemes to which a pattern applies, and of those that follow it."""

    words: str
    checked: int
    followed: int

    @property
    def percent(self) -> float:
        return 100 * self.followed / self.checked


@dataclass(frozen=True)
class PatternBreaker:
    """A scheme that breaks a pattern, with the row ids of both schemes."""

    check: RegularityCheck
    pk: int
    other_pk: int
    pattern: str


def explained_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """Summary, blocking instructions, regularity, and a page of the verdicts."""
    explained = ExplainedMapping.of(row.report)
    counts = counts_of(row)
    context = {
        "explained": explained,
        "counts": counts,
        "characterised": counts.outcomes.get(SchemeFate.CHARACTERISED, 0),
        "outcome_bar": _outcome_bar(counts),
        "counts_from": COUNTS.get(explained.counts_from, "") if explained else "",
        "blocking": _blocking_of_mapping(row, explained),
        "blocking_documented": False,
        "explain_ports": value.ports,
        "measured_in": ExperimentSet.objects.filter(pk__in=row.report.get(MEASURED_IN, ())).order_by("id"),
        **_verdict_context(request, row, explained, counts),
    }
    return {**context, **_regularity_context(row, regularity_of(row))}


def _outcome_bar(counts: Counts) -> list[tuple[VerdictFilter, float, float]]:
    """(outcome, start, width) of each part of the bar, in per cent of the schemes with an outcome."""
    choices = _choices(((fate.value, fate.value) for fate in SchemeFate), counts.outcomes)
    total, start, parts = sum(choice.count for choice in choices), 0.0, []
    for choice in choices:
        width = 100 * choice.count / total
        parts.append((choice, start, width))
        start += width
    return parts


def _verdict_context(
    request: HttpRequest, row: PortMapping, explained: ExplainedMapping | None, counts: Counts
) -> dict[str, Any]:
    """Context with the verdicts that the address selects: `outcome`, `stage`, `reason`, `class`, `doubts`,
    `q`, `sort` and `page`.
    """
    blocker = request.GET.get("class", "")
    query = VerdictQuery(
        outcome=choice_parameter(request, "outcome", tuple(SchemeFate)),
        stage=choice_parameter(request, "stage", tuple(STAGES)),
        reason=choice_parameter(request, "reason", tuple(NotCharacterised)),
        q=request.GET.get("q", "").strip(),
        doubtful=request.GET.get("doubts") == "1",
        among=_members(explained, blocker),
    )
    order = Order.read(request.GET.get("sort", ""), VERDICT_COLUMNS, "row")
    context: dict[str, Any] = {
        "wanted": query,
        "q": query.q,
        "of_class": blocker if query.among else "",
        "sort": "" if order.column == "row" else str(order),
        "outcomes": _choices(((fate.value, fate.value) for fate in SchemeFate), counts.outcomes),
        "stages": _choices(STAGES.items(), counts.stages),
        "reasons": _choices(((reason.value, reason.value) for reason in REASONS), counts.reasons),
        "page": Page((), 0),
    }
    try:
        page = page_of(verdicts(row, query), order, VERDICT_COLUMNS, request.GET.get("page", ""), PAGE)
    except SearchError as error:
        return {**context, "error": str(error)}
    usages = usages_in(row, [verdict.scheme_id for verdict in page.rows])
    grounds = grounds_of(row, [verdict.scheme.text for verdict in page.rows])
    verdict_rows = [_verdict_row(verdict, usages.get(verdict.scheme_id), grounds) for verdict in page.rows]
    return {**context, "page": page, "verdicts": verdict_rows}


def _verdict_row(row: Characterisation, uops: Uops | None, grounds: MappingGrounds) -> VerdictRow:
    text = row.scheme.text
    is_claimed = row.outcome == SchemeFate.CHARACTERISED
    word = grounds.uops_word(text) if is_claimed else None
    reason = row.text or (REASONS[NotCharacterised(row.reason)] if row.reason else "")
    return VerdictRow(row, uops, reason, word, grounds.conflict_words(text))


def _members(explained: ExplainedMapping | None, blocker: str) -> tuple[str, ...]:
    for blocking in explained.classes if explained else ():
        if blocking.blocker == blocker:
            return blocking.members
    return ()


def _choices(entries: Iterable[tuple[str, str]], counts: Mapping[str, int]) -> list[VerdictFilter]:
    return [VerdictFilter(value, label, counts[value]) for value, label in entries if counts.get(value)]


def _blocking_of_mapping(row: PortMapping, explained: ExplainedMapping | None) -> list[BlockingLine]:
    if explained is None:
        return []
    urls = scheme_urls([blocking.blocker for blocking in explained.classes], row.isa, row)
    return blocking_lines(explained.classes, row.ports, urls, "?tab=explained&{}#verdicts", explained.r_max)


def _regularity_context(row: PortMapping, regularity: Regularity) -> dict[str, Any]:
    breakers = regularity.breakers
    listed = breakers[:LISTED_BREAKERS]
    ids = ids_of_schemes(row.isa_id, (name for check in listed for name in (check.scheme, check.other)))
    shares = [
        Share(PATTERNS[pattern], len(checked), sum(check.follows for check in checked))
        for pattern in Pattern
        if (checked := regularity.checked(pattern))
    ]
    return {
        "regularity": regularity,
        "regular_share": 100 * regularity.regular / regularity.judged if regularity.judged else None,
        "shares": shares,
        "breakers": [
            PatternBreaker(check, ids[check.scheme], ids[check.other], PATTERNS[check.pattern])
            for check in listed
        ],
        "more_breakers": len(breakers) - len(listed),
        "loads": [(bits, uops) for bits, uops in regularity.loads.items()],
    }


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "explained",
        "Explained",
        "inference/explained/tab.html",
        lambda request, subject: explained_tab(request, subject.row, subject.value),
        order=100,
        applies=lambda subject: is_explained(subject.row),
        styles=("css/explain.css", "css/proof.css"),
    ),
)
