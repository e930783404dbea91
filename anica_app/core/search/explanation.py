"""One given block: why tools disagree about it, or what a prediction rests on (thesis §8.4.1)."""

from __future__ import annotations

from collections.abc import Callable

from anica_app.core.search.discovery_set import DiscoverySet
from anica_app.core.search.findings import FoundDiscovery, Generalised
from anica_app.core.search.fresh_blocks import minimise
from anica_app.core.search.generalising import RoundCandidate, generalise_all
from anica_app.core.search.judging import JudgedAnswers
from anica_app.core.search.panel import Driver
from anica_app.core.search.task import World


class BlockExplanation:
    """The generalisations of one interesting block in all orders, and what they come to.

    `shorten`: it is minimised first. `look_up` is called now and then.
    """

    def __init__(
        self,
        world: World,
        driver: Driver,
        start: JudgedAnswers,
        *,
        shorten: bool,
        look_up: Callable[[], None] = lambda: None,
    ) -> None:
        def expired() -> bool:
            look_up()
            return False

        witness = start
        if shorten:
            (found,) = driver.carry_out([minimise(world, start, ("minimise", 0))])
            witness = found or start
        self.candidate: RoundCandidate = RoundCandidate(
            0, start, witness, world.domain.represent(witness.block)
        )
        traces = generalise_all(world, driver, [self.candidate], expired)
        discovery_set: DiscoverySet = DiscoverySet(world)
        self.generalised: list[Generalised] = discovery_set.admit(self.candidate, traces[0])
        self.discoveries: list[FoundDiscovery] = discovery_set.discoveries
        self.subsumed = discovery_set.subsumed
