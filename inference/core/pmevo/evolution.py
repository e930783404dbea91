"""The evolution (§5.1.3, Algorithm 5.1): from random mappings until all agree, on one island or several."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.events import Log
from inference.core.pacing import Executor, LocalExecutor
from inference.core.pmevo.breeding import Breeder, Evolved
from inference.core.pmevo.fitness import FitnessGate
from inference.core.pmevo.generations import GenerationTeller
from inference.core.pmevo.islands import evolve_apart, goes_on


def evolve(
    judge: FitnessGate,
    scheme_times: list[float],
    seed: int,
    state: Evolved | None,
    listen: Callable[[Evolved], None],
    executor: Executor | None = None,
) -> Evolved:
    """From `state` (None: from a random population) to convergence or the limit.

    `listen` hears of every generation, the first included; of several islands, of all together after every
    epoch, in a state from which they can be taken up again. `executor` breeds islands (default: the threads
    of this process); a population that evolves alone needs none.
    """
    settings = judge.settings
    judge.pace.emit(Log("info", "preparing the compiled evaluation; its very first use compiles it"))
    if settings.islands > 1:
        shop = executor or LocalExecutor(settings.threads)
        return evolve_apart(judge, scheme_times, seed, state, listen, shop)
    breeder = Breeder(judge, scheme_times, seed, settings.population)
    teller = GenerationTeller(judge, state.generation if state is not None else 0)
    if state is None:
        state = breeder.first()
        teller.tell(state)
        listen(state)
    while goes_on(state, judge):
        state = breeder.next(state)
        teller.tell(state)
        listen(state)
    teller.show(state, now=True)
    return state
