"""Classes of instructions such as a tool treats alike: finer than categories where these are wide."""

from __future__ import annotations

import re

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
"""The first whose pattern matches the whole mnemonic of an integer instruction."""

_SHIFTING = re.compile(r"(sh|sa|ro)[lr]|sh[lr]d")
_COUNTS = {"0x0": "shift or rotate by 0", "cl:R": "shift or rotate by cl"}
"""By the operand that counts. Flags stay as they are where that is 0: more work than to write them."""

BY_COUNT = frozenset(_COUNTS.values())
"""Classes that their mnemonics do not tell from others."""

_INTEGER = re.compile(r"v?(p|movdq|movd|movq|lddqu|mpsad)\w*")
_NEITHER = ("crypto", "gather", "scatter", "string compare", "state")
_VECTOR = re.compile(r"[XYZ]?MM(x4)?")
_OF_SPECIAL = {"fused-multiply-add": "FMA", "nop": "no-op", "minimum-maximum": "minimum and maximum"}


def instruction_class(scheme: Scheme) -> str:
    """The class of a scheme, such as `bit scan`, `FP divide`, `vector integer shuffle`, `move`."""
    word = _OF_SPECIAL.get(scheme.category, scheme.category.replace("-", " "))
    if word == "FMA":
        return word
    if is_vector(scheme) and word not in _NEITHER:
        return f"{'vector integer' if _INTEGER.fullmatch(scheme.mnemonic) else 'FP'} {word}"
    counts = [_COUNTS[operand.text] for operand in scheme.operands if operand.text in _COUNTS]
    if counts and _SHIFTING.fullmatch(scheme.mnemonic):
        return counts[0]
    found = (name for name, pattern in _FINER if pattern.fullmatch(scheme.mnemonic))
    return next(found, word)


def is_vector(scheme: Scheme) -> bool:
    """Whether an operand is a vector register."""
    return any(
        operand.kind == "register" and _VECTOR.fullmatch(operand.name.partition("{")[0])
        for operand in scheme.operands
    )


def is_scalar(scheme: Scheme) -> bool:
    """Whether it computes one floating-point number."""
    return is_vector(scheme) and scheme.mnemonic.endswith(("ss", "sd", "sh"))


def accesses_memory(scheme: Scheme) -> bool:
    """Whether it reads or writes memory at an address of one's choice."""
    return any(
        operand.kind == "memory" and operand.access and not operand.implicit and not operand.registers
        for operand in scheme.operands
    )
