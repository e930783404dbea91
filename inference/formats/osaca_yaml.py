"""A port mapping as a machine model for OSACA 0.7, which reads it in place of one of its own.

OSACA looks instructions up by mnemonic and classes of operands; the first form that fits counts. It does not
tell registers of different widths apart, so schemes that differ in no other way share a form where their
µops agree, and have the letter for the width behind their mnemonic where they do not (`addq`). See
docs/formats.md.
Written from what this project measures; nothing of OSACA's own data goes in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.mapping import Uops, ports_in
from inference.formats.exported import ExportedMapping, ExportedScheme
from inference.isa.x86.att import written

FORMAT_VERSION = "0.7.1"
BOTTLENECK = "Rmax"
SLOTS = "Slots"
LOAD = "mov GPR[64]:W, MEM[64]:R", "ldr GPR[64]:W, MEM[64]:R"
STORE = "mov MEM[64]:W, GPR[64]:R", "str GPR[64]:R, MEM[64]:W"
"""The schemes that stand for what every load and store needs, where an instruction has no form of its own."""

_ANYWHERE = "class: memory, base: '*', offset: '*', index: '*', scale: '*'"
_IMMEDIATE = "class: immediate, imd: int"
_ARM_REGISTER = re.compile(r"(GPR|FPR)\[(\d+)\]|VEC\[\d+([BHSD])\]")
_ARM_PREFIX = {
    "GPR64": "x",
    "GPR32": "w",
    "FPR8": "b",
    "FPR16": "h",
    "FPR32": "s",
    "FPR64": "d",
    "FPR128": "q",
}
_ARM_SHIFTED = re.compile(r"(?:lsl|lsr|asr|ror|msl|[us]xt[bhw])(?: \d+)?")
_VECTORS = ("xmm", "ymm", "zmm", "mm")


@dataclass(frozen=True)
class _Form:
    """A scheme as OSACA sees it: mnemonics without and with a letter for the width, classes of operands."""

    scheme: ExportedScheme
    mnemonic: str
    suffixed: str
    operands: tuple[str, ...]

    @property
    def preference(self) -> tuple[bool, int, int]:
        """Of several that OSACA cannot tell apart: undecorated, wide registers, short immediates."""
        shown = self.scheme.shown
        widths = [each["width"] for each in shown if each["kind"] != "immediate"]
        immediates = [each["width"] for each in shown if each["kind"] == "immediate"]
        return "{" in self.scheme.text, -max(widths, default=0), sum(immediates)


def write_osaca_yaml(mapping: ExportedMapping, arch: str = "") -> str:
    """The model. `arch`: the code that it is to be filed under, by default that of the mapping's core."""
    code = (arch or mapping.tools.osaca or ("SKX" if mapping.x86 else "A72")).upper()
    forms, left_out = [], []
    for scheme in mapping.schemes:
        form = _x86_form(scheme) if mapping.x86 else _arm_form(scheme)
        if form is None:
            left_out.append(scheme)
        else:
            forms.append(form)
    return "".join([*_head(mapping, code), *_entries(mapping, forms), *_left_out(mapping, left_out)])


def _head(mapping: ExportedMapping, code: str) -> Iterator[str]:
    yield mapping.provenance.commented("#")
    yield f"# use: save as ~/.osaca/data/{code.lower()}.yml, then osaca --arch {code} FILE (AT&T syntax)\n"
    yield "# latencies were not measured and are unknown (~): only the port pressure is this mapping's\n"
    ports = [*mapping.value.ports]
    if mapping.value.r_max is not None:
        ports.append(BOTTLENECK)
        yield (
            f"# {BOTTLENECK}: no port, but the bottleneck outside of them, {mapping.value.r_max:g} "
            "instructions per cycle\n"
        )
    if mapping.value.issue_width is not None:
        ports.append(SLOTS)
        yield f"# {SLOTS}: no port, but the issue width, {mapping.value.issue_width:g} slots per cycle\n"
    yield f"osaca_version: {FORMAT_VERSION}\n"
    yield f"micro_architecture: {_quoted(mapping.name)}\n"
    yield f"arch_code: {_quoted(code)}\n"
    yield f"isa: {'x86' if mapping.x86 else 'aarch64'}\n"
    for key in ("ROB_size", "retired_uOps_per_cycle", "scheduler_size"):
        yield f"{key}: ~\n"
    yield "hidden_loads: false\n"
    registers = ("gpr", "mm", "xmm", "ymm", "zmm") if mapping.x86 else tuple("wxbhsdqv")
    yield f"load_latency: {{{', '.join(f'{name}: ~' for name in registers)}}}\n"
    for key, texts in (("load", LOAD), ("store", STORE)):
        found = next((each for each in mapping.schemes if each.text in texts), None)
        pressure = [] if found is None else _pressure(mapping, found.uops, slots=None)
        said = (
            "unknown: a form of memory that is not listed is underestimated" if found is None else found.text
        )
        yield f"{key}_throughput: []\n{key}_throughput_default: {json.dumps(pressure)}  # {said}\n"
    yield "store_to_load_forward_latency: ~\n"
    yield f"ports: {json.dumps(ports, ensure_ascii=False)}\n"
    yield "port_model_scheme: ~\n"


def _entries(mapping: ExportedMapping, forms: Sequence[_Form]) -> Iterator[str]:
    """The instruction forms: those with fixed registers first, since a general one fits these as well."""
    alike: dict[tuple[str, tuple[str, ...]], list[_Form]] = {}
    for form in forms:
        alike.setdefault((form.mnemonic, form.operands), []).append(form)
    yield "instruction_forms:\n" if alike else "instruction_forms: []\n"
    general = [key for key in alike if not any("fixed" in each for each in key[1])]
    for key in [*(key for key in alike if key not in set(general)), *general]:
        yield from _group(mapping, *key, alike[key])


def _group(
    mapping: ExportedMapping, mnemonic: str, operands: tuple[str, ...], forms: Sequence[_Form]
) -> Iterator[str]:
    """One form for schemes that agree; else one for each width, and the preferred one without a letter."""
    by_suffix: dict[str, list[_Form]] = {}
    if len({(form.scheme.uops, form.scheme.slots) for form in forms}) > 1:
        for form in forms:
            by_suffix.setdefault(form.suffixed, []).append(form)
        by_suffix.pop(mnemonic, None)
    for name, some in by_suffix.items() if len(by_suffix) > 1 else ():
        yield from _entry(mapping, name, operands, some)
    yield from _entry(mapping, mnemonic, operands, forms)


def _entry(
    mapping: ExportedMapping, name: str, operands: tuple[str, ...], forms: Sequence[_Form]
) -> Iterator[str]:
    chosen = min(forms, key=lambda form: form.preference).scheme
    for form in forms:
        same = (form.scheme.uops, form.scheme.slots) == (chosen.uops, chosen.slots)
        differs = "" if same else "OSACA cannot tell it apart, not represented: "
        yield f"# {differs}{_comment(mapping.line(form.scheme))}\n"
    measured = chosen.evidence.measured
    yield f"- name: {_quoted(name)}\n  operands:{'' if operands else ' []'}\n"
    yield from (f"  - {{{each.removeprefix('fixed ')}}}\n" for each in operands)
    cycles = chosen.predicted if measured is None else measured
    yield f"  latency: ~\n  throughput: {cycles:.4f}\n  uops: {chosen.count}\n"
    pressure = _pressure(mapping, chosen.uops, slots=chosen.slots)
    yield f"  port_pressure: {json.dumps(pressure, ensure_ascii=False)}\n"


def _left_out(mapping: ExportedMapping, schemes: Sequence[ExportedScheme]) -> Iterator[str]:
    if schemes:
        yield f"# schemes that OSACA has no words for: {len(schemes)}\n"
        yield from (f"# {_comment(mapping.line(scheme))}\n" for scheme in schemes)


def _pressure(mapping: ExportedMapping, uops: Uops, *, slots: int | None) -> list[list[Any]]:
    """[[µops, [port, …]], …], and the shares of the limits that an instruction of so many slots takes.

    None for what is no instruction of its own, and takes no share.
    """
    ports = mapping.value.ports
    pressure: list[list[Any]] = [[count, [ports[bit] for bit in ports_in(mask)]] for mask, count in uops]
    if slots is None:
        return pressure
    if mapping.value.r_max is not None:
        pressure.append([round(1 / mapping.value.r_max, 6), [BOTTLENECK]])
    if mapping.value.issue_width is not None:
        pressure.append([round(slots / mapping.value.issue_width, 6), [SLOTS]])
    return pressure


def _x86_form(scheme: ExportedScheme) -> _Form | None:
    found = written(scheme.text)
    if found is None:
        return None
    operands = [_x86_operand(each.as_json()) for each in found.operands]
    known = tuple(each for each in operands if each is not None)
    return _Form(scheme, found.mnemonic, found.suffixed, known) if len(known) == len(operands) else None


def _x86_operand(operand: Mapping[str, Any]) -> str | None:
    kind, name = operand["kind"], operand["name"].partition("{")[0]
    if kind == "immediate":
        return _IMMEDIATE
    if kind in {"memory", "address"}:
        index = re.search(r",([XYZ]MM)\]", name)
        return _ANYWHERE if index is None else _ANYWHERE.replace("index: '*'", f"index: {index[1].lower()}")
    if kind == "branch":
        return "class: identifier"
    if kind == "register" and operand["registers"]:
        one = operand["registers"][0].rstrip("0123456789")
        return f"class: register, name: {one}" if one in _VECTORS else f"fixed class: register, name: {one}"
    if kind == "register" and (name.startswith("GPR") or name.lower() in {*_VECTORS, "k"}):
        return f"class: register, name: {'gpr' if name.startswith('GPR') else name.lower()}"
    return None


def _arm_form(scheme: ExportedScheme) -> _Form | None:
    """Modifiers of the operand before them are part of it, as far as OSACA looks."""
    shown = [each for each in scheme.shown if not _ARM_SHIFTED.fullmatch(each["name"])]
    known = tuple(found for each in shown if (found := _arm_operand(each)) is not None)
    return _Form(scheme, scheme.mnemonic, scheme.mnemonic, known) if len(known) == len(shown) else None


def _arm_operand(operand: Mapping[str, Any]) -> str | None:
    name = operand["name"]
    if (register := _ARM_REGISTER.fullmatch(name)) and register[3]:
        return f"class: register, prefix: v, shape: {register[3].lower()}"
    if register:
        return f"class: register, prefix: {_ARM_PREFIX[register[1] + register[2]]}"
    if operand["kind"] == "memory":
        indexed = f"pre_indexed: {_yes(',pre' in name)}, post_indexed: {_yes(',post' in name)}"
        return f"{_ANYWHERE}, {indexed}" if ",pc" not in name else None
    if name == "COND":
        return "class: condition, ccode: '*'"
    if operand["kind"] == "immediate":
        return _IMMEDIATE if name.startswith("IMM[") or name.isdecimal() else None
    return "class: identifier" if operand["kind"] == "branch" else None


def _yes(value: bool) -> str:
    return "true" if value else "false"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _comment(text: str) -> str:
    return " ".join(text.split())
