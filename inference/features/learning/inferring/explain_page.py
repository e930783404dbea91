"""What explainable inference shows on a run's page, while it runs and for ever after."""

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
    explanation_of,
    is_left_out,
    left_out,
    scheme_urls,
)
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord
from inference.models import ISA, PortMapping, Run
from inference.storage.characterisations import ExplainedMapping, verdicts_of

WIDTH = 1000
"""Of the picture of all schemes; the browser stretches it."""

LEAST = 4
"""Width of the fewest schemes: one of thousands shall be seen."""

COUNTS = {
    COUNTER: "by the processor",
    TABLE: "in a table",
    ISSUE: "as issue slots among NOPs",
    THROUGHPUT: "not at all: throughput alone",
}
"""Who says how many µops a scheme has."""


@dataclass(frozen=True)
class Tally:
    """What the schemes asked for have become; `open` are those without an outcome as yet."""

    asked: int | None
    characterised: int
    excluded: int
    ambiguous: int

    @property
    def open(self) -> int | None:
        """None while nobody knows how many were asked for."""
        if self.asked is None:
            return None
        return self.asked - self.characterised - self.excluded - self.ambiguous


@dataclass(frozen=True)
class FunnelStage:
    """A stage of the funnel: schemes that came through, are still in it, and were left out in it.

    `state` is that of the run's stage, "" for one that is still to come; then `left` is None. The widths of
    the three parts are in units of `WIDTH`.
    """

    stage: str
    label: str
    state: str
    left: int | None
    lost: int
    widths: tuple[int, int, int]

    @property
    def parts(self) -> list[tuple[str, int, int]]:
        """(which part, where it begins, how wide it is) of those that there are."""
        starts = (0, self.widths[0], self.widths[0] + self.widths[1])
        named = zip(("through", "within", "lost"), starts, self.widths, strict=True)
        return [part for part in named if part[2]]


@dataclass(frozen=True)
class ReasonLine:
    """A reason, in words, how many schemes were left out for it, and the address of their list."""

    reason: str
    words: str
    count: int
    url: str


@dataclass(frozen=True)
class BlockingLine:
    """A row of Tables 6.1 and 6.2. `ports`: (index, name), empty before they are known.

    `sought`: whether they have been looked for. `wide`: as many as pass the bottleneck, so that nothing can
    be said of µops on them (§6.2.3). `documented`: what the user said that the ports are.
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
    """What the template needs; the address may name a stage, a reason or a class whose schemes are listed."""
    row = inferred_by(run).select_related("isa").first()
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    explanation = explanation_of(record)
    outcomes = told_of(run, explanation, row)
    asked = explanation.asked or _asked_so_far(record)
    states = {phase.name: phase.state for phase in record.phases}
    explained = None if row is None else ExplainedMapping.of(row.report)
    bottleneck, classes = explanation.bottleneck, explanation.classes
    r_max: float | None = run.config["settings"]["r_max"] if bottleneck is None else bottleneck.r_max
    documented = run.config.get("known", {}).get("documented", {})
    urls = scheme_urls([each.blocker for each in classes], isa, row)
    lines = blocking_lines(classes, explanation.ports, urls, f"?{{}}#{HERE}", r_max, documented)
    return {
        "characterises": True,
        "tally": tally_of(asked, outcomes),
        "r_max": r_max,
        "r_max_sought": bottleneck is not None,
        "funnel": bars(asked, outcomes, states),
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
        **left_out(request, outcomes, classes, isa, row),
    }


def told_of(run: Run, record: ExplainRecord, row: PortMapping | None) -> list[SchemeOutcome]:
    """Of every scheme that has an outcome: as stored with the mapping, before that as the journal tells."""
    if row is not None:
        return [
            SchemeOutcome(scheme, stage, outcome, *why) for scheme, stage, outcome, *why in verdicts_of(row)
        ]
    return list(record.told(run.config["settings"]["runs"], over=run.state == Run.State.DONE))


def _asked_so_far(record: RunRecord) -> int | None:
    """In the first stage its progress says how many schemes there are."""
    progress = record.progress
    if progress is None or progress.phase != FIRST or progress.total is None:
        return None
    return int(progress.total)


def tally_of(asked: int | None, told: Iterable[SchemeOutcome]) -> Tally:
    """The numbers that add up to all schemes."""
    count = Counter(each.outcome for each in told)
    return Tally(
        asked, count[SchemeFate.CHARACTERISED], count[SchemeFate.EXCLUDED], count[SchemeFate.AMBIGUOUS]
    )


def bars(asked: int | None, told: Sequence[SchemeOutcome], states: Mapping[str, str]) -> list[FunnelStage]:
    """The funnel: all schemes, then what is left after each stage. `states` are those of the run's stages."""
    lost = Counter(each.stage for each in told if is_left_out(each))
    settled = sum(each.outcome == SchemeFate.CHARACTERISED for each in told)
    left = asked or 0
    drawn = [
        FunnelStage("", "Asked for", "" if asked is None else "done", asked, 0, _widths(asked, left, 0, 0))
    ]
    for stage, label in STAGES.items():
        left -= lost[stage]
        state = states.get(stage, "")
        within = 0
        if state != "done":
            within = left - settled if stage == LAST else left
        widths = _widths(asked, left - within, within, lost[stage])
        shown = None if asked is None or not state else left - within if stage == LAST else left
        drawn.append(FunnelStage(stage, label, state, shown, lost[stage], widths))
    return drawn


def _widths(asked: int | None, through: int, within: int, lost: int) -> tuple[int, int, int]:
    """Rounding is at the cost of the largest part, and nothing is so small that it cannot be seen."""
    if not asked:
        return 0, WIDTH, 0
    exact = [WIDTH * part / asked for part in (through, within, lost)]
    widths = [max(LEAST, round(part)) if part else 0 for part in exact]
    widths[widths.index(max(widths))] += round(sum(exact)) - sum(widths)
    return widths[0], widths[1], widths[2]


def reason_lines(told: Iterable[SchemeOutcome]) -> list[ReasonLine]:
    """Why schemes were left out, the most frequent reason first."""
    count = Counter(each.reason for each in told if is_left_out(each))
    return [
        ReasonLine(
            reason, REASONS[NotCharacterised(reason)], number, f"?{urlencode({'reason': reason})}#{HERE}"
        )
        for reason, number in sorted(count.items(), key=lambda each: (-each[1], each[0]))
    ]


def blocking_lines(
    classes: Sequence[BlockingClass],
    ports: Sequence[str],
    urls: Mapping[str, str],
    members_url: str,
    r_max: float | None,
    documented: Mapping[str, Sequence[str]] | None = None,
) -> list[BlockingLine]:
    """The blocking instructions as they stand; `members_url` has a place for the class."""
    return [
        BlockingLine(
            blocker=each.blocker,
            url=urls.get(each.blocker, ""),
            width=each.width,
            members=len(each.members),
            members_url=members_url.format(urlencode({"class": each.blocker})),
            ports=[(index, ports[index]) for index in ports_in(each.mask)] if ports else [],
            sought=bool(ports),
            beside=each.beside,
            improper=each.improper,
            wide=r_max is not None and each.width > r_max - NEAR_R_MAX,
            documented=" ".join((documented or {}).get(each.blocker, ())),
        )
        for each in classes
    ]
