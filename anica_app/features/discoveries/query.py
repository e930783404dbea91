"""A discovery with what its page tells of it: its tools, who judged, and the blocks that it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from django.shortcuts import get_object_or_404

from anica_app.core.domain.wording import Mention, mention_of
from anica_app.core.errors import AnicaError
from anica_app.core.search.judging import BlockInterest, InterestJudge
from anica_app.features.coverage.query import measure_of
from anica_app.features.discoveries.generalisations import Tree, generalisations_of, samples_of_step, tree_of
from anica_app.features.discoveries.saying import words_of
from anica_app.models import Campaign, Discovery, Generalisation
from anica_app.storage.judging import judge_of
from inference.formats.csv_cells import written
from inference.formats.provenance import head_of
from inference.isa.blocks import BlockError, BlockName, schemes_of_bytes
from inference.isa.targets import target_of
from inference.models import AnswerCache, InstructionScheme, Predictor
from inference.models.predictor import block_key
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample
from inference.storage.instruction_sets import code_isa


@dataclass(frozen=True)
class JudgedBlock:
    """A block that was judged: what each of the tools said, and what that means (None: nobody knows)."""

    sample: Sample
    verdict: BlockInterest | None

    @property
    def interesting(self) -> bool | None:
        """Whether it is; None where nobody can tell."""
        return None if self.verdict is None else self.verdict.interesting


class DiscoveryParts:
    """A discovery of which the parts are read when they are asked for, each once."""

    def __init__(self, discovery: Discovery) -> None:
        """`discovery` has its campaign at hand."""
        self.discovery = discovery
        self.campaign = discovery.campaign
        self.isa = code_isa(self.campaign.isa)

    @cached_property
    def predictors(self) -> list[Predictor]:
        """The campaign's tools, in the order of their answers (one query)."""
        seats = self.campaign.seats.select_related("predictor").order_by("position")
        return [seat.predictor for seat in seats]

    @cached_property
    def generalisations(self) -> list[Generalisation]:
        """Those that led here (one query)."""
        return generalisations_of(self.discovery)

    @cached_property
    def main(self) -> Generalisation | None:
        """The generalisation that has become the discovery, else any that has decisions."""
        rows = sorted(self.generalisations, key=lambda one: one.became != Generalisation.Became.DISCOVERY)
        return next((one for one in rows if one.steps_count), rows[0] if rows else None)

    def generalisation(self, number: int | None) -> Generalisation | None:
        """That with this number in its campaign; the main one for None; None where there is none."""
        if number is None:
            return self.main
        return next((one for one in self.generalisations if one.number == number), None)

    def tree(self, number: int | None = None) -> Tree | None:
        """The decisions of such a generalisation; None where there is none, or no decision of it is known."""
        row = self.generalisation(number)
        tree = None if row is None else tree_with_start(row)
        return tree if tree is not None and tree.nodes else None

    @cached_property
    def judge(self) -> InterestJudge | None:
        """See `judge_of`."""
        return judge_of(self.campaign)

    def examined(self, samples: Sequence[Sample]) -> list[JudgedBlock]:
        """These samples with their verdicts; answers beyond those of the campaign's tools do not count."""
        return judged(self.judge, samples, len(self.predictors))

    def examples(self) -> list[JudgedBlock]:
        """The blocks that the result rests on, with a verdict each (three queries)."""
        main = self.main
        tree = None if main is None else tree_with_start(main)
        telling = None if tree is None else tree.telling
        if main is None or telling is None:
            return []
        return self.examined(samples_of_step(main, telling.number) or [])

    def smallest(self, examples: Sequence[JudgedBlock]) -> JudgedBlock | None:
        """The shortest interesting one, by bytes; of equally short ones the most interesting."""
        shown = [one for one in examples if one.interesting is not False]
        return min(shown, key=_by_size, default=None)


def discovery_or_404(pk: int) -> DiscoveryParts:
    """A discovery with what its parts need of its campaign (one query)."""
    rows = Discovery.objects.select_related("campaign", "campaign__run", "campaign__isa", "subsumed_by")
    return DiscoveryParts(get_object_or_404(rows.defer("campaign__note", "campaign__run__config"), pk=pk))


def judged(judge: InterestJudge | None, samples: Sequence[Sample], tools: int) -> list[JudgedBlock]:
    """Samples with their verdicts by their first answers, which are those of the campaign's `tools`."""
    return [
        JudgedBlock(one, None if judge is None else judge.verdict(one.answers[:tools])) for one in samples
    ]


def _by_size(one: JudgedBlock) -> tuple[int, float, bytes]:
    value = 0.0 if one.verdict is None else one.verdict.value
    return len(one.sample.code), -value, one.sample.code


def tree_with_start(generalisation: Generalisation) -> Tree:
    """The decisions of a generalisation, and its start where it was not loaded (two queries)."""
    if "start" in generalisation.get_deferred_fields():
        generalisation.refresh_from_db(fields=["start"])
    return tree_of(generalisation)


def known_answers(name: BlockName, but: Sequence[Predictor]) -> list[tuple[Predictor, Answer]]:
    """What all other predictors are remembered to have said of a block (two queries)."""
    others = {row.pk: row for row in Predictor.objects.exclude(pk__in=[row.pk for row in but])}
    # Named one by one, they are looked up by the index over predictor and block.
    rows = AnswerCache.objects.filter(predictor__in=list(others), isa=name.isa, block=block_key(name.code))
    found = [
        (others[pk], Answer(cycles, Failure(failure) if failure else None, detail))
        for pk, cycles, failure, detail in rows.values_list("predictor_id", "cycles", "failure", "detail")
    ]
    return sorted(found, key=lambda one: one[0].name)


# The discoveries of a campaign as a table.


HEADS = (
    *("number", "label", "kind", "words", "instructions", "interestingness", "generality", "covered_blocks"),
    *("included_by", "mark", "note", "block", "abstract"),
)


def discoveries_csv(campaign: Campaign) -> str:
    """All discoveries as CSV below where they come from, with what each includes where that is known."""
    return written(HEADS, _lines(campaign), head_of(campaign=campaign.name))


def _lines(campaign: Campaign) -> Iterator[list[object]]:
    measure = measure_of(campaign)
    numbers = dict(campaign.discoveries.values_list("pk", "number"))
    for row in campaign.discoveries.defer("foreign", "facts", "remarks").order_by("number"):
        yield [
            *(row.number, row.label, row.kind, in_one_line(row), row.length),
            *(row.interestingness, row.generality),
            None if measure is None else measure.by_discovery.get(row.pk, 0),
            numbers.get(row.subsumed_by_id or 0),
            *(row.mark, row.note, bytes(row.code).hex()),
            None if row.abstract is None else json.dumps(row.abstract, ensure_ascii=False),
        ]


def in_one_line(row: Discovery) -> str:
    """An abstract block in words; "" where ours do not suffice."""
    said = words_of(row.abstract)
    if said is None:
        return ""
    instructions = [", ".join(phrases) for phrases in said.instructions]
    return "; ".join([" | ".join(instructions), *said.sentences]).replace("`", "")


# The discoveries that speak of an instruction scheme.


LOOKED_THROUGH = 1000
"""Newest discoveries that are looked through; those covered by others are not among them."""

SHOWN = 20


@dataclass(frozen=True)
class Mentions:
    """`found`: the `SHOWN` discoveries that speak most plainly of the scheme, the newest first. `named`: how
    many by its mnemonic or by the block they come from, `among` others; `looked` through were so many.
    """

    found: Sequence[tuple[Discovery, Mention]]
    named: int
    among: int
    looked: int

    @property
    def more(self) -> int:
        """Those that are not listed."""
        return self.named + self.among - len(self.found)


def mentions_of(scheme: InstructionScheme) -> Mentions | None:
    """Two queries; None for a scheme that discoveries cannot speak of."""
    isa = scheme.isa.name
    speaks = mention_of(scheme.text, isa) if target_of(isa).operands is not None else None
    if speaks is None:
        return None
    rows = Discovery.objects.filter(subsumed_by=None).order_by("-id")
    told: dict[Mention, list[int]] = {Mention.NAMED: [], Mention.AMONG: []}
    looked = 0
    for pk, abstract, code in rows.values_list("pk", "abstract", "code")[:LOOKED_THROUGH]:
        looked += 1
        how: Mention | None = Mention.NAMED if scheme.text in _schemes_in(bytes(code)) else None
        if how is None and abstract is not None:
            try:
                how = speaks(abstract)
            except AnicaError:  # of another version of this program, which knew other features
                continue
        if how is not None:
            told[how].append(pk)
    shown = [*told[Mention.NAMED], *told[Mention.AMONG]][:SHOWN]
    named = set(told[Mention.NAMED])
    found = Discovery.objects.select_related("campaign__isa").defer(
        "foreign", "facts", "remarks", "note", "campaign__config", "campaign__facts", "campaign__note"
    )
    by_id = found.in_bulk(shown)
    return Mentions(
        [(by_id[pk], Mention.NAMED if pk in named else Mention.AMONG) for pk in shown if pk in by_id],
        len(told[Mention.NAMED]),
        len(told[Mention.AMONG]),
        looked,
    )


@lru_cache(maxsize=2 * LOOKED_THROUGH)
def _schemes_in(code: bytes) -> frozenset[str]:
    """The schemes of a block, remembered: the same discoveries are looked through for every scheme."""
    try:
        return frozenset(text for text in schemes_of_bytes(code) if text is not None)
    except BlockError:
        return frozenset()
