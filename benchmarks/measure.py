"""How fast and how repeatably this computer is measured, by the agent's own harness on one of its processors.

Reference of the rate: the publications' 1.3 experiments per second (thesis §3.2). Three cases look at the
same experiments: every scheme of the starter set alone, random pairs of the default set, and random mixes of
five. `singletons-within-10-percent` measures the whole default set alone, beside the ports that uops.info
documents; its reference is the publications' share on Skylake (§3.2.2).
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings as site

from benchmarks import MissingDataError, Result
from inference.agent import fork_server
from inference.agent.facts import choose_core, facts
from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer
from inference.agent.protocol import Batch, BatchItem, Settings
from inference.agent.protocol import Result as Answer
from inference.agent.targets.x86_64 import expected
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.model_check import AloneCheck, AloneVerdict, judge_alone, summary_of
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.formats.import_formats import read
from inference.formats.parsing import resolve
from inference.formats.uops_info_digest import NAMES
from inference.isa.names import SchemeNames
from inference.isa.scheme import Scheme
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import frame, unroll
from inference.isa.x86.availability import missing_feature
from inference.isa.x86.microarchitectures import microarchitecture
from inference.isa.x86.textbook import documented_cpi
from inference.isa.x86.textbook_facet import beyond_ports

PUBLISHED_RATE = 1.3  # experiments per second
PUBLISHED_SHARE = 0.8943  # 2,234 of 2,498
SHOWN = 12  # discrepancies that a line names, the largest
PAUSE_SECONDS = 600.0
"""Between the two passes of `repeatability`."""

NEAR_CPI = 0.02  # cycles per instruction by which two measurements may differ
BATCH = 96  # experiments that an agent is given at once
SEED = 20
QUICK_SINGLETONS = 200  # documented schemes that `quick` measures
_SLOWER_THAN_MEASURING = 30.0  # a disturbed computer is waited for as long before its results are given up


@dataclass(frozen=True)
class _Round:
    """All experiments measured once: {experiment: answer}; of each batch (how many settled, seconds)."""

    answers: dict[str, Answer]
    batches: tuple[tuple[int, float], ...]

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.batches)

    @property
    def rate(self) -> float:
        return len(self.settled) / self.seconds

    @property
    def spread(self) -> dict[str, float]:
        """Settled experiments per second in the slowest, the median and the fastest batch."""
        rates = [settled / seconds for settled, seconds in self.batches]
        found = {"slowest": min(rates), "median": statistics.median(rates), "fastest": max(rates)}
        return {name: round(rate, 1) for name, rate in found.items()}

    @property
    def settled(self) -> dict[str, Answer]:
        return {name: answer for name, answer in self.answers.items() if answer.state == "settled"}


def run(quick: bool) -> Iterator[Result]:
    """Two rounds with a pause between them; `quick` has fewer experiments and hardly any pause."""
    computer = facts(choose_core())
    if computer["unfit"]:
        raise MissingDataError(computer["unfit"])
    known = microarchitecture(computer["vendor"], computer["family"] or 0, computer["model"] or 0)
    flags = computer["flags"]
    default = [s for s in schemes() if not s.exclusion and not missing_feature(s, flags)]
    texts = [scheme.text for scheme in default]
    items = _items([scheme.text for scheme in default if scheme.starter], texts, 120 if quick else 600)
    pause = 5.0 if quick else PAUSE_SECONDS
    connection = fork_server.start(computer["core"])
    documented = _documented(known.name if known else None)
    wanted = _sample(texts, QUICK_SINGLETONS if quick else len(texts)) if documented else []
    alone = [_item(((text, 1),)) for text in wanted]
    first, second, single = asyncio.run(_rounds(ForkServer(connection), computer, items, alone, pause))
    more = {
        "cpu": computer["cpu"],
        "microarchitecture": known.name if known else None,
        "core": computer["core"],
    }
    counts = {"experiments": len(items), "settled": len(first.settled), "batches": len(first.batches)}
    told = {**more, **counts, "batch_rates": first.spread}
    yield Result("experiments-per-second", round(first.rate, 1), "1/s", PUBLISHED_RATE, told)
    yield _repeatability(items, first, second, {**more, "pause_seconds": pause})
    if known is not None and documented_cpi(known.name):
        yield _textbook(known.name, first, more)
    if documented is not None:
        yield _within_ten_percent(single, documented, more)


def _sample(texts: Sequence[str], n: int) -> list[str]:
    return random.Random(SEED).sample(texts, min(n, len(texts)))


def _items(starter: Sequence[str], default: Sequence[str], n: int) -> list[BatchItem]:
    """n experiments as machine code: the starters alone, then pairs and five-mixes of the others in turn."""
    drawn = random.Random(SEED)
    terms: list[tuple[tuple[str, int], ...]] = [((text, 1),) for text in starter]
    while len(terms) < n:
        mix = drawn.choices(default, k=5) if len(terms) % 2 else drawn.sample(default, 2)
        terms.append(tuple((text, mix.count(text)) for text in sorted(set(mix))))
    return [_item(term) for term in dict.fromkeys(terms)]


def _item(terms: tuple[tuple[str, int], ...]) -> BatchItem:
    name = "; ".join(f"{count}*{text}" for text, count in terms)
    loop = unroll(terms)
    length = sum(count for _, count in terms)
    return BatchItem(name, loop.code, loop.copies, loop.half_bytes, loop.half_copies, length, terms)


async def _rounds(
    processes: ForkServer,
    computer: Json,
    items: Sequence[BatchItem],
    alone: Sequence[BatchItem],
    pause: float,
) -> tuple[_Round, _Round, _Round]:
    """The items twice, with the pause between, in which the single schemes are measured."""
    answers = expected(computer["vendor"], computer["family"] or 0, computer["model"] or 0)
    harness = LocalHarness(processes, answers, avx="avx" in computer["flags"])
    try:
        first = await _round(harness, computer, items, seed=1)
        single = await _round(harness, computer, alone, seed=3)
        await asyncio.sleep(max(0.0, pause - single.seconds))
        return first, await _round(harness, computer, items, seed=2), single
    finally:
        await harness.close()


async def _round(harness: LocalHarness, computer: Json, items: Sequence[BatchItem], seed: int) -> _Round:
    """Measure all items once, batch after batch, as the site would have it done."""
    settings = Settings(patience=_SLOWER_THAN_MEASURING)
    surrounding = frame(avx="avx" in computer["flags"])
    found: dict[str, Answer] = {}
    batches = []
    for start in range(0, len(items), BATCH):
        batch = Batch(surrounding, settings, tuple(items[start : start + BATCH]), seed)
        began = time.monotonic()
        results = await harness.measure(batch, lambda _done, _total: None)
        settled = sum(result.state == "settled" for result in results)
        batches.append((settled, time.monotonic() - began))
        found.update((result.id, result) for result in results)
    return _Round(found, tuple(batches))


def _cycles(measured: _Round, name: str) -> float:
    """Of an experiment that has settled."""
    cycles = measured.answers[name].cycles
    assert cycles is not None
    return cycles


def _repeatability(items: Sequence[BatchItem], first: _Round, second: _Round, more: Json) -> Result:
    """The share of all experiments that settled both times, on nearly the same cycles per instruction."""
    lengths = {item.id: item.instructions for item in items}
    both = first.settled.keys() & second.settled.keys()
    near = [
        name for name in both if abs(_cycles(first, name) - _cycles(second, name)) <= NEAR_CPI * lengths[name]
    ]
    counts = {"experiments": len(items), "settled_twice": len(both), "within_cpi": NEAR_CPI}
    return Result("repeatability", round(len(near) / len(items), 4), "share", None, {**more, **counts})


def _textbook(microarchitecture_name: str, measured: _Round, more: Json) -> Result:
    """The share of documented schemes whose time alone is the documented one."""
    documented = documented_cpi(microarchitecture_name)
    answers = {text: measured.answers.get(f"1*{text}") for text in documented}
    answered = {text: answer for text, answer in answers.items() if answer is not None}
    off = {
        text: answer.cycles
        for text, answer in answered.items()
        if answer.cycles is None or abs(answer.cycles - documented[text][0]) > NEAR_CPI
    }
    share = 1 - len(off) / len(answered)
    facts = {**more, "schemes": len(answered), "within_cpi": NEAR_CPI, "off": off}
    return Result("textbook", round(share, 4), "share", 1.0, facts)


def _documented(microarchitecture_name: str | None) -> PortMapping | None:
    """What uops.info documents of a microarchitecture, by our scheme texts; None, said aloud, without it."""
    path = site.SHARED / "data/iwho/x86_uops_info_features.json"
    key = next((key for key, name in NAMES.items() if name == microarchitecture_name), None)
    if key is None or not path.exists():
        lacks = f"is not at {path}" if key else f"has nothing of {microarchitecture_name or 'this processor'}"
        print(f"singletons-within-10-percent skipped: the table of port usages {lacks}", file=sys.stderr)
        return None
    names = SchemeNames(scheme.text for scheme in schemes())
    return resolve(read(path.read_bytes(), path.name, part=key), names).mapping


def _within_ten_percent(single: _Round, documented: PortMapping, more: Json) -> Result:
    """The share of settled, documented schemes whose time alone is within 10 % of what the ports allow."""
    described = {scheme.text: scheme for scheme in schemes()}
    alone = [
        _judged(answer, described[name.removeprefix("1*")], documented)
        for name, answer in single.answers.items()
    ]
    found = summary_of(alone)
    off = sorted(
        (e for e in alone if e.verdict is AloneVerdict.DISCREPANCY), key=lambda e: -abs(e.error or 0.0)
    )
    told = {
        **more,
        "schemes": found.requested,
        "compared": found.compared,
        "within": found.within,
        "up_to_3_cycles": None if found.short_share is None else round(found.short_share, 4),
        "verdicts": {verdict.value: count for verdict, count in found.verdicts.items() if count},
        "seconds": round(single.seconds, 1),
        "batch_rates": single.spread,
        "furthest_off": {e.scheme: [round(e.measured or 0.0, 3), e.modelled] for e in off[:SHOWN]},
    }
    value = round(found.share or 0.0, 4)
    return Result("singletons-within-10-percent", value, "share", PUBLISHED_SHARE, told)


def _judged(answer: Answer, scheme: Scheme, documented: PortMapping) -> AloneCheck:
    experiment = Experiment.of([scheme.text])
    measured = Measured(experiment, answer.cycles, MeasurementState(answer.state), note=answer.note)
    said = inverse_throughput(documented, experiment) if scheme.text in documented.usage else None
    return judge_alone(measured, said, beyond_ports(scheme, documented.ports))
