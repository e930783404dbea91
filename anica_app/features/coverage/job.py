"""Runs of kind `coverage`: which interesting blocks discoveries subsume, and what campaigns have in common.

The blocks are those of a basic-block set on which two of its columns disagree, or the interesting ones among
the random blocks of the campaigns themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from anica_app.core.discovery_selection import best_selection
from anica_app.core.search.judging import Disagreement, InterestJudge, InterestSettings
from anica_app.features.coverage.covering import (
    Coverage,
    SetBlock,
    coverage_of,
    interesting_blocks,
    overlap_of,
    standing_discoveries,
)
from anica_app.features.coverage.query import KIND, MOST_CAMPAIGNS
from anica_app.models import Campaign, SampleBatch
from anica_app.storage.descriptions import Interest
from anica_app.storage.judging import judge_of
from inference.core.errors import as_written
from inference.core.event import Event
from inference.core.events import Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.formats.errors import ExchangeError
from inference.models import BasicBlockSet, Run
from inference.predictors.samples import unpack
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest, needed_row, read_rows
from inference.storage.instruction_sets import code_isa

MOST_BLOCKS = 1000
LARGEST_SELECTION = 20
UNCOVERED_SHOWN = 500
PLACES_KEPT = 10_000
"""Of blocks of a set that are not covered."""
_SOLVER_SECONDS = 5.0


class CoverageConfig(RunRequest):
    """`campaigns`: ids, whose standing discoveries are looked at.

    `block_set` and `columns`: id of a basic-block set, and names of one or two of its columns, which tell
    which blocks are interesting by `interest` (fields of `InterestSettings`). Without a set, the blocks are
    the campaigns' own. `blocks`: at most so many are looked at, the first ones.
    """

    noun = "a coverage"
    campaigns: Annotated[list[int], Field(min_length=1, max_length=MOST_CAMPAIGNS, examples=[[4]])]
    block_set: Annotated[int, Field(examples=[2])] | None = None
    columns: Annotated[
        list[str],
        Field(
            description="Whose disagreement makes a block of the set interesting.",
            examples=[["llvm-mca 13", "llvm-mca 22"]],
        ),
    ] = []
    interest: Interest = InterestSettings()
    blocks: Annotated[int, Field(ge=1, le=1_000_000, description="Looked at, at most: the first ones.")] = (
        MOST_BLOCKS
    )


def read_config(given: Json) -> CoverageConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = CoverageConfig.read(given)
    campaigns = read_rows(Campaign, "campaigns", config.campaigns)
    if len(campaigns) < len(config.campaigns):
        raise ConfigError(f"campaigns must be different ones, not {as_written(config.campaigns)}")
    if config.block_set is not None:
        _check_columns(config.block_set, config.columns)
    return config.model_copy(update={"campaigns": sorted(row.pk for row in campaigns)})


def _check_columns(block_set: object, columns: list[str]) -> None:
    row = read_set(block_set)
    known = set(row.columns.values_list("name", flat=True))
    if not 1 <= len(columns) <= 2 or not set(columns) <= known or len(set(columns)) < len(columns):
        names = ", ".join(sorted(known)) or "it has none"
        raise ConfigError(
            f"columns must be one or two different ones of the set ({names}), not {as_written(columns)}"
        )


class CoverageJob:
    """Runs of kind `coverage`; see `CoverageConfig`."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        """Ask each discovery about each block."""
        config = CoverageConfig.stored(task.run.config)
        campaigns = list(Campaign.objects.filter(pk__in=config.campaigns).order_by("pk"))
        if len(campaigns) < len(config.campaigns):
            raise JobError("a campaign that this is about has been deleted")
        row = None
        if config.block_set is not None:
            row = needed_row(BasicBlockSet, config.block_set, "basic-block set")
        blocks = list(own_blocks(campaigns, config.blocks)) if row is None else _blocks_of(row, config)
        pace = PacedReporter(task.reporter)
        found = coverage_of(blocks, standing_discoveries(campaigns), _telling(task, pace, len(blocks)))
        overlap = overlap_of(found.discoveries, pace.pulse) if len(campaigns) > 1 else {}
        result = {
            **_told(found, code_isa((row or campaigns[0]).isa)),
            "overlap": overlap,
            "url": _url(config, task.run.pk),
        }
        if config.block_set is not None:
            result |= {"interesting": len(blocks), "uncovered_at": _uncovered_at(found)}
        return partial(_store, result)


def _blocks_of(row: BasicBlockSet, config: CoverageConfig) -> list[SetBlock]:
    judge = Disagreement(config.interest)
    try:
        return interesting_blocks(row, config.columns, judge)[: config.blocks]
    except ExchangeError as error:
        raise JobError(str(error)) from error


def own_blocks(campaigns: Sequence[Campaign], most: int) -> Iterable[SetBlock]:
    """The interesting random blocks of campaigns, the same number of each as far as there are so many."""
    for campaign in campaigns:
        judge: InterestJudge = judge_of(campaign) or Disagreement(InterestSettings())
        left = most // len(campaigns)
        rounds = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND).order_by("number")
        for packed in rounds.values_list("samples", flat=True).iterator(20):
            for sample in unpack(bytes(packed)):
                if left and judge.verdict(sample.answers).interesting:
                    left -= 1
                    yield SetBlock(0, 0, sample.code)


def _telling(task: Task, pace: PacedReporter, blocks: int) -> Callable[[], None]:
    """Called for each block twice: when it is read, and when all discoveries have been asked about it."""
    done = 0

    def pulse() -> None:
        nonlocal done
        done += 1
        pace.pulse()
        if pace.due(Progress.kind):
            judged = min(max(0, done - blocks), blocks)
            task.reporter.emit(Progress(KIND, judged, blocks, 0.0, "blocks", None))

    return pulse


def _told(found: Coverage, isa: str) -> Json:
    best = [best_selection(found.covered, k, _SOLVER_SECONDS) for k in _sizes(len(found.discoveries))]
    return {
        "discoveries": [row.pk for row in found.discoveries],
        "blocks": len(found.blocks),
        "strange": len(found.strange),
        "covered": len(found.blocks) - len(found.uncovered),
        "by_discovery": {
            str(row.pk): int(covered.sum())
            for row, covered in zip(found.discoveries, found.covered, strict=True)
            if covered.any()
        },
        "by_campaign": _by_campaign(found),
        "best": [
            {
                "chosen": [found.discoveries[row].pk for row in one.chosen],
                "covered": one.blocks,
                "proven": one.proven,
            }
            for one in best
        ],
        "unsaid": [row.pk for row in found.unsaid],
        "widened": found.widened,
        "isa": isa,
        "uncovered": [block.code.hex() for block in found.uncovered[:UNCOVERED_SHOWN]],
    }


def _sizes(discoveries: int) -> range:
    return range(1, min(discoveries, LARGEST_SELECTION) + 1)


def _by_campaign(found: Coverage) -> Json:
    """{campaign: how many of the blocks its discoveries cover}."""
    of: dict[int, list[int]] = {}
    for at, row in enumerate(found.discoveries):
        of.setdefault(row.campaign_id, []).append(at)
    return {str(pk): int(found.covered[rows].any(axis=0).sum()) for pk, rows in of.items()}


def _uncovered_at(found: Coverage) -> list[int]:
    """Places in the set of what no discovery subsumes, the most interesting first."""
    ordered = sorted(found.uncovered, key=lambda block: (-block.interest, block.position))
    return [block.position for block in ordered[:PLACES_KEPT]]


def _url(config: CoverageConfig, run: int) -> str:
    if config.block_set is not None:
        return f"/block-sets/{config.block_set}/?tab=coverage&run={run}"
    if len(config.campaigns) == 1:
        return f"/campaigns/{config.campaigns[0]}/?tab=selection"
    return "/campaigns/compare/?" + "&".join(f"c={pk}" for pk in config.campaigns)


def _store(result: Json) -> tuple[Json, Sequence[Event]]:
    told = {name: result[name] for name in ("blocks", "covered", "url")}
    return result, [ResultStored({"name": f"{result['covered']:,} of {result['blocks']:,} blocks", **told})]
