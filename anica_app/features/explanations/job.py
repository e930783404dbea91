"""Runs of kind `generalise`: why tools disagree about one block, or what one tool's prediction rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from anica_app.core.block_domain import BlockDomain
from anica_app.core.errors import AnicaError
from anica_app.core.search.discovery_set import BlockExplanation
from anica_app.core.search.findings import CampaignCounters, News
from anica_app.core.search.judging import Disagreement, InterestJudge, JudgedAnswers, SameAs
from anica_app.core.search.panel import Driver, Meter
from anica_app.features.campaigns.request import read_predictors
from anica_app.features.campaigns.rows import RowKeeper, campaign_of, make_campaign
from anica_app.models import Campaign
from anica_app.storage.descriptions import SearchRequest
from anica_app.storage.domains import chosen_domain, restricted_domain, world_of
from inference.core.events import Event, PhaseStarted, Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode
from inference.features.asking.predictors.opening import opened_panel
from inference.isa.blocks import BlockError, block_of_hex
from inference.isa.targets import DEFAULT
from inference.models import Run
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import DEFAULT_SEED, Seed
from inference.storage.instruction_sets import code_isa

LABELS = ("Find schemes supported by every predictor", "Generalise")
_STAGE = "generalise"


class GeneraliseConfig(SearchRequest):
    """Which block is generalised over which tools; `block` is its machine code in hexadecimal
    digits, `isa` the instruction set of that.

    `minimise`: instructions are left out first as long as the block stays interesting; usually where two
    tools differ. With one predictor that gives a number, blocks are interesting where it predicts the same;
    `tolerance` is the relative difference that still counts as the same (§8.4.1). `mode` as for a campaign.
    """

    noun = "a generalisation"
    predictors: list[int] = []
    isa: str = DEFAULT
    block: str = ""
    minimise: bool = True
    tolerance: Annotated[float, Field(ge=0, le=2)] = 0.05
    seed: Seed = DEFAULT_SEED
    mode: QuestionMode = AS_NAMED


def read_config(given: Json) -> GeneraliseConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = GeneraliseConfig.read(given)
    predictors = [row.pk for row in read_predictors(config.predictors, config.mode)]
    try:
        block = block_of_hex(config.block, config.isa)
    except BlockError as error:
        raise ConfigError(f"block: {error}") from error
    found: Json = {"predictors": predictors, "block": block.hex}
    if "minimise" not in config.model_fields_set:
        found["minimise"] = len(predictors) > 1
    return config.model_copy(update=found)


class GeneraliseJob:
    """Runs of kind `generalise`. They take a minute; interrupted, they begin anew with remembered answers."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """The campaign's row, which this one block's discoveries belong to."""
        alone = len(run.config["predictors"]) == 1
        kind = Campaign.Kind.EXPLANATION if alone else Campaign.Kind.GENERALISATION
        make_campaign(run, kind, run.config["isa"])

    def work(self, task: Task) -> Store:
        """Judge the block, make it short, generalise it."""
        config = GeneraliseConfig.stored(task.run.config)
        campaign = campaign_of(task.run)
        isa = code_isa(campaign.isa)
        domain = chosen_domain(isa, task.run.config["space"], task.run.config["domain"])
        try:
            with opened_panel(task, config.predictors, isa) as panel:
                domain, _ = restricted_domain(task, campaign, panel, domain, LABELS)
                task.reporter.emit(PhaseStarted(_STAGE, 2, LABELS))
                meter = Meter(panel, task.lease.busy_seconds)
                meter.start(0.0)  # from here: another attempt need not ask again what is supported
                judge, start = _start(config, domain, panel)
                explanation = BlockExplanation(
                    world_of(domain, task.run.config["search"], config.seed),
                    Driver(domain, panel, judge),
                    start,
                    shorten=config.minimise,
                    look_up=_telling(task, meter),
                )
                counted = meter.taken()
        except (AnicaError, PredictorError) as error:
            raise JobError(str(error)) from error
        return partial(_store, task, campaign, domain, counted, explanation)


def _telling(task: Task, meter: Meter) -> Callable[[], None]:
    """Tells now and then how many blocks have been judged."""
    pace = PacedReporter(task.reporter)

    def tell() -> None:
        if pace.due(Progress.kind):
            task.reporter.emit(Progress(_STAGE, meter.untaken(), None, 0.0, "blocks", None))

    return tell


def _start(
    config: GeneraliseConfig, domain: BlockDomain, panel: Panel
) -> tuple[InterestJudge, JudgedAnswers]:
    """Who judges, and the verdict on the block. Raises `JobError` where there is nothing to generalise."""
    code = bytes.fromhex(config.block)
    block = domain.block_of_code(code)
    if block is None:
        raise JobError(f"the block cannot be generalised: {domain.obstacle(code)}")
    (answers,) = panel.ask([code])()
    judge: InterestJudge = Disagreement(config.interest)
    verdict = judge.verdict(answers)
    if len(answers) == 1 and not verdict.interesting:
        judge = SameAs(answers[0], config.tolerance)
        verdict = judge.verdict(answers)
    if not verdict.interesting:
        said = "; ".join(
            f"{tool.name}: {_told(answer)}" for tool, answer in zip(panel.predictors, answers, strict=True)
        )
        raise JobError(f"the block is not interesting, so that there is nothing to explain ({said})")
    return judge, JudgedAnswers(block, code, answers, verdict)


def _told(answer: Answer) -> str:
    return str(answer.failure) if answer.cycles is None else f"{answer.cycles:.4g} cycles"


def _store(
    task: Task,
    campaign: Campaign,
    domain: BlockDomain,
    counted: tuple[int, Mapping[str, int]],
    explanation: BlockExplanation,
) -> tuple[Json, Sequence[Event]]:
    """The discoveries and their generalisations; `counted`: blocks judged for them, and failures by words."""
    seconds = task.lease.busy_seconds()
    judged, failures = counted
    counters = CampaignCounters(
        rounds=0,
        sampled=0,
        generalisations=len(explanation.generalised),
        judged=judged,
        seconds=seconds,
    )
    news = News(
        counters,
        failures,
        discoveries=explanation.discoveries,
        generalised=explanation.generalised,
        subsumed=explanation.subsumed,
    )
    RowKeeper(campaign, domain, task.reporter).store(news)
    made: Json = {
        "campaign": campaign.pk,
        "name": campaign.name,
        "url": f"/campaigns/{campaign.pk}/",  # not looked up: a fault in a page must not cost a result
        "discoveries": len(explanation.discoveries) - len(explanation.subsumed),
        "generalisations": len(explanation.generalised),
        "judged": judged,
        "seconds": round(seconds, 3),
    }
    return made, [ResultStored(made)]
