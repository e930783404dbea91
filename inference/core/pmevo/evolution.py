"""The evolution (§5.1.3, Algorithm 5.1): from random mappings until all agree, on one island or several."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.events import Log
from inference.core.pacing import Executor, LocalExecutor
from inference.core.pmevo.breeding import Breeder, Evolution
from inference.core.pmevo.fitness import FitnessGate
from inference.core.pmevo.generations import GenerationReporter
from inference.core.pmevo.islands import evolve_apart, should_continue


def evolve(
    judge: FitnessGate,
    scheme_times: list[float],
    seed: int,
    state: Evolution | None,
    listen: Callable[[Evolution], None],
    executor: Executor | None = None,
) -> Evolution:
    """Evolve a population until it converges or reaches the limit of generations.

    Args:
        judge: Evaluates mappings, and holds the settings.
        scheme_times: Cycles of each scheme alone, in the order of the judge's table.
        seed: Seed of the random streams.
        state: The generation to resume from; None for a random population.
        listen: Called with every generation, the first included; with several islands, with all of them
            together after every epoch. The state can be resumed from.
        executor: Breeds islands; None for threads of this process. Not used without islands.
    """
    settings = judge.settings
    judge.pace.emit(Log("info", "preparing the compiled evaluation; its very first use compiles it"))
    if settings.islands > 1:
        shop = executor or LocalExecutor(settings.threads)
        return evolve_apart(judge, scheme_times, seed, state, listen, shop)
    breeder = Breeder(judge, scheme_times, seed, settings.population)
    reporter = GenerationReporter(judge, state.generation if state is not None else 0)
    if state is None:
        state = breeder.first()
        reporter.report(state)
        listen(state)
    while should_continue(state, judge):
        state = breeder.next(state)
        reporter.report(state)
        listen(state)
    reporter.report_population(state, now=True)
    return state
