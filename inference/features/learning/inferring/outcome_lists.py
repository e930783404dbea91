"""Outcomes of schemes in an explainable inference, folded from its journal, and lists of them."""

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
from inference.core.explain.events import Blocked, BottleneckEvent, Excluded, Funnel, Verdicts
from inference.features.running.runs.record import RunRecord
from inference.isa.search import SearchError
from inference.models import ISA, PortMapping
from inference.models.scheme_search import matching_texts
from inference.runs.events import RecordPart
from inference.storage.rows import ids_of_schemes
from inference.web.paging import page_in_memory
from inference.web.validation import choice_parameter, number_parameter

FIRST, LAST = "alone", "remaining"
"""The first and the last stage in which schemes are excluded."""

OPEN = "open"
"""The outcome of a scheme whose runs disagree until another run decides."""

HERE = "left-out"
"""The id of the page's region for lists."""

REASON_VALUES = tuple(reason.value for reason in REASONS)


@dataclass(frozen=True)
class SchemeOutcome:
    """The outcome of a scheme, and the stage that decided; `text` is the reason with its numbers, or its
    µops.
    """

    scheme: str
    stage: str
    outcome: str
    reason: str = ""
    text: str = ""


@dataclass
class ExplainRecord(RecordPart):
    """The state of an explainable inference, see `inference.core.explain.events`; warnings come as `Log`
    events.

    `bottleneck` is None before R_max is known.

    Attributes:
        left: Number of schemes after each stage.
        excluded: {scheme: outcome}.
        verdicts: {scheme: {run: outcome}}.
        ports: Names for the masks in `classes`.
    """

    left: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, SchemeOutcome] = field(default_factory=dict)
    verdicts: dict[str, dict[int, SchemeOutcome]] = field(default_factory=dict)
    classes: Sequence[BlockingClass] = ()
    ports: tuple[str, ...] = ()
    bottleneck: BottleneckEvent | None = None
    warnings: dict[str, None] = field(default_factory=dict)

    @property
    def requested(self) -> int | None:
        """Number of selected schemes; None during the first stage."""
        if FIRST not in self.left:
            return None
        return self.left[FIRST] + sum(outcome.stage == FIRST for outcome in self.excluded.values())

    def take(self, event: Event) -> None:
        """Folds in an event; repeated events of a resumed run change nothing."""
        match event:
            case Funnel():
                self.left[event.stage] = event.left
            case Excluded(stage=stage):
                for scheme, reason, text in event.schemes:
                    self.excluded[scheme] = SchemeOutcome(scheme, stage, SchemeFate.EXCLUDED, reason, text)
            case BottleneckEvent():
                self.bottleneck = event
            case Blocked():
                self.classes, self.ports = event.classes, tuple(event.ports)
            case Verdicts(run=run):
                for scheme, verdict_text, text in event.schemes:
                    done = verdict_text == SchemeFate.CHARACTERISED
                    outcome, reason = (verdict_text, "") if done else (SchemeFate.EXCLUDED, verdict_text)
                    verdict = SchemeOutcome(scheme, LAST, outcome, reason, text)
                    self.verdicts.setdefault(scheme, {})[run] = verdict
            case Log(level="warning"):
                self.warnings[event.text] = None

    def outcomes(self, runs: int, *, over: bool) -> Iterator[SchemeOutcome]:
        """The outcomes so far, excluded schemes first.

        Each scheme is tested in at most `runs` runs. When these are `over`, schemes with disagreeing runs
        have an outcome, too.
        """
        yield from self.excluded.values()
        for scheme, verdicts in self.verdicts.items():
            if scheme not in self.excluded:
                yield majority_verdict(verdicts, runs, over=over)


def majority_verdict(verdicts: Mapping[int, SchemeOutcome], runs: int, *, over: bool) -> SchemeOutcome:
    """The majority's verdict on a scheme (§6.3.5); a single run's verdict holds until there are more.

    Of several reasons for exclusion, the most frequent counts.
    """
    by_run = [verdicts[run] for run in sorted(verdicts)]
    count = Counter(map(_key, by_run))
    majority, votes = count.most_common(1)[0]
    if len(by_run) == 1 or votes >= runs // 2 + 1:
        agreeing = [verdict for verdict in by_run if _key(verdict) == majority]
        ((reason, _),) = Counter(verdict.reason for verdict in agreeing).most_common(1)
        return next(verdict for verdict in agreeing if verdict.reason == reason)
    scheme, text = by_run[0].scheme, REASONS[NotCharacterised.DISAGREEMENT]
    if len(by_run) < runs and not over:
        return SchemeOutcome(scheme, LAST, OPEN, NotCharacterised.DISAGREEMENT, text)
    usages = {verdict.text for verdict in by_run if verdict.outcome == SchemeFate.CHARACTERISED}
    outcome = SchemeFate.AMBIGUOUS if len(usages) > 1 else SchemeFate.EXCLUDED
    return SchemeOutcome(scheme, LAST, outcome, NotCharacterised.DISAGREEMENT, text)


def _key(outcome: SchemeOutcome) -> str:
    """Equal for runs that agree: the µops, or "" without µops."""
    return outcome.text if outcome.outcome == SchemeFate.CHARACTERISED else ""


def explanation_of(record: RunRecord) -> ExplainRecord:
    part = record.parts["explain"]
    assert isinstance(part, ExplainRecord)
    return part


@dataclass(frozen=True)
class SchemeOutcomeRow:
    """A scheme's outcome and the address of its page; `opens`: first row with its reason."""

    outcome: SchemeOutcome
    url: str
    opens: bool


@dataclass(frozen=True)
class ReasonGroup:
    """A reason in a list, with the address of the list of this reason only."""

    reason: str
    words: str
    count: int
    url: str
    chosen: bool


@dataclass(frozen=True)
class ExclusionList:
    """A list: parameters of its address, a title, and the reasons that occur."""

    parameters: Mapping[str, str]
    title: str
    groups: Sequence[ReasonGroup]

    @property
    def words(self) -> Mapping[str, str]:
        """{reason: its text} of the reasons that occur."""
        return {group.reason: group.words for group in self.groups}


def is_excluded(outcome: SchemeOutcome) -> bool:
    return outcome.outcome in (SchemeFate.EXCLUDED, SchemeFate.AMBIGUOUS)


def exclusion_context(
    request: HttpRequest,
    outcomes: Sequence[SchemeOutcome],
    classes: Sequence[BlockingClass],
    isa: ISA | None,
    row: PortMapping | None,
) -> dict[str, Any]:
    """Context with a page of the list that the address names: `stage`, `reason` or both, or the `class` of a
    blocker.

    Filtered by the search `q`, and grouped by reason.
    """
    stage = choice_parameter(request, "stage", tuple(STAGES))
    reason = choice_parameter(request, "reason", REASON_VALUES)
    if blocker := request.GET.get("class", ""):
        by_scheme = {outcome.scheme: outcome for outcome in outcomes}
        members = next((blocking.members for blocking in classes if blocking.blocker == blocker), ())
        outcomes = [by_scheme.get(scheme) or SchemeOutcome(scheme, "", OPEN) for scheme in members]
        listing = ExclusionList({"class": blocker}, f"Schemes like {blocker}", ())
    elif stage or reason:
        excluded = [outcome for outcome in outcomes if is_excluded(outcome) and stage in ("", outcome.stage)]
        outcomes = [outcome for outcome in excluded if reason in ("", outcome.reason)]
        parameters = {name: value for name, value in (("stage", stage), ("reason", reason)) if value}
        where = f" in “{STAGES[stage]}”" if stage else ""
        title = f"Excluded{where}" + (f": {reason}" if reason else "")
        listing = ExclusionList(parameters, title, _groups(excluded, stage, reason))
    else:
        return {"listing": None}
    q = request.GET.get("q", "").strip()
    context: dict[str, Any] = {"listing": listing, "q": q, "listing_total": len(outcomes)}
    if q and isa is not None:
        try:
            texts = matching_texts(isa.pk, q)
        except SearchError as error:
            return {**context, "listing_error": str(error)}
        outcomes = [outcome for outcome in outcomes if outcome.scheme in texts]
    order = {group.reason: index for index, group in enumerate(listing.groups)}
    ordered = sorted(outcomes, key=lambda outcome: (order.get(outcome.reason, 0), outcome.scheme))
    page = page_in_memory(ordered, number_parameter(request, "page", 0) or 0)
    urls = scheme_urls([outcome.scheme for outcome in page.rows], isa, row)
    previous_reasons = [None, *(outcome.reason for outcome in page.rows)]
    lines = [
        SchemeOutcomeRow(outcome, urls.get(outcome.scheme, ""), bool(order) and outcome.reason != previous)
        for outcome, previous in zip(page.rows, previous_reasons, strict=False)
    ]
    return {**context, "page": page, "listing_lines": lines}


def _groups(excluded: Sequence[SchemeOutcome], stage: str, selected: str) -> list[ReasonGroup]:
    """The reasons, most frequent first; the link of the selected one shows all reasons again."""
    count = Counter(outcome.reason for outcome in excluded)
    groups = []
    for reason, number in sorted(count.items(), key=lambda item: (-item[1], item[0])):
        parameters = {"stage": stage, "reason": "" if reason == selected else reason}
        query = urlencode({name: value for name, value in parameters.items() if value})
        words = REASONS[NotCharacterised(reason)]
        groups.append(ReasonGroup(reason, words, number, f"?{query}#{HERE}", reason == selected))
    return groups


def scheme_urls(schemes: Sequence[str], isa: ISA | None, row: PortMapping | None) -> dict[str, str]:
    """{scheme: address of its evidence in the mapping, or of its own page without a mapping}."""
    if isa is None:
        return {}
    ids = ids_of_schemes(isa.pk, schemes)
    if row is None:
        return {text: reverse("scheme", args=[pk]) for text, pk in ids.items()}
    return {text: reverse("scheme-proof", args=[row.pk, pk]) for text, pk in ids.items()}
