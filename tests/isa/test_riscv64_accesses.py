"""Reads and writes of RISC-V code: those of the document are QEMU's, and blocks have their addresses."""

from __future__ import annotations

from pathlib import Path
from random import Random

from inference.isa.dependences import OperandAccess
from inference.isa.riscv64.decoding import decode, table
from inference.isa.riscv64.vector import forms
from inference.isa.words.accesses import (
    GENERAL,
    DecodedInstruction,
    InMemory,
    RegisterPart,
    locations_of,
    word_accesses,
)
from inference.isa.words.table import WordForm
from tests.isa.access_experiment import Case, Observed, observe
from tests.isa.riscv64_experiment import POINTER, RISCV
from tests.isa.riscv64_program import needs_qemu

NOT_EXECUTED = ("interrupt", "system", "fence")
"""Categories: they end the program, or read what no register holds."""

NOT_KNOWN = {"czero.eqz", "czero.nez"}
"""QEMU 7 does not execute them."""

NOT_DRAWN = {"ret", "jr", "jalr", "c.jr", "c.jalr"}
"""Jumps to a register."""

NOT_SEEN: set[str] = set()
TRIES, WORDS = 20, 2000


def case_of(decoded: DecodedInstruction) -> Case | None:
    """The experiment with an instruction; None where its registers make none possible."""
    parts = [value for value in decoded.operands if isinstance(value, RegisterPart)]
    places = [value for value in decoded.operands if isinstance(value, InMemory)]
    bases = [place.base for place in places if place.base is not None]
    if POINTER in bases or 0 in bases or (GENERAL, POINTER) in {(part.bank, part.number) for part in parts}:
        return None
    if any(f"{GENERAL} {base}" in locations_of(part) for base in bases for part in parts):
        return None
    addresses = {place.base: -place.displacement for place in places if place.base is not None}
    return Case(decoded.code, addresses)


def drawn(form: WordForm, dice: Random) -> DecodedInstruction | None:
    """A random instruction of a form that can be executed; None without one."""
    bits = form.encoding.bits
    free = ~form.encoding.mask & (1 << bits) - 1
    for _ in range(WORDS):
        word: int | None = form.encoding.match | dice.getrandbits(bits) & free
        entry = table().decode(word or 0)
        if entry is None or entry[0] is not form:
            continue
        if form.encoding.flow != "next":
            if form.form.mnemonic in NOT_DRAWN:
                return None
            word = form.word([*entry[1][:-1], 8])
        if word is not None and case_of(decode(word)) is not None:
            return decode(word)
    return None


def location(access: OperandAccess) -> str:
    return "memory" if access.memory is not None else access.location


def expected(decoded: DecodedInstruction) -> Observed:
    accesses = word_accesses(decoded)
    return Observed(frozenset(map(location, accesses.reads)), frozenset(map(location, accesses.writes)))


def exceeds(observed: Observed, stated: Observed) -> bool:
    return not (observed.read <= stated.read and observed.written <= stated.written)


@needs_qemu
def test_every_form_reads_and_writes_what_qemu_does(tmp_path: Path) -> None:
    """Some values show no read: a comparison with an equal number. Then another instruction may."""
    dice = Random(1)
    vectors = {scheme.text for scheme in forms().schemes}
    remaining = [
        form
        for form in table().forms
        if form.form.category not in NOT_EXECUTED
        and form.form.mnemonic not in NOT_KNOWN
        and form.form.text not in vectors
    ]
    undrawn: set[str] = set()
    for _ in range(TRIES):
        words = {form.form.text: drawn(form, dice) for form in remaining}
        undrawn |= {text for text, word in words.items() if word is None}
        cases = {text: (word, case) for text, word in words.items() if word and (case := case_of(word))}
        seen = observe(RISCV, [case for _, case in cases.values()], tmp_path / "program")
        wanted = [expected(word) for word, _ in cases.values()]
        pairs = dict(zip(cases, zip(seen, wanted, strict=True), strict=True))
        assert not {text: pair for text, pair in pairs.items() if exceeds(*pair)}
        remaining = [form for form in remaining if len(set(pairs.get(form.form.text, ()))) > 1]
    assert {form.form.text for form in remaining} <= NOT_SEEN
    assert {text.partition(" ")[0] for text in undrawn} <= NOT_DRAWN
