"""Hostile machine code for real measuring processes, each beside a known block."""

from __future__ import annotations

import asyncio
import random

from benchmarks._survey import Survey
from inference.agent.passes import LocalHarness
from inference.agent.process import UnfitError
from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.agent.reading import ProtocolError
from inference.agent.targets.x86_64 import ADDITIONS
from inference.isa.tables import table_of_module

_ADD = b"\x48\x01\xd8"  # add rax, rbx
_PARTS = {kind: [bytes.fromhex(code) for code in codes] for kind, codes in table_of_module(__file__).items()}


def draw(drawn: random.Random) -> tuple[str, bytes]:
    """(kind, a loop body of 1 to about 200 bytes)."""
    kind = drawn.choice(("random bytes", "random bytes", "system calls", "jumps", "stray"))
    if kind == "random bytes":
        return kind, drawn.randbytes(drawn.randint(1, 60)) * drawn.choice((1, 1, 3))
    if kind == "system calls":
        return kind, b"".join(_system_call(drawn) for _ in range(drawn.randint(1, 3)))
    if kind == "jumps":
        return kind, b"".join(_jump(drawn) + _ADD for _ in range(drawn.randint(1, 8)))
    parts = [
        drawn.choice((_ADD, drawn.choice(_PARTS["stray"]), _set(drawn))) for _ in range(drawn.randint(1, 12))
    ]
    return kind, b"".join(parts)


def _system_call(drawn: random.Random) -> bytes:
    number = drawn.choice((drawn.randrange(470), drawn.randrange(60), drawn.getrandbits(32)))
    return _some_arguments(drawn) + b"\xb8" + number.to_bytes(4, "little") + b"\x0f\x05"


def _some_arguments(drawn: random.Random) -> bytes:
    n = drawn.randint(0, 6)
    return b"".join(drawn.choice((_set(drawn), drawn.choice(_PARTS["pointers"]), b"")) for _ in range(n))


def _set(drawn: random.Random) -> bytes:
    anything = drawn.getrandbits(drawn.choice((6, 16, 47, 64)))
    value = drawn.choice((0, 1, 3, 4096, -1, -100, anything, anything))
    return drawn.choice(_PARTS["arguments"]) + (value % 2**64).to_bytes(8, "little")


def _jump(drawn: random.Random) -> bytes:
    if drawn.random() < 0.5:
        return bytes([drawn.choice((0xEB, 0x70 + drawn.randrange(16)))]) + drawn.randbytes(1)
    return b"\xe9" + drawn.randint(-70_000, 70_000).to_bytes(4, "little", signed=True)


KNOWN = ADDITIONS.item
HASTY = Settings(
    min_passes=2, max_passes=2, repetitions=3, sample_us=20.0, patience=0.0, timeout=0.5, tolerance=0.05
)
"""Quick, and content with a disturbed computer: what the code does matters here, not its time."""

_MAX_SECONDS = 120.0  # seconds for a batch; none needs a tenth of it


async def fuzz_code(harness: LocalHarness, frame: Frame, n: int, seed: int) -> Survey:
    """Measure `n` pieces of hostile code, each in a batch with a known block whose time has to be right."""
    survey, drawn = Survey("code", seed), random.Random(seed)
    for number in range(n):
        kind, code = draw(drawn)
        survey.sent[f"code: {kind}"] += 1
        batch = Batch(frame, HASTY, (BatchItem(kind, code, 1, len(code), 1, 1), KNOWN), seed=number)
        try:
            results = await asyncio.wait_for(harness.measure(batch, lambda _done, _all: None), _MAX_SECONDS)
        except (TimeoutError, UnfitError) as error:
            survey.expect(False, f"{code.hex()}: {error or 'no end'}")
            continue
        _judge(survey, code.hex(), [kind, KNOWN.id], results)
    return survey


def _judge(survey: Survey, code: str, ids: list[str], results: list[Result]) -> None:
    """One sound result for each, and the known block is never to blame."""
    survey.expect([result.id for result in results] == ids, f"{code}: other results {results}")
    for result in results:
        try:
            Result.read(result.as_json())
        except ProtocolError as error:
            survey.expect(False, f"{code}: {error}")
    hostile, known = results[0], results[-1]
    survey.outcomes[hostile.note if hostile.state == "failed" else "has a time"] += 1
    survey.expect(known.cycles is not None, f"{code}: the known block {known.note}")
