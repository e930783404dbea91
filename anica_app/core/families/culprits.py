"""Classes of instructions that a tool treats alike, and the instructions of a discovery that cause the
disagreement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from inference.isa.scheme import Scheme

_FINER = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("bit scan", r"bs[fr]"),
        ("bit count", r"[lt]zcnt|popcnt"),
        ("bit gather", r"p(dep|ext)"),
        ("bit test", r"bt[csr]?"),
        ("double shift", r"sh[lr]d"),
        ("shift", r"sh[lr]|sa[lr]"),
        ("shift without flags", r"s[ah][lr]x"),
        ("rotate", r"ro[lr]x?"),
        ("rotate through carry", r"rc[lr]"),
        ("add with carry", r"adc|sbb|adcx|adox"),
        ("exchange", r"xchg"),
        ("exchange and add", r"xadd"),
        ("compare and exchange", r"cmpxchg\w*"),
        ("pop", r"pop\w*"),
        ("push", r"push\w*"),
        ("table lookup", r"xlatb"),
    )
)
"""Finer classes of integer instructions; the first whose pattern matches the whole mnemonic applies."""

_SHIFTING = re.compile(r"(sh|sa|ro)[lr]|sh[lr]d")
_COUNTS = {"0x0": "shift or rotate by 0", "cl:R": "shift or rotate by cl"}
"""Classes by the operand that counts. A count of 0 leaves the flags unchanged, which takes more work than
writing them.
"""

BY_COUNT = frozenset(_COUNTS.values())
"""Classes that their mnemonics do not tell from others."""

_INTEGER = re.compile(r"v?(p|movdq|movd|movq|lddqu|mpsad)\w*")
"""Mnemonics of vector instructions on integers: `paddd`, `vmovdqa`."""

_FLOATING = re.compile(r"f\w+|[su]cvtf")
"""Mnemonics of floating-point instructions where registers are named by their elements: `fadd`, `scvtf`."""

_SHIFTED_OPERAND = re.compile(r"(?:lsl|lsr|asr|ror|[su]xt[bhw]) ?\d*")
"""An operand that shifts or extends the one before it."""

_UNQUALIFIED = ("crypto", "gather", "scatter", "string compare", "state")
_VECTOR = re.compile(r"[XYZ]?MM(x4)?")
_BY_ELEMENTS = re.compile(r"(FPR|VEC|ELEM).*")
"""Vector registers that are named by their elements."""

_SINGLE = re.compile(r"FPR\[(16|32|64)\]")
_COMPUTING = frozenset(("arithmetic", "logical", "compare"))
_CATEGORY_WORDS = {"fused-multiply-add": "FMA", "nop": "no-op", "minimum-maximum": "minimum and maximum"}
_MAX_NAMED = 3
"""For a constrained mnemonic, matches up to this number are all named; beyond it, only that of the
witness.
"""

_MAJORITY = 2 / 3
"""Share of the represented schemes that must have a class for the instruction to have it."""

_NARROW = 0.1
"""Share of all schemes; an abstract instruction that represents fewer is what the discovery is about."""


def instruction_class(scheme: Scheme) -> str:
    """The class of a scheme, such as `bit scan`, `FP divide`, `vector integer shuffle`, `move`."""
    word = _CATEGORY_WORDS.get(scheme.category, scheme.category.replace("-", " "))
    if word == "FMA":
        return word
    if is_vector(scheme) and word not in _UNQUALIFIED:
        return f"{_kind_of_elements(scheme)} {word}"
    if scheme.category in _COMPUTING and _SHIFTED_OPERAND.fullmatch(scheme.operands[-1].name):
        return f"{word} with a shifted or extended operand"
    counts = [_COUNTS[operand.text] for operand in scheme.operands if operand.text in _COUNTS]
    if counts and _SHIFTING.fullmatch(scheme.mnemonic):
        return counts[0]
    finer = (name for name, pattern in _FINER if pattern.fullmatch(scheme.mnemonic))
    return next(finer, word)


def _kind_of_elements(scheme: Scheme) -> str:
    if not _has_registers(scheme, _BY_ELEMENTS):
        return "vector integer" if _INTEGER.fullmatch(scheme.mnemonic) else "FP"
    if _FLOATING.fullmatch(scheme.mnemonic):
        return "FP"
    return "vector" if scheme.category == "move" else "vector integer"


def is_vector(scheme: Scheme) -> bool:
    return _has_registers(scheme, _VECTOR) or _has_registers(scheme, _BY_ELEMENTS)


def is_scalar(scheme: Scheme) -> bool:
    """Whether it computes a single floating-point number."""
    if _has_registers(scheme, _BY_ELEMENTS):
        return _FLOATING.fullmatch(scheme.mnemonic) is not None and _has_registers(scheme, _SINGLE)
    return is_vector(scheme) and scheme.mnemonic.endswith(("ss", "sd", "sh"))


def _has_registers(scheme: Scheme, pattern: re.Pattern[str]) -> bool:
    names = (operand.name.partition("{")[0] for operand in scheme.operands if operand.kind == "register")
    return any(pattern.fullmatch(name) for name in names)


def accesses_memory(scheme: Scheme) -> bool:
    """Whether it reads or writes memory at an explicit address."""
    return any(
        operand.kind == "memory" and operand.access and not operand.implicit and not operand.registers
        for operand in scheme.operands
    )


@dataclass(frozen=True, slots=True)
class CulpritInstructions:
    """The instructions that a discovery is about.

    Attributes:
        classes: For each constrained instruction the class of most schemes that it represents, or its
            memory access where nothing else is constrained; without repetitions.
        mnemonics: (class, mnemonic) of the represented schemes; that of the witness where the class is a
            memory access, or where many match a constrained mnemonic.
        memory: All access memory.
        scalar: All compute a single floating-point number.
    """

    classes: tuple[str, ...]
    mnemonics: tuple[tuple[str, str], ...]
    memory: bool
    scalar: bool


def culprits_of(domain: BlockDomain, abstract: AbstractBlock, witness: SampledBlock) -> CulpritInstructions:
    """The instructions of a discovery that the disagreement is about.

    Args:
        domain: Domain of the campaign.
        abstract: The discovery.
        witness: The block that it was generalised from.
    """
    space = domain.space
    schemes = [space.schemes[instruction.scheme] for instruction in witness.instructions]
    places = _chosen(domain, abstract) if len(abstract) == len(witness) else list(range(len(schemes)))
    wide = _NARROW * len(space)
    classes: list[str] = []
    mnemonics: list[tuple[str, str]] = []
    for place in places:
        fits = len(abstract) == len(witness)
        general = fits and _count(domain, abstract, place) > wide
        memory_word = _memory_word(domain, abstract, place) if general else ""
        witness_class = instruction_class(schemes[place])
        is_specific = not fits or general or _value(domain, abstract, place, "mnemonic") is not None
        classes.append(
            memory_word
            or (witness_class if is_specific else _class_of_most(domain, abstract, place, witness_class))
        )
        names = [] if memory_word or not fits else _mnemonics(domain, abstract, place, classes[-1])
        mnemonics += [(classes[-1], mnemonic) for mnemonic in names or [schemes[place].mnemonic]]
    culprits = [schemes[place] for place in places]
    return CulpritInstructions(
        tuple(dict.fromkeys(classes)),
        tuple(dict.fromkeys(mnemonics)),
        all(map(accesses_memory, culprits)),
        all(map(is_scalar, culprits)),
    )


def _chosen(domain: BlockDomain, abstract: AbstractBlock) -> Sequence[int]:
    """The instructions that represent few schemes; without such, those that represent the fewest."""
    counts = [_count(domain, abstract, place) for place in range(len(abstract))]
    narrow = [place for place, count in enumerate(counts) if count <= _NARROW * len(domain.space)]
    return narrow or [place for place, count in enumerate(counts) if count <= 2 * min(counts)]


def _count(domain: BlockDomain, abstract: AbstractBlock, place: int) -> int:
    return domain.table.meaning(abstract.instructions[place]).bit_count()


def _class_of_most(domain: BlockDomain, abstract: AbstractBlock, place: int, witness_class: str) -> str:
    """The class that a share of `_MAJORITY` of an abstract instruction's schemes has, else the witness's."""
    numbers = domain.space.numbers(domain.table.meaning(abstract.instructions[place]))
    counts = Counter(instruction_class(domain.space.schemes[number]) for number in numbers)
    return next((name for name, count in counts.items() if count >= _MAJORITY * len(numbers)), witness_class)


def _mnemonics(domain: BlockDomain, abstract: AbstractBlock, place: int, name: str) -> list[str]:
    """The mnemonics of a class's schemes that an abstract instruction represents.

    Empty where more than `_MAX_NAMED` match a constrained mnemonic.
    """
    bits = domain.table.meaning(abstract.instructions[place])
    mnemonics = {
        scheme.mnemonic
        for at, scheme in enumerate(domain.space.schemes)
        if bits >> at & 1 and instruction_class(scheme) == name
    }
    is_constrained = _value(domain, abstract, place, "mnemonic") is not None
    return [] if is_constrained and len(mnemonics) > _MAX_NAMED else sorted(mnemonics)


def _value(domain: BlockDomain, abstract: AbstractBlock, place: int, feature: str) -> Any:
    """The constraint of an abstract instruction on a feature; None without one."""
    names = domain.vocabulary.names
    return abstract.instructions[place].values[names.index(feature)] if feature in names else None


def _memory_word(domain: BlockDomain, abstract: AbstractBlock, place: int) -> str:
    """The memory access that an abstract instruction requires, as one word; "" without such a constraint."""
    value = _value(domain, abstract, place, "memory")
    if value is None or isinstance(value, str):
        return ""
    return "store" if "W" in value else "load" if "R" in value else "memory access"
