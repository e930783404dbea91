"""What has become of each scheme in an explainable inference, folded from its journal, and lists of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.events import Event, Log
from inference.core.explain import REASONS, STAGES, BlockingClass, NotCharacterised, SchemeFate
from inference.core.explain.events import Blocked, BottleneckFound, Excluded, Funnel, Verdicts
from inference.features.running.runs.record import RunRecord
from inference.isa.search import SearchError
from inference.models import ISA, PortMapping
from inference.models.scheme_search import texts_found
from inference.runs.events import RecordPart
from inference.storage.rows import ids_of_schemes
from inference.web.paging import page_in_memory
from inference.web.validation import one_of, whole_number

FIRST, LAST = "alone", "remaining"
"""The stages in which schemes are first, and last, left out."""

OPEN = "open"
"""Where other schemes have an outcome: the runs so far disagree, and another one will say."""

HERE = "left-out"
"""The region of the page, also the anchor that leads there."""

REASON_VALUES = tuple(reason.value for reason in REASONS)


@dataclass(frozen=True)
class SchemeOutcome:
    """What became of a scheme, and in which stage; `text` is the reason with its numbers, or its µops."""

    scheme: str
    stage: str
    outcome: str
    reason: str = ""
    text: str = ""


@dataclass
class ExplainRecord(RecordPart):
    """Everything told of the stages, see `inference.core.explain.events`; warnings come as `log`.

    `left`: schemes left after a stage; `excluded` and `verdicts`: {scheme: …}, the latter by run; `ports` are
    those of the masks in `classes`; `bottleneck` is None before R_max is known.
    """

    left: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, SchemeOutcome] = field(default_factory=dict)
    verdicts: dict[str, dict[int, SchemeOutcome]] = field(default_factory=dict)
    classes: Sequence[BlockingClass] = ()
    ports: tuple[str, ...] = ()
    bottleneck: BottleneckFound | None = None
    warnings: dict[str, None] = field(default_factory=dict)

    @property
    def asked(self) -> int | None:
        """Schemes asked for; None while the first stage goes on."""
        if FIRST not in self.left:
            return None
        return self.left[FIRST] + sum(told.stage == FIRST for told in self.excluded.values())

    def take(self, event: Event) -> None:
        """Fold one event in; what an attempt tells again changes nothing."""
        match event:
            case Funnel():
                self.left[event.stage] = event.left
            case Excluded(stage=stage):
                for scheme, reason, text in event.schemes:
                    self.excluded[scheme] = SchemeOutcome(scheme, stage, SchemeFate.EXCLUDED, reason, text)
            case BottleneckFound():
                self.bottleneck = event
            case Blocked():
                self.classes, self.ports = event.classes, tuple(event.ports)
            case Verdicts(run=run):
                for scheme, said, text in event.schemes:
                    done = said == SchemeFate.CHARACTERISED
                    outcome, reason = (said, "") if done else (SchemeFate.EXCLUDED, said)
                    verdict = SchemeOutcome(scheme, LAST, outcome, reason, text)
                    self.verdicts.setdefault(scheme, {})[run] = verdict
            case Log(level="warning"):
                self.warnings[event.text] = None

    def told(self, runs: int, *, over: bool) -> Iterator[SchemeOutcome]:
        """Every scheme of which something has been said, excluded ones first.

        `runs` tests are made of each at most; when they are `over`, those that disagree have an outcome, too.
        """
        yield from self.excluded.values()
        for scheme, verdicts in self.verdicts.items():
            if scheme not in self.excluded:
                yield agreed(verdicts, runs, over=over)


def agreed(verdicts: Mapping[int, SchemeOutcome], runs: int, *, over: bool) -> SchemeOutcome:
    """The majority's verdict on a scheme (§6.3.5); what a single run says holds until there are more.

    Of several reasons to exclude it, the most frequent counts.
    """
    said = [verdicts[run] for run in sorted(verdicts)]
    count = Counter(map(_key, said))
    most, votes = count.most_common(1)[0]
    if len(said) == 1 or votes >= runs // 2 + 1:
        alike = [told for told in said if _key(told) == most]
        ((reason, _),) = Counter(told.reason for told in alike).most_common(1)
        return next(told for told in alike if told.reason == reason)
    scheme, text = said[0].scheme, REASONS[NotCharacterised.DISAGREEMENT]
    if len(said) < runs and not over:
        return SchemeOutcome(scheme, LAST, OPEN, NotCharacterised.DISAGREEMENT, text)
    usages = {told.text for told in said if told.outcome == SchemeFate.CHARACTERISED}
    outcome = SchemeFate.AMBIGUOUS if len(usages) > 1 else SchemeFate.EXCLUDED
    return SchemeOutcome(scheme, LAST, outcome, NotCharacterised.DISAGREEMENT, text)


def _key(told: SchemeOutcome) -> str:
    """What has to be equal for two runs to agree: the µops, or that there are none to tell of."""
    return told.text if told.outcome == SchemeFate.CHARACTERISED else ""


def explanation_of(record: RunRecord) -> ExplainRecord:
    """What explainable inference has told."""
    part = record.parts["explain"]
    assert isinstance(part, ExplainRecord)
    return part


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
    outcomes: Sequence[SchemeOutcome],
    classes: Sequence[BlockingClass],
    isa: ISA | None,
    row: PortMapping | None,
) -> dict[str, Any]:
    """A page of the list that the address names: `stage`, `reason` or both, or the `class` of a blocker.

    Those that the search `q` finds, by reason where there are several.
    """
    stage = one_of(request, "stage", tuple(STAGES))
    reason = one_of(request, "reason", REASON_VALUES)
    if blocker := request.GET.get("class", ""):
        known = {each.scheme: each for each in outcomes}
        members = next((blocking.members for blocking in classes if blocking.blocker == blocker), ())
        outcomes = [known.get(scheme) or SchemeOutcome(scheme, "", OPEN) for scheme in members]
        listing = LeftOutList({"class": blocker}, f"Schemes like {blocker}", ())
    elif stage or reason:
        lost = [each for each in outcomes if is_left_out(each) and stage in ("", each.stage)]
        outcomes = [each for each in lost if reason in ("", each.reason)]
        parameters = {name: value for name, value in (("stage", stage), ("reason", reason)) if value}
        where = f" in “{STAGES[stage]}”" if stage else ""
        title = f"Left out{where}" + (f": {reason}" if reason else "")
        listing = LeftOutList(parameters, title, _groups(lost, stage, reason))
    else:
        return {"listing": None}
    q = request.GET.get("q", "").strip()
    context: dict[str, Any] = {"listing": listing, "q": q, "listing_total": len(outcomes)}
    if q and isa is not None:
        try:
            texts = texts_found(isa.pk, q)
        except SearchError as error:
            return {**context, "listing_error": str(error)}
        outcomes = [each for each in outcomes if each.scheme in texts]
    place = {group.reason: index for index, group in enumerate(listing.groups)}
    ordered = sorted(outcomes, key=lambda each: (place.get(each.reason, 0), each.scheme))
    page = page_in_memory(ordered, whole_number(request, "page", 0) or 0)
    urls = scheme_urls([each.scheme for each in page.rows], isa, row)
    before = [None, *(each.reason for each in page.rows)]
    lines = [
        SchemeOutcomeRow(each, urls.get(each.scheme, ""), bool(place) and each.reason != previous)
        for each, previous in zip(page.rows, before, strict=False)
    ]
    return {**context, "page": page, "listing_lines": lines}


def _groups(lost: Sequence[SchemeOutcome], stage: str, chosen: str) -> list[ReasonGroup]:
    """The reasons, the most frequent first; a second press on the chosen one shows all again."""
    count = Counter(each.reason for each in lost)
    groups = []
    for reason, number in sorted(count.items(), key=lambda each: (-each[1], each[0])):
        parameters = {"stage": stage, "reason": "" if reason == chosen else reason}
        query = urlencode({name: value for name, value in parameters.items() if value})
        words = REASONS[NotCharacterised(reason)]
        groups.append(ReasonGroup(reason, words, number, f"?{query}#{HERE}", reason == chosen))
    return groups


def scheme_urls(schemes: Sequence[str], isa: ISA | None, row: PortMapping | None) -> dict[str, str]:
    """{scheme: the page that proves what was concluded of it; its own page while there is no mapping}."""
    if isa is None:
        return {}
    ids = ids_of_schemes(isa.pk, schemes)
    if row is None:
        return {text: reverse("scheme", args=[pk]) for text, pk in ids.items()}
    return {text: reverse("scheme-proof", args=[row.pk, pk]) for text, pk in ids.items()}
