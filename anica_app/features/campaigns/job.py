"""What a campaign finds becomes rows, in the transaction of the checkpoint that says that it is found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from anica_app.core.errors import AnicaError
from anica_app.core.ranking import ExplainedBlocks, explained, fresh_blocks, judged_blocks
from anica_app.core.search.checking import AbstractCheck
from anica_app.core.search.discovering import CampaignSearch as Search
from anica_app.core.search.findings import FoundDiscovery as Found
from anica_app.core.search.findings import Generalised, News, Round
from anica_app.core.search.judging import Disagreement, InterestJudge, InterestSettings, JudgedAnswers
from anica_app.core.search.panel import Driver
from anica_app.core.search.settings import Termination
from anica_app.core.search.state import State, checkpoint_of, state_of
from anica_app.core.x86_domain import X86Domain
from anica_app.features.campaigns.progressing import Progressing
from anica_app.features.campaigns.request import CampaignConfig, read_config
from anica_app.features.families.grouping import SHARE_OF_QUESTIONS, GroupedDiscoveries, known_discoveries
from anica_app.features.families.growing import GrowingFamilies
from anica_app.features.families.query import GROWING
from anica_app.features.families.stage import CampaignGrouping
from anica_app.features.families.storing import store_families
from anica_app.models import (
    Campaign,
    CampaignPredictor,
    Discovery,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from anica_app.storage.domains import chosen_domain, restricted_domain, world_of
from inference.core.protocols import Checkpoint, Json
from inference.features.asking.predictors.panel import opened_panel
from inference.models import ISA, Run
from inference.predictors.panel import Panel
from inference.predictors.protocol import PredictorError
from inference.predictors.samples import Sample, pack
from inference.runs.errors import JobError
from inference.runs.journal import Entry
from inference.runs.kinds import Store, Task
from inference.runs.reporter import JournalReporter
from inference.storage.instruction_sets import X86
from inference.storage.names import free_name


class RowKeeper:
    """A `Keeper` over the rows of one campaign; `domain` writes documents, `last` is the last checkpoint."""

    def __init__(
        self,
        campaign: Campaign,
        domain: Any,
        reporter: JournalReporter,
        last: Checkpoint | None = None,
        growing: GrowingFamilies | None = None,
    ) -> None:
        self._growing = growing
        self._campaign = campaign
        self._domain = domain
        self._reporter = reporter
        self.last = last

    def keep(self, news: News[Any, Any, Any], checkpoint: Checkpoint) -> None:
        """Store both or neither. Raises `LeaseLostError`."""
        self._reporter.settle(checkpoint, lambda: self.store(news))
        self.last = checkpoint
        if self._growing is not None and self._growing.take(news):
            self._reporter.tell(GROWING, self._growing.told())

    def store(self, news: News[Any, Any, Any]) -> None:
        """The rows alone, within a transaction of the caller's."""
        if news.fresh is not None:
            self._store_round(news.fresh)
        rows = Discovery.objects.bulk_create(self._discovery(one) for one in news.discoveries)
        self._store_generalisations(news.generalised)
        if news.subsumed or rows:
            self._link(news.subsumed or {})
        counters = news.counters
        Campaign.objects.filter(pk=self._campaign.pk).update(
            rounds=counters.rounds,
            sampled=counters.sampled,
            interesting=counters.interesting,
            subsumed=counters.subsumed,
            seconds=counters.seconds,
            facts=self._facts(news),
        )

    def _facts(self, news: News[Any, Any, Any]) -> dict[str, Any]:
        counters = news.counters
        self._campaign.facts |= {
            "judged": counters.judged,
            "barren": counters.barren,
            "generalisations": counters.generalisations,
            "failed_samples": counters.failed_samples,
            "failures": dict(news.failures),
        }
        facts: Json = self._campaign.facts
        return facts

    def _store_round(self, fresh: Round[Any]) -> None:
        SampleBatch.objects.create(
            campaign=self._campaign,
            number=fresh.number,
            purpose=SampleBatch.Purpose.ROUND,
            n=len(fresh.blocks),
            interesting=sum(one.verdict.interesting for one in fresh.blocks),
            failed=fresh.failed,
            samples=packed(fresh.blocks),
        )

    def _discovery(self, found: Found[Any]) -> Discovery:
        return Discovery(
            campaign=self._campaign,
            number=found.number,
            abstract=self._domain.document(found.abstract),
            code=found.code,
            start_code=found.start_code,
            length=found.length,
            interestingness=found.interestingness,
            generality=found.generality,
            kind=found.kind,
            concrete=found.concrete,
        )

    def _link(self, subsumed: dict[int, int] | Any) -> None:
        numbers = {*subsumed, *subsumed.values()}
        ids = dict(self._campaign.discoveries.filter(number__in=numbers).values_list("number", "pk"))
        for special, general in subsumed.items():
            Discovery.objects.filter(pk=ids[special]).update(subsumed_by=ids[general])

    def _store_generalisations(self, generalised: Sequence[Generalised[Any, Any, Any]]) -> None:
        if not generalised:
            return
        numbers = {one.discovery for one in generalised if one.discovery is not None}
        ids = dict(self._campaign.discoveries.filter(number__in=numbers).values_list("number", "pk"))
        rows = Generalisation.objects.bulk_create(
            self._generalisation(one, ids.get(-1 if one.discovery is None else one.discovery))
            for one in generalised
        )
        blobs: dict[int, bytes] = {}
        GeneralisationStep.objects.bulk_create(
            step for row, one in zip(rows, generalised, strict=True) for step in self._steps(row, one, blobs)
        )

    def _generalisation(self, one: Generalised[Any, Any, Any], discovery: int | None) -> Generalisation:
        trace = one.trace
        checks = [trace.start_check, *(step.check for step in trace.steps)]
        return Generalisation(
            campaign=self._campaign,
            discovery_id=discovery,
            number=one.number,
            order=trace.order,
            became=one.became.value,
            code=one.candidate.witness.code,
            start=self._domain.document(trace.start),
            result=self._domain.document(trace.result),
            steps_count=len(trace.steps),
            taken_count=sum(step.taken for step in trace.steps),
            samples_count=sum(len(check.samples) for check in checks),
            facts={"place": one.candidate.place, "kind": one.candidate.kind},
        )

    def _steps(
        self, row: Generalisation, one: Generalised[Any, Any, Any], blobs: dict[int, bytes]
    ) -> Iterable[GeneralisationStep]:
        """The check of the start, then each expansion; `blobs` are packed samples by the check's identity."""
        trace = one.trace
        pairs = [(None, trace.start_check), *((step.expansion, step.check) for step in trace.steps)]
        for number, (expansion, check) in enumerate(pairs):
            if id(check) not in blobs:
                blobs[id(check)] = packed(check.samples)
            yield GeneralisationStep(
                generalisation=row,
                number=number,
                kind=GeneralisationStep.Kind.START
                if expansion is None
                else GeneralisationStep.Kind.EXPANSION,
                expansion=None if expansion is None else self._domain.expansion_document(expansion),
                taken=check.interesting,
                reason=check.reason.value,
                samples=blobs[id(check)],
                **_summary(check),
            )


def _summary(check: AbstractCheck[Any]) -> dict[str, Any]:
    return {
        "n": len(check.samples),
        "interesting": sum(one.verdict.interesting for one in check.samples),
        "failed": check.failed,
        "mean": check.mean if check.samples else None,
    }


def packed(judged: Iterable[JudgedAnswers[Any]]) -> bytes:
    """Blocks with all answers, as `samples` packs them."""
    return pack(Sample(one.code, one.answers) for one in judged)


# Runs of kind `campaign`: a durable search for what tools disagree about.


LABELS = ("Find schemes supported by every predictor", "Search", "Compute coverage", "Group into families")
STAGE_SEARCH, STAGE_JUDGING, STAGE_FAMILIES = "search", "judge", "families"
_SEARCHED = "searched"
"""In the last checkpoint: whoever takes the run up again does not search any more."""


class CampaignJob:
    """Runs of kind `campaign`; `config.CampaignConfig` is their description."""

    short = False

    def check(self, config: Json) -> Json:
        """The description made complete."""
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """The campaign's row: what is discovered is seen while it runs."""
        make_campaign(run, Campaign.Kind.CAMPAIGN)

    def work(self, task: Task) -> Store:
        """Search, storing what is discovered with each checkpoint."""
        config = CampaignConfig.stored(task.run.config)
        campaign = campaign_of(task.run)
        domain = chosen_domain(config.space, config.domain, config.scheme_filter or "", config.uops)
        try:
            with opened_panel(task, config.predictors) as panel:
                domain, support = restricted_domain(task, campaign, panel, domain, LABELS)
                campaign.facts["schemes"] = len(domain.space)
                campaign.facts["unsupported"] = len(support["lacking"])
                judge = Disagreement(InterestSettings(**config.interest))
                _tell_stage(task, STAGE_SEARCH)
                state = _searched(task, config, campaign, domain, panel, judge)
                judged: list[JudgedAnswers[Any]] = []
                if config.evaluate:
                    _tell_stage(task, STAGE_JUDGING)
                    judged = _judged(task, Driver(domain, panel, judge), panel, domain, config.evaluate)
                covered = explained(domain, state.standing, judged, task.reporter.pulse) if judged else None
                _tell_stage(task, STAGE_FAMILIES)
                stage = CampaignGrouping(task, campaign, domain, panel, judge, config.against, config.judge)
                grouped = stage.grouped(judged, round(SHARE_OF_QUESTIONS * state.counters.judged))
        except (AnicaError, PredictorError) as error:
            raise JobError(str(error)) from error
        return partial(_store, campaign, state, covered, grouped)


def _tell_stage(task: Task, name: str) -> None:
    index = (STAGE_SEARCH, STAGE_JUDGING, STAGE_FAMILIES).index(name) + 2
    task.reporter.tell("phase", {"name": name, "index": index, "labels": list(LABELS)})


def _searched(
    task: Task,
    config: CampaignConfig,
    campaign: Campaign,
    domain: X86Domain,
    panel: Panel,
    judge: InterestJudge,
) -> State[Any]:
    """The search itself, from its beginning or where it was interrupted."""
    begun = task.checkpoint is not None and bool(task.checkpoint.meta)
    resume = task.checkpoint if begun else None
    if resume is not None and resume.meta.get(_SEARCHED):
        return state_of(resume, domain)
    growing = GrowingFamilies(domain, [tool.name for tool in panel.predictors])
    if resume is not None:
        growing.seed(known_discoveries(campaign, domain))
    keeper = RowKeeper(campaign, domain, task.reporter, resume, growing)
    end = Termination(**config.end)
    search = Search(
        world_of(domain, config.search, config.seed),
        panel,
        judge,
        end,
        Progressing(task.reporter, end, keeper, panel.flush),
        keeper,
        excluded=[domain.read(one["abstract"]) for one in config.excluded],
    )
    state = search.search(resume)
    last = checkpoint_of(state, domain)
    task.reporter.save(Checkpoint({**last.meta, _SEARCHED: True}, last.arrays))
    return state


def make_campaign(run: Run, kind: Campaign.Kind) -> Campaign:
    """The campaign of a run, with its predictors in their order."""
    campaign = Campaign.objects.create(
        name=free_name(Campaign, run.name),
        isa=ISA.objects.filter(name=X86).first(),
        run=run,
        kind=kind,
        origin=Campaign.Origin.RUN,
        config=run.config,
    )
    CampaignPredictor.objects.bulk_create(
        CampaignPredictor(campaign=campaign, position=position, predictor_id=pk)
        for position, pk in enumerate(run.config["predictors"])
    )
    return campaign


def campaign_of(run: Run) -> Campaign:
    """The row of a campaign's run. Raises `JobError` where it has been deleted."""
    campaign = Campaign.objects.filter(run=run).first()
    if campaign is None:
        raise JobError("the campaign of this run has been deleted")
    return campaign


def _judged(
    task: Task, driver: Driver[Any, Any, Any], panel: Panel, domain: X86Domain, number: int
) -> list[JudgedAnswers[Any]]:
    """Fresh blocks, by which it is told how much the discoveries explain."""

    def told(done: int) -> None:
        panel.flush()
        facts = {"phase": STAGE_JUDGING, "done": done, "total": number, "rate": 0.0}
        task.reporter.tell("progress", {**facts, "unit": "blocks", "eta": None})

    return judged_blocks(driver, fresh_blocks(domain, number), told)


def _store(
    campaign: Campaign, state: State[Any], judged: ExplainedBlocks | None, grouped: GroupedDiscoveries
) -> tuple[Json, Sequence[Entry]]:
    """The campaign's last facts and its families; its discoveries are stored already."""
    counters = state.counters
    if judged is not None:
        campaign.facts["explained"] = judged.as_json()
    Campaign.objects.filter(pk=campaign.pk).update(facts=campaign.facts, seconds=counters.seconds)
    made: Json = {
        "campaign": campaign.pk,
        "name": campaign.name,
        "url": f"/campaigns/{campaign.pk}/",  # not looked up: a fault in a page must not cost a result
        "discoveries": len(state.standing),
        "all_discoveries": len(state.discoveries),
        "generalisations": counters.generalisations,
        "rounds": counters.rounds,
        "sampled": counters.sampled,
        "interesting": counters.interesting,
        "judged": counters.judged,
        "seconds": round(counters.seconds, 3),
        "rate": round(counters.judged / counters.seconds, 1) if counters.seconds else None,
        "failures": dict(state.failures),
        "explained": None if judged is None else judged.as_json(),
        **store_families(campaign, grouped),
    }
    return made, [("result", made)]
