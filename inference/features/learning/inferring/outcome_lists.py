"""Lists on the page of an explainable inference: the schemes that were left out, and those of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.explain import REASONS, STAGES, BlockingClass, NotCharacterised, SchemeFate
from inference.features.learning.inferring.records import (
    OPEN,
    SchemeOutcome,
)
from inference.isa.search import SearchError
from inference.models import ISA, PortMapping
from inference.models.scheme_search import texts_found
from inference.storage.rows import ids_of_schemes
from inference.web.paging import page_in_memory
from inference.web.validation import one_of, whole_number

HERE = "left-out"
"""The region of the page, also the anchor that leads there."""

REASON_VALUES = tuple(reason.value for reason in REASONS)


@dataclass(frozen=True)
class SchemeOutcomeRow:
    """A scheme with what became of it and the address of its page; `opens` the group with its reason."""

    told: SchemeOutcome
    url: str
    opens: bool


@dataclass(frozen=True)
class ReasonGroup:
    """A reason within a list, with the address of the list that has nothing else."""

    reason: str
    words: str
    count: int
    url: str
    chosen: bool


@dataclass(frozen=True)
class LeftOutList:
    """What is listed: the parameters of its address, a title, and the reasons that occur."""

    asked: Mapping[str, str]
    title: str
    groups: Sequence[ReasonGroup]

    @property
    def words(self) -> Mapping[str, str]:
        """{reason: in words} of those that occur."""
        return {group.reason: group.words for group in self.groups}


def is_left_out(told: SchemeOutcome) -> bool:
    """Whether the mapping will be without the scheme."""
    return told.outcome in (SchemeFate.EXCLUDED, SchemeFate.AMBIGUOUS)


def left_out(
    request: HttpRequest,
    told: Sequence[SchemeOutcome],
    classes: Sequence[BlockingClass],
    isa: ISA | None,
    row: PortMapping | None,
) -> dict[str, Any]:
    """The list that the address names: `stage`, `reason` or both, or the `class` of a blocker."""
    stage = one_of(request, "stage", tuple(STAGES))
    reason = one_of(request, "reason", REASON_VALUES)
    blocker = request.GET.get("class", "")
    if blocker:
        of_class = _of_class(told, classes, blocker)
        return _listed(
            request, LeftOutList({"class": blocker}, f"Schemes like {blocker}", ()), of_class, isa, row
        )
    if not stage and not reason:
        return {"listing": None}
    lost = [each for each in told if is_left_out(each) and stage in ("", each.stage)]
    groups = _groups(lost, stage, reason)
    asked = {name: value for name, value in (("stage", stage), ("reason", reason)) if value}
    where = f" in “{STAGES[stage]}”" if stage else ""
    title = f"Left out{where}" + (f": {reason}" if reason else "")
    shown = [each for each in lost if reason in ("", each.reason)]
    return _listed(request, LeftOutList(asked, title, groups), shown, isa, row)


def _of_class(
    told: Sequence[SchemeOutcome], classes: Sequence[BlockingClass], blocker: str
) -> list[SchemeOutcome]:
    known = {each.scheme: each for each in told}
    members = next((blocking.members for blocking in classes if blocking.blocker == blocker), ())
    return [known.get(scheme) or SchemeOutcome(scheme, "", OPEN) for scheme in members]


def _groups(lost: Sequence[SchemeOutcome], stage: str, chosen: str) -> list[ReasonGroup]:
    """The reasons, the most frequent first; a second press on the chosen one shows all again."""
    count = Counter(each.reason for each in lost)
    groups = []
    for reason, number in sorted(count.items(), key=lambda each: (-each[1], each[0])):
        wanted = {"stage": stage, "reason": "" if reason == chosen else reason}
        query = urlencode({name: value for name, value in wanted.items() if value})
        words = REASONS[NotCharacterised(reason)]
        groups.append(ReasonGroup(reason, words, number, f"?{query}#{HERE}", reason == chosen))
    return groups


def _listed(
    request: HttpRequest,
    listing: LeftOutList,
    told: Sequence[SchemeOutcome],
    isa: ISA | None,
    row: PortMapping | None,
) -> dict[str, Any]:
    """A page of what the search finds, by reason where there are several."""
    q = request.GET.get("q", "").strip()
    context: dict[str, Any] = {"listing": listing, "q": q, "listing_total": len(told)}
    try:
        wanted = _search(q, isa)
    except SearchError as error:
        return {**context, "listing_error": str(error)}
    place = {group.reason: index for index, group in enumerate(listing.groups)}
    found = [each for each in told if wanted(each.scheme)]
    found.sort(key=lambda each: (place.get(each.reason, 0), each.scheme))
    page = page_in_memory(found, whole_number(request, "page", 0) or 0)
    urls = scheme_urls([each.scheme for each in page.rows], isa, row)
    lines = []
    before = None
    for each in page.rows:
        lines.append(SchemeOutcomeRow(each, urls.get(each.scheme, ""), bool(place) and each.reason != before))
        before = each.reason
    return {**context, "page": page, "listing_lines": lines}


def _search(q: str, isa: ISA | None) -> Callable[[str], bool]:
    """Whether a scheme is among those searched for; raises `SearchError`."""
    if not q or isa is None:
        return lambda scheme: True
    return texts_found(isa.pk, q).__contains__


def scheme_urls(schemes: Sequence[str], isa: ISA | None, row: PortMapping | None) -> dict[str, str]:
    """{scheme: the page that proves what was concluded of it; its own page while there is no mapping}."""
    if isa is None:
        return {}
    ids = ids_of_schemes(isa.pk, schemes)
    if row is None:
        return {text: reverse("scheme", args=[pk]) for text, pk in ids.items()}
    return {text: reverse("scheme-proof", args=[row.pk, pk]) for text, pk in ids.items()}
