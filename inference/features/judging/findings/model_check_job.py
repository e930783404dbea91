"""Runs that check the port mapping model on a machine (thesis §3.2.2): single schemes, mixes, orders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

from inference.core.evaluator import PortMappingModel
from inference.core.events import Event, ResultStored
from inference.core.experiment import Experiment, Measured, OrderedExperiment
from inference.core.mapping import PortMapping
from inference.core.model_check import (
    ORDER_LENGTHS,
    Alone,
    AloneVerdict,
    MixSummary,
    MixTally,
    OrderSummary,
    OrderTally,
    drawn_mixes,
    judge_alone,
    orders_of,
    summary_of,
)
from inference.core.pmevo import plan
from inference.core.protocols import Checkpoint, Json, MeasurementStore, Measurer
from inference.core.sampling import random_mixes
from inference.core.tables import ExperimentTable
from inference.features.judging.findings.events import MixesMeasured, OrdersMeasured, SchemesAlone
from inference.features.judging.findings.model_check import CheckConfig, read_config
from inference.figures.heatmap import heat_map
from inference.isa.targets import target_of
from inference.measuring.proxies import CachedMeasurer
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated import AsMultisets
from inference.models import Machine, Run
from inference.models import PortMapping as PortMappingRow
from inference.models.scheme_search import MEASURABLE
from inference.runs.errors import JobError
from inference.runs.kinds import Store, Task
from inference.runs.machines.measurer import opened
from inference.runs.measurements import RunMeasurements
from inference.runs.stages import ORDERS, RANDOM_MIXES, SINGLETONS, Stages
from inference.storage.rows import load_mapping

_PURPOSE = "measurements"
_ELIGIBLE = "eligible"
_ROWS = 50  # schemes in one event
_EVERY = 250  # mixes, or experiments in several orders, after which a length that goes on is told again
_ORDER_STREAM = 1  # other draws than those of the mixes


class CheckModelJob:
    """Runs of kind `check-model`; `CheckConfig` is their description.

    What has been measured stays in two experiment sets: single schemes and mixes, and orders.
    """

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing refers to such a run before it has measured something."""

    def work(self, task: Task) -> Store:
        """Measure stage by stage, and tell."""
        config = CheckConfig(**task.run.config)
        machine = Machine.objects.filter(pk=config.machine).select_related("isa").first()
        if machine is None:
            raise JobError("the machine that this run needs has been deleted")
        with opened(task, machine, config.schemes) as (measurer, schemes):
            check = _Check(task, config, machine, measurer, _reference(config))
            alone = check.alone(schemes)
            eligible = check.eligible(alone)
            mixes = check.mixes(eligible) if RANDOM_MIXES in config.stages else []
            orders = check.orders(sorted(eligible)) if ORDERS in config.stages else []
        return partial(_store, check, alone, mixes, orders)


def _reference(config: CheckConfig) -> PortMapping | None:
    if config.reference is None:
        return None
    row = PortMappingRow.objects.filter(pk=config.reference).first()
    if row is None:
        raise JobError("the port mapping to compare with has been deleted")
    return load_mapping(row)


class _Check:
    """The stages of one attempt."""

    def __init__(
        self,
        task: Task,
        config: CheckConfig,
        machine: Machine,
        measurer: Measurer,
        reference: PortMapping | None,
    ) -> None:
        self._task = task
        self._config = config
        self._machine = machine
        self._measurer = measurer
        self._reference = reference
        self._stages = Stages(task.reporter, config.stages, ())
        self.store = RunMeasurements(
            task.lease, machine.isa, measurer.identity, _PURPOSE, machine, named_after_run=True
        )
        self._cached = CachedMeasurer(measurer, self.store)

    def alone(self, schemes: Sequence[str]) -> list[Alone]:
        self._stages.enter(SINGLETONS)
        asked = plan.singletons(schemes)
        # Groups that are left out unless they are asked for are within the model's scope.
        beyond = self._machine.isa.schemes.exclude(MEASURABLE)
        exclusions = self._beyond_reference() | dict(beyond.values_list("text", "exclusion"))
        said = self._said_alone(schemes)
        judged: list[Alone] = []
        told = 0
        for result in self._stages.told(SINGLETONS, self._cached, len(schemes)).measure(asked):
            scheme = result.experiment.schemes[0]
            judged.append(
                judge_alone(
                    result, said.get(scheme), exclusions.get(scheme, ""), referred=self._reference is not None
                )
            )
            if len(judged) - told == _ROWS:
                self._tell_alone(judged[told:])
                told = len(judged)
        self._tell_alone(judged[told:])
        counted = summary_of(judged)
        if counted.verdicts[AloneVerdict.NOT_MEASURED] == counted.asked:
            raise JobError(
                f"none of the {counted.asked} schemes could be measured: {judged[0].scheme}: {judged[0].note}"
            )
        share = "" if counted.share is None else f", {100 * counted.share:.1f} %"
        self._stages.log(f"{counted.within} of {counted.compared} schemes within 10 %{share}")
        return judged

    def _beyond_reference(self) -> dict[str, str]:
        """{scheme: why the reference's ports do not tell its time}."""
        if self._reference is None:
            return {}
        ports, target = self._reference.ports, target_of(self._machine.isa.name)
        why, schemes = target.textbook.beyond_ports, target.schemes.schemes()
        found = ((scheme.text, why(scheme, ports)) for scheme in schemes)
        return {text: reason for text, reason in found if reason}

    def eligible(self, alone: Sequence[Alone]) -> dict[str, float]:
        """{scheme: cycles} of those within 10 %, which the mixes are drawn from.

        Once chosen they stay the same, whatever settles when the run is taken up again: with them the plan.
        """
        cycles = {each.scheme: each.measured for each in alone if each.measured is not None}
        chosen = [each.scheme for each in alone if each.verdict is AloneVerdict.WITHIN]
        if self._task.checkpoint is not None:
            chosen = [scheme for scheme in self._task.checkpoint.meta[_ELIGIBLE] if scheme in cycles]
        self._stages.save(Checkpoint({_ELIGIBLE: chosen}))
        if not chosen:
            self._stages.log("no scheme is within 10 %: there is nothing to mix", "warning")
        return {scheme: cycles[scheme] for scheme in chosen}

    def mixes(self, eligible: Mapping[str, float]) -> list[MixSummary]:
        """Random mixes of the schemes, length by length."""
        self._stages.enter(RANDOM_MIXES)
        drawn = drawn_mixes(sorted(eligible), self._config.mixes, self._config.seed)
        asked = [mix for mixes in drawn.values() for mix in mixes]
        results = self._stages.told(RANDOM_MIXES, self._cached, len(asked)).measure(asked)
        summaries = []
        for length, mixes in drawn.items():
            tally = MixTally(length, eligible)
            for number, cycles in enumerate(self._said(mixes), start=1):
                tally.add(next(results), cycles)
                if number % _EVERY == 0 or number == len(mixes):
                    self._tell_mixes(tally, len(mixes))
            summaries.append(tally.summary)
        list(results)  # tells its last numbers
        return summaries

    def orders(self, eligible: Sequence[str]) -> list[OrderSummary]:
        """The same multisets in several orders, length by length."""
        self._stages.enter(ORDERS)
        drawn = {length: self._drawn_orders(eligible, length) for length in ORDER_LENGTHS} if eligible else {}
        behind = self._measurer
        measurer = CachedMeasurer(
            behind if isinstance(behind, RemoteMeasurer) else AsMultisets(behind),
            OrdersStore(self._repeat, [orders for of_length in drawn.values() for orders in of_length]),
        )
        asked = [each for of_length in drawn.values() for orders in of_length for each in orders]
        results = self._stages.told(ORDERS, measurer, len(asked)).measure(asked)
        summaries = []
        for length, of_length in drawn.items():
            tally = OrderTally(length)
            for number, orders in enumerate(of_length, start=1):
                for each in orders:
                    tally.add(each, next(results))
                if number % _EVERY == 0 or number == len(of_length):
                    self._task.reporter.emit(
                        OrdersMeasured(**tally.summary.as_json(), planned=len(of_length))
                    )
            summaries.append(tally.summary)
        list(results)
        return summaries

    def _said_alone(self, schemes: Sequence[str]) -> dict[str, float]:
        """{scheme: cycles} of those that the reference describes."""
        if self._reference is None:
            return {}
        known = [scheme for scheme in schemes if scheme in self._reference.usage]
        said = self._said([Experiment.of([scheme]) for scheme in known])
        usage = self._reference.usage
        # Without a µop there is nothing that the ports allow, whatever R_max says.
        return {
            s: cycles if usage[s] else 0.0
            for s, cycles in zip(known, said, strict=True)
            if cycles is not None
        }

    def _said(self, experiments: Sequence[Experiment]) -> Sequence[float | None]:
        """What the reference says in cycles, which describes all schemes; None for each without one."""
        if self._reference is None:
            return [None] * len(experiments)
        said: list[float] = (
            PortMappingModel(self._reference).cycles(ExperimentTable.from_experiments(experiments)).tolist()
        )
        return said

    def _drawn_orders(self, eligible: Sequence[str], length: int) -> list[list[OrderedExperiment]]:
        """Orders of each of the experiments of one length."""
        config = self._config
        sampled = random_mixes(eligible, config.sequences, config.seed, length, stream=_ORDER_STREAM)
        return [orders_of(each, config.permutations, config.seed) for each in sampled]

    def _repeat(self, number: int) -> RunMeasurements:
        """Where the number-th orders are kept: apart from all that is measured in the usual order."""
        identity = {**self._measurer.identity, "order": "as drawn"}
        return RunMeasurements(
            self._task.lease, self._machine.isa, identity, ORDERS, self._machine, repeat=number
        )

    def _tell_alone(self, judged: Sequence[Alone]) -> None:
        self._task.reporter.emit(SchemesAlone(judged))

    def _tell_mixes(self, tally: MixTally, planned: int) -> None:
        drawn = heat_map(tally.measured, tally.modelled) if tally.measured else None
        counted = {field.name: getattr(tally.summary, field.name) for field in fields(MixSummary)}
        self._task.reporter.emit(MixesMeasured(**counted, planned=planned, heat_map=drawn))


def _store(
    check: _Check, alone: Sequence[Alone], mixes: Sequence[MixSummary], orders: Sequence[OrderSummary]
) -> tuple[Json, Sequence[Event]]:
    counted = summary_of(alone)
    made = check.store.experiment_set
    assert made is not None, "something was measured"
    result: Json = {
        "experiment_set": made.pk,
        "name": made.name,
        "url": f"/sets/{made.pk}/",  # not looked up: a fault in a page must not cost a result
        "asked": counted.asked,
        "compared": counted.compared,
        "within": counted.within,
        "within_share": counted.share,
        "short_share": counted.short_share,
        "verdicts": counted.verdicts,
        "mixes": [each.as_json() for each in mixes],
        "orders": [each.as_json() for each in orders],
    }
    return result, [ResultStored({"name": made.name, "experiment_set": made.pk, "url": result["url"]})]


class OrdersStore:
    """A `MeasurementStore` for ordered experiments, over one for each repeat.

    `drawn` are the orders of each multiset. The set behind must have an identity of its own: what is in
    there was not measured as other sets are.
    """

    def __init__(
        self, repeat: Callable[[int], MeasurementStore], drawn: Sequence[Sequence[OrderedExperiment]]
    ) -> None:
        self._numbers: Mapping[Experiment, int] = {
            ordered: number for orders in drawn for number, ordered in enumerate(orders)
        }
        self._stores = [repeat(number) for number in range(max(map(len, drawn), default=0))]

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """Those of the orders that were measured before."""
        found: dict[Experiment, Measured] = {}
        for number, asked in self._by_number(experiments).items():
            known = self._stores[number].known([_multiset(each) for each in asked])
            for each in asked:
                if (result := known.get(_multiset(each))) is not None:
                    found[each] = replace(result, experiment=each)
        return found

    def remember(self, results: Sequence[Measured]) -> None:
        by_experiment = {result.experiment: result for result in results}
        for number, measured in self._by_number(list(by_experiment)).items():
            self._stores[number].remember([_told(each, by_experiment[each]) for each in measured])

    def _by_number(self, experiments: Sequence[Experiment]) -> Mapping[int, list[Experiment]]:
        grouped: defaultdict[int, list[Experiment]] = defaultdict(list)
        for each in experiments:
            grouped[self._numbers[each]].append(each)
        return grouped


def _multiset(experiment: Experiment) -> Experiment:
    assert isinstance(experiment, OrderedExperiment), "only orders are asked for here"
    return experiment.multiset


def _told(experiment: Experiment, result: Measured) -> Measured:
    """The result for the set: of the multiset, with a note of the order."""
    assert isinstance(experiment, OrderedExperiment), "only orders are asked for here"
    number = {scheme: place for place, scheme in enumerate(experiment.schemes, start=1)}
    order = "order: " + " ".join(str(number[scheme]) for scheme in experiment.order)
    note = f"{order}; {result.note}" if result.note else order
    return replace(result, experiment=experiment.multiset, note=note)
