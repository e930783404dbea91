"""How PMEvo's ports of a recorded Zen 5 predict a fifth of its experiments, which none has seen.

Learnt from are four fifths of the starter set, with the recorded latencies and front end, and no number of
ports. The core binds µops to ports when it dispatches them, so that mixes take up to 45 % longer than ports
allow: `mape` counts with what the inferred scheduler wastes, `mape_of_ports` without. The reference is what
issue 50 asks for. `units` has the ports of some schemes' µops, `uops` how many schemes of `documented` have
the single µop on as many ports as is documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks import Result
from benchmarks._measured import cost_of
from benchmarks._published_data import zen5_core_of_mixes, zen5_results
from benchmarks._silent import Silent
from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.metrics import score
from inference.core.pmevo import PMEvoProblem, PMEvoSettings, infer
from inference.core.sampling import held_out_experiments
from inference.core.waste import wasteful_times
from inference.isa.domains import forms_among, single_domains
from inference.isa.tables import table_of_module
from inference.isa.x86.bodies import loop_body
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.recorded import RecordedMeasurer

REFERENCE = 5.0
HELD_OUT = 0.2  # share of the experiments that are judged and not learnt from
DOCUMENTED: Mapping[str, int] = table_of_module(__file__)
"""{scheme: ports that its only µop can use}."""


def run(quick: bool) -> Iterator[Result]:
    """One seed; with `quick` little effort."""
    chosen = PMEvoSettings(starts=1, perturbations=10) if quick else PMEvoSettings()
    yield measured(chosen)


def measured(chosen: PMEvoSettings) -> Result:
    """The figure of a search with these settings. Raises `MissingDataError`."""
    times, source = recorded()
    held = held_out_experiments(times, HELD_OUT, seed=0)
    results = zen5_results("starter.csv")
    schemes = tuple(sorted({scheme for mix in times for scheme in mix.schemes}))
    problem = PMEvoProblem(
        schemes, chosen, forms=forms_among(schemes), domains=single_domains(schemes), core=source
    )
    train = [result for result in results if result.experiment in times and result.experiment not in held]
    cost = cost_of(lambda: infer(problem, RecordedMeasurer(train), Silent(), 0))
    found = cost.value
    judged = {mix: times[mix] for mix in times if mix in held}
    learnt = {mix: cycles for mix, cycles in times.items() if mix not in held}
    bounds = source.least_cycles(learnt, judged)
    with_waste = wasteful_times(judged, found.mapping, found.simulated, bounds)
    scores = score(with_waste.measured, np.asarray(with_waste.predicted))
    of_ports = score(with_waste.measured, wasteful_times(judged, found.mapping, None).predicted)
    units = {scheme: _units(found.mapping, scheme) for scheme in DOCUMENTED}
    more = {
        "tau": round(scores.kendall or 0.0, 4),
        "mape_of_ports": round(of_ports.mape or 0.0, 2),
        "tau_of_ports": round(of_ports.kendall or 0.0, 4),
        "mixes": len(judged),
        "ports": len(found.mapping.ports),
        "issue_width": found.mapping.issue_width,
        "units": units,
        "uops": sum(units[scheme] == [number] for scheme, number in DOCUMENTED.items()),
        "documented": len(DOCUMENTED),
        "scheduler": found.simulated is not None,
        "cpu_seconds": round(cost.cpu, 1),
    }
    return Result("zen5-starter-ports", round(scores.mape or 0.0, 2), "% MAPE", REFERENCE, more)


def recorded() -> tuple[dict[Experiment, float], ScheduledTimes]:
    """{experiment: cycles} of the starter set, and what was recorded of the core beside its ports.

    Raises `MissingDataError`.
    """
    results = zen5_results("starter.csv")
    times = {result.experiment: result.cycles for result in results if result.cycles}
    core = zen5_core_of_mixes()
    names = sorted({scheme for mix in times for scheme in mix.schemes})
    schemes = [found[0] for name in names if (found := scheme_and_form(name)) is not None]
    return times, ScheduledTimes(core, schemes, lambda experiment: loop_body(experiment.terms))


def _units(mapping: PortMapping, scheme: str) -> list[int]:
    """Of each µop of a scheme, how many ports can execute it."""
    return [mask.bit_count() for mask, count in mapping.usage[scheme] for _ in range(count)]
