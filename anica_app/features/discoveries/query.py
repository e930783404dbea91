"""A discovery with its tools, blocks and verdicts, and its generalisations as trees of decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.shortcuts import get_object_or_404

from anica_app.core.domain.documents import expanded_document
from anica_app.core.search.interestingness import BlockInterest, InterestJudge
from anica_app.models import Discovery, Generalisation, GeneralisationStep
from anica_app.storage.findings import judge_of
from inference.core.protocols import Json
from inference.isa.code.block import BlockName
from inference.models import AnswerCache, Predictor
from inference.models.block_set import block_key
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, unpack
from inference.storage.instruction_sets import code_isa
from inference.web.paging import PAGE_SIZE, Page, page_in_memory

_NODE = ("number", "kind", "expansion", "foreign", "taken", "reason", "n", "interesting", "failed", "mean")

_AT_A_TIME = 50

BY_BLOCK, BY_LENGTH, BY_INTEREST = "block", "length", "interest"


@dataclass(frozen=True, slots=True)
class Node:
    """A decision. `foreign` is the expansion of an imported file where `expansion` is None; see
    `GeneralisationStep`.
    """

    number: int
    kind: str
    expansion: Json | None
    foreign: object
    taken: bool
    reason: str
    n: int
    interesting: int | None
    failed: int
    mean: float | None

    @property
    def changes_nothing(self) -> bool:
        """Whether it was accepted without samples, because it represents the same blocks as before."""
        return self.kind == GeneralisationStep.Kind.EXPANSION and self.taken and not self.n


@dataclass(frozen=True)
class Tree:
    """A generalisation with all decisions, in order: the accepted ones are the spine, rejected ones branch
    off.
    """

    generalisation: Generalisation
    nodes: tuple[Node, ...]

    def node(self, number: int) -> Node | None:
        """The decision with this number; None where there is none."""
        return next((node for node in self.nodes if node.number == number), None)

    @cached_property
    def implied(self) -> Mapping[int, tuple[Node, ...]]:
        """{number of a decision: accepted ones after it that represent the same blocks}; these have no key of
        their own.
        """
        implied: dict[int, list[Node]] = {}
        head = None
        for node in self.nodes:
            if node.changes_nothing and head is not None:
                implied[head].append(node)
                continue
            implied[node.number] = []
            head = node.number if node.taken else head
        return {number: tuple(nodes) for number, nodes in implied.items()}

    def head(self, node: Node) -> Node:
        """The decision that this one is implied by; itself for a key of `implied`."""
        if node.number in self.implied:
            return node
        number = next(number for number, implied in self.implied.items() if node in implied)
        return next(node_ for node_ in self.nodes if node_.number == number)

    @property
    def example_node(self) -> Node | None:
        """The last accepted decision with blocks: these are examples of the result."""
        accepted = [node for node in self.nodes if node.taken]
        return next((node for node in reversed(accepted) if node.n), accepted[-1] if accepted else None)

    def sampled_before(self, number: int) -> Node | None:
        """The last accepted decision before this one that has blocks; None without one."""
        before = [node for node in self.nodes if node.number < number and node.taken and node.n]
        return before[-1] if before else None

    def documents_around(self, number: int) -> tuple[Json | None, Json | None]:
        """The abstract blocks before this decision and after trying it, as documents.

        The latter lacks the constraints of implied decisions. None where a decision on the way cannot be
        expressed here; the start has no block before it.
        """
        before, tried = self._around(number)
        for node in self.implied.get(number, ()):
            tried = _expand_document(tried, node.expansion)
        return before, tried

    def _around(self, number: int) -> tuple[Json | None, Json | None]:
        before: Json | None = None
        now: Json | None = self.generalisation.start
        for node in self.nodes:
            if node.kind == GeneralisationStep.Kind.EXPANSION:
                tried = _expand_document(now, node.expansion)
                if node.number == number:
                    return now, tried
                now = tried if node.taken else now
            elif node.number == number:
                return before, now
            before = now
        return None, None


def _expand_document(document: Json | None, expansion: Json | None) -> Json | None:
    """The expanded document; None where either cannot be expressed here."""
    return None if document is None or expansion is None else expanded_document(document, expansion)


def tree_of(generalisation: Generalisation) -> Tree:
    """The tree of a generalisation (two queries), without blocks."""
    if "start" in generalisation.get_deferred_fields():
        generalisation.refresh_from_db(fields=["start"])
    rows = GeneralisationStep.objects.filter(generalisation=generalisation).order_by("number")
    return Tree(generalisation, tuple(Node(*row) for row in rows.values_list(*_NODE)))


def samples_of_step(generalisation: Generalisation, number: int) -> list[Sample] | None:
    """The blocks of a decision with all answers (one query); None where there is no such step."""
    rows = GeneralisationStep.objects.filter(generalisation=generalisation, number=number)
    packed = rows.values_list("samples", flat=True).first()
    return None if packed is None else unpack(bytes(packed))


def all_samples(generalisation: Generalisation) -> Iterator[list[Sample]]:
    """The blocks of each decision, in order (one query), one decision in memory at a time."""
    rows = GeneralisationStep.objects.filter(generalisation=generalisation).order_by("number")
    for packed in rows.values_list("samples", flat=True).iterator(_AT_A_TIME):
        yield unpack(bytes(packed))


def sample_page(
    samples: Sequence[Sample],
    order: str = BY_BLOCK,
    *,
    descending: bool = False,
    value: Callable[[Sample], float] | None = None,
    number: int = 0,
    size: int = PAGE_SIZE,
) -> Page[Sample]:
    """A page of samples, by `BY_BLOCK` (as sampled), `BY_LENGTH` (bytes), or the place of a tool, from 1, as
    text.

    By `BY_INTEREST`, `value` is the key. Failures sort after all numbers in either direction.
    """
    rows = list(samples)
    if order == BY_LENGTH:
        rows.sort(key=lambda sample: len(sample.code), reverse=descending)
    elif order == BY_INTEREST and value is not None:
        rows.sort(key=value, reverse=descending)
    elif order.isdecimal() and samples and 1 <= int(order) <= len(samples[0].answers):
        place, sign = int(order) - 1, -1 if descending else 1
        rows.sort(key=lambda sample: _behind_failures(sample, place, sign))
    elif descending:
        rows.reverse()
    return page_in_memory(rows, number, size)


def _behind_failures(sample: Sample, place: int, sign: int) -> tuple[bool, float]:
    cycles = sample.answers[place].cycles
    return cycles is None, 0.0 if cycles is None else sign * cycles


@dataclass(frozen=True)
class JudgedSample:
    """A sample with its verdict; None where the campaign's criterion is unknown."""

    sample: Sample
    verdict: BlockInterest | None

    @property
    def interesting(self) -> bool | None:
        """Whether it is interesting; None where the criterion is unknown."""
        return None if self.verdict is None else self.verdict.interesting


class DiscoveryParts:
    """A discovery whose parts are loaded on first use."""

    def __init__(self, discovery: Discovery) -> None:
        """`discovery` has its campaign loaded."""
        self.discovery = discovery
        self.campaign = discovery.campaign
        self.isa = code_isa(self.campaign.isa)
        self._trees: dict[int, Tree] = {}
        self._samples: dict[tuple[int, int], list[Sample]] = {}

    @cached_property
    def predictors(self) -> list[Predictor]:
        """The campaign's tools, in the order of their answers (one query)."""
        return self.campaign.tools

    @cached_property
    def generalisations(self) -> list[Generalisation]:
        """Generalisations that led to it or to discoveries that it covers, in order (one query), without
        documents.
        """
        rows = self.discovery.generalisations.defer("start", "result", "foreign", "facts")
        return list(rows.order_by("number"))

    @cached_property
    def main(self) -> Generalisation | None:
        """The generalisation that became the discovery, else any with decisions."""
        rows = sorted(self.generalisations, key=lambda row: row.became != Generalisation.Became.DISCOVERY)
        return next((row for row in rows if row.steps_count), rows[0] if rows else None)

    def generalisation(self, number: int | None) -> Generalisation | None:
        """The generalisation with this number in its campaign; the main one for None; None where there is
        none.
        """
        if number is None:
            return self.main
        return next((row for row in self.generalisations if row.number == number), None)

    def tree(self, number: int | None = None) -> Tree | None:
        """The tree of a generalisation; None where there is none, or its decisions are not stored."""
        row = self.generalisation(number)
        tree = None if row is None else self._tree_of(row)
        return tree if tree is not None and tree.nodes else None

    def _tree_of(self, row: Generalisation) -> Tree:
        if row.pk not in self._trees:
            self._trees[row.pk] = tree_of(row)
        return self._trees[row.pk]

    def samples(self, row: Generalisation, number: int) -> list[Sample]:
        """The blocks of a decision; [] where it has none or they were pruned."""
        if (row.pk, number) not in self._samples:
            self._samples[row.pk, number] = samples_of_step(row, number) or []
        return self._samples[row.pk, number]

    @cached_property
    def judge(self) -> InterestJudge | None:
        return judge_of(self.campaign)

    def examined(self, samples: Sequence[Sample]) -> list[JudgedSample]:
        """The samples with verdicts; answers beyond those of the campaign's tools do not count."""
        return judged(self.judge, samples, len(self.predictors))

    def examples(self) -> list[JudgedSample]:
        """The blocks that the result rests on, with verdicts (three queries)."""
        main = self.main
        tree = None if main is None else self._tree_of(main)
        example_node = None if tree is None else tree.example_node
        if main is None or example_node is None:
            return []
        return self.examined(self.samples(main, example_node.number))

    def smallest(self, examples: Sequence[JudgedSample]) -> JudgedSample | None:
        """The interesting block with the fewest bytes; of equal ones the most interesting."""
        candidates = [example for example in examples if example.interesting is not False]
        return min(candidates, key=_by_size, default=None)


def discovery_or_404(pk: int) -> DiscoveryParts:
    """A discovery with the fields of its campaign that its parts need (one query)."""
    rows = Discovery.objects.select_related("campaign", "campaign__run", "campaign__isa", "subsumed_by")
    return DiscoveryParts(get_object_or_404(rows.defer("campaign__note", "campaign__run__config"), pk=pk))


def judged(judge: InterestJudge | None, samples: Sequence[Sample], tools: int) -> list[JudgedSample]:
    """Samples with verdicts on their first answers, which are those of the campaign's `tools`."""
    return [
        JudgedSample(sample, None if judge is None else judge.verdict(sample.answers[:tools]))
        for sample in samples
    ]


def _by_size(block: JudgedSample) -> tuple[int, float, bytes]:
    value = 0.0 if block.verdict is None else block.verdict.value
    return len(block.sample.code), -value, block.sample.code


def stored_answers(name: BlockName, but: Sequence[Predictor]) -> list[tuple[Predictor, Answer]]:
    """The stored answers of all other predictors for a block, by name (two queries)."""
    predictors = {row.pk: row for row in Predictor.objects.exclude(pk__in=[row.pk for row in but])}
    # Named one by one, they are looked up by the index over predictor and block.
    ids, key = list(predictors), block_key(name.code)
    rows = AnswerCache.objects.filter(predictor__in=ids, isa=name.isa, block=key)
    answers = [
        (predictors[pk], Answer(cycles, Failure(failure) if failure else None, detail))
        for pk, cycles, failure, detail in rows.values_list("predictor_id", "cycles", "failure", "detail")
    ]
    return sorted(answers, key=lambda answer: answer[0].name)
