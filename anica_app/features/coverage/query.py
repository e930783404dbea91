"""Coverage runs and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from anica_app.core.search.interestingness import distance_words
from anica_app.models import Campaign, Discovery
from inference.core.protocols import Json
from inference.features.asking.block_sets.query import set_item
from inference.features.running.runs.kind_presentation import DescriptionItem, RunOutcome, links
from inference.models import BasicBlockSet, Run
from inference.web.paging import Order, Page, page_in_memory

KIND = "coverage"
_LISTED = 20
MAX_CAMPAIGNS = 8


@dataclass(frozen=True)
class Measure:
    """How many of `blocks` each discovery covers, by its id; `over` describes the blocks."""

    over: str
    blocks: int
    covered: int
    by_discovery: Mapping[int, int]

    @property
    def share(self) -> float | None:
        """The share that all discoveries cover together."""
        return self.covered / self.blocks if self.blocks else None


def measure_of(campaign: Campaign, run: int | None = None) -> Measure | None:
    """The result of this run, or of the newest one over the campaign; else that of the campaign's own end."""
    runs = coverage_runs([campaign.pk], run)
    return own_measure(campaign) if runs.selected is None else measure_of_run(runs)


def own_measure(campaign: Campaign) -> Measure | None:
    explained: Json = campaign.facts.get("explained") or {}
    if not explained.get("interesting"):
        return None
    ids = dict(campaign.discoveries.values_list("number", "pk"))
    by_number = explained.get("by_discovery", {}).items()
    by_pk = {ids[int(number)]: count for number, count in by_number if int(number) in ids}
    over = f"interesting ones among {explained['blocks']:,} fresh blocks"
    return Measure(over, explained["interesting"], explained["covered"], by_pk)


def measure_of_run(runs: CoverageRuns) -> Measure:
    result = runs.result
    by_pk = {int(pk): count for pk, count in result["by_discovery"].items()}
    assert runs.selected is not None
    return Measure(over_in_words(runs.selected.config), result["blocks"], result["covered"], by_pk)


def over_in_words(config: Json) -> str:
    if config.get("block_set") is None:
        return "interesting random blocks of the campaign itself"
    name = BasicBlockSet.objects.filter(pk=config["block_set"]).values_list("name", flat=True).first()
    return f"blocks of {name or 'a deleted set'} on which {' and '.join(config['columns'])} disagree"


def sets_for(campaign: Campaign) -> list[BasicBlockSet]:
    """Sets with a column of each of the campaign's predictors (one query)."""
    rows = BasicBlockSet.objects.order_by("-id")
    for pk in campaign.seats.values_list("predictor", flat=True):
        rows = rows.filter(columns__predictor=pk)
    return list(rows.only("name", "size").distinct())


def sorted_by_coverage(
    campaign: Campaign, measure: Measure, order: Order, number: int, size: int, *, subsumed: bool
) -> Page[Discovery]:
    """A page of discoveries, sorted in memory since coverage is no column (two queries)."""
    rows = campaign.discoveries.all() if subsumed else campaign.discoveries.filter(subsumed_by=None)
    sign = -1 if order.descending else 1
    ids = sorted(
        rows.values_list("pk", flat=True), key=lambda pk: (sign * measure.by_discovery.get(pk, 0), pk)
    )
    page = page_in_memory(ids, number, size)
    by_pk = Discovery.objects.defer("foreign", "remarks", "note").in_bulk(page.rows)
    rows_ = [by_pk[pk] for pk in page.rows]
    return Page(rows_, page.total, page.next_cursor, page.previous_cursor)


def coverage_config(campaign: Campaign, over: BasicBlockSet | None = None) -> Json:
    """The description of a run over the campaign's own random blocks, or over a set (two queries).

    Of a set, the columns of the campaign's tools are compared by the campaign's criterion.
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


@dataclass(frozen=True)
class CoverageRuns:
    """Runs over some campaigns; `selected` is the one whose result is displayed, None where none is done."""

    working: tuple[Run, ...]
    failed: Run | None
    selected: Run | None

    @property
    def result(self) -> Json:
        """The result of the selected run; {} without one."""
        return {} if self.selected is None else dict(self.selected.result)


def coverage_runs(campaigns: Sequence[int], run: int | None = None) -> CoverageRuns:
    """Runs over exactly these campaigns, newest first; `run`: id of the one to select (two queries)."""
    return _select_run(Run.objects.filter(kind=KIND, config__campaigns=sorted(campaigns)), run)


def coverage_of_set(block_set: int, run: int | None = None) -> CoverageRuns:
    """Runs over a basic-block set, of any campaigns (two queries)."""
    return _select_run(Run.objects.filter(kind=KIND, config__block_set=block_set), run)


def _select_run(rows: QuerySet[Run], run_id: int | None) -> CoverageRuns:
    rows = rows.order_by("-pk")
    runs = list(rows.defer("result", "note")[:_LISTED])
    newest = next((run for run in runs if run.state == Run.State.DONE and run_id in (None, run.pk)), None)
    return CoverageRuns(
        tuple(run for run in runs if run.state not in Run.FINAL),
        runs[0] if runs and runs[0].state == Run.State.FAILED else None,
        None if newest is None else Run.objects.get(pk=newest.pk),
    )


def coverage_words(run: Run) -> Iterator[DescriptionItem]:
    config = run.config
    yield DescriptionItem("Discoveries of", links=links(Campaign, "campaign", config["campaigns"]))
    if config["block_set"] is None:
        yield DescriptionItem("Blocks", "the campaigns’ own interesting blocks")
    else:
        yield set_item(config)
        yield DescriptionItem(
            "Interesting where",
            f"{' and '.join(config['columns'])} differ {distance_words(config['interest'])}",
        )
    yield DescriptionItem("Blocks evaluated", f"{config['blocks']:,} at most")


def coverages_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    done = [run for run in runs if run.result]
    return {
        run.pk: RunOutcome(f"{run.result['covered']:,} of {run.result['blocks']:,} blocks", run.result["url"])
        for run in done
    }
