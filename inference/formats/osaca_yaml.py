"""Port mappings and core models as machine models for OSACA 0.7 (YAML); see docs/formats.md.

OSACA looks an instruction up by mnemonic and operand classes, and takes the first form that fits. Its classes
do not include the width of registers: schemes that differ in width alone share a form where they agree, and
have a width suffix (`addq`) where they do not. OSACA's data lists the operands that an instruction reads and
writes for mnemonics without a suffix; others are taken to write their last operand and read the rest. Where
that is wrong, forms of a core model have no suffix: dependency chains matter more than widths. An instruction
with a known time and unknown ports gets a pseudo-port of its own, busy for that time. No data of OSACA is
used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.core_model import CoreModel
from inference.core.mapping import Uops, ports_in
from inference.formats.exports import ExportedCore, ExportedMapping, ExportedScheme
from inference.formats.provenance import PRODUCT
from inference.formats.quoting import comment, json_text
from inference.isa.llvm_schemes import llvm_side
from inference.isa.scheme import Operand
from inference.isa.targets import AARCH64, X86, plain_loads, plain_stores

_ANY_MEMORY = "class: memory, base: '*', offset: '*', index: '*', scale: '*'"
_IMMEDIATE = "class: immediate, imd: int"
_XMM = "class: register, name: xmm"
_OTHER_REGISTERS = ("class: register, name: k", "class: register, name: st")
_ARM_REGISTER = re.compile(r"(GPR|FPR)\[(\d+)\]|VEC\[\d+([BHSD])\]")
"""An operand of an AArch64 scheme: width in bits, or the letter of a vector's elements."""

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
"""Modifier of an operand: `lsl 2`, `uxtw`."""

_VECTORS = ("xmm", "ymm", "zmm", "mm")
_XMM0_FIRST = frozenset({"blendvpd", "blendvps", "pblendvb", "sha256rnds2"})
"""Some assemblers write xmm0 ahead of the other operands."""

_SHIFT_BY_1 = "0x1"
"""Some assemblers do not write that a shift is by one."""


@dataclass(frozen=True)
class OsacaForm:
    """A scheme as OSACA sees it.

    `latency` in cycles.

    Attributes:
        suffixed: The mnemonic with its width suffix.
        regular: The last operand is only written and the others are only read.
        alone: Cycles of one instance where its ports are unknown.
    """

    scheme: ExportedScheme
    mnemonic: str
    suffixed: str
    operands: tuple[str, ...]
    regular: bool = True
    latency: float = 0.0
    alone: float | None = None

    @property
    def preference(self) -> tuple[bool, bool, int, int]:
        """Sort key of indistinguishable forms: known ports, undecorated, wide, short immediates."""
        operands = self.scheme.explicit_operands
        widths = [operand["width"] for operand in operands if operand["kind"] != "immediate"]
        immediates = [operand["width"] for operand in operands if operand["kind"] == "immediate"]
        decorated = "{" in self.scheme.text
        return self.alone is not None, decorated, -max(widths, default=0), sum(immediates)

    @property
    def costs(self) -> tuple[Uops, int, float, float | None]:
        """What schemes must agree in to share a form."""
        return self.scheme.uops, self.scheme.slots, self.latency, self.alone


def forms_of(
    scheme: ExportedScheme, latency: float, *, isa: str, alone: float | None = None
) -> list[OsacaForm]:
    """The forms of a scheme as different assemblers write it; empty where OSACA cannot express it."""
    return [replace(form, latency=latency, alone=alone) for form in _FORMS[isa](scheme)]


def form_order(operands: Sequence[str]) -> int:
    """Sort key of forms: OSACA takes the first that fits, so specific operands come first.

    A general register fits all registers that are no vectors.
    """
    if any("fixed" in operand for operand in operands):
        return 0
    special_count = sum(operand in _OTHER_REGISTERS for operand in operands)
    return 4 - special_count if special_count else 5


def _x86_forms(scheme: ExportedScheme) -> Iterator[OsacaForm]:
    """The forms under which OSACA looks a scheme up; none where its syntax cannot write an operand."""
    assembly = llvm_side(X86).gnu_scheme(scheme.text)
    if assembly is None:
        return
    operands = [_x86_operand(operand.as_json()) for operand in assembly.operands]
    classes = tuple(operand for operand in operands if operand is not None)
    if len(classes) < len(operands):
        return
    form = OsacaForm(scheme, assembly.mnemonic, assembly.suffixed, classes, _is_regular(assembly.operands))
    yield form
    if assembly.mnemonic in _XMM0_FIRST:
        yield replace(form, operands=(_XMM, *classes))
    if assembly.operands and assembly.operands[0].name == _SHIFT_BY_1:
        yield replace(form, operands=classes[1:])


def _is_regular(operands: Sequence[Operand]) -> bool:
    *before, last = [operand.access or "R" for operand in operands] or ["R"]
    return last == ("W" if before else "R") and all(access == "R" for access in before)


def _x86_operand(operand: Mapping[str, Any]) -> str | None:
    """An operand of a form in OSACA's YAML; None where OSACA has none of this kind."""
    kind, name = operand["kind"], operand["name"].partition("{")[0]
    if kind == "immediate":
        return _IMMEDIATE
    if kind in {"memory", "address"}:
        index = re.search(r",([XYZ]MM)\]", name)
        name = "'*'" if index is None else index[1].lower()
        return _ANY_MEMORY.replace("index: '*'", f"index: {name}")
    if kind == "branch":
        return "class: identifier"
    if kind == "register" and operand["registers"]:
        bank = operand["registers"][0].rstrip("0123456789")
        return f"{'' if bank in _VECTORS else 'fixed '}class: register, name: {bank}"
    if kind == "register" and (name.startswith("GPR") or name.lower() in {*_VECTORS, "k", "st"}):
        return f"class: register, name: {'gpr' if name.startswith('GPR') else name.lower()}"
    return None


def _arm_forms(scheme: ExportedScheme) -> Iterator[OsacaForm]:
    """Shift and extension modifiers are dropped: to OSACA they are part of the operand before them."""
    operands = [item for item in scheme.explicit_operands if not _ARM_SHIFTED.fullmatch(item["name"])]
    classes = tuple(entry for item in operands if (entry := _arm_operand(item)) is not None)
    if len(classes) == len(operands):
        yield OsacaForm(scheme, scheme.mnemonic, scheme.mnemonic, classes)


def _arm_operand(operand: Mapping[str, Any]) -> str | None:
    """An AArch64 operand of a form in OSACA's YAML; None where OSACA has none of this kind."""
    name = operand["name"]
    if (register := _ARM_REGISTER.fullmatch(name)) and register[3]:
        return f"class: register, prefix: v, shape: {register[3].lower()}"
    if register:
        return f"class: register, prefix: {_ARM_PREFIX[register[1] + register[2]]}"
    if operand["kind"] == "memory":
        indexed = f"pre_indexed: {_yaml_bool(',pre' in name)}, post_indexed: {_yaml_bool(',post' in name)}"
        return f"{_ANY_MEMORY}, {indexed}" if ",pc" not in name else None
    if name == "COND":
        return "class: condition, ccode: '*'"
    if operand["kind"] == "immediate":
        return _IMMEDIATE if name.startswith("IMM[") or name.isdecimal() else None
    return "class: identifier" if operand["kind"] == "branch" else None


def _yaml_bool(value: bool) -> str:
    return "true" if value else "false"


_FORMS: Mapping[str, Callable[[ExportedScheme], Iterator[OsacaForm]]] = {X86: _x86_forms, AARCH64: _arm_forms}
OSACA_NAMES = {X86: "x86", AARCH64: "aarch64"}
"""{instruction set: OSACA's name}."""

_USUAL_CORES = {X86: "SKX", AARCH64: "A72"}
"""Architecture code of a model whose core is unknown."""

FORMAT_VERSION = "0.7.1"
BOTTLENECK = "Rmax"
SLOTS = "Slots"
ALONE = "Alone"
"""Prefix of the pseudo-ports of instructions with unknown ports."""

MIN_THROUGHPUT = 0.0001
"""Cycles. OSACA leaves instructions of throughput 0 out of all sums, those of pseudo-ports included."""


def write_osaca_yaml(mapping: ExportedMapping, arch: str = "") -> str:
    """A port mapping as a machine model, without latencies. `arch`: its code, by default the core's."""
    return _Model(mapping, None, arch).text()


def write_osaca_core(core: ExportedCore, arch: str = "") -> str:
    """A core model as a machine model, with latencies. `arch`: its code, by default the core's."""
    return _Model(core.mapping, core, arch).text()


class _Model:
    """The text of a machine model for OSACA, of a mapping or of a whole core."""

    def __init__(self, mapping: ExportedMapping, core: ExportedCore | None, arch: str) -> None:
        self._mapping = mapping
        self._core = core
        self._latencies = None if core is None else OsacaLatencies(core)
        self._by_time = {} if core is None else {scheme.text: scheme for scheme in core.alone}
        self._alone: dict[str, str] = {}  # {scheme: what takes its time}, of those that have a form
        self._code = (arch or mapping.tools.osaca or _USUAL_CORES[mapping.isa]).upper()

    def text(self) -> str:
        forms: list[OsacaForm] = []
        exclusions = []
        for scheme in (*self._mapping.schemes, *self._by_time.values()):
            latency = 0.0 if self._latencies is None else self._latencies.latency_of(scheme)
            alone = scheme.predicted if scheme.text in self._by_time else None
            scheme_forms = forms_of(scheme, latency, isa=self._mapping.isa, alone=alone)
            forms += scheme_forms
            if not scheme_forms:
                exclusions.append(scheme)
        entries = [*self._entries(forms)]
        return "".join([*self._head(), *entries, *self._left_out(exclusions)])

    def _head(self) -> Iterator[str]:
        mapping, code = self._mapping, self._code
        yield mapping.provenance.commented("#")
        file = f"~/.osaca/data/{code.lower()}.yml"
        yield comment("#", f"use: save as {file}, then osaca --arch {code} FILE (AT&T syntax)")
        if self._latencies is None:
            yield "# latencies were not measured and count nothing: the port pressure is all there is\n"
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
        if self._alone:
            ports += self._alone.values()
            yield f"# {ALONE}1, …: no ports, but the times of instructions whose ports were not found\n"
        yield f"osaca_version: {FORMAT_VERSION}\n"
        yield f"micro_architecture: {json_text(mapping.name)}\n"
        yield f"arch_code: {json_text(code)}\n"
        yield f"isa: {OSACA_NAMES[mapping.isa]}\n"
        for key in ("ROB_size", "retired_uOps_per_cycle", "scheduler_size"):
            yield f"{key}: ~\n"
        yield "hidden_loads: false\n"
        yield from self._memory()
        yield f"ports: {json_text(ports)}\n"
        yield "port_model_scheme: ~\n"

    def _memory(self) -> Iterator[str]:
        loads = {} if self._latencies is None else self._latencies.loads
        fields = (f"{name}: {_cycles(loads.get(name))}" for name in LOADS[self._mapping.isa])
        yield f"load_latency: {{{', '.join(fields)}}}\n"
        for key, texts in (("load", plain_loads()), ("store", plain_stores())):
            scheme = next((candidate for candidate in self._mapping.schemes if candidate.text in texts), None)
            pressure = [] if scheme is None else self._pressure(scheme.uops, slots=None)
            remark = (
                scheme.text if scheme else "unknown: memory in a form that is not listed is underestimated"
            )
            yield f"{key}_throughput: []\n"
            yield f"{key}_throughput_default: {json_text(pressure)}  {comment('#', remark)}"
        forwarding = 0.0 if self._latencies is None else self._latencies.forwarding
        yield f"store_to_load_forward_latency: {_cycles(forwarding)}\n"

    def _entries(self, forms: Sequence[OsacaForm]) -> Iterator[str]:
        """The instruction forms, specific ones first, since a general form fits their operands as well."""
        alike: dict[tuple[str, tuple[str, ...]], list[OsacaForm]] = {}
        for form in forms:
            alike.setdefault((form.mnemonic, form.operands), []).append(form)
        yield "instruction_forms:\n" if alike else "instruction_forms: []\n"
        for key in sorted(alike, key=lambda key: form_order(key[1])):
            yield from self._group(*key, alike[key])

    def _group(self, mnemonic: str, operands: tuple[str, ...], forms: Sequence[OsacaForm]) -> Iterator[str]:
        """One form for schemes that agree; else one per width suffix, and one without a suffix."""
        by_suffix: dict[str, list[OsacaForm]] = {}
        is_splittable = self._core is None or all(form.regular for form in forms)
        if is_splittable and len({form.costs for form in forms}) > 1:
            for form in forms:
                by_suffix.setdefault(form.suffixed, []).append(form)
            by_suffix.pop(mnemonic, None)
        for name, group in by_suffix.items() if len(by_suffix) > 1 else ():
            yield from self._entry(name, operands, group)
        yield from self._entry(mnemonic, operands, forms)

    def _entry(self, name: str, operands: tuple[str, ...], forms: Sequence[OsacaForm]) -> Iterator[str]:
        best_form = min(forms, key=lambda form: form.preference)
        for form in forms:
            differs = "" if form.costs == best_form.costs else "OSACA cannot tell it apart, not represented: "
            yield comment("#", differs + self._line(form.scheme))
        measured = best_form.scheme.evidence.measured
        yield f"- name: {json_text(name)}\n  operands:{'' if operands else ' []'}\n"
        yield from (f"  - {{{operand.removeprefix('fixed ')}}}\n" for operand in operands)
        cycles = best_form.scheme.predicted if measured is None else measured
        yield f"  latency: {_cycles(best_form.latency)}\n  throughput: {max(cycles, MIN_THROUGHPUT):.4f}\n"
        yield f"  uops: {best_form.scheme.count if best_form.alone is None else '~'}\n"
        pressure = self._pressure(best_form.scheme.uops, slots=best_form.scheme.slots)
        if best_form.alone is not None:
            port = self._alone.setdefault(best_form.scheme.text, f"{ALONE}{len(self._alone) + 1}")
            pressure.append([round(best_form.alone, 4), [port]])
        yield f"  port_pressure: {json_text(pressure)}\n"

    def _line(self, scheme: ExportedScheme) -> str:
        if scheme.text in self._by_time:
            measured = f"{scheme.predicted:.4g} cycles alone"
            line = f"{scheme.text}; ports not found; {measured}; “{self._mapping.name}”; {PRODUCT}"
        else:
            line = self._mapping.line(scheme)
        return line if self._core is None else self._core.with_latencies(line, scheme.text)

    def _left_out(self, schemes: Sequence[ExportedScheme]) -> Iterator[str]:
        if schemes:
            yield f"# schemes that OSACA has no words for: {len(schemes)}\n"
            yield from (comment("#", self._line(scheme)) for scheme in schemes)

    def _pressure(self, uops: Uops, *, slots: int | None) -> list[list[Any]]:
        """[[µops, [port, …]], …] with the shares of limits outside the ports.

        `slots`: issue slots; None for a part of an instruction, which takes no share.
        """
        value = self._mapping.value
        pressure: list[list[Any]] = [
            [count, [value.ports[bit] for bit in ports_in(mask)]] for mask, count in uops
        ]
        if slots is None:
            return pressure
        if value.r_max is not None:
            pressure.append([round(1 / value.r_max, 6), [BOTTLENECK]])
        if value.issue_width is not None:
            pressure.append([round(slots / value.issue_width, 6), [SLOTS]])
        return pressure


def _cycles(number: float | None) -> str:
    """Cycles written with a decimal point: OSACA rounds sums with numbers that it read as integers."""
    return "~" if number is None else f"{round(float(number), 3)}"


UNKNOWN = 1.0
"""Cycles of a latency that was not measured, as core models assume."""

_X86_LOADS: Mapping[str, tuple[str, ...]] = {
    "gpr": ("mov GPR[64]:W, MEM[64]:R", "mov GPR[32]:W, MEM[32]:R"),
    "mm": ("movq MM:W, MEM[64]:R",),
    "xmm": ("movaps XMM:W, MEM[128]:R", "vmovaps XMM:W, MEM[128]:R", "movdqa XMM:W, MEM[128]:R"),
    "ymm": ("vmovaps YMM:W, MEM[256]:R", "vmovdqa YMM:W, MEM[256]:R"),
    "zmm": ("vmovaps ZMM:W, MEM[512]:R", "vmovdqa64 ZMM:W, MEM[512]:R"),
}
_ARM_LOADS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys("wx", ("ldr GPR[64]:W, MEM[64]:R",)),
    **dict.fromkeys("bhsdqv", ("ldr FPR[128]:W, MEM[128]:R",)),
}
LOADS = {X86: _X86_LOADS, AARCH64: _ARM_LOADS}
"""{instruction set: {register class: schemes that load into it; the first with a known latency counts}}."""

_GENERAL = {X86: "gpr", AARCH64: "x"}


class OsacaLatencies:
    def __init__(self, core: ExportedCore) -> None:
        self._core = core
        self.loads: dict[str, float | None] = {
            name: next((latency for text in texts if (latency := core.chain_latency(text)) is not None), None)
            for name, texts in LOADS[core.mapping.isa].items()
        }

    @property
    def forwarding(self) -> float:
        """Cycles of store-to-load forwarding beyond those of the load."""
        load = self.loads.get(_GENERAL[self._core.mapping.isa]) or 0.0
        return max(_forwarding_cycles(self._core.model) - load, 0.0)

    def latency_of(self, scheme: ExportedScheme) -> float:
        accesses = "".join(operand["access"] for operand in scheme.operands if operand["kind"] == "memory")
        if "W" not in accesses:
            chain = self._core.chain_latency(scheme.text)
            return UNKNOWN if chain is None else chain
        if "R" not in accesses:
            return 0.0  # counts with the load
        cycles = self._core.memory_latency(scheme.text)
        if cycles is None:
            cycles = _forwarding_cycles(self._core.model) + UNKNOWN
        return max(cycles - self.forwarding, 0.0)


def _forwarding_cycles(model: CoreModel) -> float:
    """Cycles from a 64-bit store to the result of a load of the same address and width."""
    return model.memory.cycles(64, 64, 0, vector=False)
