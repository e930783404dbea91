"""The meaning of a word in a search as a name: `cmovnz`, `addq`, `ADD_R64_R64` and `ADD64rr` alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from inference.isa.facets import NO_MEANING, LlvmMeaning, SearchMeaning
from inference.isa.scheme import Scheme
from inference.isa.x86.assembly.mnemonics import MnemonicReading, att_readings, known_mnemonics, readings
from inference.isa.x86.forms import has_forms
from inference.isa.x86.naming import llvm, uops_info
from inference.isa.x86.naming.operand_words import operands_named
from inference.isa.x86.scheme_set import scheme_and_form, schemes_of

_MAX_LENGTH = 80
_WORD, _HALF = 64, 16
"""Bits of general-purpose registers: the widest, and those pushed with a prefix."""
_RENAMED = frozenset({"sal", "pushf", "popf", "iret"})
"""Mnemonics of iced that assemblers use for other instructions."""
_MNEMONIC = re.compile(r"[a-z][a-z0-9_]*")


@lru_cache(maxsize=4096)
def meaning_of(word: str) -> SearchMeaning:
    """The schemes that a word names in x86-64, in any case; for a mnemonic of our own, that one."""
    name = word.strip().lower()
    if not name or len(name) > _MAX_LENGTH:
        return NO_MEANING
    if operands := operands_named(name):
        return SearchMeaning(operands=operands)
    if name in _scheme_mnemonics() and name not in _RENAMED:
        return SearchMeaning(frozenset({name}))
    if not _MNEMONIC.fullmatch(name):
        return SearchMeaning(texts=frozenset(uops_info.schemes_named(name)))
    mnemonics: set[str] = set()
    texts: set[str] = set()
    for reading in _assembler_readings(name):
        if reading.size or reading.source or reading.long:
            texts |= {scheme.text for scheme in schemes_of(reading.mnemonic) if _fits(reading, scheme)}
        elif reading.mnemonic in _scheme_mnemonics():
            mnemonics.add(reading.mnemonic)
    if not mnemonics and not texts:
        texts = {*uops_info.schemes_named(name), *llvm.schemes_named(name)}
    return SearchMeaning(frozenset(mnemonics), frozenset(texts))


@cache
def _scheme_mnemonics() -> frozenset[str]:
    """The mnemonics with schemes: those that imply an immediate, such as `vcmpltps`, have none."""
    return frozenset(name for name in known_mnemonics() if has_forms(name))


@lru_cache(maxsize=4096)
def is_avx512(word: str) -> bool:
    """Whether a word names only schemes of AVX-512."""
    meaning = meaning_of(word)
    schemes = [scheme for mnemonic in meaning.mnemonics for scheme in schemes_of(mnemonic)]
    scheme_forms = [scheme_and_form(text) for text in meaning.texts]
    schemes += [scheme for scheme, _ in filter(None, scheme_forms)]
    return bool(schemes) and all(_needs_avx512(scheme) for scheme in schemes)


def mnemonics_named(word: str) -> frozenset[str]:
    """Our mnemonics that a word names, without the operands that it implies: {"add"} for `addq`."""
    meaning = meaning_of(word)
    scheme_forms = [scheme_and_form(text) for text in meaning.texts]
    return meaning.mnemonics | {scheme.mnemonic for scheme, _ in filter(None, scheme_forms)}


def llvm_meaning(opcode: str, setting: str) -> LlvmMeaning:
    """The opcode itself: x86-64 has no modes, and benchmarks of it no pseudo-instructions."""
    return LlvmMeaning(opcode)


def uops_info_name(text: str) -> str:
    """uops.info's name of a scheme; "" where it is not certain."""
    entry = scheme_and_form(text)
    return "" if entry is None else uops_info.name_of(entry[0])


def _needs_avx512(scheme: Scheme) -> bool:
    return scheme.encoding == "EVEX" or "AVX512" in scheme.extension.upper()


def _assembler_readings(name: str) -> Iterator[MnemonicReading]:
    """Assemblers' meanings of a mnemonic: in Intel syntax, else in AT&T syntax."""
    meanings = list(readings(name))
    if not meanings and name[:-1] not in ("movd", "vmovd"):  # the beginning of movdqa and others
        meanings = list(att_readings(name))
    yield from meanings


def _fits(meant: MnemonicReading, scheme: Scheme) -> bool:
    """Whether a scheme has the operand sizes that a suffix of the mnemonic says."""
    if scheme.text.startswith("data16") != (meant.size == _HALF and scheme.mnemonic in ("push", "pop")):
        return False
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    if meant.long:
        return any(operand.name == "IMM[64]" or operand.name.startswith("MOFFS") for operand in explicit)
    widths = [operand.width for operand in explicit if operand.kind in ("register", "memory")]
    if meant.source:
        return len(widths) > 1 and widths[1] == meant.source and meant.size in (0, widths[0])
    general = [
        operand.width
        for operand in explicit
        if operand.kind == "memory" or (operand.kind == "register" and operand.width <= _WORD)
    ]
    if meant.size > _WORD or not general:
        return meant.size in widths or not explicit or explicit[0].kind in ("immediate", "branch")
    return general[0] == meant.size or (meant.size in general and scheme.category.startswith("conver"))
