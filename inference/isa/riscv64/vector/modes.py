"""The schemes of V: its forms in the modes in which they are described, `vadd.vv VR[e32,m1]:W, …`.

A mode is a width of elements (SEW) and a number of registers in a group (LMUL), as `vsetvli` sets them. Each
vector operand of a scheme says what it is in that mode: of a widening addition, sources are `VR[e32,m1]`
and the destination is `VR[e64,m2]`. A register of which one element matters is `VE[e32]`, a mask is `VM`.

The default set has groups of one register, and elements of 32 bits where the width hardly matters. Groups of
2, 4 and 8 registers are described as well: they show by which law the time grows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from inference.isa.document import OperandForm
from inference.isa.riscv64.vector import forms
from inference.isa.scheme import TIMED_BY_VALUES, Scheme, memory_use

_USUAL = 32  # bits of an element in the default set
_BY_WIDTH = frozenset(("vector-gather", "vector-reduce"))
"""Categories whose time depends on the width of elements: the default set has all of them."""

_MASK = "v0.t"
ANY_WIDTH = 0
"""Of the elements that a mask belongs to: with each, instructions of masks take as long (rvv-bench)."""

_SEGMENTS = range(2, 9)
SETTING = "vector-setting"
"""Category of the instructions that set the mode."""

MASKED = "masked:"
"""Prefix of the exclusion of masked schemes."""

OTHER_MODE = "another mode:"
"""Prefix of the exclusion of schemes whose time follows from that of one in the default set."""


VECTOR_EXTENSIONS = ("V", "Zvfh")


class Mode(NamedTuple):
    """`sew`: bits of an element, 0 for any width. `lmul`: registers in a group."""

    sew: int
    lmul: int

    def __str__(self) -> str:
        return f"e{self.sew},m{self.lmul}" if self.sew else f"m{self.lmul}"


class VectorScheme(NamedTuple):
    """`form`: the text of the form in `forms.json`. `mode`: None for instructions that every mode has."""

    scheme: Scheme
    form: str
    mode: Mode | None


@cache
def vector_schemes() -> Mapping[str, VectorScheme]:
    """{text of a scheme: its form and mode}, in the order of `forms.json`."""
    return {scheme.scheme.text: scheme for form in forms().schemes for scheme in _schemes_of(form)}


@cache
def schemes_by_form() -> Mapping[str, Mapping[Mode | None, str]]:
    """{text of a form: {mode: text of its scheme}}."""
    by_form: dict[str, dict[Mode | None, str]] = {}
    for text, scheme in vector_schemes().items():
        by_form.setdefault(scheme.form, {})[scheme.mode] = text
    return by_form


@cache
def operand_forms() -> Mapping[str, OperandForm]:
    """The operands of schemes, by their names in all modes."""
    originals = {form.text: form for form in forms().schemes}
    operands: dict[str, OperandForm] = {}
    for entry in vector_schemes().values():
        pairs = zip(originals[entry.form].operands, entry.scheme.operands, strict=True)
        operands |= {named.name: _form(form.name, named.name) for form, named in pairs}
    return operands


def _form(name: str, named: str) -> OperandForm:
    """An operand in a mode: a group has as many registers as its name says, a float as many bits."""
    form = forms().forms[name]
    if scalar := re.fullmatch(r"FPR\[(\d+)\]", named):
        return replace(form, width=int(scalar[1]))
    return replace(form, span=registers_of(named))


def registers_of(name: str) -> int:
    """Number of registers of an operand in a mode.

    >>> registers_of("VR[e32,m4]"), registers_of("VRx3[e8,m1]"), registers_of("VR[e8,mf2]")
    (4, 3, 1)
    """
    group = re.fullmatch(r"VR(?:x(\d))?\[(?:e\d+,)?m(\d+)\]", name)
    return int(group[1] or 1) * int(group[2]) if group else 1


def common_mode(modes: Collection[str]) -> str:
    """A mode in which instructions of all these modes execute alike, `e32,m1`; "" where there is none.

    >>> common_mode({"m1", "e8,m1", ""}), common_mode({""}), common_mode({"e8,m1", "e8,m2"})
    ('e8,m1', 'e32,m1', '')
    """
    exact = {mode for mode in modes if "," in mode}
    groups = {mode.rpartition(",")[2] for mode in modes if mode}
    if len(exact) > 1 or len(groups) > 1:
        return ""
    return next(iter(exact), f"e{_USUAL},{next(iter(groups), 'm1')}")


def register_groups() -> list[Mapping[int, str]]:
    """{registers in a group: scheme} of each form and width that is described in several sizes."""
    groups: dict[tuple[str, int], dict[int, str]] = {}
    for form, schemes in schemes_by_form().items():
        for mode, text in schemes.items():
            if mode is not None:
                groups.setdefault((form, mode.sew), {})[mode.lmul] = text
    return [sizes for sizes in groups.values() if len(sizes) > 1]


def _schemes_of(form: Scheme) -> Iterator[VectorScheme]:
    names = _names_of(form)
    group = next((name for name in names if name.startswith("VG")), "")
    if group or form.category == SETTING:
        unmoded = {group: f"VR[m{group[2:]}]", "MEM[V]": f"MEM[m{group[2:]}]"}
        yield _scheme(form, None, unmoded, _exclusion(form, names))
        return
    widths = _widths(form.mnemonic)
    usual = _USUAL if _USUAL in widths else widths[0]
    for sew in widths:
        for lmul in _groups(form.mnemonic, names):
            mode = Mode(sew, lmul)
            exclusion = _exclusion(form, names) or _exclusion_of_mode(form, mode, usual)
            yield _scheme(form, mode, names_in(mode), exclusion)


def _scheme(form: Scheme, mode: Mode | None, names: Mapping[str, str], exclusion: str) -> VectorScheme:
    operands = tuple(
        replace(operand, name=names.get(operand.name, operand.name)) for operand in form.operands
    )
    texts = [operand.text for operand in operands if not operand.implicit]
    is_half = mode is not None and mode.sew == 16 and _is_float(form.mnemonic)
    scheme = replace(
        form,
        text=f"{form.mnemonic} {', '.join(texts)}".rstrip(),
        operands=operands,
        memory=memory_use(operands),
        extension="Zvfh" if is_half else form.extension,
        exclusion=exclusion,
        mode="" if mode is None else str(mode),
    )
    return VectorScheme(scheme, form.text, mode)


def _names_of(form: Scheme) -> list[str]:
    return [operand.name for operand in form.operands]


def names_in(mode: Mode) -> dict[str, str]:
    """{operand of a form: operand of its scheme in this mode}."""
    sew, lmul = mode
    if sew == ANY_WIDTH:
        return {"MEM[V]": "MEM[VM]"}
    return {
        "VR": f"VR[{mode}]",
        "VW": f"VR[e{2 * sew},m{2 * lmul}]",
        "VE": f"VE[e{sew}]",
        "VI16": f"VR[e16,{_group(16 * lmul, sew)}]",
        "FPR": f"FPR[{sew}]",
        "MEM[V]": f"MEM[{mode}]",
        **{f"VF{n}": f"VR[e{sew // n},{_group(lmul, n)}]" for n in (2, 4, 8)},
        **{f"VS{n}": f"VRx{n}[{mode}]" for n in _SEGMENTS},
    }


def _group(registers: int, parts: int) -> str:
    """`m2`, or `mf2` for half a register."""
    return f"m{registers // parts}" if registers >= parts else f"mf{parts // registers}"


def _widths(mnemonic: str) -> tuple[int, ...]:
    """Widths of elements that a form has, in bits."""
    if accessed := re.match(r"v[ls](?:[suo]x?)?(?:seg\d)?ei?(\d+)", mnemonic):
        return (int(accessed[1]),)
    if mnemonic in ("vlm.v", "vsm.v") or (mnemonic.endswith((".mm", ".m")) and mnemonic != "viota.m"):
        return (ANY_WIDTH,)
    narrowest, widest = 16 if _is_float(mnemonic) else 8, 64
    if extended := re.search(r"\.vf(\d)$", mnemonic):
        narrowest = 8 * int(extended[1])
    elif mnemonic == "vrgatherei16.vv":
        narrowest = 16
    elif mnemonic.startswith(("vw", "vfw")) or "w" in mnemonic.rpartition(".")[2]:
        widest = 32  # of the narrower operands
    return tuple(width for width in (8, 16, 32, 64) if narrowest <= width <= widest)


def _is_float(mnemonic: str) -> bool:
    """Whether all elements of the mode's width are floating-point numbers."""
    from_integers = re.match(r"vfwcvt\.f\.xu?\.|vfncvt\.(?:rtz\.)?xu?\.", mnemonic)
    return mnemonic.startswith(("vf", "vmf")) and mnemonic != "vfirst.m" and not from_integers


def _groups(mnemonic: str, names: Sequence[str]) -> tuple[int, ...]:
    """Sizes of groups in which a form is described; masked ones and segments with one register alone."""
    has_group = any(name.startswith(("VR", "VW", "VF")) for name in names)
    if _MASK in names or not has_group or mnemonic == "vrgatherei16.vv":
        return (1,)
    return (1, 2, 4) if "VW" in names else (1, 2, 4, 8)


def _exclusion(form: Scheme, names: Sequence[str]) -> str:
    """Why a form is in no mode in the default set."""
    is_access = form.category in ("vector-load", "vector-store")
    reasons = {
        "sets the mode of the instructions behind it": form.category == SETTING,
        "its addresses depend on the values of a vector": is_access and names.count("VR") > 1,
        "its addresses depend on the value of a register": is_access and "GPR[64]" in names,
        "it may shorten the vectors of the instructions behind it": form.mnemonic.endswith("ff.v"),
        "its time depends on the values": form.category in TIMED_BY_VALUES,
        f"{MASKED} it has a scheme without a mask": _MASK in names,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _exclusion_of_mode(form: Scheme, mode: Mode, usual: int) -> str:
    if mode.lmul > 1:
        return f"{OTHER_MODE} its time follows from that of m1"
    if mode.sew != usual and form.category not in _BY_WIDTH:
        return f"{OTHER_MODE} its time follows from that of e{usual}"
    return ""
