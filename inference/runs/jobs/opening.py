"""A machine of any kind as a measurer, with the schemes that a run was told to measure there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from inference.core.protocols import Measurer
from inference.exchange.recorded import selected_schemes
from inference.isa.x86.surroundings import DEFAULTS, Options
from inference.models import Machine
from inference.runs.errors import JobError
from inference.runs.job import Task
from inference.runs.jobs.on_machine import agent_measurer, chosen_schemes
from inference.runs.jobs.simulated_machine import simulated_machine


@contextmanager
def opened(
    task: Task, machine: Machine, selection: str | list[int], options: Options = DEFAULTS
) -> Iterator[tuple[Measurer, Sequence[str]]]:
    """Who measures, and the chosen schemes, sorted; of a simulated machine those that it knows.

    A computer may be unable to measure some of them; there, `options` say how loop bodies are made. Raises
    `JobError` where none is left.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        processor, known = simulated_machine(machine)
        wanted = selected_schemes(machine.isa, selection)
        schemes = sorted(known if wanted is None else known & wanted)
        if not schemes:
            raise JobError("none of the chosen schemes can be measured there: choose others")
        yield processor, schemes
        return
    chosen = chosen_schemes(machine.isa, selection)
    with agent_measurer(task, machine, chosen, options) as measurer:
        yield measurer, chosen
