"""Compares families with those of an earlier campaign: new, still there, gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.space import SampledBlock
from anica_app.core.errors import AnicaError
from anica_app.core.families.campaign_families import DiscoveryFamily
from anica_app.core.families.causes import Answers, Query, slower_of
from anica_app.core.families.grouping import FamilyIdentity, matched_families, nearest_family
from anica_app.core.search.interestingness import InterestJudge
from anica_app.models import Campaign, Family, GeneralisationStep
from inference.core.protocols import Json
from inference.features.asking.predictors.opening import DatabaseAnswers, open_predictor
from inference.models import Predictor
from inference.predictors import machine, nanobench
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.predictors.samples import unpack
from inference.runs.kinds import Task
from inference.storage.instruction_sets import code_isa

NOT_STORED = Answer(failure=Failure.NO_NUMBER, detail="not kept")
"""Stands for an answer of an earlier campaign that is not stored any more."""

_MEASURING = (machine.KIND, nanobench.KIND)
_RELEASE_OPTIONS = ("release", "version", "program")
"""Options that differ between releases of one tool."""
_MAX_SEARCHED = 50
_MAX_BLOCKS = 20
"""Blocks of a family's share to ask about, where no witness decides whether it was there."""


class StoredAnswers:
    """The stored answers of a campaign's tools, from the cache and from the campaign's samples."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._isa = code_isa(campaign.isa)
        self._tools = campaign.tools

    def ask(self, codes: Sequence[bytes]) -> list[Answers]:
        """The answers for each block; `NOT_STORED` where there is none."""
        remembered = [DatabaseAnswers(row, self._isa).known(codes) for row in self._tools]
        lacking = {
            code for code in codes if any(code not in remembered_answer for remembered_answer in remembered)
        }
        sampled = self._sampled_answers(lacking)
        nothing = tuple(NOT_STORED for _ in self._tools)
        return [
            tuple(
                remembered_answer.get(code, answer)
                for remembered_answer, answer in zip(remembered, sampled.get(code, nothing), strict=True)
            )
            for code in codes
        ]

    def _sampled_answers(self, missing: set[bytes]) -> Mapping[bytes, Answers]:
        answers: dict[bytes, Answers] = {}
        if not missing:
            return answers
        for samples in self._samples():
            for sample in unpack(samples):
                if sample.code in missing:
                    answers[sample.code] = sample.answers[: len(self._tools)]
                    missing.discard(sample.code)
            if not missing:
                break
        return answers

    def _samples(self) -> Any:
        steps = GeneralisationStep.objects.filter(generalisation__campaign=self._campaign)
        for rows in (self._campaign.batches.order_by("number"), steps.order_by("number", "pk")):
            for samples in rows.values_list("samples", flat=True).iterator(50):
                yield bytes(samples)


def earlier_answers(against: Campaign, codes: Sequence[bytes], task: Task | None) -> list[Answers]:
    """The answers of an earlier campaign's tools for each block; `NOT_STORED` where they are unknown.

    A predictor's row stands for one version of a tool with its options: where that can run here, its answers
    are the same as then. For other tools, and for measurements, only stored answers count.
    """
    isa = code_isa(against.isa)
    columns = [_answers_now(row, codes, isa, task) for row in against.tools]
    if all(column is not None for column in columns):
        return list(zip(*(column for column in columns if column is not None), strict=True))
    stored = StoredAnswers(against).ask(codes)
    return [
        tuple(stored[at][place] if column is None else column[at] for place, column in enumerate(columns))
        for at in range(len(codes))
    ]


def _answers_now(row: Predictor, codes: Sequence[bytes], isa: str, task: Task | None) -> list[Answer] | None:
    """The answers of a tool; None where it cannot run here, or measures, which would take too long."""
    if row.kind in _MEASURING:
        return None
    pulse = (lambda: None) if task is None else task.reporter.pulse
    try:
        with closing(open_predictor(row, task, isa=isa)) as tool, closing(Panel([tool], pulse)) as panel:
            return [answer for (answer,) in panel.ask(codes)()]
    except PredictorError:
        return None


@dataclass(frozen=True)
class ComparedFamilies:
    """The comparison with the campaign `against`.

    Attributes:
        before: {place of a family: id of the earlier one}.
        status: {place of a family: its status}.
        vanished: Earlier families on whose witness the tools agree now.
        unseen: Earlier families that were not found again otherwise.
    """

    against: Campaign
    before: Mapping[int, int]
    status: Mapping[int, Family.Status]
    vanished: tuple[Family, ...]
    unseen: tuple[Family, ...]

    def as_json(self) -> Json:
        vanished, unseen = list(map(_family_json, self.vanished)), list(map(_family_json, self.unseen))
        return {"campaign": self.against.pk, "name": self.against.name, "gone": vanished, "unseen": unseen}


def _family_json(row: Family) -> Json:
    return {"family": row.pk, "name": row.name, "witness": bytes(row.code).hex(), "mark": row.mark}


def identity_of(family: DiscoveryFamily) -> FamilyIdentity:
    """The identity of a family, by which it is matched."""
    group = family.group
    group_classes = frozenset(name for member in group.members for name in member.culprits.classes)
    classes = frozenset(group.classes)
    return FamilyIdentity(
        group.way.kind, group.way.slower, group.way.bound.value, classes, group_classes - classes
    )


def campaign_before(campaign: Campaign) -> Campaign | None:
    """The newest earlier campaign with families over the same tools, ignoring releases; None without one."""
    rows = Campaign.objects.filter(pk__lt=campaign.pk, families__isnull=False).distinct()
    seats = _seats(campaign)
    for row in rows.order_by("-pk").only("name")[:_MAX_SEARCHED]:
        if _seats(row) == seats:
            return row
    return None


def _seats(campaign: Campaign) -> list[tuple[str, Json]]:
    return [
        (tool.kind, {name: value for name, value in tool.options.items() if name not in _RELEASE_OPTIONS})
        for tool in campaign.tools
    ]


@dataclass(frozen=True)
class FamilyComparison:
    """The inputs of a comparison with the families of an earlier campaign.

    Attributes:
        ask: Answers of this campaign's tools.
        explained: The blocks by which its families were weighed.
    """

    against: Campaign
    domain: BlockDomain
    ask: Query
    judge: InterestJudge
    explained: Sequence[SampledBlock]
    task: Task | None = None

    def compared(self, families: Sequence[DiscoveryFamily]) -> ComparedFamilies:
        """Match families by bound, slower tool and classes; the status of others follows from their
        evidence.
        """
        old = list(self.against.families.order_by("number"))
        identities = [FamilyIdentity.read(row.identity) for row in old]
        pairs = dict(matched_families([identity_of(family) for family in families], identities))
        status = dict.fromkeys(pairs, Family.Status.THERE)
        unmatched = [place for place in range(len(families)) if place not in pairs]
        status |= self._status_by_evidence([(place, families[place]) for place in unmatched])
        for place in unmatched:
            closest = nearest_family(identity_of(families[place]), identities)
            if status[place] is Family.Status.THERE and closest is not None:
                pairs[place] = closest
        missing = [row for at, row in enumerate(old) if at not in pairs.values()]
        vanished = self._vanished_ids(missing)
        return ComparedFamilies(
            self.against,
            {place: old[at].pk for place, at in pairs.items()},
            status,
            tuple(row for row in missing if row.pk in vanished),
            tuple(row for row in missing if row.pk not in vanished),
        )

    def _status_by_evidence(self, rows: Sequence[tuple[int, DiscoveryFamily]]) -> dict[int, Family.Status]:
        """The status of families without a match: the earlier campaign may have been too short to find them.

        A family was there if an earlier discovery covers its witness, or if the earlier tools disagreed in
        the same way on most of the blocks whose answers are known: its witnesses, or without answers for
        these, the blocks that it explains.
        """
        status = {place: Family.Status.THERE for place, family in rows if self._is_covered(family)}
        undecided = [(place, family) for place, family in rows if place not in status]
        blocks = [(*self._witnesses(family), *self._explained_codes(family)) for _, family in undecided]
        codes = list(dict.fromkeys(chain(*blocks)))
        answers = earlier_answers(self.against, codes, self.task) if codes else []
        answers_by_code = dict(zip(codes, answers, strict=True))
        for place, family in undecided:
            verdicts = self._disagreements(family, self._witnesses(family), answers_by_code)
            verdicts = verdicts or self._disagreements(family, self._explained_codes(family), answers_by_code)
            if not verdicts:
                status[place] = Family.Status.UNSURE
            else:
                is_majority = 2 * sum(verdicts) > len(verdicts)
                status[place] = Family.Status.THERE if is_majority else Family.Status.NEW
        return status

    def _witnesses(self, family: DiscoveryFamily) -> list[bytes]:
        return [member.code for member in family.group.members]

    def _explained_codes(self, family: DiscoveryFamily) -> list[bytes]:
        return [self.domain.code(self.explained[at]) for at in family.blocks[:_MAX_BLOCKS]]

    def _disagreements(
        self, family: DiscoveryFamily, codes: Sequence[bytes], answers_by_code: Mapping[bytes, Answers]
    ) -> list[bool]:
        """For each block with known answers, whether they differed in the family's way."""
        way = family.group.way
        stored = [answers_by_code[code] for code in codes if NOT_STORED not in answers_by_code[code]]
        return [self._is_way(answers, way.kind, way.slower) for answers in stored]

    def _is_way(self, answers: Answers, kind: str, slower: int) -> bool:
        return self.judge.verdict(answers).kind == kind and slower_of(answers) == slower

    def _is_covered(self, family: DiscoveryFamily) -> bool:
        """Whether a discovery of the earlier campaign covers the witness in the same way."""
        block = self.domain.block_of_code(family.witness.code)
        if block is None:
            return False
        special = self.domain.represent(block)
        rows = self.against.discoveries.filter(
            subsumed_by=None, kind=family.witness.kind, abstract__isnull=False
        )
        for row in rows.only("abstract"):
            try:
                if self.domain.subsumes(self.domain.read(row.abstract or {}), special):
                    return True
            except AnicaError:
                continue
        return False

    def _vanished_ids(self, missing: Sequence[Family]) -> set[int]:
        """The ids of families on whose witness this campaign's tools agree."""
        answers = self.ask([bytes(row.code) for row in missing]) if missing else []
        return {
            row.pk
            for row, row_answers in zip(missing, answers, strict=True)
            if NOT_STORED not in row_answers and not self._is_way(row_answers, row.kind, row.slower)
        }
