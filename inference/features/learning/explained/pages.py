"""The tab of a mapping found by explainable inference: what it rests on, and the verdict on every scheme."""

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
from inference.core.judging.words import AllowedWord
from inference.core.mapping import PortMapping as Value
from inference.core.mapping import Uops
from inference.features.learning.explained.query import (
    VERDICT_COLUMNS,
    Counts,
    VerdictQuery,
    counts_of,
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
from inference.web.paging import Order, Page, page_of
from inference.web.validation import one_of

PAGE = 100
SHOWN = 200
"""Schemes that break a pattern and are listed."""


@dataclass(frozen=True)
class VerdictRow:
    """A row of the table: what was concluded, the µops in the mapping, the reason in words.

    `word`: what may be said of these µops; `conflicts`: what other results of the machine say instead.
    """

    row: Characterisation
    uops: Uops | None
    words: str
    word: AllowedWord | None
    conflicts: Sequence[str]

    @property
    def remarks(self) -> int:
        """Doubts, and other usages that are possible."""
        return len(self.row.doubts) + len(self.row.alternatives)


@dataclass(frozen=True)
class VerdictFilter:
    """An entry of a filter with the number of schemes that it leaves."""

    value: str
    label: str
    count: int


@dataclass(frozen=True)
class Share:
    """How many of the schemes that a pattern applies to follow it, in words and as a share in per cent."""

    words: str
    checked: int
    followed: int

    @property
    def percent(self) -> float:
        """Of those that it applies to."""
        return 100 * self.followed / self.checked


@dataclass(frozen=True)
class PatternBreaker:
    """A scheme that breaks a pattern, and the row of its page."""

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
        "counts_from": COUNTS.get(explained.counts_from, "") if explained else "",
        "blocking": _blocking(row, explained),
        "blocking_documented": False,
        "explain_ports": value.ports,
        "measured_in": ExperimentSet.objects.filter(pk__in=row.report.get(MEASURED_IN, ())).order_by("id"),
        **_listed(request, row, explained, counts),
    }
    return {**context, **_regular(row, regularity_of(row))}


def _listed(
    request: HttpRequest, row: PortMapping, explained: ExplainedMapping | None, counts: Counts
) -> dict[str, Any]:
    """What the address asks for: `outcome`, `stage`, `reason`, `class`, `doubts`, `q`, `sort` and `page`."""
    blocker = request.GET.get("class", "")
    wanted = VerdictQuery(
        outcome=one_of(request, "outcome", tuple(SchemeFate)),
        stage=one_of(request, "stage", tuple(STAGES)),
        reason=one_of(request, "reason", tuple(NotCharacterised)),
        q=request.GET.get("q", "").strip(),
        doubtful=request.GET.get("doubts") == "1",
        among=_members(explained, blocker),
    )
    order = Order.read(request.GET.get("sort", ""), VERDICT_COLUMNS, "row")
    context: dict[str, Any] = {
        "wanted": wanted,
        "q": wanted.q,
        "of_class": blocker if wanted.among else "",
        "sort": "" if order.column == "row" else str(order),
        "outcomes": _choices(((each.value, each.value) for each in SchemeFate), counts.outcomes),
        "stages": _choices(STAGES.items(), counts.stages),
        "reasons": _choices(((each.value, each.value) for each in REASONS), counts.reasons),
        "page": Page((), 0),
    }
    try:
        page = page_of(verdicts(row, wanted), order, VERDICT_COLUMNS, request.GET.get("page", ""), PAGE)
    except SearchError as error:
        return {**context, "error": str(error)}
    usages = usages_in(row, [each.scheme_id for each in page.rows])
    grounds = grounds_of(row, [each.scheme.text for each in page.rows])
    told = [_verdict_row(each, usages.get(each.scheme_id), grounds) for each in page.rows]
    return {**context, "page": page, "verdicts": told}


def _verdict_row(row: Characterisation, uops: Uops | None, grounds: MappingGrounds) -> VerdictRow:
    text = row.scheme.text
    is_claimed = row.outcome == SchemeFate.CHARACTERISED
    word = grounds.uops_word(text) if is_claimed else None
    reason = row.text or (REASONS[NotCharacterised(row.reason)] if row.reason else "")
    return VerdictRow(row, uops, reason, word, grounds.conflict_words(text))


def _members(explained: ExplainedMapping | None, blocker: str) -> tuple[str, ...]:
    for each in explained.classes if explained else ():
        if each.blocker == blocker:
            return each.members
    return ()


def _choices(entries: Iterable[tuple[str, str]], counts: Mapping[str, int]) -> list[VerdictFilter]:
    return [VerdictFilter(value, label, counts[value]) for value, label in entries if counts.get(value)]


def _blocking(row: PortMapping, explained: ExplainedMapping | None) -> list[BlockingLine]:
    if explained is None:
        return []
    urls = scheme_urls([each.blocker for each in explained.classes], row.isa, row)
    return blocking_lines(explained.classes, row.ports, urls, "?tab=explained&{}#verdicts", explained.r_max)


def _regular(row: PortMapping, found: Regularity) -> dict[str, Any]:
    breakers = found.breakers
    shown = breakers[:SHOWN]
    ids = ids_of_schemes(row.isa_id, (name for check in shown for name in (check.scheme, check.other)))
    shares = [
        Share(PATTERNS[pattern], len(checked), sum(check.follows for check in checked))
        for pattern in Pattern
        if (checked := found.checked(pattern))
    ]
    return {
        "regularity": found,
        "regular_share": 100 * found.regular / found.judged if found.judged else None,
        "shares": shares,
        "breakers": [
            PatternBreaker(check, ids[check.scheme], ids[check.other], PATTERNS[check.pattern])
            for check in shown
        ],
        "more_breakers": len(breakers) - len(shown),
        "loads": [(bits, uops) for bits, uops in found.loads.items()],
    }
