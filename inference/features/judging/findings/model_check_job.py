"""Runs that check the port mapping model on a machine (thesis §3.2.2): single schemes, mixes, orders.

Measurements are stored in two experiment sets, the n-th orders of all multisets as the n-th repetition.
"""

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
    AloneCheck,
    AloneVerdict,
    MixSummary,
    MixTally,
    OrderSummary,
    OrderTally,
    judge_alone,
    mixes_by_length,
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
from inference.measuring.proxies import StoreBackedMeasurer
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated import UnorderedMeasurer
from inference.models import Machine
from inference.models import PortMapping as PortMappingRow
from inference.models.scheme_search import MEASURABLE
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.measurer import open_measurer
from inference.runs.measurements import RunMeasurements
from inference.runs.request import needed_row
from inference.runs.stages import ORDERS, RANDOM_MIXES, SINGLETONS, Stages
from inference.storage.mappings import load_mapping
from inference.storage.names import processor_name, result_name, selection_name

_PURPOSE = "measurements"
_ELIGIBLE = "eligible"
_SCHEMES_PER_EVENT = 50  # schemes per event
_REPORT_STEP = 250  # mixes, or multisets in several orders, between two events of an unfinished length
_ORDERS_STREAM = 1  # makes the samples differ from those of the mixes


class CheckModelJob(Job):
    """Runs of kind `check-model`; `CheckConfig` is their description.

    Measurements of a cancelled run stay in two experiment sets: single schemes and mixes, and orders.
    """

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        schemes = selection_name(config["schemes"], config["scheme_filter"])
        return result_name(processor_name(config["machine"]), "model check", schemes)

    def work(self, task: Task) -> Store:
        config = CheckConfig(**task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        with open_measurer(task, machine, config.schemes) as (measurer, schemes):
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
        self._cached = StoreBackedMeasurer(measurer, self.store)

    def alone(self, schemes: Sequence[str]) -> list[AloneCheck]:
        self._stages.enter(SINGLETONS)
        experiments = plan.singletons(schemes)
        # Groups outside the default selection are within the model's scope.
        unmeasurable = self._machine.isa.schemes.exclude(MEASURABLE)
        exclusions = self._beyond_reference() | dict(unmeasurable.values_list("text", "exclusion"))
        predicted = self._predicted_alone(schemes)
        judged: list[AloneCheck] = []
        reported = 0
        for result in self._stages.with_progress(SINGLETONS, self._cached, len(schemes)).measure(experiments):
            scheme = result.experiment.schemes[0]
            judged.append(
                judge_alone(
                    result,
                    predicted.get(scheme),
                    exclusions.get(scheme, ""),
                    referred=self._reference is not None,
                )
            )
            if len(judged) - reported == _SCHEMES_PER_EVENT:
                self._report_alone(judged[reported:])
                reported = len(judged)
        self._report_alone(judged[reported:])
        summary = summary_of(judged)
        if summary.verdicts[AloneVerdict.NOT_MEASURED] == summary.requested:
            raise JobError(
                f"none of the {summary.requested} schemes could be measured: "
                f"{judged[0].scheme}: {judged[0].note}"
            )
        share = "" if summary.share is None else f", {100 * summary.share:.1f} %"
        self._stages.log(f"{summary.within} of {summary.compared} schemes within 10 %{share}")
        return judged

    def _beyond_reference(self) -> dict[str, str]:
        """{scheme: why the ports of the reference do not determine its cycles}."""
        if self._reference is None:
            return {}
        ports, target = self._reference.ports, target_of(self._machine.isa.name)
        reason_for, schemes = target.textbook.beyond_ports, target.schemes.schemes()
        reasons = ((scheme.text, reason_for(scheme, ports)) for scheme in schemes)
        return {text: reason for text, reason in reasons if reason}

    def eligible(self, alone: Sequence[AloneCheck]) -> dict[str, float]:
        """{scheme: cycles} of the schemes within 10 %, from which mixes are sampled.

        Stored in the checkpoint: a resumed run must have the same plan, whatever settles then.
        """
        cycles = {
            scheme_alone.scheme: scheme_alone.measured
            for scheme_alone in alone
            if scheme_alone.measured is not None
        }
        eligible = [check.scheme for check in alone if check.verdict is AloneVerdict.WITHIN]
        if self._task.checkpoint is not None:
            eligible = [scheme for scheme in self._task.checkpoint.meta[_ELIGIBLE] if scheme in cycles]
        self._stages.save(Checkpoint({_ELIGIBLE: eligible}))
        if not eligible:
            self._stages.log("no scheme is within 10 %: no mixes are measured", "warning")
        return {scheme: cycles[scheme] for scheme in eligible}

    def mixes(self, eligible: Mapping[str, float]) -> list[MixSummary]:
        """Measure random mixes of the schemes, length by length."""
        self._stages.enter(RANDOM_MIXES)
        by_length = mixes_by_length(sorted(eligible), self._config.mixes, self._config.seed)
        experiments = [mix for mixes in by_length.values() for mix in mixes]
        results = self._stages.with_progress(RANDOM_MIXES, self._cached, len(experiments)).measure(
            experiments
        )
        summaries = []
        for length, mixes in by_length.items():
            tally = MixTally(length, eligible)
            for number, cycles in enumerate(self._predict(mixes), start=1):
                tally.add(next(results), cycles)
                if number % _REPORT_STEP == 0 or number == len(mixes):
                    self._report_mixes(tally, len(mixes))
            summaries.append(tally.summary)
        list(results)  # exhausting it emits the last progress
        return summaries

    def orders(self, eligible: Sequence[str]) -> list[OrderSummary]:
        """Measure multisets in several orders, length by length."""
        self._stages.enter(ORDERS)
        by_length = (
            {length: self._sample_orders(eligible, length) for length in ORDER_LENGTHS} if eligible else {}
        )
        direct = self._measurer
        measurer = StoreBackedMeasurer(
            direct if isinstance(direct, RemoteMeasurer) else UnorderedMeasurer(direct),
            OrdersStore(self._repeat, [orders for of_length in by_length.values() for orders in of_length]),
        )
        experiments = [order for of_length in by_length.values() for orders in of_length for order in orders]
        results = self._stages.with_progress(ORDERS, measurer, len(experiments)).measure(experiments)
        summaries = []
        for length, of_length in by_length.items():
            tally = OrderTally(length)
            for number, orders in enumerate(of_length, start=1):
                for ordered in orders:
                    tally.add(ordered, next(results))
                if number % _REPORT_STEP == 0 or number == len(of_length):
                    self._task.reporter.emit(
                        OrdersMeasured(**tally.summary.as_json(), planned=len(of_length))
                    )
            summaries.append(tally.summary)
        list(results)
        return summaries

    def _predicted_alone(self, schemes: Sequence[str]) -> dict[str, float]:
        """{scheme: predicted cycles} of the schemes that the reference describes."""
        if self._reference is None:
            return {}
        described = [scheme for scheme in schemes if scheme in self._reference.usage]
        predicted = self._predict([Experiment.of([scheme]) for scheme in described])
        usage = self._reference.usage
        # Without µops the port bound is 0, whatever R_max is.
        return {
            s: cycles if usage[s] else 0.0
            for s, cycles in zip(described, predicted, strict=True)
            if cycles is not None
        }

    def _predict(self, experiments: Sequence[Experiment]) -> Sequence[float | None]:
        """The cycles that the reference predicts, which must describe all schemes; None for each without
        one."""
        if self._reference is None:
            return [None] * len(experiments)
        cycles: list[float] = (
            PortMappingModel(self._reference).cycles(ExperimentTable.from_experiments(experiments)).tolist()
        )
        return cycles

    def _sample_orders(self, eligible: Sequence[str], length: int) -> list[list[OrderedExperiment]]:
        """The orders of each sampled multiset of one length."""
        config = self._config
        sampled = random_mixes(eligible, config.sequences, config.seed, length, stream=_ORDERS_STREAM)
        return [orders_of(experiment, config.permutations, config.seed) for experiment in sampled]

    def _repeat(self, number: int) -> RunMeasurements:
        """The store of the number-th orders, apart from measurements in the usual order."""
        identity = {**self._measurer.identity, "order": "as drawn"}
        return RunMeasurements(
            self._task.lease, self._machine.isa, identity, ORDERS, self._machine, repeat=number
        )

    def _report_alone(self, judged: Sequence[AloneCheck]) -> None:
        self._task.reporter.emit(SchemesAlone(judged))

    def _report_mixes(self, tally: MixTally, planned: int) -> None:
        heat_map_of_mixes = heat_map(tally.measured, tally.modelled) if tally.measured else None
        values = {field.name: getattr(tally.summary, field.name) for field in fields(MixSummary)}
        self._task.reporter.emit(MixesMeasured(**values, planned=planned, heat_map=heat_map_of_mixes))


def _store(
    check: _Check, alone: Sequence[AloneCheck], mixes: Sequence[MixSummary], orders: Sequence[OrderSummary]
) -> tuple[Json, Sequence[Event]]:
    summary = summary_of(alone)
    experiment_set = check.store.experiment_set
    assert experiment_set is not None, "something was measured"
    result: Json = {
        "experiment_set": experiment_set.pk,
        "name": experiment_set.name,
        "url": f"/sets/{experiment_set.pk}/",  # not looked up: a fault in a page must not cost a result
        "asked": summary.requested,
        "compared": summary.compared,
        "within": summary.within,
        "within_share": summary.share,
        "short_share": summary.short_share,
        "verdicts": summary.verdicts,
        "mixes": [length_summary.as_json() for length_summary in mixes],
        "orders": [length_summary.as_json() for length_summary in orders],
    }
    return result, [
        ResultStored({"name": experiment_set.name, "experiment_set": experiment_set.pk, "url": result["url"]})
    ]


class OrdersStore:
    """A `MeasurementStore` for ordered experiments, over one for each repeat.

    `orders_of_multisets`: the orders of each multiset. The set behind must have an identity of its own, since
    its experiments were not measured like those of other sets.
    """

    def __init__(
        self,
        repeat: Callable[[int], MeasurementStore],
        orders_of_multisets: Sequence[Sequence[OrderedExperiment]],
    ) -> None:
        self._numbers: Mapping[Experiment, int] = {
            ordered: number for orders in orders_of_multisets for number, ordered in enumerate(orders)
        }
        self._stores = [repeat(number) for number in range(max(map(len, orders_of_multisets), default=0))]

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """{order: its result} of the orders that were measured before."""
        measured: dict[Experiment, Measured] = {}
        for number, ordered in self._by_number(experiments).items():
            stored = self._stores[number].known([_multiset(experiment) for experiment in ordered])
            for experiment in ordered:
                if (result := stored.get(_multiset(experiment))) is not None:
                    measured[experiment] = replace(result, experiment=experiment)
        return measured

    def remember(self, results: Sequence[Measured]) -> None:
        by_experiment = {result.experiment: result for result in results}
        for number, measured in self._by_number(list(by_experiment)).items():
            self._stores[number].remember(
                [_result_of_multiset(experiment, by_experiment[experiment]) for experiment in measured]
            )

    def _by_number(self, experiments: Sequence[Experiment]) -> Mapping[int, list[Experiment]]:
        grouped: defaultdict[int, list[Experiment]] = defaultdict(list)
        for experiment in experiments:
            grouped[self._numbers[experiment]].append(experiment)
        return grouped


def _multiset(experiment: Experiment) -> Experiment:
    assert isinstance(experiment, OrderedExperiment), "only ordered experiments have such a store"
    return experiment.multiset


def _result_of_multiset(experiment: Experiment, result: Measured) -> Measured:
    """The result for the set: of the multiset, with a note of the order."""
    assert isinstance(experiment, OrderedExperiment), "only ordered experiments have such a store"
    number = {scheme: place for place, scheme in enumerate(experiment.schemes, start=1)}
    order = "order: " + " ".join(str(number[scheme]) for scheme in experiment.order)
    note = f"{order}; {result.note}" if result.note else order
    return replace(result, experiment=experiment.multiset, note=note)


JOBS = {"check-model": CheckModelJob}
