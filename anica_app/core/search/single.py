"""One given block: why tools disagree about it, or what a prediction rests on (thesis §8.4.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from anica_app.core.search.book import Book
from anica_app.core.search.findings import Discovery, Generalised
from anica_app.core.search.generalising import Candidate, generalise_all
from anica_app.core.search.judging import Judged
from anica_app.core.search.minimising import minimise
from anica_app.core.search.panel import Driver
from anica_app.core.search.protocols import AbstractT, BlockT, ExpansionT
from anica_app.core.search.tasks import World


class Explanation(Generic[BlockT, AbstractT, ExpansionT]):
    """The generalisations of one interesting block in all orders, and what they come to.

    `shorten`: it is minimised first. `look_up` is called now and then.
    """

    def __init__(
        self,
        world: World[BlockT, AbstractT, ExpansionT],
        driver: Driver[BlockT, AbstractT, ExpansionT],
        start: Judged[BlockT],
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
        self.candidate: Candidate[BlockT, AbstractT] = Candidate(
            0, start, witness, world.domain.represent(witness.block)
        )
        traces = generalise_all(world, driver, [self.candidate], expired)
        book: Book[BlockT, AbstractT, ExpansionT] = Book(world)
        self.generalised: list[Generalised[BlockT, AbstractT, ExpansionT]] = book.admit(
            self.candidate, traces[0]
        )
        self.discoveries: list[Discovery[AbstractT]] = book.discoveries
        self.subsumed = book.subsumed
