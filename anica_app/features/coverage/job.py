"""Runs of kind `coverage`: which interesting blocks discoveries cover, and which discoveries campaigns share.

The blocks are those of a basic-block set on which two of its columns disagree, or the interesting ones among
the random blocks of the campaigns themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from anica_app.core.block_domain import full_domain, without_uops
from anica_app.core.discovery_selection import Covered, best_selection, covered_blocks
from anica_app.core.domain.space import SampledBlock
from anica_app.core.errors import AnicaError
from anica_app.core.search.interestingness import Disagreement, InterestJudge, InterestSettings
from anica_app.features.coverage.query import KIND, MAX_CAMPAIGNS
from anica_app.models import Campaign, Discovery
from anica_app.storage.descriptions import Interest
from anica_app.storage.findings import interesting_samples, judge_of
from inference.core.errors import as_written
from inference.core.events import Event, Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.asking.block_sets.query import answers_of, columns_of
from inference.isa.targets import DEFAULT
from inference.models import BasicBlockSet
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest, needed_row, read_rows
from inference.storage.instruction_sets import code_isa
from inference.storage.names import enumerated, result_name, row_names

MAX_BLOCKS = 1000
LARGEST_SELECTION = 20
MAX_UNCOVERED_CODES = 500
MAX_UNCOVERED_PLACES = 10_000
"""Places of uncovered blocks that the result stores."""
_SOLVER_SECONDS = 5.0
_CHUNK = 2000


class CoverageConfig(RunRequest):
    """The description of a coverage run.

    `campaigns`: ids; discoveries that others cover are ignored. `block_set` and `columns`: id of a
    basic-block set, and names of one or two of its columns, whose answers are judged by `interest` (fields of
    `InterestSettings`). Without a set, the blocks are the campaigns' own. `blocks`: number of interesting
    blocks to use, the first ones.
    """

    noun = "a coverage"
    campaigns: Annotated[list[int], Field(min_length=1, max_length=MAX_CAMPAIGNS, examples=[[4]])]
    block_set: Annotated[int, Field(examples=[2])] | None = None
    columns: Annotated[
        list[str],
        Field(
            description="Names of one or two columns; a block of the set is interesting where they disagree.",
            examples=[["llvm-mca 13", "llvm-mca 22"]],
        ),
    ] = []
    interest: Interest = InterestSettings()
    blocks: Annotated[
        int,
        Field(ge=1, le=1_000_000, description="Largest number of interesting blocks; the first ones count."),
    ] = MAX_BLOCKS


def read_config(description: Json) -> CoverageConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = CoverageConfig.read(description)
    campaigns = read_rows(Campaign, "campaigns", config.campaigns)
    if len(campaigns) < len(config.campaigns):
        raise ConfigError(f"campaigns must be different ones, not {as_written(config.campaigns)}")
    isas = {code_isa(row.isa) for row in campaigns}
    if config.block_set is not None:
        _check_columns(config.block_set, config.columns)
        isas.add(code_isa(read_set(config.block_set).isa))
    if len(isas) > 1:
        raise ConfigError(
            f"campaigns and blocks must be of one instruction set, not of {' and '.join(sorted(isas))}"
        )
    return config.model_copy(update={"campaigns": sorted(row.pk for row in campaigns)})


def _check_columns(block_set: object, columns: list[str]) -> None:
    row = read_set(block_set)
    column_names = set(row.columns.values_list("name", flat=True))
    if not 1 <= len(columns) <= 2 or not set(columns) <= column_names or len(set(columns)) < len(columns):
        names = ", ".join(sorted(column_names)) or "it has none"
        raise ConfigError(
            f"columns must be one or two different ones of the set ({names}), not {as_written(columns)}"
        )


class CoverageJob(Job):
    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        blocks = row_names(BasicBlockSet, [config["block_set"]])
        return result_name(enumerated(row_names(Campaign, config["campaigns"])), "coverage", *blocks)

    def work(self, task: Task) -> Store:
        """Check each discovery against each block."""
        config = CoverageConfig.from_stored(task.run.config)
        campaigns = list(Campaign.objects.filter(pk__in=config.campaigns).order_by("pk"))
        if len(campaigns) < len(config.campaigns):
            raise JobError("a campaign that this is about has been deleted")
        row = None
        if config.block_set is None:
            blocks = list(own_blocks(campaigns, config.blocks))
        else:
            row = needed_row(BasicBlockSet, config.block_set, "basic-block set")
            blocks = interesting_blocks(row, config.columns, Disagreement(config.interest))[: config.blocks]
        isa = code_isa((row or campaigns[0]).isa)
        pace = PacedReporter(task.reporter)
        pulse = _progress_pulse(task, pace, len(blocks))
        coverage = coverage_of(blocks, unsubsumed_discoveries(campaigns), pulse, isa)
        overlap = overlap_of(coverage.discoveries, pace.pulse, isa) if len(campaigns) > 1 else {}
        result = {
            **_result(coverage, isa),
            "overlap": overlap,
            "url": _url(config, task.run.pk),
        }
        if config.block_set is not None:
            result |= {"interesting": len(blocks), "uncovered_at": _uncovered_at(coverage)}
        return partial(_store, result)


def own_blocks(campaigns: Sequence[Campaign], limit: int) -> Iterable[SetBlock]:
    """Interesting random blocks of campaigns, in equal numbers as far as there are enough."""
    for campaign in campaigns:
        judge = judge_of(campaign) or Disagreement(InterestSettings())
        samples = interesting_samples(campaign, judge)
        yield from (SetBlock(0, sample.code) for sample in islice(samples, limit // len(campaigns)))


def _progress_pulse(task: Task, pace: PacedReporter, blocks: int) -> Callable[[], None]:
    """A pulse to be called twice per block: when it is decoded, and when it is compared with all
    discoveries.
    """
    done = 0

    def pulse() -> None:
        nonlocal done
        done += 1
        pace.pulse()
        if pace.due(Progress.kind):
            judged = min(max(0, done - blocks), blocks)
            task.reporter.emit(Progress(KIND, judged, blocks, 0.0, "blocks", None))

    return pulse


def _result(coverage: Coverage, isa: str) -> Json:
    sizes = range(1, min(len(coverage.discoveries), LARGEST_SELECTION) + 1)
    best = [best_selection(coverage.covered, k, _SOLVER_SECONDS) for k in sizes]
    return {
        "discoveries": [row.pk for row in coverage.discoveries],
        "blocks": len(coverage.blocks),
        "strange": len(coverage.strange),
        "covered": len(coverage.blocks) - len(coverage.uncovered),
        "by_discovery": {
            str(row.pk): int(covered.sum())
            for row, covered in zip(coverage.discoveries, coverage.covered, strict=True)
            if covered.any()
        },
        "by_campaign": _by_campaign(coverage),
        "best": [
            {
                "chosen": [coverage.discoveries[row].pk for row in selection.chosen],
                "covered": selection.blocks,
                "proven": selection.proven,
            }
            for selection in best
        ],
        "unsaid": [row.pk for row in coverage.unsaid],
        "widened": coverage.widened,
        "isa": isa,
        "uncovered": [block.code.hex() for block in coverage.uncovered[:MAX_UNCOVERED_CODES]],
    }


def _by_campaign(coverage: Coverage) -> Json:
    """{campaign: number of blocks that its discoveries cover}."""
    rows_by_campaign: dict[int, list[int]] = {}
    for at, row in enumerate(coverage.discoveries):
        rows_by_campaign.setdefault(row.campaign_id, []).append(at)
    return {str(pk): int(coverage.covered[rows].any(axis=0).sum()) for pk, rows in rows_by_campaign.items()}


def _uncovered_at(coverage: Coverage) -> list[int]:
    """Places in the set of uncovered blocks, the most interesting first."""
    ordered = sorted(coverage.uncovered, key=lambda block: (-block.interest, block.position))
    return [block.position for block in ordered[:MAX_UNCOVERED_PLACES]]


def _url(config: CoverageConfig, run: int) -> str:
    if config.block_set is not None:
        return f"/block-sets/{config.block_set}/?tab=coverage&run={run}"
    if len(config.campaigns) == 1:
        return f"/campaigns/{config.campaigns[0]}/?tab=selection"
    return "/campaigns/compare/?" + "&".join(f"c={pk}" for pk in config.campaigns)


def _store(result: Json) -> tuple[Json, Sequence[Event]]:
    facts = {name: result[name] for name in ("blocks", "covered", "url")}
    return result, [ResultStored({"name": f"{result['covered']:,} of {result['blocks']:,} blocks", **facts})]


@dataclass(frozen=True)
class SetBlock:
    """A block and its place in the set; `interest`: the difference of its answers."""

    position: int
    code: bytes
    interest: float = 0.0


@dataclass(frozen=True)
class Coverage:
    """Which discovery covers which block: `covered[d, b]` for `discoveries[d]` and `blocks[b]`.

    Attributes:
        strange: Blocks with an instruction that has no scheme.
        unsaid: Discoveries that cannot be expressed here. Both are undecided.
        widened: Constraints on µops were ignored, so that some discoveries count for more.
    """

    discoveries: tuple[Discovery, ...]
    blocks: tuple[SetBlock, ...]
    covered: Covered
    strange: tuple[SetBlock, ...]
    unsaid: tuple[Discovery, ...]
    widened: bool

    @property
    def uncovered(self) -> list[SetBlock]:
        if not self.discoveries:
            return list(self.blocks)
        is_covered: Any = self.covered.any(axis=0)
        return [block for block, by_any in zip(self.blocks, is_covered, strict=True) if not by_any]


def unsubsumed_discoveries(campaigns: Sequence[Campaign]) -> list[Discovery]:
    """The discoveries of these campaigns that no other one covers, campaign by campaign."""
    rows = Discovery.objects.filter(campaign__in=campaigns, subsumed_by=None).defer("foreign")
    return list(rows.order_by("campaign_id", "number"))


def coverage_of(
    blocks: Iterable[SetBlock],
    discoveries: Sequence[Discovery],
    pulse: Callable[[], None] = lambda: None,
    isa: str = DEFAULT,
) -> Coverage:
    """The coverage of blocks of an instruction set by discoveries.

    `pulse` is called in between, and may raise.
    """
    domain = full_domain(isa)
    readable, unreadable, abstracts, widened = [], [], [], False
    for discovery in discoveries:
        try:
            document, dropped = without_uops(discovery.abstract)
            abstracts.append(domain.read(document))
        except AnicaError:
            unreadable.append(discovery)
            continue
        readable.append(discovery)
        widened = widened or dropped
    pairs: list[tuple[SetBlock, SampledBlock]] = []
    strange = []
    for block in blocks:
        sampled = domain.block_of_code(block.code)
        if sampled is None:
            strange.append(block)
        else:
            pairs.append((block, sampled))
        pulse()
    covered = covered_blocks(domain, abstracts, [sampled for _, sampled in pairs], pulse)
    sampled_blocks = tuple(block for block, _ in pairs)
    return Coverage(tuple(readable), sampled_blocks, covered, tuple(strange), tuple(unreadable), widened)


def interesting_blocks(
    block_set: BasicBlockSet, columns: Sequence[str], judge: InterestJudge
) -> list[SetBlock]:
    """The blocks of a set whose answers in these columns are interesting; blocks without an answer are not.

    Raises:
        JobError: The set lacks a column.
    """
    columns_by_name = {column.name: column for column in columns_of(block_set)}
    if missing := [name for name in columns if name not in columns_by_name]:
        raise JobError(f"{block_set.name!r} has no column {missing[0]!r}, only {', '.join(columns_by_name)}")
    blocks = []
    for start in range(0, block_set.size, _CHUNK):
        rows = block_set.blocks.filter(position__range=(start, start + _CHUNK - 1)).order_by("position")
        for row in answers_of(list(rows), [columns_by_name[name] for name in columns]):
            answers = [answer for answer in row.answers if answer is not None]
            verdict = judge.verdict(answers) if len(answers) == len(columns) else None
            if verdict is not None and verdict.interesting:
                block = row.block
                blocks.append(SetBlock(block.position, bytes(block.code), verdict.value))
    return blocks


def overlap_of(
    discoveries: Sequence[Discovery], pulse: Callable[[], None] = lambda: None, isa: str = DEFAULT
) -> dict[str, list[int]]:
    """{id of a discovery: ids of those of other campaigns that cover it}, without empty lists.

    All must be readable, as `Coverage.discoveries` are. `pulse` is called for each.
    """
    domain = full_domain(isa)
    abstracts = [(row, domain.read(without_uops(row.abstract)[0])) for row in discoveries]
    overlap: dict[str, list[int]] = {}
    for row, special in abstracts:
        general = [
            other.pk
            for other, abstract in abstracts
            if other.campaign_id != row.campaign_id and domain.subsumes(abstract, special)
        ]
        if general:
            overlap[str(row.pk)] = general
        pulse()
    return overlap


JOBS = {"coverage": CoverageJob}
