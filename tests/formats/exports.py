"""A small mapping with everything that exports have to tell apart, made without a database."""

from __future__ import annotations

from collections.abc import Mapping

from inference.core.core_model import CoreModel, MemoryTimes, OperandLatencies
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, hidden_in, hidden_kinds
from inference.core.throughput import inverse_throughput
from inference.formats.exports import (
    NO_EVIDENCE,
    ExportedCore,
    ExportedMapping,
    ExportedScheme,
    SchemeEvidence,
    exported_core,
)
from inference.formats.provenance import Provenance
from inference.isa import aarch64
from inference.isa.microarchitecture import ToolNames
from inference.isa.x86.scheme_set import scheme_and_form

ADD = "add GPR[64]:RW, GPR[64]:R"
ADD_BYTE = "add GPR[8]:RW, GPR[8]:R"
ADD_WORD = "add GPR[32]:RW, GPR[32]:R"
ADD_LOAD = "add GPR[64]:RW, MEM[64]:R"
LOCKED = "lock add MEM[64]:RW, GPR[64]:R"
LOAD = "mov GPR[64]:W, MEM[64]:R"
STORE = "mov MEM[64]:W, GPR[64]:R"
SHIFT = "shl GPR[64]:RW, cl:R"
SHIFT_BY = "shl GPR[64]:RW, IMM[8]:R"
VADD = "vaddpd YMM:W, YMM:R, YMM:R"
VADD_LOAD = "vaddpd YMM:W, YMM:R, MEM[256]:R"
MASKED = "vaddpd YMM{k}{z}:W, YMM:R, YMM:R"
ADDRESS = "lea GPR[64]:W, ADDR[B+D8]"
SCALED = "lea GPR[64]:W, ADDR[B+S*I+D8]"
NOP = "nop"

PORTS = ("0", "1", "5", "6", "23", "4")
ALU, LEFT, RIGHT, LOADS, STORES = 0b1111, 0b0011, 0b1000, 0b10000, 0b100000
USAGE: dict[str, Uops] = {
    ADD: ((ALU, 1),),
    ADD_WORD: ((ALU, 1),),
    ADD_BYTE: ((LEFT, 1),),
    ADD_LOAD: ((ALU, 1), (LOADS, 1)),
    LOCKED: ((ALU, 2), (LOADS, 1), (STORES, 1)),
    LOAD: ((LOADS, 1),),
    STORE: ((STORES, 1),),
    SHIFT: ((RIGHT, 2),),
    SHIFT_BY: ((RIGHT, 1),),
    VADD: ((LEFT, 1),),
    VADD_LOAD: ((LEFT, 1), (LOADS, 1)),
    MASKED: ((0b0001, 1),),
    ADDRESS: ((ALU, 1),),
    SCALED: ((LEFT, 1),),
    NOP: (),
}
EVIDENCE = {
    ADD: SchemeEvidence(0.2527, 1.0, 5),
    SHIFT: SchemeEvidence(2.01, None, 1, ("counted 3 µops,\nnot 2",)),
    VADD: SchemeEvidence(0.5014),
}
PROVENANCE = Provenance((("port mapping", "Toy — 6 ports"), ("note", "two\nlines")), ("Somebody: Toys.",))


def exported_mapping(
    usage: Mapping[str, Uops] = USAGE,
    ports: tuple[str, ...] = PORTS,
    r_max: float | None = 4.0,
    isa: str = "x86-64",
    name: str = "Toy — 6 ports",
    issue_width: float | None = None,
    slots: Mapping[str, int] | None = None,
) -> ExportedMapping:
    """The mapping; of x86-64 or AArch64 schemes."""
    value = PortMapping(ports, usage, r_max, issue_width, slots or {})
    schemes = []
    for text, uops in usage.items():
        found = aarch64.by_text().get(text) if isa == aarch64.NAME else (scheme_and_form(text) or (None,))[0]
        assert found is not None, text
        schemes.append(
            ExportedScheme(
                text,
                found.mnemonic,
                [operand.as_json() for operand in found.operands],
                found.extension,
                found.category,
                uops,
                inverse_throughput(value, Experiment.of([text])),
                EVIDENCE.get(text, NO_EVIDENCE),
                value.slots_of(text),
                hidden_in(value, text, hidden_kinds(value)),
            )
        )
    return ExportedMapping(name, isa, value, tuple(schemes), PROVENANCE, ToolNames("ZEN3", "znver3"))


MOVE = "mov GPR[64]:W, GPR[64]:R"
ADD_TO = "add MEM[64]:RW, GPR[64]:R"
BSF = "bsf GPR[64]:RW, GPR[64]:R"
IMUL = "imul GPR[64]:RW, GPR[64]:R"
LATENCIES: dict[str, OperandLatencies] = {
    ADD: {("1", "1"): 1.0, ("2", "1"): 1.0, ("1", "flags"): 1.0},
    ADD_LOAD: {("1", "1"): 1.0, ("2 address", "1"): 6.0},
    ADD_TO: {("1 data", "1 data"): 5.5, ("2", "1 data"): 5.0},
    IMUL: {("1", "1"): 3.0, ("2", "1"): 3.0},
    LOAD: {("2 address", "1"): 4.0},
    VADD: {("2", "1"): 4.0, ("3", "1"): 4.0},
    VADD_LOAD: {("2", "1"): 4.0, ("3 address", "1"): 10.0},
    SHIFT: {("1", "1"): 1.0, ("cl", "1"): 2.0, ("flags", "flags"): None},
}
CORE = CoreModel(
    PortMapping(
        PORTS,
        {
            **USAGE,
            IMUL: ((0b0010, 1),),
            ADD_TO: ((ALU, 1), (LOADS, 1), (STORES, 1)),
        },
        issue_width=4,
        slots={ADD_TO: 2},
    ),
    LATENCIES,
    moves=frozenset({MOVE}),
    alone={BSF: 3.0},
    memory=MemoryTimes({(64, 64, 0, False): 4.5}, usual=12.0),
)


def exported_toy_core() -> ExportedCore:
    """A core model with these latencies, a move that is eliminated, one that is known by its time, and
    forwarding."""
    return exported_core("Toy core", "x86-64", CORE, PROVENANCE, ToolNames("ZEN3", "znver3"), EVIDENCE)
