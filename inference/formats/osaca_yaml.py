"""A port mapping or a core model as a machine model for OSACA 0.7, which reads it in place of one of its own.

OSACA looks instructions up by mnemonic and classes of operands; the first form that fits counts. It does not
tell registers of different widths apart, so schemes that differ in no other way share a form where they
agree, and have the letter for the width behind their mnemonic where they do not (`addq`). Which operands an
instruction reads and writes OSACA's own data says, of mnemonics without that letter; all others are taken to
write their last operand and to read the rest. Where that is wrong, forms of a core model have no letters:
chains of dependencies count for more than widths. An instruction whose time is known, but not its ports,
has a port to itself that it keeps busy for as long. See docs/formats.md.
Written from what this project measures; nothing of OSACA's own data goes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inference.core.core_model.memory_bounds import PLAIN_LOADS
from inference.core.mapping import Uops, ports_in
from inference.formats.exported import ExportedMapping, ExportedScheme
from inference.formats.exported_core import ExportedCore
from inference.formats.osaca_forms import OSACA_NAMES, OsacaForm, forms_of, specific_first
from inference.formats.osaca_latencies import LOADS, OsacaLatencies
from inference.formats.provenance import PRODUCT
from inference.formats.quoting import comment, json_text
from inference.isa.targets import AARCH64, X86

_USUAL_CORES = {X86: "SKX", AARCH64: "A72"}
"""What a model is filed under where nobody says of which core it is."""

FORMAT_VERSION = "0.7.1"
BOTTLENECK = "Rmax"
SLOTS = "Slots"
ALONE = "Alone"
"""With a number: what takes an instruction's time where its ports are not known."""
STORE = "mov MEM[64]:W, GPR[64]:R", "str GPR[64]:R, MEM[64]:W"
"""What every store needs, as `PLAIN_LOADS` are for loads, where an instruction has no form of its own."""
LEAST_THROUGHPUT = 0.0001
"""Cycles: OSACA leaves instructions that take none out of its sums, limits outside of ports included."""


def write_osaca_yaml(mapping: ExportedMapping, arch: str = "") -> str:
    """The model. `arch`: the code that it is to be filed under, by default that of the mapping's core."""
    return _Model(mapping, None, arch).text()


def write_osaca_core(core: ExportedCore, arch: str = "") -> str:
    """The same of a core model, with latencies."""
    return _Model(core.mapping, core, arch).text()


class _Model:
    def __init__(self, mapping: ExportedMapping, core: ExportedCore | None, arch: str) -> None:
        self._mapping = mapping
        self._core = core
        self._latencies = None if core is None else OsacaLatencies(core)
        self._by_time = {} if core is None else {scheme.text: scheme for scheme in core.alone}
        self._alone: dict[str, str] = {}  # {scheme: what takes its time}, of those that have a form
        self._code = (arch or mapping.tools.osaca or _USUAL_CORES[mapping.isa]).upper()

    def text(self) -> str:
        forms: list[OsacaForm] = []
        left_out = []
        for scheme in (*self._mapping.schemes, *self._by_time.values()):
            latency = 0.0 if self._latencies is None else self._latencies.of(scheme)
            alone = scheme.predicted if scheme.text in self._by_time else None
            found = forms_of(scheme, latency, isa=self._mapping.isa, alone=alone)
            forms += found
            if not found:
                left_out.append(scheme)
        entries = [*self._entries(forms)]
        return "".join([*self._head(), *entries, *self._left_out(left_out)])

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
        told = (f"{name}: {_cycles(loads.get(name))}" for name in LOADS[self._mapping.isa])
        yield f"load_latency: {{{', '.join(told)}}}\n"
        for key, texts in (("load", PLAIN_LOADS), ("store", STORE)):
            found = next((each for each in self._mapping.schemes if each.text in texts), None)
            pressure = [] if found is None else self._pressure(found.uops, slots=None)
            said = found.text if found else "unknown: memory in a form that is not listed is underestimated"
            yield f"{key}_throughput: []\n"
            yield f"{key}_throughput_default: {json_text(pressure)}  {comment('#', said)}"
        forwarding = 0.0 if self._latencies is None else self._latencies.forwarding
        yield f"store_to_load_forward_latency: {_cycles(forwarding)}\n"

    def _entries(self, forms: Sequence[OsacaForm]) -> Iterator[str]:
        """The instruction forms, specific ones first, since a general one fits what these are for as well."""
        alike: dict[tuple[str, tuple[str, ...]], list[OsacaForm]] = {}
        for form in forms:
            alike.setdefault((form.mnemonic, form.operands), []).append(form)
        yield "instruction_forms:\n" if alike else "instruction_forms: []\n"
        for key in sorted(alike, key=lambda key: specific_first(key[1])):
            yield from self._group(*key, alike[key])

    def _group(self, mnemonic: str, operands: tuple[str, ...], forms: Sequence[OsacaForm]) -> Iterator[str]:
        """One form for schemes that agree; else one for each width, and one without a letter."""
        by_suffix: dict[str, list[OsacaForm]] = {}
        apart = self._core is None or all(form.regular for form in forms)
        if apart and len({form.costs for form in forms}) > 1:
            for form in forms:
                by_suffix.setdefault(form.suffixed, []).append(form)
            by_suffix.pop(mnemonic, None)
        for name, some in by_suffix.items() if len(by_suffix) > 1 else ():
            yield from self._entry(name, operands, some)
        yield from self._entry(mnemonic, operands, forms)

    def _entry(self, name: str, operands: tuple[str, ...], forms: Sequence[OsacaForm]) -> Iterator[str]:
        chosen = min(forms, key=lambda form: form.preference)
        for form in forms:
            differs = "" if form.costs == chosen.costs else "OSACA cannot tell it apart, not represented: "
            yield comment("#", differs + self._line(form.scheme))
        measured = chosen.scheme.evidence.measured
        yield f"- name: {json_text(name)}\n  operands:{'' if operands else ' []'}\n"
        yield from (f"  - {{{each.removeprefix('fixed ')}}}\n" for each in operands)
        cycles = chosen.scheme.predicted if measured is None else measured
        yield f"  latency: {_cycles(chosen.latency)}\n  throughput: {max(cycles, LEAST_THROUGHPUT):.4f}\n"
        yield f"  uops: {chosen.scheme.count if chosen.alone is None else '~'}\n"
        pressure = self._pressure(chosen.scheme.uops, slots=chosen.scheme.slots)
        if chosen.alone is not None:
            its = self._alone.setdefault(chosen.scheme.text, f"{ALONE}{len(self._alone) + 1}")
            pressure.append([round(chosen.alone, 4), [its]])
        yield f"  port_pressure: {json_text(pressure)}\n"

    def _line(self, scheme: ExportedScheme) -> str:
        """Where the word on a scheme comes from."""
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
        """[[µops, [port, …]], …], and the shares of the limits that an instruction of so many slots takes.

        None for what is no instruction of its own, and takes no share.
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
    """With a point: what OSACA has read as a whole number, it rounds where it adds to it."""
    return "~" if number is None else f"{round(float(number), 3)}"
