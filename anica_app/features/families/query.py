"""Families of a campaign: their summary as a sentence, their treemap, and the parts of a family's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, QuerySet
from django.http import HttpRequest

from anica_app.features.discoveries.bug_report import BugReport, address_of
from anica_app.features.discoveries.query import stored_answers
from anica_app.features.discoveries.report_parts import IssueSearch, ToolAnswer, issue_searches
from anica_app.features.families.earlier_campaign import NOT_STORED
from anica_app.features.families.events import FamiliesEvent, PartialFamily
from anica_app.figures.campaign_charts import TreemapCell, treemap
from anica_app.models import Campaign, Discovery, Family
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.isa.code.block import BlockName
from inference.models import Predictor, Run
from inference.predictors.protocol import Answer, Failure
from inference.storage.instruction_sets import code_isa

KIND = "families"
"""The kind of the event with a running campaign's families, and of runs that group discoveries."""
_MIN_WIDTH, _MIN_HEIGHT = 7.0, 11.0
MAX_EXAMPLES = 10
"""Further blocks in a report."""
_CHANGES = {
    "repeated": "as several copies in a row",
    "padded": "padded with no-ops",
    "lock prefixes left out": "without lock prefixes",
    "loads before stores": "as several copies, with all loads before all stores",
    "registers in place of loads": "as several copies, with registers in place of loads",
    "all dependencies cut": "breaking the dependencies through {cut}",
    "one dependency cut": "breaking the {cut} dependency",
    "all dependencies cut in each copy": "breaking the dependencies through {cut} in each copy",
    "one dependency cut in each copy": "breaking the {cut} dependency in each copy",
}


@dataclass(frozen=True)
class FamilyAnswer:
    """The families of a campaign. `summary` is that of the campaign's facts, see `family_rows.summary_of`.

    `rate_sentence` says how often the tools disagree, and how much of that the families explain.
    """

    rate_sentence: str
    summary: Json
    families: Sequence[Family]
    largest: str = ""

    @property
    def sentence(self) -> str:
        """The rate and the largest family."""
        return f"{self.rate_sentence[:-1]}; {self.largest}." if self.largest else self.rate_sentence

    @property
    def against(self) -> Json | None:
        """The comparison with an earlier campaign, see `ComparedFamilies.as_json`; None without one."""
        comparison: Json | None = self.summary["against"]
        return comparison

    @property
    def judge(self) -> Json | None:
        """The judge's results by class of instructions; None without a judge."""
        judge_result: Json | None = self.summary["judge"]
        return judge_result

    @property
    def statuses(self) -> Mapping[str, int]:
        return Counter(row.status for row in self.families)

    @property
    def rate(self) -> float | None:
        """Share of the judged blocks on which the tools disagree."""
        judged = self.summary["judged"]
        return self.summary["disagreements"] / judged if judged else None

    @property
    def explained(self) -> float | None:
        return share_of(self.summary, "explained")


@dataclass(frozen=True)
class FamilyCell:
    """A rectangle of the treemap: a family, or the disagreements without a family (`row` is None).

    `share`: of the disagreements, those that it explains and no larger family does.
    """

    row: Family | None
    share: float
    box: TreemapCell

    @property
    def labelled(self) -> bool:
        return self.box.width > _MIN_WIDTH and self.box.height > _MIN_HEIGHT


def treemap_of(answer: FamilyAnswer) -> list[FamilyCell]:
    """The treemap of disagreements; each counts for the largest family that explains it."""
    total = answer.summary["disagreements"]
    if not total or not answer.families:
        return []
    rows: list[Family | None] = [*answer.families, None]
    sizes = [float(row.own) for row in answer.families]
    sizes.append(float(total - answer.summary["explained"]))
    return [FamilyCell(rows[box.place], sizes[box.place] / total, box) for box in treemap(sizes)]


def share_of(summary: Json, name: str) -> float | None:
    """`explained` or `by_ten` as a share of the disagreements."""
    disagreements = summary["disagreements"]
    return summary[name] / disagreements if disagreements else None


def families_in_order(campaign: Campaign) -> QuerySet[Family]:
    """The families of a campaign, the largest share first; `size`: their number of discoveries."""
    return campaign.families.annotate(size=Count("discoveries")).prefetch_related("discoveries")


def answer_of(campaign: Campaign) -> FamilyAnswer | None:
    """The families of a campaign; None before its discoveries are grouped (two queries)."""
    summary = campaign.facts.get("families")
    if not summary:
        return None
    rows = list(families_in_order(campaign))
    tools = [tool.name for tool in campaign.tools]
    is_weighed = bool(rows and summary["judged"] and summary["disagreements"])
    largest = f"the largest: {rows[0].name}{_who_is_slower(rows[0], tools)}" if is_weighed else ""
    return FamilyAnswer(_rate_sentence(tools, summary, rows), summary, rows, largest)


def campaign_sentence(campaign: Campaign) -> str:
    """`LLVM 22 and OSACA 0.7 differ on 13.7 % of random blocks; 6 families explain 84 % of that; …`."""
    answer = answer_of(campaign)
    return "" if answer is None else answer.sentence


def _rate_sentence(tools: Sequence[str], summary: Json, rows: Sequence[Family]) -> str:
    names, families = " and ".join(tools), count_of(len(rows), "family", "families")
    verb = "differ on" if len(tools) > 1 else "fails on"
    blocks = "random blocks" if summary["fresh"] else "the random blocks it began with"
    if not summary["judged"]:
        return f"{names}: {families}, not weighed by random blocks."
    rate = summary["disagreements"] / summary["judged"]
    if not rows or not summary["disagreements"]:
        return f"{names} {verb} {_percent(rate)} of {blocks}."
    share = share_of(summary, "explained") or 0.0
    explain = "explains" if len(rows) == 1 else "explain"
    return f"{names} {verb} {_percent(rate)} of {blocks}; {families} {explain} {_percent(share, 0)} of that."


def _who_is_slower(row: Family, tools: Sequence[str]) -> str:
    if not 0 < row.slower <= len(tools):
        return ""
    return f", slower in {tools[row.slower - 1]}"


def _percent(share: float, places: int = 1) -> str:
    return f"{100 * share:.{places}f}\N{NO-BREAK SPACE}%"


def growing_families(run: Run) -> Sequence[PartialFamily]:
    """The families of a running campaign as of its last event (one query)."""
    event = run.events.filter(kind=FamiliesEvent.kind).order_by("-seq").first()
    return [] if event is None else FamiliesEvent.read(event.payload).families


def grouping_runs(campaign: Campaign) -> tuple[Run | None, Run | None]:
    """The run that groups a campaign's discoveries now, and the newest one if it failed (one query each)."""
    rows = Run.objects.filter(kind=KIND, config__campaign=campaign.pk).order_by("-pk")
    newest = rows.first()
    if newest is None:
        return None, None
    if newest.state not in Run.FINAL:
        return newest, None
    return None, newest if newest.state == Run.State.FAILED else None


def cycles_of(row: Family) -> str:
    """The cycles of both tools for the witnesses: `1.00 | 8.00 cycles`, as ranges where they differ."""
    return f"{' | '.join(map(range_of, row.predictions))} cycles"


def range_of(ends: tuple[float | None, float | None]) -> str:
    """`1.00`, `1.00–8.00`, or a dash where there is no number."""
    low, high = ends
    if low is None or high is None:
        return "–"
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f}–{high:.2f}"


@dataclass(frozen=True)
class FamilyMemberRow:
    """A discovery of a family with its witness and the tools' answers. `right`: the correct tool by the
    judge, if any.
    """

    discovery: Discovery
    code: bytes
    answers: Sequence[Answer]
    right: int | None


class FamilyParts:
    """A family whose parts are loaded on first use."""

    def __init__(self, family: Family) -> None:
        """`family` has its campaign loaded."""
        self.family = family
        self.campaign = family.campaign
        self.name = BlockName(code_isa(self.campaign.isa), bytes(family.code))
        self.code = self.name.code

    @cached_property
    def tools(self) -> list[Predictor]:
        return self.campaign.tools

    @cached_property
    def members(self) -> list[FamilyMemberRow]:
        """Discoveries of the family, the shortest witness first (one query)."""
        facts: Json = self.family.facts.get("members", {})
        rulings: Json = self.family.facts.get("judge", {}).get("members", {})
        rows = self.family.discoveries.defer("foreign", "remarks", "note").order_by("number")
        members = []
        for row in rows:
            member = facts.get(str(row.number))
            code = bytes.fromhex(member["block"]) if member else bytes(row.code)
            ruling_ = rulings.get(str(row.number))
            members.append(FamilyMemberRow(row, code, _answers(member), ruling_ and ruling_["right"]))
        return sorted(members, key=lambda member: (len(member.code), member.discovery.number))

    @cached_property
    def answers(self) -> list[ToolAnswer]:
        """The known answers for the witness: of the campaign's tools, then of all other predictors (two
        queries).
        """
        witness = next((row for row in self.members if row.code == self.code and row.answers), None)
        stored = [NOT_STORED] * len(self.tools) if witness is None else witness.answers
        tool_answers = [
            (row, answer) for row, answer in zip(self.tools, stored, strict=False) if answer != NOT_STORED
        ]
        return [*tool_answers, *stored_answers(self.name, [row for row, _ in tool_answers])]

    @property
    def searches(self) -> list[IssueSearch]:
        return issue_searches(self.code, self.tools, self.name.isa)

    @property
    def causes(self) -> list[str]:
        """The changes tried on the witness, a sentence each."""
        return [cause_sentence(change) for change in self.family.facts.get("tried", ())]

    @property
    def decisive_causes(self) -> list[str]:
        """The changes that remove the difference; where none does, that this is so."""
        tried: Sequence[Json] = self.family.facts.get("tried", ())
        decisive = [cause_sentence(change) for change in tried if change["vanishes"]]
        if decisive or not tried:
            return decisive
        return [
            f"None of {count_of(len(tried), 'change')} to the block's dependencies removes the difference"
        ]

    def report(self, request: HttpRequest | None = None) -> BugReport:
        """The bug report of the family; `request` gives the address of its page."""
        other_members = [member for member in self.members if member.code != self.code and member.answers]
        first = next((member for member in self.members if member.code == self.code), self.members[0])
        return BugReport(
            first.discovery,
            self.tools,
            self.code,
            self.answers,
            more_examples=[(member.code, member.answers) for member in other_members[:MAX_EXAMPLES]],
            address=address_of(request, "family", self.family.pk),
            family=self.family.name,
            cause=self.decisive_causes,
        )


def answers_of_witness(row: Family) -> Sequence[Answer]:
    """The answers of the campaign's tools for a family's witness; () where they are not stored."""
    members: Json = row.facts.get("members", {})
    digits = bytes(row.code).hex()
    return _answers(next((member for member in members.values() if member["block"] == digits), None))


def _answers(member: Json | None) -> Sequence[Answer]:
    if not member:
        return ()
    return [
        Answer(cycles=cycles) if failure == "" and cycles is not None else _failed_answer(failure)
        for cycles, failure in zip(member["cycles"], member["failures"], strict=True)
    ]


def _failed_answer(failure: str) -> Answer:
    return Answer(failure=Failure(failure)) if failure else NOT_STORED


def cause_sentence(tried: Json) -> str:
    """`Breaking the rax dependency: 1.00 | 1.00 cycles; the difference vanishes`."""
    pattern: str = _CHANGES.get(tried["change"]) or tried["change"]
    change = pattern.format(cut=", ".join(tried["cut"]))
    cycles = " | ".join("–" if value is None else f"{value:.2f}" for value in tried["cycles"])
    verdict = "the difference vanishes" if tried["vanishes"] else "the difference remains"
    return f"{change[:1].upper()}{change[1:]}: {cycles} cycles; {verdict}"
