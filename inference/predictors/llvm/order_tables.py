"""What the tables of a scheduling model lack of a core that issues in order, from llvm-mca's simulation.

The tables have one latency per instruction, from its issue to its result. Forwarding may give a result to
some instructions earlier: what repeating an instruction takes, each waiting for the one before, is less then.
The difference is the stage in which an instruction needs its sources.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

from inference.core.core_model import CoreModel, OperandLatencies, predict_core
from inference.core.core_model.prediction import shape_of
from inference.core.front_end import read_front_end
from inference.core.simulation.program import IssueOrder
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.bodies import chain_maker, front_end_maker
from inference.isa.chains import ChainLink
from inference.isa.front_end import Aspect
from inference.predictors.llvm.mca import LlvmMca

_SAMPLES, _LENGTH = 60, 6
"""Blocks that say whether results return in order, and instructions in each."""


def issues_in_order(mca: LlvmMca) -> bool:
    """Whether llvm-mca's core takes longer where results are used at once."""
    codes = [
        code
        for code in front_end_maker(mca.isa).front_end_codes(offsets=False)
        if code.aspect is Aspect.ORDER
    ]
    answers = mca.predict([code.code.code for code in codes])
    read = read_front_end(
        (code, answer.cycles) for code, answer in zip(codes, answers, strict=True) if answer.cycles
    )
    return read.issue is not None and read.issue.in_order


def with_order(
    model: CoreModel, mca: LlvmMca, codes: Mapping[str, bytes], table: Mapping[str, int]
) -> CoreModel:
    """The model of a core that issues in order.

    Args:
        model: Model of the tables.
        mca: The same core.
        codes: {scheme: code of one instance}.
        table: {scheme: latency in the tables}.
    """
    latencies, stages = _chained_latencies(model, mca, table)
    candidates = [
        replace(model, scheduler=None, latencies=latencies, issue=IssueOrder(True, completes, stages))
        for completes in (False, True)
    ]
    dice = random.Random("order")  # noqa: S311  not for secrets
    sampled = [b"".join(dice.choices([*codes.values()], k=_LENGTH)) for _ in range(_SAMPLES)]
    cycles = [answer.cycles for answer in mca.predict(sampled)]
    return min(candidates, key=lambda candidate: _error(candidate, mca.isa, sampled, cycles))


def _chained_latencies(
    model: CoreModel, mca: LlvmMca, table: Mapping[str, int]
) -> tuple[Mapping[str, OperandLatencies], dict[str, int]]:
    """The latencies of chains of one scheme, and the stages in which schemes need their sources."""
    links = [
        ChainLink(scheme, *pair)
        for scheme in table
        for pair, cycles in model.latencies[scheme].items()
        if cycles
    ]
    chains = [
        (pair.link, chain.code)
        for pair in chain_maker(mca.isa).chains_of_pairs(links)
        for chain in pair.chains
        if len(chain.links) == 1
    ]
    chained: dict[str, dict[tuple[str, str], float | None]] = defaultdict(dict)
    answers = mca.predict([code for _, code in chains])
    for (link, _), answer in zip(chains, answers, strict=True):
        if answer.cycles:
            pair = link.source, link.destination
            chained[link.scheme][pair] = min(float(max(round(answer.cycles), 1)), table[link.scheme])
    # What waits for nothing has no latency; its result is there as if one cycle behind a later stage.
    stages = {scheme: table[scheme] - 1 for scheme in table if not model.latencies[scheme]}
    latencies = dict(model.latencies)
    for scheme, pairs in chained.items():
        lowest = min(filter(None, pairs.values()))
        stages[scheme] = round(table[scheme] - lowest)
        forwarded: dict[str, float] = {}  # of each source, the same to all destinations
        for (source, _), cycles in pairs.items():
            forwarded[source] = min(cycles or table[scheme], forwarded.get(source, table[scheme]))
        latencies[scheme] = {
            pair: float(forwarded.get(pair[0], table[scheme])) for pair in model.latencies[scheme]
        }
    return latencies, {scheme: stage for scheme, stage in stages.items() if stage > 0}


def _error(model: CoreModel, isa: str, codes: Sequence[bytes], measured: Sequence[float | None]) -> float:
    total = 0.0
    for code, cycles in zip(codes, measured, strict=True):
        block = block_of_bytes(code, isa)
        predicted = predict_core(accesses_of(block), shape_of(block), model).cycles
        if cycles and predicted:
            total += abs(log(predicted / cycles))
    return total
