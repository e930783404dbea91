"""Runs of kind `generalise`: why tools disagree on one block, or what one tool's prediction depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from anica_app.core.block_domain import BlockDomain
from anica_app.core.errors import AnicaError
from anica_app.core.search.campaign_state import CampaignCounters, CampaignUpdate
from anica_app.core.search.discovery_set import BlockExplanation
from anica_app.core.search.interestingness import Disagreement, InterestJudge, JudgedBlock, SamePrediction
from anica_app.core.search.search_tasks import Driver, PanelMeter
from anica_app.features.campaigns.request import read_predictors
from anica_app.features.campaigns.rows import CampaignRowStore, campaign_of, make_campaign
from anica_app.models import Campaign
from anica_app.storage.descriptions import SearchRequest
from anica_app.storage.domains import chosen_domain, restricted_domain, search_context
from inference.core.events import Event, PhaseStarted, Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode
from inference.features.asking.predictors.opening import open_panel
from inference.isa.blocks import block_of_hex, blocks_name
from inference.isa.code.block import BlockError
from inference.isa.targets import DEFAULT
from inference.models import Predictor, Run
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import DEFAULT_SEED, Seed
from inference.storage.instruction_sets import code_isa
from inference.storage.names import enumerated, result_name, row_names

LABELS = ("Find schemes supported by every predictor", "Generalise")
_STAGE = "generalise"


class GeneraliseConfig(SearchRequest):
    """The description of a generalisation.

    `block`: machine code in hexadecimal, of the instruction set `isa`. `minimise`: remove instructions first
    while the block stays interesting; by default with two predictors. With one predictor that gives a number,
    blocks are interesting where it predicts the same; `tolerance` is the relative difference that counts as
    equal (§8.4.1). `mode` as for a campaign.
    """

    noun = "a generalisation"
    predictors: list[int] = []
    isa: str = DEFAULT
    block: str = ""
    minimise: bool = True
    tolerance: Annotated[float, Field(ge=0, le=2)] = 0.05
    seed: Seed = DEFAULT_SEED
    mode: QuestionMode = AS_NAMED


def read_config(description: Json) -> GeneraliseConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = GeneraliseConfig.read(description)
    predictors = [row.pk for row in read_predictors(config.predictors, config.mode)]
    try:
        block = block_of_hex(config.block, config.isa)
    except BlockError as error:
        raise ConfigError(f"block: {error}") from error
    completed: Json = {"predictors": predictors, "block": block.hex}
    if "minimise" not in config.model_fields_set:
        completed["minimise"] = len(predictors) > 1
    return config.model_copy(update=completed)


class GeneraliseJob(Job):
    """Runs of kind `generalise`. They take about a minute; a resumed run starts over with cached answers."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        tools = enumerated(row_names(Predictor, config["predictors"]))
        return result_name(blocks_name([config["block"]], config["isa"]), tools)

    def submitted(self, run: Run) -> None:
        """Create the campaign's row, which gets the block's discoveries."""
        alone = len(run.config["predictors"]) == 1
        kind = Campaign.Kind.EXPLANATION if alone else Campaign.Kind.GENERALISATION
        make_campaign(run, kind, run.config["isa"])

    def work(self, task: Task) -> Store:
        """Judge the block, minimise it, generalise it."""
        config = GeneraliseConfig.from_stored(task.run.config)
        campaign = campaign_of(task.run)
        isa = code_isa(campaign.isa)
        domain = chosen_domain(isa, task.run.config["space"], task.run.config["domain"])
        try:
            with open_panel(task, config.predictors, isa) as panel:
                domain, _ = restricted_domain(task, campaign, panel, domain, LABELS)
                task.reporter.emit(PhaseStarted(_STAGE, 2, LABELS))
                meter = PanelMeter(panel, task.lease.busy_seconds)
                meter.start(0.0)  # from here: another attempt need not ask again what is supported
                judge, start = _judge_and_start(config, domain, panel)
                explanation = BlockExplanation(
                    search_context(domain, task.run.config["search"], config.seed),
                    Driver(domain, panel, judge),
                    start,
                    shorten=config.minimise,
                    look_up=_progress_pulse(task, meter),
                )
                counts = meter.take_counts()
        except (AnicaError, PredictorError) as error:
            raise JobError(str(error)) from error
        return partial(_store, task, campaign, domain, counts, explanation)


def _progress_pulse(task: Task, meter: PanelMeter) -> Callable[[], None]:
    """A pulse that reports the number of judged blocks at intervals."""
    pace = PacedReporter(task.reporter)

    def tell() -> None:
        if pace.due(Progress.kind):
            task.reporter.emit(Progress(_STAGE, meter.uncounted(), None, 0.0, "blocks", None))

    return tell


def _judge_and_start(
    config: GeneraliseConfig, domain: BlockDomain, panel: Panel
) -> tuple[InterestJudge, JudgedBlock]:
    """The judge, and its verdict on the block. Raises `JobError` where there is nothing to generalise."""
    code = bytes.fromhex(config.block)
    block = domain.block_of_code(code)
    if block is None:
        raise JobError(f"the block cannot be generalised: {domain.obstacle(code)}")
    (answers,) = panel.ask([code])()
    judge: InterestJudge = Disagreement(config.interest)
    verdict = judge.verdict(answers)
    if len(answers) == 1 and not verdict.interesting:
        judge = SamePrediction(answers[0], config.tolerance)
        verdict = judge.verdict(answers)
    if not verdict.interesting:
        answers_text = "; ".join(
            f"{tool.name}: {_text(answer)}" for tool, answer in zip(panel.predictors, answers, strict=True)
        )
        raise JobError(f"the block is not interesting, so that there is nothing to explain ({answers_text})")
    return judge, JudgedBlock(block, code, answers, verdict)


def _text(answer: Answer) -> str:
    return str(answer.failure) if answer.cycles is None else f"{answer.cycles:.4g} cycles"


def _store(
    task: Task,
    campaign: Campaign,
    domain: BlockDomain,
    counts: tuple[int, Mapping[str, int]],
    explanation: BlockExplanation,
) -> tuple[Json, Sequence[Event]]:
    """Store discoveries and generalisations. `counts`: number of judged blocks, and {failure: count}."""
    seconds = task.lease.busy_seconds()
    judged, failures = counts
    counters = CampaignCounters(
        rounds=0,
        sampled=0,
        generalisations=len(explanation.generalised),
        judged=judged,
        seconds=seconds,
    )
    update = CampaignUpdate(
        counters,
        failures,
        discoveries=explanation.discoveries,
        generalised=explanation.generalised,
        subsumed=explanation.subsumed,
    )
    CampaignRowStore(campaign, domain, task.reporter).store(update)
    result: Json = {
        "campaign": campaign.pk,
        "name": campaign.name,
        "url": f"/campaigns/{campaign.pk}/",  # not looked up: a fault in a page must not cost a result
        "discoveries": len(explanation.discoveries) - len(explanation.subsumed),
        "generalisations": len(explanation.generalised),
        "judged": judged,
        "seconds": round(seconds, 3),
    }
    return result, [ResultStored(result)]


JOBS = {"generalise": GeneraliseJob}
