"""How many blocks the discoveries of a campaign include: what was found out, and what can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.errors import AnicaError
from anica_app.core.every_scheme import everything_domain, without_uops
from anica_app.core.ranking import Covered, DiscoverySelection, best_selection, covered_blocks
from anica_app.core.search.judging import InterestJudge
from anica_app.models import Campaign, Discovery
from inference.core.protocols import Json
from inference.formats.errors import ExchangeError
from inference.models import BasicBlockSet, BlockColumn, Prediction, Run
from inference.predictors.protocol import Answer, Failure
from inference.web.paging import Order, Page, page_in_memory


@dataclass(frozen=True)
class Measure:
    """How many of `blocks` each discovery subsumes, by its id; `over` says which blocks they are."""

    over: str
    blocks: int
    covered: int
    by_discovery: Mapping[int, int]

    @property
    def share(self) -> float | None:
        """What all discoveries together cover."""
        return self.covered / self.blocks if self.blocks else None


def measure_of(campaign: Campaign, wanted: int | None = None) -> Measure | None:
    """The newest run over the campaign, or the one asked for; else what it found out at its own end."""
    runs = coverage_runs([campaign.pk], wanted)
    if runs.shown is not None:
        return measure_of_run(runs)
    explained: Json = campaign.facts.get("explained") or {}
    if not explained.get("interesting"):
        return None
    ids = dict(campaign.discoveries.values_list("number", "pk"))
    by_number = explained.get("by_discovery", {}).items()
    by_pk = {ids[int(number)]: count for number, count in by_number if int(number) in ids}
    over = f"interesting ones among {explained['blocks']:,} fresh blocks"
    return Measure(over, explained["interesting"], explained["covered"], by_pk)


def measure_of_run(runs: CoverageRuns) -> Measure:
    """That of the run which is shown."""
    found = runs.result
    by_pk = {int(pk): count for pk, count in found["by_discovery"].items()}
    assert runs.shown is not None
    return Measure(over_in_words(runs.shown.config), found["blocks"], found["covered"], by_pk)


def over_in_words(config: Json) -> str:
    """Which blocks a run has looked at."""
    if config.get("block_set") is None:
        return "interesting random blocks of the campaign itself"
    name = BasicBlockSet.objects.filter(pk=config["block_set"]).values_list("name", flat=True).first()
    return f"blocks of {name or 'a deleted set'} on which {' and '.join(config['columns'])} disagree"


def sets_for(campaign: Campaign) -> list[BasicBlockSet]:
    """The sets that have a column of each of the campaign's predictors (one query)."""
    rows = BasicBlockSet.objects.order_by("-id")
    for pk in campaign.seats.values_list("predictor", flat=True):
        rows = rows.filter(columns__predictor=pk)
    return list(rows.only("name", "size").distinct())


def sorted_by_coverage(
    campaign: Campaign, measure: Measure, order: Order, number: int, size: int, *, subsumed: bool
) -> Page[Discovery]:
    """A page of discoveries. Coverage is no column of the database: all ids are sorted (two queries)."""
    rows = campaign.discoveries.all() if subsumed else campaign.discoveries.filter(subsumed_by=None)
    sign = -1 if order.descending else 1
    ids = sorted(
        rows.values_list("pk", flat=True), key=lambda pk: (sign * measure.by_discovery.get(pk, 0), pk)
    )
    page = page_in_memory(ids, number, size)
    by_pk = Discovery.objects.defer("foreign", "remarks", "note").in_bulk(page.rows)
    shown = [by_pk[pk] for pk in page.rows]
    return Page(shown, page.total, page.next_cursor, page.previous_cursor)


def coverage_config(campaign: Campaign, over: BasicBlockSet | None = None) -> Json:
    """The description of a run over the campaign's own random blocks, or those of a set (two queries).

    Of a set, blocks count on which the columns of the campaign's tools disagree as the campaign judges.
    """
    config: Json = {"campaigns": [campaign.pk]}
    if over is None:
        return config
    tools = list(campaign.seats.values_list("predictor", flat=True))
    columns = dict(over.columns.filter(predictor__in=tools).values_list("predictor", "name"))
    return config | {
        "block_set": over.pk,
        "columns": [columns[tool] for tool in tools if tool in columns],
        "interest": campaign.config.get("interest", {}) if campaign.format == Campaign.Format.OURS else {},
    }


# How much of a basic-block set the discoveries of campaigns explain (thesis §8.1.7, §8.2.3).


_CHUNK = 2000


@dataclass(frozen=True)
class SetBlock:
    """A block of a set, by its row and its place; `interest`: how far its answers are apart."""

    pk: int
    position: int
    code: bytes
    interest: float = 0.0


@dataclass(frozen=True)
class Coverage:
    """Which discovery subsumes which block: `covered[d, b]` for `discoveries[d]` and `blocks[b]`.

    `strange` are blocks with instructions of no scheme, `unsaid` discoveries that our words cannot say: for
    both nobody knows. `widened`: numbers of µops were not looked at, so that some discoveries count for more.
    """

    discoveries: tuple[Discovery, ...]
    blocks: tuple[SetBlock, ...]
    covered: Covered
    strange: tuple[SetBlock, ...]
    unsaid: tuple[Discovery, ...]
    widened: bool

    @property
    def uncovered(self) -> list[SetBlock]:
        """The blocks that no discovery subsumes."""
        if not self.discoveries:
            return list(self.blocks)
        known: Any = self.covered.any(axis=0)
        return [block for block, by_any in zip(self.blocks, known, strict=True) if not by_any]

    @property
    def share(self) -> float | None:
        """The share of the blocks with schemes that are covered; None where there is none."""
        return 1 - len(self.uncovered) / len(self.blocks) if self.blocks else None

    def best(self, k: int) -> list[tuple[Discovery, int]]:
        """The k discoveries that together cover the most, each with how many blocks it covers itself."""
        found: DiscoverySelection = best_selection(self.covered, k)
        return [(self.discoveries[row], int(self.covered[row].sum())) for row in found.chosen]


def standing_discoveries(campaigns: Sequence[Campaign]) -> list[Discovery]:
    """The discoveries of these campaigns not covered by another one, campaign by campaign."""
    rows = Discovery.objects.filter(campaign__in=campaigns, subsumed_by=None).defer("foreign")
    return list(rows.order_by("campaign_id", "number"))


def coverage_of(
    blocks: Iterable[SetBlock],
    discoveries: Sequence[Discovery],
    pulse: Callable[[], None] = lambda: None,
) -> Coverage:
    """Ask each discovery about each block; `pulse` is called in between, and may raise."""
    domain = everything_domain()
    said, unsaid, abstracts, widened = [], [], [], False
    for one in discoveries:
        try:
            document, dropped = without_uops(one.abstract)
            abstracts.append(domain.read(document))
        except AnicaError:
            unsaid.append(one)
            continue
        said.append(one)
        widened = widened or dropped
    known: list[tuple[SetBlock, SampledBlock]] = []
    strange = []
    for block in blocks:
        sampled = domain.block_of_code(block.code)
        if sampled is None:
            strange.append(block)
        else:
            known.append((block, sampled))
        pulse()
    covered = covered_blocks(domain, abstracts, [sampled for _, sampled in known], pulse)
    return Coverage(
        tuple(said), tuple(block for block, _ in known), covered, tuple(strange), tuple(unsaid), widened
    )


def all_blocks(block_set: BasicBlockSet) -> Iterable[SetBlock]:
    """The blocks of a set in order."""
    rows = block_set.blocks.order_by("position").values_list("pk", "position", "code")
    return (SetBlock(pk, position, bytes(code)) for pk, position, code in rows.iterator(_CHUNK))


def interesting_blocks(
    block_set: BasicBlockSet, columns: Sequence[str], judge: InterestJudge
) -> list[SetBlock]:
    """Those of a set's blocks whose answers in these columns are interesting.

    A block that a tool was not asked about is not. Raises `ExchangeError` for a column that there is not.
    """
    known = dict(block_set.columns.values_list("name", "pk"))
    if missing := [name for name in columns if name not in known]:
        raise ExchangeError(f"{block_set.name!r} has no column {missing[0]!r}, only {', '.join(known)}")
    found = []
    for start in range(0, block_set.size, _CHUNK):
        places = (start, start + _CHUNK - 1)
        answers = _answers(block_set, [known[name] for name in columns], places)
        rows = block_set.blocks.filter(position__range=places).order_by("position")
        for pk, position, code in rows.values_list("pk", "position", "code"):
            given = [answers.get((pk, known[name])) for name in columns]
            whole = [one for one in given if one is not None]
            if len(whole) < len(given):
                continue
            verdict = judge.verdict(whole)
            if verdict.interesting:
                found.append(SetBlock(pk, position, bytes(code), verdict.value))
    return found


def _answers(
    block_set: BasicBlockSet, columns: Sequence[int], places: tuple[int, int]
) -> dict[tuple[int, int], Answer]:
    rows = Prediction.objects.filter(
        column__in=BlockColumn.objects.filter(pk__in=columns),
        block__block_set=block_set,
        block__position__range=places,
    )
    return {
        (block, column): Answer(cycles, Failure(failure) if failure else None)
        for block, column, cycles, failure in rows.values_list("block_id", "column_id", "cycles", "failure")
    }


def overlap_of(
    discoveries: Sequence[Discovery], pulse: Callable[[], None] = lambda: None
) -> dict[str, list[int]]:
    """{id of a discovery: ids of those of other campaigns that subsume it}.

    All must be in our words, as `Coverage.discoveries` are. `pulse` is called for each.
    """
    domain = everything_domain()
    said = [(row, domain.read(without_uops(row.abstract)[0])) for row in discoveries]
    found: dict[str, list[int]] = {}
    for row, special in said:
        general = [
            other.pk
            for other, abstract in said
            if other.campaign_id != row.campaign_id and domain.subsumes(abstract, special)
        ]
        if general:
            found[str(row.pk)] = general
        pulse()
    return found


# What runs of kind `coverage` have found out.


KIND = "coverage"
_LISTED = 20


@dataclass(frozen=True)
class CoverageRuns:
    """The runs over some campaigns: `shown` is the one to look at, where one is done."""

    done: tuple[Run, ...]
    working: tuple[Run, ...]
    failed: Run | None
    shown: Run | None

    @property
    def result(self) -> Json:
        """What the shown one has found; {} without one."""
        return {} if self.shown is None else dict(self.shown.result)


def coverage_runs(campaigns: Sequence[int], wanted: int | None = None) -> CoverageRuns:
    """Those over just these campaigns, newest first; `wanted`: the id of the one to look at (two queries)."""
    return _looked_up(Run.objects.filter(kind=KIND, config__campaigns=sorted(campaigns)), wanted)


def coverage_of_set(block_set: int, wanted: int | None = None) -> CoverageRuns:
    """Those over a basic-block set, of whatever campaigns (two queries)."""
    return _looked_up(Run.objects.filter(kind=KIND, config__block_set=block_set), wanted)


def _looked_up(rows: QuerySet[Run], wanted: int | None) -> CoverageRuns:
    rows = rows.order_by("-pk")
    runs = list(rows.defer("result", "note")[:_LISTED])
    done = [run for run in runs if run.state == Run.State.DONE]
    shown = next((run for run in done if wanted in (None, run.pk)), None)
    return CoverageRuns(
        tuple(done),
        tuple(run for run in runs if run.state not in Run.FINAL),
        runs[0] if runs and runs[0].state == Run.State.FAILED else None,
        None if shown is None else Run.objects.get(pk=shown.pk),
    )


MOST_CAMPAIGNS = 8
