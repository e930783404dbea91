"""The run page of explainable inference, during the run and afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.http import urlencode

from inference.core.explain import REASONS, STAGES, BlockingClass, NotCharacterised, SchemeFate
from inference.core.explain.flooding import NEAR_R_MAX
from inference.core.explain.settings import COUNTER, ISSUE, TABLE, THROUGHPUT
from inference.core.mapping import Uops, ports_in
from inference.features.learning.inferring.outcome_lists import (
    FIRST,
    HERE,
    LAST,
    ExplainRecord,
    SchemeOutcome,
    exclusion_context,
    explanation_of,
    is_excluded,
    scheme_urls,
)
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord
from inference.models import ISA, PortMapping, Run
from inference.storage.characterisations import ExplainedMapping, verdicts_of

WIDTH = 1000
"""Width of the funnel in its own units; the browser scales it."""

MIN_WIDTH = 4
"""Minimum width of a non-empty part, so that one scheme of thousands is visible."""

COUNTS = {
    COUNTER: "by the processor",
    TABLE: "in a table",
    ISSUE: "as issue slots among NOPs",
    THROUGHPUT: "not at all: throughput alone",
}
"""{source of µop counts: text}."""


@dataclass(frozen=True)
class Tally:
    """Outcomes of the selected schemes; `open` are those without an outcome so far."""

    requested: int | None
    characterised: int
    excluded: int
    ambiguous: int

    @property
    def open(self) -> int | None:
        """None while the number of selected schemes is unknown."""
        if self.requested is None:
            return None
        return self.requested - self.characterised - self.excluded - self.ambiguous


@dataclass(frozen=True)
class FunnelStage:
    """A stage of the funnel: schemes that passed it, are in it, and were excluded in it.

    `state` is that of the run's stage, "" for a future one; then `left` is None. Widths of the three parts
    are in units of `WIDTH`.
    """

    stage: str
    label: str
    state: str
    left: int | None
    lost: int
    widths: tuple[int, int, int]

    @property
    def parts(self) -> list[tuple[str, int, int]]:
        """(name, start, width) of the non-empty parts."""
        starts = (0, self.widths[0], self.widths[0] + self.widths[1])
        named = zip(("through", "within", "lost"), starts, self.widths, strict=True)
        return [part for part in named if part[2]]


@dataclass(frozen=True)
class ReasonLine:
    """A reason with the number of schemes excluded for it, and the address of their list."""

    reason: str
    words: str
    count: int
    url: str


@dataclass(frozen=True)
class BlockingLine:
    """A row of Tables 6.1 and 6.2.

    Attributes:
        ports: (index, name), empty before they are known.
        sought: Whether the ports have been searched.
        wide: So many ports that the bottleneck hides µops on them (§6.2.3).
        documented: The ports that the user gave.
    """

    blocker: str
    url: str
    width: int
    members: int
    members_url: str
    ports: Sequence[tuple[int, str]]
    sought: bool
    beside: Uops
    improper: bool
    wide: bool
    documented: str


def characterising(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """Context of the template; the address may select a stage, a reason or a class whose schemes are
    listed.
    """
    row = inferred_by(run).select_related("isa").first()
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    explanation = explanation_of(record)
    outcomes = scheme_outcomes(run, explanation, row)
    requested = explanation.requested or _requested_so_far(record)
    states = {phase.name: phase.state for phase in record.phases}
    explained = None if row is None else ExplainedMapping.of(row.report)
    bottleneck, classes = explanation.bottleneck, explanation.classes
    r_max: float | None = run.config["settings"]["r_max"] if bottleneck is None else bottleneck.r_max
    documented = run.config.get("known", {}).get("documented", {})
    urls = scheme_urls([blocking.blocker for blocking in classes], isa, row)
    lines = blocking_lines(classes, explanation.ports, urls, f"?{{}}#{HERE}", r_max, documented)
    return {
        "characterises": True,
        "tally": tally_of(requested, outcomes),
        "r_max": r_max,
        "r_max_sought": bottleneck is not None,
        "funnel": bars(requested, outcomes, states),
        "funnel_width": WIDTH,
        "blocking": lines,
        "blocking_documented": any(line.documented for line in lines),
        "explain_ports": explanation.ports,
        "reasons": reason_lines(outcomes),
        "remarks": list(explanation.warnings),
        "explained": explained,
        "counts_from": COUNTS.get(explained.counts_from, "") if explained else "",
        "uncounted": explained is not None and explained.counts_from == THROUGHPUT,
        "made": row,
        "accuracy": (run.result.get("held_out") or {}).get("mape"),
        **exclusion_context(request, outcomes, classes, isa, row),
    }


def scheme_outcomes(run: Run, record: ExplainRecord, row: PortMapping | None) -> list[SchemeOutcome]:
    """The outcome of every scheme that has one: stored with the mapping, else from the journal."""
    if row is not None:
        return [
            SchemeOutcome(scheme, stage, outcome, *details)
            for scheme, stage, outcome, *details in verdicts_of(row)
        ]
    return list(record.outcomes(run.config["settings"]["runs"], over=run.state == Run.State.DONE))


def _requested_so_far(record: RunRecord) -> int | None:
    """The number of selected schemes from the progress of the first stage; None in other stages."""
    progress = record.progress
    if progress is None or progress.phase != FIRST or progress.total is None:
        return None
    return int(progress.total)


def tally_of(requested: int | None, outcomes: Iterable[SchemeOutcome]) -> Tally:
    count = Counter(scheme.outcome for scheme in outcomes)
    return Tally(
        requested, count[SchemeFate.CHARACTERISED], count[SchemeFate.EXCLUDED], count[SchemeFate.AMBIGUOUS]
    )


def bars(
    total: int | None, outcomes: Sequence[SchemeOutcome], states: Mapping[str, str]
) -> list[FunnelStage]:
    """The funnel: all schemes, then the remaining ones after each stage. `states`: of the run's stages."""
    lost = Counter(outcome.stage for outcome in outcomes if is_excluded(outcome))
    settled = sum(scheme.outcome == SchemeFate.CHARACTERISED for scheme in outcomes)
    n_remaining = total or 0
    stages = [
        FunnelStage(
            "", "Selected", "" if total is None else "done", total, 0, _widths(total, n_remaining, 0, 0)
        )
    ]
    for stage, label in STAGES.items():
        n_remaining -= lost[stage]
        state = states.get(stage, "")
        within = 0
        if state != "done":
            within = n_remaining - settled if stage == LAST else n_remaining
        widths = _widths(total, n_remaining - within, within, lost[stage])
        remaining = (
            None if total is None or not state else n_remaining - within if stage == LAST else n_remaining
        )
        stages.append(FunnelStage(stage, label, state, remaining, lost[stage], widths))
    return stages


def _widths(requested: int | None, through: int, within: int, lost: int) -> tuple[int, int, int]:
    """Integer widths with the exact sum: rounding changes the largest part, and small ones have at least
    `MIN_WIDTH`.
    """
    if not requested:
        return 0, WIDTH, 0
    exact = [WIDTH * part / requested for part in (through, within, lost)]
    widths = [max(MIN_WIDTH, round(part)) if part else 0 for part in exact]
    widths[widths.index(max(widths))] += round(sum(exact)) - sum(widths)
    return widths[0], widths[1], widths[2]


def reason_lines(outcomes: Iterable[SchemeOutcome]) -> list[ReasonLine]:
    """Reasons of exclusions, the most frequent first."""
    count = Counter(outcome.reason for outcome in outcomes if is_excluded(outcome))
    return [
        ReasonLine(
            reason, REASONS[NotCharacterised(reason)], number, f"?{urlencode({'reason': reason})}#{HERE}"
        )
        for reason, number in sorted(count.items(), key=lambda item: (-item[1], item[0]))
    ]


def blocking_lines(
    classes: Sequence[BlockingClass],
    ports: Sequence[str],
    urls: Mapping[str, str],
    members_url: str,
    r_max: float | None,
    documented: Mapping[str, Sequence[str]] | None = None,
) -> list[BlockingLine]:
    """The blocking instructions so far; `members_url` has a placeholder for the class."""
    return [
        BlockingLine(
            blocker=blocking.blocker,
            url=urls.get(blocking.blocker, ""),
            width=blocking.width,
            members=len(blocking.members),
            members_url=members_url.format(urlencode({"class": blocking.blocker})),
            ports=[(index, ports[index]) for index in ports_in(blocking.mask)] if ports else [],
            sought=bool(ports),
            beside=blocking.beside,
            improper=blocking.improper,
            wide=r_max is not None and blocking.width > r_max - NEAR_R_MAX,
            documented=" ".join((documented or {}).get(blocking.blocker, ())),
        )
        for blocking in classes
    ]
