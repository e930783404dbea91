"""A port mapping or a core model as a draft of an LLVM scheduling model in TableGen; see docs/formats.md.

Every line that assigns µops to an opcode carries its evidence. The fragment can be included below LLVM's
`Target.td`, or checked alone: `llvm-tblgen -DPMWEB_STANDALONE` defines the few classes that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference.core.mapping import Uops, described, ports_in
from inference.formats.exports import ExportedCore, ExportedMapping, ExportedScheme
from inference.formats.quoting import comment

MODEL = "PmwebModel"

_STANDALONE = """\
#ifdef PMWEB_STANDALONE
class SchedMachineModel { int IssueWidth = -1; bit CompleteModel = 1; }
class OfModel { SchedMachineModel SchedModel = ?; }
class ProcResourceKind;
class ProcResource<int units> : ProcResourceKind, OfModel { int NumUnits = units; }
class ProcResGroup<list<ProcResource> members> : ProcResourceKind, OfModel {
  list<ProcResource> Resources = members;
}
class SchedReadWrite;
class SchedWriteRes<list<ProcResourceKind> used> : SchedReadWrite, OfModel {
  list<ProcResourceKind> ProcResources = used;
  list<int> ReleaseAtCycles = [];
  list<int> ResourceCycles = [];
  int Latency = 1;
  int NumMicroOps = 1;
}
class InstRW<list<SchedReadWrite> writes, dag opcodes> : OfModel {
  list<SchedReadWrite> OperandReadWrites = writes;
  dag Instrs = opcodes;
}
def instregex;
#endif
"""

_USES = """\
// The µops of an instruction: resources, how many µops each gets, and how many µops there are in all.
class PmwebUops<list<ProcResourceKind> used, list<int> cycles, int uops> : SchedWriteRes<used> {
  let NumMicroOps = uops;
#ifdef PMWEB_BEFORE_LLVM_18
  let ResourceCycles = cycles;
#else
  let ReleaseAtCycles = cycles;
#endif
}
"""


_Usage = tuple[Uops, int, int]
"""µops, issue slots, and the latency in cycles, -1 where unknown."""


@dataclass(frozen=True)
class Opcodes:
    """LLVM's opcodes of schemes.

    Attributes:
        by_text: {scheme: opcode}.
        tool_version: Name and version of the tool that named them; "" if none could.
        reason: Why no tool could name them.
    """

    by_text: Mapping[str, str]
    tool_version: str = ""
    reason: str = ""


def write_llvm_td(mapping: ExportedMapping, opcodes: Opcodes, core: ExportedCore | None = None) -> str:
    """A draft of a scheduling model in TableGen.

    Args:
        mapping: Ports and µops.
        opcodes: LLVM's names; schemes without one become comments.
        core: Core model with the latencies; None leaves LLVM's default of one cycle.
    """
    usages = _Usages(mapping, core)
    return "".join(
        [
            *_head(mapping, opcodes, measured=core is not None),
            _STANDALONE,
            "\n",
            *_model(mapping),
            *_writes(mapping, usages),
            *_instructions(mapping, opcodes, usages),
        ]
    )


class _Usages:
    """Numbers the distinct (µops, issue slots, largest latency) of a mapping's schemes."""

    def __init__(self, mapping: ExportedMapping, core: ExportedCore | None) -> None:
        self._core = core
        listed = sorted(set(map(self.of, mapping.schemes)), key=lambda usage: (len(usage[0]), usage))
        self.numbers = {usage: number for number, usage in enumerate(listed)}

    def of(self, scheme: ExportedScheme) -> _Usage:
        latency = None if self._core is None else self._core.largest_latency(scheme.text)
        return scheme.uops, scheme.slots, -1 if latency is None else round(latency)

    def write(self, scheme: ExportedScheme) -> str:
        """Name of the scheme's `SchedWriteRes`."""
        return _write(self.numbers[self.of(scheme)])

    def line(self, mapping: ExportedMapping, scheme: ExportedScheme) -> str:
        return mapping.line(scheme) if self._core is None else self._core.line(scheme)


def _head(mapping: ExportedMapping, opcodes: Opcodes, *, measured: bool) -> Iterator[str]:
    """Comments on where the numbers are from, how to check the file and how to use it."""
    yield mapping.provenance.commented("//")
    if opcodes.tool_version:
        named = f"as {opcodes.tool_version} calls {len(opcodes.by_text)} of {len(mapping.schemes)} schemes"
        yield comment("//", f"opcodes: {named}; other releases may have other names")
    else:
        yield comment("//", f"opcodes: unknown, the lines below are comments: {opcodes.reason}")
    if measured:
        yield "// latencies: the largest of each instruction; LLVM's default of one cycle where unknown\n"
    else:
        yield "// latencies: not measured, left at LLVM's default of one cycle: put in those that you know\n"
    yield "// check: llvm-tblgen -DPMWEB_STANDALONE FILE\n"
    yield "// LLVM 13 to 17 call a field otherwise: -DPMWEB_BEFORE_LLVM_18\n"
    yield f"// use: include it below Target.td and the instructions, and name {MODEL} in a ProcessorModel\n\n"


def _model(mapping: ExportedMapping) -> Iterator[str]:
    """The machine model: issue width, a resource per port, and a group per port set."""
    yield f"def {MODEL} : SchedMachineModel {{\n  let CompleteModel = 0;\n"
    limits = mapping.value.limits
    if limits:
        width = max(1, round(limits.get("slots", limits.get("instructions", 1.0))))
        limits_text = " and ".join(f"{rate:g} {unit}" for unit, rate in limits.items())
        yield f"  let IssueWidth = {width}; // {limits_text} per cycle; LLVM counts µops here\n"
    yield f"}}\n\n{_USES}\nlet SchedModel = {MODEL} in {{\n"
    ports = _port_names(mapping.value.ports)
    for name, port in zip(ports, mapping.value.ports, strict=True):
        yield f"def {name} : ProcResource<1>; {comment('//', f'port {port}')}"
    masks = {mask for scheme in mapping.schemes for mask, _ in scheme.uops if mask.bit_count() > 1}
    all_ports = (1 << len(ports)) - 1
    if len(masks) > 1 and all_ports not in masks:  # LLVM refuses overlapping groups without one around them
        yield f"def PmwebAnyPort : ProcResGroup<[{', '.join(ports)}]>; // around groups that overlap\n"
    for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask)):
        members = ", ".join(ports[bit] for bit in ports_in(mask))
        yield f"def {_resource(mask, ports)} : ProcResGroup<[{members}]>;\n"


def _writes(mapping: ExportedMapping, usages: _Usages) -> Iterator[str]:
    ports = _port_names(mapping.value.ports)
    yield "\n"
    for (uops, slots, latency), number in usages.numbers.items():
        used = ", ".join(_resource(mask, ports) for mask, _ in uops)
        cycles = ", ".join(str(count) for _, count in uops)
        counted = mapping.value.issue_width is not None
        total = slots if counted else max(1, sum(count for _, count in uops))
        end = f" {{ let Latency = {latency}; }}" if latency >= 0 else ";"
        yield f"def {_write(number)} : PmwebUops<[{used}], [{cycles}], {total}>{end} "
        yield comment("//", described(uops, mapping.value.ports))


def _instructions(mapping: ExportedMapping, opcodes: Opcodes, usages: _Usages) -> Iterator[str]:
    """A line for every opcode; of several schemes with one opcode, the least decorated decides."""
    by_opcode: dict[str, list[ExportedScheme]] = {}
    for scheme in mapping.schemes:
        by_opcode.setdefault(opcodes.by_text.get(scheme.text, ""), []).append(scheme)
    unnamed = by_opcode.pop("", [])
    yield "\n"
    for opcode, schemes in by_opcode.items():
        plainest = min(schemes, key=_is_decorated)
        line = usages.line(mapping, plainest)
        yield f'def : InstRW<[{usages.write(plainest)}], (instregex "^{opcode}$")>; {comment("//", line)}'
        for other_scheme in schemes:
            if other_scheme is not plainest:
                verdict = "agrees" if usages.of(other_scheme) == usages.of(plainest) else "DIFFERS"
                line = f"the same opcode {opcode} stands for this too, which {verdict}: "
                yield comment("//", line + usages.line(mapping, other_scheme))
    yield f"}} // SchedModel = {MODEL}\n"
    if unnamed:
        yield f"\n// schemes without an LLVM opcode: {len(unnamed)}\n"
    yield from (comment("//", f"{usages.write(other)}: {usages.line(mapping, other)}") for other in unnamed)


def _write(number: int) -> str:
    return f"PmwebWrite{number}"


def _port_names(ports: Sequence[str]) -> list[str]:
    """TableGen identifiers: from the ports' names where these are distinct, else from their numbers."""
    plain = [re.sub(r"\W", "", port, flags=re.ASCII) for port in ports]
    unique = len(set(plain)) == len(plain) and all(plain)
    return [f"PmwebPort{name if unique else number}" for number, name in enumerate(plain)]


def _resource(mask: int, ports: Sequence[str]) -> str:
    names = [ports[bit] for bit in ports_in(mask)]
    return names[0] if len(names) == 1 else "_".join([names[0], *(_short(port) for port in names[1:])])


def _short(port: str) -> str:
    return port.removeprefix("PmwebPort")


def plainest_by_opcode(mapping: ExportedMapping, opcodes: Mapping[str, str]) -> dict[str, ExportedScheme]:
    """{opcode: the least decorated of its schemes}; `opcodes`: {scheme: opcode}."""
    by_opcode: dict[str, list[ExportedScheme]] = {}
    for scheme in mapping.schemes:
        if opcode := opcodes.get(scheme.text):
            by_opcode.setdefault(opcode, []).append(scheme)
    return {opcode: min(schemes, key=_is_decorated) for opcode, schemes in by_opcode.items()}


def _is_decorated(scheme: ExportedScheme) -> bool:
    """Whether a scheme is masked, rounded or prefixed, while LLVM's opcode means the plain instruction."""
    return "{" in scheme.text or not scheme.text.startswith(scheme.mnemonic)
