"""Listings of every kind: read to the bytes that they show, and the same whatever decorates them.

`kinds`: drawn listings of each form that the tests print, and hand-written ones. `decorated`: listings with
arrows, frames, colours, invisible signs, source lines or a wrong encoding that are read as other code, and
how many are dropped or refused. `lost`: lines with instructions of damaged listings that are in no block, and
that nothing names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

from benchmarks import Result

if TYPE_CHECKING:
    from tests.isa.printed_native_listings import Printed

SEED = 58
LISTINGS_PER_KIND = 20  # listings of each kind
LINES = 100_000  # that are decorated, and that are damaged
_MAX_PIECES = 99
_MAX_EXAMPLES = 10  # examples that a result names
_OWN_LENGTHS = frozenset({"intel", "att", "compiler", "perf --stdio2", "jitdisasm", "benchmarkdotnet"})
"""Forms without addresses and bytes: the length of jumps and displacements is the assembler's."""


def kinds(count: int = LISTINGS_PER_KIND) -> Iterator[Result]:
    """How many listings are read to their bytes and loops, with nothing dropped."""
    from tests.isa.decorations import drawn_loop, of_form
    from tests.isa.printed_listings import FORMS
    from tests.isa.printed_native_listings import NATIVE_FORMS
    from tests.isa.test_hand_made_listings import hand_made_listings

    rng, total, right = Random(SEED), 0, 0
    wrong: Counter[str] = Counter()
    for name in (*FORMS, *NATIVE_FORMS):
        for _ in range(count):
            lines = drawn_loop(rng)
            text = _joined(of_form(name, lines))
            same = _codes(text) == _codes(_joined(of_form("objdump", lines)))
            total += 1
            right += same or (name in _OWN_LENGTHS and bool(_codes(text)))
            wrong[name] += not same and name not in _OWN_LENGTHS
    by_hand = hand_made_listings()
    wrong_by_hand = [listing.name for listing in by_hand if listing.problem()]
    total, right = total + len(by_hand), right + len(by_hand) - len(wrong_by_hand)
    wrong.update(wrong_by_hand)
    more = {"forms": len(FORMS) + len(NATIVE_FORMS), "by_hand": len(by_hand), "wrong": dict(+wrong)}
    yield Result("kinds", right, "listings", total, more)


def decorated_lines(line_count: int = LINES) -> Iterator[Result]:
    """Lines of decorated listings whose blocks are others, and those that are dropped or refused."""
    from tests.isa.decorations import decorated, drawn_loop, of_form
    from tests.isa.printed_listings import FORMS
    from tests.isa.printed_native_listings import NATIVE_FORMS

    rng, total = Random(SEED), 0
    other: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    while total < line_count:
        for name in (*FORMS, *NATIVE_FORMS):
            lines = drawn_loop(rng)
            text = decorated(name, lines, rng)
            total += len(text.splitlines())
            codes = _codes(text)
            unread[name] += codes is None
            other[name] += codes is not None and codes != _codes(_joined(of_form(name, lines)))
    more = {"lines": total, "dropped_or_refused": dict(+unread), "other_code": dict(+other)}
    yield Result("decorated", other.total(), "listings of other code", 0, more)


def lost_lines(line_count: int = LINES) -> Iterator[Result]:
    """Damaged lines that are in no block, and that neither an error nor a notice names."""
    from tests.isa.decorations import CODE, DAMAGES, applied, drawn_loop, of_form
    from tests.isa.printed_listings import FORMS
    from tests.isa.printed_native_listings import NATIVE_FORMS

    rng, total = Random(SEED), 0
    lost: list[str] = []
    outcomes: Counter[str] = Counter()
    while total < line_count:
        for name in (*FORMS, *NATIVE_FORMS):
            damage = rng.choice(sorted(DAMAGES))
            printed = applied(of_form(name, drawn_loop(rng)), DAMAGES[damage], rng)
            total += len(printed)
            numbers = _numbers_accounted_for(printed)
            outcomes["refused" if numbers is None else "read"] += 1
            missing = () if numbers is None else (line for line in printed if line.number not in numbers)
            lost += (
                f"{name}, {damage}: {line.text}"
                for line in missing
                if line.number is not None and re.search(CODE, line.text)
            )
    more = {"lines": total, "outcomes": dict(outcomes), "examples": lost[:_MAX_EXAMPLES]}
    yield Result("lost", len(lost), "lines", 0, more)


def _numbers_accounted_for(printed: Sequence[Printed]) -> set[int | None] | None:
    """The numbers of instructions that are read, or reported as not read; None for a refused text."""
    from inference.isa.blocks import BlockError
    from inference.isa.x86.assembly.reading import read_program

    try:
        program = read_program(_joined(printed))
    except BlockError:
        return None
    if not program.instructions:
        return None
    accounted = {line.line for line in program.dropped} | set(program.remarks)
    accounted |= {instruction.line for instruction in program.instructions}
    return {printed[number - 1].number for number in accounted}


def _joined(printed: Sequence[Printed]) -> str:
    return "\n".join(line.text for line in printed)


def _codes(text: str) -> list[str] | None:
    """The blocks of a text; None where it is refused, or a line is dropped."""
    from inference.isa.blocks import BlockError, read

    try:
        reading = read(text, _MAX_PIECES)
    except BlockError:
        return None
    return None if reading.dropped else [piece.block.hex for piece in reading.pieces]
