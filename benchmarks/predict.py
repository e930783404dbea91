"""How many basic blocks a core model predicts per second of one processor.

The model has ports, slots, latencies of all pairs of operands, forwarding and a front end for every scheme of
the blocks, with numbers drawn by a seed: what they are does not matter here. `straight` are BHive's blocks of
SQLite, as a campaign or an accuracy page asks; `loops` the same with a jump behind. The schemes of all blocks
were seen before, the blocks were not. The reference is what is wanted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from benchmarks import Result
from benchmarks._measured import cost_of
from benchmarks._published_data import block_rows
from inference.core.core_model import CoreModel, FrontEndLimits, MemoryTimes
from inference.core.mapping import PortMapping
from inference.isa.blocks import BlockError, block_of_bytes
from inference.isa.x86.chains import links_of
from inference.predictors.core_model import CoreModelSettings, ModelledBlocks

WANTED = 2000.0  # blocks per second of CPU
_BLOCKS, _QUICK_BLOCKS = 5000, 500
_PORTS = 10  # of the random core model
_JUMP = 0x75  # opcode of `jne` with a displacement of one byte
_FARTHEST = 127  # bytes that such a jump reaches back


def run(quick: bool) -> Iterator[Result]:
    """Blocks per second of CPU; `quick` has a tenth of them."""
    codes = _codes(_QUICK_BLOCKS if quick else _BLOCKS)
    model = _model(codes)
    for case, blocks in (("straight", codes), ("loops", _as_loops(codes))):
        predictor = ModelledBlocks("drawn", lambda: model, CoreModelSettings(), {})
        predictor.predict(blocks[::2])  # loads what is compiled or made once for a scheme
        cost = cost_of(lambda predictor=predictor, blocks=blocks: predictor.predict(blocks[1::2]))  # type: ignore[misc]
        answers, seconds = cost.value, cost.cpu
        answered = sum(answer.cycles is not None for answer in answers)
        more = {"blocks": len(answers), "answered": answered, "seconds": round(seconds, 3)}
        yield Result(case, round(len(answers) / seconds), "blocks/s", reference=WANTED, more=more)


def _codes(count: int) -> list[bytes]:
    """Blocks of SQLite, drawn by a seed."""
    found = [row[0] for row in block_rows("blocks/sqlite.csv")]
    random.Random(1).shuffle(found)
    codes = []
    for digits in found:
        try:
            code = bytes.fromhex(digits)
            if block_of_bytes(code).closing is None:
                codes.append(code)
        except (ValueError, BlockError):
            continue
        if len(codes) == count:
            break
    return codes


def _as_loops(codes: Sequence[bytes]) -> list[bytes]:
    """Those that a short jump can close, each with one to its beginning."""
    short = [code for code in codes if len(code) + 2 <= _FARTHEST]
    return [code + bytes([_JUMP, (-len(code) - 2) % 256]) for code in short]


def _model(codes: Sequence[bytes]) -> CoreModel:
    """A random core model that knows all schemes of the blocks: what it predicts does not matter here."""
    dice = random.Random(2)
    schemes = sorted(
        {
            instruction.scheme
            for code in codes
            for instruction in block_of_bytes(code).instructions
            if instruction.scheme
        }
    )
    usage = {text: ((dice.randrange(1, 1 << _PORTS), dice.randint(1, 2)),) for text in schemes}
    latencies = {
        text: {(link.source, link.destination): float(dice.randint(1, 6)) for link in links_of(text)}
        for text in schemes
    }
    return CoreModel(
        PortMapping(tuple(map(str, range(_PORTS))), usage, 6.0, 6.0),
        latencies,
        memory=MemoryTimes(
            {(bits, bits, 0, False): 5.0 for bits in (8, 16, 32, 64)},
            blocked=15.0,
            of_one_word=0.5,
            to_one_line=0.5,
            to_another_line=1.0,
            foreseen=0.5,
        ),
        front_end=FrontEndLimits(6.0, 4.0, 16.0, 1500.0, 1.0, fused=frozenset({"add reg, reg + je"})),
    )
