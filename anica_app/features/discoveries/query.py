"""A discovery with what its page shows: tools, judges, blocks; and all of a campaign as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.shortcuts import get_object_or_404

from anica_app.core.search.judging import BlockInterest, InterestJudge
from anica_app.features.coverage.query import measure_of
from anica_app.features.discoveries.generalisations import Tree, generalisations_of, samples_of_step, tree_of
from anica_app.features.discoveries.saying import words_of
from anica_app.models import Campaign, Discovery, Generalisation
from anica_app.storage.judging import judge_of
from inference.formats.provenance import head_of
from inference.formats.quoting import written
from inference.isa.blocks import BlockName
from inference.models import AnswerCache, Predictor
from inference.models.block_set import block_key
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
        return self.campaign.tools

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


HEADS = (
    *("number", "label", "kind", "words", "instructions", "interestingness", "generality", "covered_blocks"),
    *("included_by", "mark", "note", "block", "abstract"),
)


def discoveries_csv(campaign: Campaign) -> str:
    """All discoveries as CSV below where they come from, with what each includes where that is known."""
    return written(
        HEADS,
        _lines(campaign),
        head_of(**{"campaign": campaign.name, "instruction set": code_isa(campaign.isa)}),
    )


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
