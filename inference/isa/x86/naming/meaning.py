"""What a word of a search means as a name: `cmovnz`, `addq`, `ADD_R64_R64` and `ADD64rr` alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from inference.isa.facets import NOTHING, SearchMeaning
from inference.isa.scheme import Scheme
from inference.isa.x86.assembly.mnemonics import MnemonicReading, att_readings, known_mnemonics, readings
from inference.isa.x86.forms import has_forms
from inference.isa.x86.naming import llvm, uops_info
from inference.isa.x86.scheme_set import described, schemes_of

_LONGEST = 80
_WORD, _HALF = 64, 16
"""Bits of general-purpose registers: the widest, and what is pushed with a prefix."""
_RENAMED = frozenset({"sal", "pushf", "popf", "iret"})
"""Mnemonics of iced's that assemblers take for others."""
_MNEMONIC = re.compile(r"[a-z][a-z0-9_]*")


@lru_cache(maxsize=4096)
def meaning_of(word: str) -> SearchMeaning:
    """What a word means as a name of x86-64, in whatever case; of a mnemonic of our own, that one."""
    name = word.strip().lower()
    if not name or len(name) > _LONGEST:
        return NOTHING
    if name in _ours() and name not in _RENAMED:
        return SearchMeaning(frozenset({name}))
    if not _MNEMONIC.fullmatch(name):
        return SearchMeaning(texts=frozenset(uops_info.schemes_named(name)))
    mnemonics: set[str] = set()
    texts: set[str] = set()
    for one in _assemblers(name):
        if one.size or one.source or one.long:
            texts |= {scheme.text for scheme in schemes_of(one.mnemonic) if _fits(one, scheme)}
        elif one.mnemonic in _ours():
            mnemonics.add(one.mnemonic)
    if not mnemonics and not texts:
        texts = {*uops_info.schemes_named(name), *llvm.schemes_named(name)}
    return SearchMeaning(frozenset(mnemonics), frozenset(texts))


@cache
def _ours() -> frozenset[str]:
    """The mnemonics of which there are schemes: those that imply an immediate, as `vcmpltps`, have none."""
    return frozenset(name for name in known_mnemonics() if has_forms(name))


@lru_cache(maxsize=4096)
def is_avx512(word: str) -> bool:
    """Whether a word names schemes of AVX-512 and of nothing else."""
    meant = meaning_of(word)
    named = [scheme for mnemonic in meant.mnemonics for scheme in schemes_of(mnemonic)]
    found = [described(text) for text in meant.texts]
    named += [scheme for scheme, _ in filter(None, found)]
    return bool(named) and all(_needs_avx512(scheme) for scheme in named)


def mnemonics_named(word: str) -> frozenset[str]:
    """Our mnemonics of what a word means, whatever it says of operands: {"add"} of `addq`."""
    meant = meaning_of(word)
    found = [described(text) for text in meant.texts]
    return meant.mnemonics | {scheme.mnemonic for scheme, _ in filter(None, found)}


def _needs_avx512(scheme: Scheme) -> bool:
    return scheme.encoding == "EVEX" or "AVX512" in scheme.extension.upper()


def _assemblers(name: str) -> Iterator[MnemonicReading]:
    """What assemblers take a mnemonic for: in Intel's syntax, else in AT&T's."""
    found = list(readings(name))
    if not found and name[:-1] not in ("movd", "vmovd"):  # the beginning of movdqa and others
        found = list(att_readings(name))
    yield from found


def _fits(meant: MnemonicReading, scheme: Scheme) -> bool:
    """Whether operands of a scheme have the widths that a name says."""
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
