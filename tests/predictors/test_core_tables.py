"""Scheduling models of llvm-mca as core models."""

from __future__ import annotations

import pytest

from inference.core.core_model import Assumptions
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.mapping import uops_of
from inference.isa.blocks import read_blocks
from inference.isa.targets import AARCH64
from inference.predictors.llvm.core_tables import TableRow, modelled_core, port_usages
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.llvm.releases import list_releases
from inference.predictors.protocol import PredictorError

needs_llvm = pytest.mark.skipif(not list_releases(), reason="llvm-mca is not installed")
UNITS = ("B", "I.0", "I.1", "M", "V0", "V1")
CYCLE = 2520


def row(**usage: float) -> TableRow:
    places = {name.replace("_", "."): cycles for name, cycles in usage.items()}
    return TableRow(1, 1, {UNITS.index(name): round(cycles * CYCLE) for name, cycles in places.items()})


ROWS = {
    "branch": row(B=1),
    "add": row(I_0=1 / 3, I_1=1 / 3, M=1 / 3),
    "shift": row(I_0=0.5, I_1=0.5),
    "fadd": row(V0=0.5, V1=0.5),
    "two": row(V0=1, V1=1),
    "fcvt": row(V0=1.5, V1=0.5),
    "mixed": row(I_0=1 / 3, I_1=1 / 3, M=4 / 3, V0=0.5, V1=0.5),
    "divide": row(M=12),
    "odd": row(M=0.4, V0=1.3),
    "nop": row(),
}


def test_uses_of_units_become_uops_of_the_widest_groups() -> None:
    usages = port_usages(ROWS, UNITS)
    alu, vectors = 0b1110, 0b110000
    assert usages["add"] == uops_of([(alu, 1)])
    assert usages["shift"] == uops_of([(0b110, 1)])
    assert usages["two"] == uops_of([(vectors, 2)])
    assert usages["fcvt"] == uops_of([(vectors, 1), (0b10000, 1)])
    assert usages["mixed"] == uops_of([(alu, 1), (0b1000, 1), (vectors, 1)])
    assert usages["divide"] == uops_of([(0b1000, 12)])
    assert usages["nop"] == ()


def test_a_use_that_no_groups_explain_keeps_its_units_busy_as_long() -> None:
    assert port_usages(ROWS, UNITS)["odd"] == uops_of([(0b1000, 1), (0b10000, 1)])


@needs_llvm
def test_a_processor_of_llvm_is_a_core_model() -> None:
    core = modelled_core(McaSettings(cpu="cortex-a57"))
    mapping = core.model.mapping
    assert core.isa == AARCH64
    assert mapping is not None
    assert mapping.issue_width == 3
    add, load = "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "ldr GPR[64]:W, MEM[64,post]:R"
    assert mapping.usage[add] == uops_of([(mapping.usage[add][0][0], 1)])
    assert mapping.usage[add][0][0].bit_count() == 2
    assert core.model.latencies[add] == {("2", "1"): 1.0, ("3", "1"): 1.0}
    assert core.model.latencies[load]["2 address", "base"] == 1.0
    accumulating = core.model.latencies["mla VEC[4S]:RW, VEC[4S]:R, VEC[4S]:R"]
    assert (accumulating["1", "1"] or 0) < (accumulating["2", "1"] or 0)


@needs_llvm
def test_the_jump_of_a_loop_takes_a_slot_of_its_own() -> None:
    """Three slots per cycle: two of a load that moves its base, one of the comparison, one of the jump."""
    model = modelled_core(McaSettings(cpu="cortex-a57")).model
    (loop,) = read_blocks(".loop:\nldrb w0, [x1, #1]!\ncmp w0, #32\nb.eq .loop", 1, AARCH64)
    predicted = CoreModelBlocks(model, Assumptions(in_loop=True)).predict(loop)
    assert predicted.cycles == pytest.approx(4 / 3, rel=0.01)


@needs_llvm
def test_an_unknown_processor_is_refused() -> None:
    with pytest.raises(PredictorError):
        modelled_core(McaSettings(cpu="cortex-z9"))
