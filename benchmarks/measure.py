"""How fast and how repeatably this computer is measured, by the agent's own harness on one of its processors.

Reference of the rate: the publications' 1.3 experiments per second (thesis §3.2). The three cases look at the
same experiments: every scheme of the starter set alone, random pairs, and random mixes of five.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import MissingDataError, Result
from inference.agent import nursery
from inference.agent.checks import expected
from inference.agent.facts import choose_core, facts
from inference.agent.passes import LocalHarness
from inference.agent.process import Nursery
from inference.agent.protocol import Batch, Item, Settings
from inference.agent.protocol import Result as Answer
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import frame, unroll
from inference.isa.x86.availability import missing_feature
from inference.isa.x86.microarchitectures import known_cpi, microarchitecture

PUBLISHED_RATE = 1.3
PAUSE_SECONDS = 600.0
"""Between the two passes of `repeatability`."""
NEAR_CPI = 0.02
BATCH = 96
SEED = 20
_SLOWER_THAN_MEASURING = 30.0  # a disturbed computer is waited for as long before its results are given up


@dataclass(frozen=True)
class _Round:
    """All experiments measured once: {experiment: answer}, and the seconds that took."""

    answers: dict[str, Answer]
    seconds: float

    @property
    def settled(self) -> dict[str, Answer]:
        return {name: one for name, one in self.answers.items() if one.state == "settled"}


def run(quick: bool) -> Iterator[Result]:
    """Two rounds with a pause between them; `quick` has fewer experiments and hardly any pause."""
    computer = facts(choose_core())
    if computer["unfit"]:
        raise MissingDataError(computer["unfit"])
    known = microarchitecture(computer["vendor"], computer["family"] or 0, computer["model"] or 0)
    flags = computer["flags"]
    alone = [scheme.text for scheme in schemes() if scheme.starter and not missing_feature(scheme, flags)]
    items = _items(alone, 120 if quick else 600)
    pause = 5.0 if quick else PAUSE_SECONDS
    connection = nursery.start(computer["core"])
    first, second = asyncio.run(_two_rounds(Nursery(connection), computer, items, pause))
    more = {
        "cpu": computer["cpu"],
        "microarchitecture": known.name if known else None,
        "core": computer["core"],
    }
    rate = len(first.settled) / first.seconds
    counts = {"experiments": len(items), "settled": len(first.settled)}
    yield Result("experiments-per-second", round(rate, 1), "1/s", PUBLISHED_RATE, {**more, **counts})
    yield _repeatability(items, first, second, {**more, "pause_seconds": pause})
    if known is not None and known_cpi(known.name):
        yield _textbook(known.name, first, more)


def _items(alone: Sequence[str], n: int) -> list[Item]:
    """n experiments as machine code: the schemes alone, then pairs and five-mixes in turn."""
    drawn = random.Random(SEED)
    terms = [((text, 1),) for text in alone]
    while len(terms) < n:
        mix = drawn.choices(alone, k=5) if len(terms) % 2 else drawn.sample(alone, 2)
        terms.append(tuple((text, mix.count(text)) for text in sorted(set(mix))))
    return [_item(one) for one in dict.fromkeys(terms)]


def _item(terms: tuple[tuple[str, int], ...]) -> Item:
    name = "; ".join(f"{count}*{text}" for text, count in terms)
    loop = unroll(terms)
    length = sum(count for _, count in terms)
    return Item(name, loop.code, loop.copies, loop.half_bytes, loop.half_copies, length, terms)


async def _two_rounds(
    processes: Nursery, computer: dict, items: Sequence[Item], pause: float
) -> tuple[_Round, _Round]:
    answers = expected(computer["vendor"], computer["family"] or 0, computer["model"] or 0)
    harness = LocalHarness(processes, answers, avx="avx" in computer["flags"])
    try:
        first = await _round(harness, computer, items, seed=1)
        await asyncio.sleep(pause)
        return first, await _round(harness, computer, items, seed=2)
    finally:
        await harness.close()


async def _round(harness: LocalHarness, computer: dict, items: Sequence[Item], seed: int) -> _Round:
    settings = Settings(patience=_SLOWER_THAN_MEASURING)
    surrounding = frame(avx="avx" in computer["flags"])
    found: dict[str, Answer] = {}
    began = time.monotonic()
    for start in range(0, len(items), BATCH):
        batch = Batch(surrounding, settings, tuple(items[start : start + BATCH]), seed)
        results = await harness.measure(batch, lambda _done, _total: None)
        found.update((result.id, result) for result in results)
    return _Round(found, time.monotonic() - began)


def _repeatability(items: Sequence[Item], first: _Round, second: _Round, more: dict) -> Result:
    """The share of all experiments that settled both times, on nearly the same cycles per instruction."""
    lengths = {item.id: item.instructions for item in items}
    both = first.settled.keys() & second.settled.keys()
    near = [
        name
        for name in both
        if abs(first.answers[name].cycles - second.answers[name].cycles) <= NEAR_CPI * lengths[name]
    ]
    counts = {"experiments": len(items), "settled_twice": len(both), "within_cpi": NEAR_CPI}
    return Result("repeatability", round(len(near) / len(items), 4), "share", None, {**more, **counts})


def _textbook(microarchitecture_name: str, measured: _Round, more: dict) -> Result:
    """The share of documented schemes whose time alone is the documented one."""
    documented = known_cpi(microarchitecture_name)
    answers = {text: measured.answers.get(f"1*{text}") for text in documented}
    asked = {text: one for text, one in answers.items() if one is not None}
    off = {
        text: one.cycles
        for text, one in asked.items()
        if one.cycles is None or abs(one.cycles - documented[text][0]) > NEAR_CPI
    }
    share = 1 - len(off) / len(asked)
    found = {**more, "schemes": len(asked), "within_cpi": NEAR_CPI, "off": off}
    return Result("textbook", round(share, 4), "share", 1.0, found)
