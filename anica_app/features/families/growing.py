"""Families while a campaign goes on: its discoveries so far, grouped without a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anica_app.core.block_domain import BlockDomain
from anica_app.core.families.culprits import culprits_of
from anica_app.core.families.evidence import Answers, DifferingBound, WitnessCause, slower_of
from anica_app.core.families.finding import KnownDiscovery, explained_by, guessed
from anica_app.core.families.grouping import FamilyMember, grouped
from anica_app.core.search.findings import News
from anica_app.core.search.judging import DIFFERENCE
from anica_app.features.families.events import FamiliesGrown, GrowingFamily

MOST_TOLD = 12
"""Of the families so far, the largest."""


class GrowingFamilies:
    """Takes in what a search finds; `told` is the payload of the event."""

    def __init__(self, domain: BlockDomain, tools: list[str]) -> None:
        self._domain = domain
        self._tools = tools
        self._members: dict[int, FamilyMember] = {}

    def seed(self, known: Sequence[KnownDiscovery]) -> None:
        """What was found before the search was interrupted; nobody has kept the answers at hand."""
        for one in known:
            self._add(one, ())

    def take(self, news: News) -> bool:
        """Whether that has changed anything."""
        answers: dict[bytes, Answers] = {
            one.candidate.witness.code: one.candidate.witness.answers for one in news.generalised
        }
        for found in news.discoveries:
            block = self._domain.block_of_code(found.code)
            if block is not None:
                known = KnownDiscovery(found.number, found.abstract, block, found.kind, found.concrete)
                self._add(known, answers.get(found.code, ()))
        for special in news.subsumed or {}:
            self._members.pop(special, None)
        return bool(news.discoveries or news.subsumed)

    def _add(self, known: KnownDiscovery, answers: Answers) -> None:
        bound = DifferingBound.UNKNOWN if known.kind == DIFFERENCE else DifferingBound.FAILURE
        self._members[known.number] = FamilyMember(
            known.number,
            self._domain.code(known.witness),
            known.kind,
            len(known.witness),
            guessed(known, WitnessCause(bound, answers, slower_of(answers))),
            culprits_of(self._domain, known.abstract, known.witness),
        )

    def event(self) -> FamiliesGrown:
        """The families so far, those with most discoveries first."""
        members = [self._members[number] for number in sorted(self._members)]
        rows = {one.number: row for row, one in enumerate(members)}
        nothing = np.zeros((len(members), 0), dtype=np.bool_)
        families = explained_by(grouped(members), nothing, rows, self._tools).families
        largest = sorted(families, key=lambda one: (-len(one.members), one.name))
        isa = self._domain.space.isa
        return FamiliesGrown(
            [
                GrowingFamily(one.name, one.witness.code.hex(), len(one.members), one.predictions, isa=isa)
                for one in largest[:MOST_TOLD]
            ]
        )
