"""Runs of kind `infer`: infer a port mapping, evaluate it on held-out measurements, and measure its loop
code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib.metadata import version

import numpy as np
from django.db.models import Q

from inference.core.compiled_mark import is_compiled
from inference.core.core_model.loop_code import measured_loop_code
from inference.core.core_model.model import LoopCode
from inference.core.evaluator import PortMappingModel
from inference.core.events import Event, Log, ResultStored
from inference.core.experiment import Experiment, Unit
from inference.core.explain import ExplainSettings
from inference.core.mapping import PortMapping as Mapping
from inference.core.metrics import Residuals, score
from inference.core.pmevo.events import Snapshot
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import AlgorithmSettings, Inference, InferenceTask
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.core_facts import core_facts
from inference.features.learning.inferring.request import (
    InferConfig,
    MachineSource,
    RecordedSource,
    SimulatedSource,
    read_config,
)
from inference.features.learning.inferring.subject import (
    JUDGING_MIXES,
    Subject,
    last_stages,
    open_subject,
    own_stages,
)
from inference.figures.heatmap import heat_map
from inference.isa.machine_bodies import DEFAULTS, LoopSize
from inference.isa.targets import target_of
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.runs.events import HeatMapEvent
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.facts import documented_width
from inference.runs.machines.measurer import options_for
from inference.runs.request import DEFAULT_SEED
from inference.runs.stages import Stages
from inference.storage.characterisations import KEY as EXPLAINED
from inference.storage.characterisations import store_characterisations
from inference.storage.core_models import LOOP_CODE, loop_code_rows
from inference.storage.evaluations import (
    Predictions,
    chunk_of,
    compare_chunks,
    scores_of,
    store_evaluation,
    summary_of,
)
from inference.storage.evidence import KEY as EVIDENCE
from inference.storage.judging import KEY as JUDGING
from inference.storage.judging import VERDICT, judging_json
from inference.storage.listing import lengths_json, schemes_json
from inference.storage.names import (
    enumerated,
    free_name,
    processor_name,
    result_name,
    row_names,
    selection_name,
)
from inference.storage.results import ComparedResult, JudgedPoint, compared_results, store_front, store_result
from inference.storage.rows import load_measurements
from inference.storage.streaming import Chunk

_HEAT_MAP_INTERVAL = 2.0  # seconds

SAMPLES_OF_A_MACHINE = 11
"""As in §6.3. A machine's results are medians of passes that agree: more of them would add little."""

WORST_SCHEMES = 20
"""Number of schemes with the largest errors in the live heat map; a stored evaluation has all."""


_LOG_INTERVAL = 5.0  # seconds


def load_loops() -> None:
    """Loads the compiled loops, unless they would have to be compiled first."""
    if is_compiled():
        from inference.core.compiling_ahead import compile_all  # noqa: PLC0415  numba is heavy

        compile_all()


class InferJob(Job):
    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        request = InferConfig.from_stored(config)
        match request.source:
            case MachineSource(machine=machine):
                source = processor_name(machine)
            case RecordedSource(datasets=sets):
                source = enumerated(row_names(ExperimentSet, sets))
            case SimulatedSource(simulate=mapping):
                source = result_name(*row_names(PortMapping, [mapping]), "simulated")
        is_unrestricted = request.schemes == "all" and request.sample is None
        schemes = (
            "" if is_unrestricted else selection_name(request.schemes, request.scheme_filter, request.sample)
        )
        seed = "" if request.seed == DEFAULT_SEED else f"seed {request.seed}"
        return result_name(source, schemes, ALGORITHMS[request.algorithm].title, seed)

    def work(self, task: Task) -> Store:
        """Infers a mapping, with a live heat map of the best one so far."""
        config = InferConfig.from_stored(task.run.config)
        algorithm = ALGORITHMS[config.algorithm]
        stages = Stages(
            task.reporter, own_stages(config), algorithm.stages(config.settings), last_stages(config)
        )
        task.reporter.draw(Snapshot, draw_heat_map, every=_HEAT_MAP_INTERVAL)
        with open_subject(task, config, stages) as subject:
            start_time = subject.started or task.run.created
            question = InferenceTask(
                subject.schemes,
                _settings(config, subject),
                config.known.model_dump(),
                subject.held_out,
                config.seed,
                core_facts(subject.machine, subject.schemes, start_time),
            )
            inferred = algorithm.infer(question, subject.measurer, stages, task.checkpoint)
            loop_code = loop_code_of_run(task.run, config, inferred.mapping, start_time, stages)
            task.reporter.finish()
            judge = subject.judged_afterwards(tuple(inferred.mapping.usage)).as_stored(task.run)
        stages.log(inferred.summary)
        for remark in _documentation_warnings(inferred.mapping, subject):
            stages.log(remark, "warning")
        # Evaluated before storing: the storing transaction holds the database's only write lock.
        held_out = chunk_of(judge.held_out)
        judged = _predict(inferred.mapping, held_out)
        front = []
        for point in inferred.front:
            stages.pulse()
            front.append(JudgedPoint(point, _predict(point.mapping, held_out) if judge.held_out else None))
        compared = compared_results(judge.machine, inferred.mapping)
        report = _report(config, judge, inferred, judged)
        if loop_code:
            report[LOOP_CODE] = loop_code_rows(loop_code)
        return partial(_store, task, config, judge, inferred, judged, front, compared, report)


def _predict(mapping: Mapping, held_out: Chunk) -> Predictions:
    return compare_chunks(PortMappingModel(mapping), [held_out], Unit.CYCLES).with_cached_properties()


def _documentation_warnings(mapping: Mapping, subject: Subject) -> Iterator[str]:
    """Warnings about contradictions with the vendor's documentation; the mapping follows the measurements."""
    documented = None if subject.machine is None else documented_width(subject.machine)
    if documented is None:
        return
    wider = [
        scheme
        for scheme, uops in mapping.usage.items()
        if any(mask.bit_count() > documented for mask, _ in uops)
    ]
    if wider:
        yield (
            f"{len(wider)} schemes, e.g. {wider[0]}, have µops on more than the {documented} ports that are "
            "documented for a µop of this core: compare it with other algorithms' mappings"
        )


def _settings(config: InferConfig, subject: Subject) -> AlgorithmSettings:
    """The algorithm's settings, completed by measured or documented facts about the machine."""
    settings = config.settings
    if subject.bottleneck is not None:
        settings = replace(settings, r_max=subject.bottleneck["r_max"])
    if not isinstance(settings, ExplainSettings) or settings.most_samples is not None:
        return settings
    if subject.machine is None or subject.machine.kind != Machine.Kind.AGENT:
        return settings
    return replace(settings, most_samples=max(settings.samples, SAMPLES_OF_A_MACHINE))


def draw_heat_map(event: Snapshot) -> HeatMapEvent:
    """The heat map of a search's snapshot, with errors by length and by scheme."""
    residuals = Residuals()
    residuals.add(event.table, np.arange(len(event.table)), event.measured, event.predicted)
    schemes = residuals.by_scheme
    return HeatMapEvent(
        figure=heat_map(event.measured, event.predicted),
        scores=score(event.measured, event.predicted),
        on=event.on,
        lengths=lengths_json(residuals.by_length),
        worst=schemes_json(schemes[:WORST_SCHEMES]),
        schemes=len(schemes),
    )


def _store(
    task: Task,
    config: InferConfig,
    subject: Subject,
    inferred: Inference,
    judged: Predictions,
    front: Sequence[JudgedPoint],
    compared: Sequence[ComparedResult],
    report: Json,
) -> tuple[Json, Sequence[Event]]:
    """Stores the mapping and its evaluation; returns the run's result."""
    row = store_result(
        free_name(PortMapping, task.run.name),
        subject.isa,
        inferred.mapping,
        compared,
        source=ALGORITHMS[config.algorithm].title,
        machine=subject.machine,
        run=task.run,
        report=report,
    )
    result: Json = {
        "mapping": row.pk,
        "name": row.name,
        "url": f"/mappings/{row.pk}/",  # no reverse(): an error in the pages must not lose the result
        "schemes": len(inferred.mapping.usage),
        "experiments": inferred.experiments,
        "held_out": None,
        "kinds": inferred.mapping.uop_kinds,
        "limits": inferred.mapping.limits,
        "assumptions": [],
        **inferred.result_facts,
    }
    store_front(row, front, inferred.mapping, subject.judged_on)
    if inferred.explained is not None:
        store_characterisations(row, inferred.explained.characterisations)
    events: list[Event] = []
    if subject.held_out:
        evaluation = store_evaluation(row, subject.judged_on, Unit.CYCLES, judged)
        result["held_out"] = scores_of(evaluation)
        if subject.settled_share is not None:
            result["held_out"]["settled_share"] = round(subject.settled_share, 4)
        events.append(Log("info", summary_of(evaluation)))
    summary_facts = {key: result[key] for key in ("mapping", "name", "url", "held_out")}
    conclusions = {key: value for key, value in inferred.result_facts.items() if key != VERDICT}
    return result, [*events, ResultStored({**summary_facts, **conclusions})]


def _report(config: InferConfig, subject: Subject, inferred: Inference, judged: Predictions) -> Json:
    report = {
        **inferred.report,
        "seed": config.seed,
        "versions": {name: version(name) for name in ("numpy", "numba", "z3-solver")},
    }
    if subject.bottleneck is not None:
        report["bottleneck"] = subject.bottleneck
    if subject.held_out:
        epsilons = (inferred.report.get(key, {}).get("epsilon") for key in (EVIDENCE, EXPLAINED))
        epsilon = next((value for value in epsilons if value is not None), None)
        report[JUDGING] = judging_json(subject.held_out, judged, epsilon)
    return report


def loop_code_of_run(
    run: Run, config: InferConfig, mapping: Mapping, start_time: datetime, stages: Stages
) -> LoopCode:
    """Loop code from the run's measurements and data sets, without the ones for judging.

    `start_time`: time of measuring, which decides how loop bodies were generated. {} for instruction sets
    without loop code, and for simulated processors, which execute no code.
    """
    reader = target_of(config.isa).accesses
    if reader is None:
        return {}
    data = config.source.datasets if isinstance(config.source, RecordedSource) else ()
    sets = ExperimentSet.objects.filter(Q(run=run) | Q(pk__in=data)).exclude(source=JUDGING_MIXES)
    executed = [
        row
        for row in sets.select_related("machine")
        if (row.pk in data if row.machine is None else row.machine.executes_code)
    ]
    measured = {
        result.experiment: result.cycles
        for row in executed
        for result in load_measurements(row)
        if result.usable and result.cycles
    }
    machine = next((row.machine for row in executed if row.machine is not None), None)
    options = DEFAULTS if machine is None else options_for(machine, start_time)
    size_of = _log_assembly(lambda experiment: reader.loop_size(experiment.terms, options), stages)
    return measured_loop_code(measured, size_of, mapping)


def _log_assembly(
    size_of: Callable[[Experiment], LoopSize], stages: Stages
) -> Callable[[Experiment], LoopSize]:
    """Logs progress, because assembling thousands of experiments takes long."""
    due, number = time.monotonic() + _LOG_INTERVAL, 0

    def logged(experiment: Experiment) -> LoopSize:
        nonlocal due, number
        stages.pulse()
        number += 1
        if time.monotonic() >= due:
            stages.log(f"sizes of loops: {number:,} experiments assembled")
            due = time.monotonic() + _LOG_INTERVAL
        return size_of(experiment)

    return logged


JOBS = {"infer": InferJob}
