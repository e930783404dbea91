"""What the loops that a run measured take by their size alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from django.db.models import Q

from inference.core.core_model.loop_code import LoopCode, measured_loop_code
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.features.learning.inferring.request import InferConfig, RecordedSource
from inference.features.learning.inferring.subject import JUDGING
from inference.isa.machine_bodies import DEFAULTS, LoopSize
from inference.isa.targets import target_of
from inference.models import ExperimentSet, Run
from inference.runs.machines.measurer import suited_options
from inference.runs.stages import Stages
from inference.storage.rows import load_measurements

_LOG_INTERVAL = 5.0  # seconds


def loop_code_of_run(
    run: Run, config: InferConfig, mapping: PortMapping, begun: datetime, stages: Stages
) -> LoopCode:
    """By all that the run measured, or had as data, but not what it is judged by.

    `begun`: when measuring was, which decides how bodies were made.
    {} of other instruction sets, and of simulated processors, which execute no code.
    """
    reader = target_of(config.isa).accesses
    if reader is None:
        return {}
    data = config.source.datasets if isinstance(config.source, RecordedSource) else ()
    sets = ExperimentSet.objects.filter(Q(run=run) | Q(pk__in=data)).exclude(source=JUDGING)
    executed = [
        row
        for row in sets.select_related("machine")
        if (row.pk in data if row.machine is None else not row.machine.is_simulated)
    ]
    measured = {
        result.experiment: result.cycles
        for row in executed
        for result in load_measurements(row)
        if result.usable and result.cycles
    }
    machine = next((row.machine for row in executed if row.machine is not None), None)
    options = DEFAULTS if machine is None else suited_options(machine, begun)
    size_of = _logged(lambda experiment: reader.loop_size(experiment.terms, options), stages)
    return measured_loop_code(measured, size_of, mapping)


def _logged(size_of: Callable[[Experiment], LoopSize], stages: Stages) -> Callable[[Experiment], LoopSize]:
    """To assemble thousands of experiments takes its time, which the run's log shows."""
    due, number = time.monotonic() + _LOG_INTERVAL, 0

    def logged(experiment: Experiment) -> LoopSize:
        nonlocal due, number
        stages.pulse()
        number += 1
        if time.monotonic() >= due:
            stages.log(f"what loops take by their size: {number:,} experiments assembled")
            due = time.monotonic() + _LOG_INTERVAL
        return size_of(experiment)

    return logged
