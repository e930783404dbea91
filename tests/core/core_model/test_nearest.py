"""What a core model does not describe, taken from the nearest scheme that it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model import Assumptions, BoundKind, CoreModel, CorePrediction
from inference.core.core_model.nearest import CoreModelBlocks, nearest_scheme
from inference.core.mapping import PortMapping
from inference.isa.blocks import Block, read_blocks
from inference.isa.targets import AARCH64, target_of
from tests.core.core_model.small_core import ADD, CORE, IMUL, LOAD

NEAREST = Assumptions(nearest=True)


def block(code: str) -> Block:
    (found,) = read_blocks(code, 1)
    return found


def predicted(code: str) -> CorePrediction:
    return CoreModelBlocks(CORE, NEAREST).predict(block(code))


def bound(found: CorePrediction, kind: BoundKind) -> float:
    (cycles,) = [one.cycles for one in found.bounds if one.kind is kind]
    return cycles


@pytest.mark.parametrize(
    ("code", "nearest", "differs"),
    [
        ("add eax, ebx", ADD, "other width"),
        ("imul ax, bx", IMUL, "other width"),
        ("add rax, qword ptr [rsi]", ADD, "memory beside the form with registers"),
        ("add rax, 5", ADD, "register for the immediate"),
    ],
)
def test_the_nearest_scheme_is_named_with_the_difference(code: str, nearest: str, differs: str) -> None:
    found = predicted(code)
    assert found.unknown == ()
    (taken,) = found.substitutions
    assert (taken.nearest, taken.differs) == (nearest, differs)
    assert taken.scheme == block(code).instructions[0].scheme


FMA, MOVE, STEP = (
    "vfmadd231pd YMM:RW, YMM:R, YMM:R",
    "vmovaps YMM:W, MEM[256]:R",
    "add GPR[64]:RW, IMM[8]:R",
)
FUSED_CORE = CoreModel(
    PortMapping(("0", "1", "2"), {FMA: ((1, 1),), MOVE: ((2, 1),), STEP: ((4, 1),)}),
    {
        FMA: {("1", "1"): 4.0, ("2", "1"): 4.0, ("3", "1"): 4.0},
        MOVE: {("2 address", "1"): 7.0},
        STEP: {("1", "1"): 1.0, ("1", "flags"): 1.0},
    },
)


@pytest.mark.parametrize(
    ("code", "nearest", "differs", "uops"),
    [
        ("vfmadd231ps ymm0, ymm1, ymm2", FMA, "other type of elements", ((1, 1),)),
        ("vfmadd231ss xmm0, xmm1, xmm2", FMA, "other type of elements", ((1, 1),)),
        (
            "vfmadd231ps ymm0, ymm1, ymmword ptr [rdi]",
            FMA,
            "memory beside the form with registers, other type of elements",
            ((1, 1), (2, 1)),
        ),
        ("vmovups ymm0, ymmword ptr [rdi]", MOVE, "other type of elements", ((2, 1),)),
        ("inc rax", STEP, "an immediate for the constant", ((4, 1),)),
        ("dec eax", STEP, "an immediate for the constant", ((4, 1),)),
    ],
)
def test_other_elements_and_steps_are_near(
    code: str, nearest: str, differs: str, uops: tuple[tuple[int, int], ...]
) -> None:
    blocks = CoreModelBlocks(FUSED_CORE, NEAREST)
    (substitution,) = blocks.predict(block(code)).substitutions
    assert (substitution.nearest, substitution.differs) == (nearest, differs)
    assert blocks.model.mapping is not None
    assert blocks.model.mapping.usage[substitution.scheme] == uops
    cycles = FUSED_CORE.latencies[nearest].get(("1", "1"))
    assert blocks.model.latencies[substitution.scheme].get(("1", "1")) == cycles


@pytest.mark.parametrize(
    "code", ["vdivps ymm0, ymm1, ymm2", "vfmadd213ps ymm0, ymm1, ymm2", "neg rax", "vmovups ymm0, ymm1"]
)
def test_other_operations_are_not_near(code: str) -> None:
    blocks = CoreModelBlocks(FUSED_CORE, NEAREST)
    assert blocks.predict(block(code)).substitutions == ()


def test_it_has_the_latencies_and_ports_of_the_nearest_with_a_load_for_memory() -> None:
    assert bound(predicted("imul eax, ebx"), BoundKind.DEPENDENCES) == 3
    chased = predicted("add rsi, qword ptr [rsi]")
    assert bound(chased, BoundKind.DEPENDENCES) == 6  # the load's 5, and the addition
    assert (
        bound(predicted("\n".join(["add rax, qword ptr [rsi]"] * 3)), BoundKind.PORTS) == 3
    )  # one load port


def test_idioms_hold_for_other_widths_of_whole_registers() -> None:
    assert bound(predicted("xor eax, eax\nimul eax, ebx"), BoundKind.DEPENDENCES) == 0
    assert bound(predicted("xor ax, ax\nimul ax, bx"), BoundKind.DEPENDENCES) > 0


def test_other_operations_stay_unknown_and_what_is_known_is_not_taken() -> None:
    found = predicted("bsf rax, rbx\nadd rax, rbx")
    assert found.unknown == ("bsf GPR[64]:RW, GPR[64]:R",)
    assert found.substitutions == ()
    assert LOAD not in {one.scheme for one in predicted("mov rax, qword ptr [rsi]").substitutions}


def test_without_the_option_nothing_is_taken() -> None:
    found = CoreModelBlocks(CORE, Assumptions()).predict(block("add eax, ebx"))
    assert (found.unknown, found.substitutions) == (("add GPR[32]:RW, GPR[32]:R",), ())


def test_schemes_are_near_by_the_instruction_set_of_the_block() -> None:
    known = "cmp GPR[64]:R, GPR[64]:R"
    core = CoreModel(PortMapping(("0",), {known: ((1, 1),)}), {known: {("1", "flags"): 1.0}})
    found = CoreModelBlocks(core, Assumptions(nearest=True)).predict(*read_blocks("cmp w0, w1", 1, "AArch64"))
    assert [nearest.nearest for nearest in found.substitutions] == [known]
    assert not found.unknown


def test_each_block_tells_what_was_taken_in_it_alone() -> None:
    explained = CoreModelBlocks(CORE, NEAREST)
    assert len(explained.predict(block("add eax, ebx")).substitutions) == 1
    assert explained.predict(block("imul rax, rbx")).substitutions == ()
    again = explained.predict(block("add eax, ebx"))
    assert [one.nearest for one in again.substitutions] == [ADD]


VEX = ("vpxor XMM:W, XMM:R, XMM:R", "vmulps XMM:W, XMM:R, XMM:R", "vmulps XMM:W, XMM:R, MEM[128]:R")
LEGACY = ("pxor XMM:RW, XMM:R", "mulps XMM:RW, XMM:R", "mulps XMM:RW, MEM[128]:R")
VECTORS = CoreModel(
    PortMapping(("0",), dict.fromkeys((*VEX, *LEGACY), ((1, 1),))),
    latencies={
        VEX[0]: {("2", "1"): 2.0, ("3", "1"): 2.0},
        VEX[1]: {("2", "1"): 3.0, ("3", "1"): 3.0},
        VEX[2]: {("2", "1"): 3.0, ("3 address", "1"): 10.0, ("3 data", "1"): 3.0},
    },
    free=frozenset({VEX[0]}),
    portless=frozenset({VEX[0]}),
)


def dependences(code: str) -> float:
    return bound(CoreModelBlocks(VECTORS, NEAREST).predict(block(code)), BoundKind.DEPENDENCES)


def test_latencies_and_idioms_are_taken_where_ports_are_known() -> None:
    assert dependences("mulps xmm0, xmm1") == 3
    assert dependences("pxor xmm0, xmm0\nmulps xmm0, xmm1") == 0
    found = CoreModelBlocks(VECTORS, NEAREST).predict(block("pxor xmm0, xmm0\nmulps xmm0, xmm1"))
    assert [(one.scheme, one.nearest, one.differs, one.parts) for one in found.substitutions] == [
        (LEGACY[0], VEX[0], "other encoding", ("latencies", "idioms")),
        (LEGACY[1], VEX[1], "other encoding", ("latencies",)),
    ]
    assert found.substitutions[0].text == f"{LEGACY[0]} as {VEX[0]} (other encoding): latencies, idioms"


def test_parts_of_operands_are_those_of_the_nearest() -> None:
    chased = "mulps xmm0, xmmword ptr [rsi]\nmovq rsi, xmm0"
    explained = CoreModelBlocks(VECTORS, NEAREST)
    explained.predict(block(chased))
    assert explained.model.latencies[LEGACY[2]] == {
        ("1", "1"): 3.0,
        ("2 address", "1"): 10.0,
        ("2 data", "1"): 3.0,
    }


def test_what_is_measured_is_not_taken_from_others() -> None:
    own = replace(VECTORS, latencies={**VECTORS.latencies, LEGACY[0]: {("1", "1"): 1.0, ("2", "1"): 1.0}})
    found = CoreModelBlocks(own, NEAREST).predict(block("pxor xmm0, xmm0"))
    assert found.substitutions == ()
    assert bound(found, BoundKind.DEPENDENCES) == 1


LOAD_BYTE = "ldrb GPR[32]:W, MEM[8{}]:R"
FORMS = ("", ",base+index", ",pre", ",post")


@pytest.mark.parametrize(
    ("form", "nearest"), [(",pre", ",post"), (",base+index", ""), (",post", ",pre"), ("", ",base+index")]
)
def test_a_form_that_moves_its_base_stands_for_no_other(form: str, nearest: str) -> None:
    known = [
        target_of(AARCH64).schemes.scheme_of(LOAD_BYTE.format(other)) for other in FORMS if other != form
    ]
    scheme = target_of(AARCH64).schemes.scheme_of(LOAD_BYTE.format(form))
    assert scheme is not None
    found = nearest_scheme(scheme, filter(None, known))
    assert found is not None
    assert found.text == LOAD_BYTE.format(nearest)


def test_a_load_is_described_by_one_with_the_same_form_of_address() -> None:
    texts = ("ldr GPR[64]:W, MEM[64,base+index*8]:R", "ldr GPR[64]:W, MEM[64]:R", "ldr GPR[32]:W, MEM[32]:R")
    indexed, plain, scheme = (target_of(AARCH64).schemes.scheme_of(text) for text in texts)
    assert scheme is not None
    assert nearest_scheme(scheme, filter(None, (indexed, plain))) == plain
