"""A family as one report: its witness, what the tools and a machine say of it, its cause, further blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import HttpRequest

from anica_app.features.discoveries.bug_report import BugReport, address_of
from anica_app.features.discoveries.query import known_answers
from anica_app.features.discoveries.report_parts import IssueSearch, Said, issue_searches
from anica_app.features.families.earlier import NOT_KEPT
from anica_app.models import Discovery, Family
from inference.core.protocols import Json
from inference.isa.blocks import BlockName
from inference.models import Predictor
from inference.predictors.protocol import Answer, Failure
from inference.storage.instruction_sets import code_isa

MOST_OTHERS = 10
"""Further blocks in a report."""


@dataclass(frozen=True)
class FamilyMemberRow:
    """A discovery of a family: its witness, and what the tools say of it. `right`: by the judge, if any."""

    discovery: Discovery
    code: bytes
    answers: Sequence[Answer]
    right: int | None


class FamilyParts:
    """A family of which the parts are read when they are asked for, each once."""

    def __init__(self, family: Family) -> None:
        """`family` has its campaign at hand."""
        self.family = family
        self.campaign = family.campaign
        self.name = BlockName(code_isa(self.campaign.isa), bytes(family.code))
        self.code = self.name.code

    @cached_property
    def tools(self) -> list[Predictor]:
        return self.campaign.tools

    @cached_property
    def members(self) -> list[FamilyMemberRow]:
        """Its discoveries, the shortest witness first (one query)."""
        known: Json = self.family.facts.get("members", {})
        rulings: Json = self.family.facts.get("judge", {}).get("members", {})
        rows = self.family.discoveries.defer("foreign", "remarks", "note").order_by("number")
        found = []
        for row in rows:
            told = known.get(str(row.number))
            code = bytes.fromhex(told["block"]) if told else bytes(row.code)
            ruling = rulings.get(str(row.number))
            found.append(FamilyMemberRow(row, code, _answers(told), ruling and ruling["right"]))
        return sorted(found, key=lambda one: (len(one.code), one.discovery.number))

    @cached_property
    def answers(self) -> list[Said]:
        """What is known of the witness: by the campaign's tools, then by everybody else (two queries)."""
        member = next((one for one in self.members if one.code == self.code and one.answers), None)
        given = [NOT_KEPT] * len(self.tools) if member is None else member.answers
        own = [(row, answer) for row, answer in zip(self.tools, given, strict=False) if answer != NOT_KEPT]
        return [*own, *known_answers(self.name, [row for row, _ in own])]

    @property
    def searches(self) -> list[IssueSearch]:
        """Where the tools' developers may know of it."""
        return issue_searches(self.code, self.tools)

    @property
    def causes(self) -> list[str]:
        """What was tried on the witness, in sentences."""
        return [cause_in_words(one) for one in self.family.facts.get("tried", ())]

    def report(self, request: HttpRequest | None = None) -> BugReport:
        """All of it as one report; a page's or operation's request tells where people find the family."""
        others = [one for one in self.members if one.code != self.code and one.answers]
        first = next((one for one in self.members if one.code == self.code), self.members[0])
        return BugReport(
            first.discovery,
            self.tools,
            self.code,
            self.answers,
            others=[(one.code, one.answers) for one in others[:MOST_OTHERS]],
            address=address_of(request, "family", self.family.pk),
            family=self.family.name,
            cause=self.causes,
        )


def _answers(told: Json | None) -> Sequence[Answer]:
    if not told:
        return ()
    return [
        Answer(cycles=cycles) if failure == "" and cycles is not None else _failed(failure)
        for cycles, failure in zip(told["cycles"], told["failures"], strict=True)
    ]


def _failed(failure: str) -> Answer:
    return Answer(failure=Failure(failure)) if failure else NOT_KEPT


_CHANGES = {
    "repeated": "as several copies after one another",
    "padded": "with no-ops that only take room",
    "lock prefixes left out": "without lock prefixes",
    "loads before stores": "as several copies, all loads of which stand before all stores",
    "registers in place of loads": "as several copies, with registers in place of what they load",
    "all dependencies cut": "behind instructions that write {cut} anew",
    "one dependency cut": "behind an instruction that writes {cut} anew",
    "all dependencies cut in each copy": "with {cut} written anew before each instruction that reads it",
    "one dependency cut in each copy": "with {cut} written anew before each instruction that reads it",
}


def cause_in_words(tried: Json) -> str:
    """`Behind an instruction that writes rax anew: 1.00 | 1.00 cycles; the difference vanishes`."""
    pattern: str = _CHANGES.get(tried["change"]) or tried["change"]
    change = pattern.format(cut=", ".join(tried["cut"]))
    cycles = " | ".join("–" if one is None else f"{one:.2f}" for one in tried["cycles"])
    verdict = "the difference vanishes" if tried["vanishes"] else "the difference stays"
    return f"{change[:1].upper()}{change[1:]}: {cycles} cycles; {verdict}"
