"""A core of four ports that is known in full, and what blocks take on it."""

from __future__ import annotations

from collections.abc import Collection

from inference.core.core_model import (
    BoundKind,
    CoreModel,
    CorePrediction,
    FrontEndLimits,
    MemoryTimes,
    predict_core,
)
from inference.core.core_model.prediction import CodeShape
from inference.core.mapping import PortMapping
from inference.isa.blocks import LOOP, Block, accesses_of, read_blocks

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
XOR, MOV = "xor GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, GPR[64]:R"
LOAD, STORE = "mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R"
ADC, BYTE = "adc GPR[64]:RW, GPR[64]:R", "mov GPR[8]:W, GPR[8]:R"

CORE = CoreModel(
    PortMapping(
        ("0", "1", "2", "3"),
        {
            **dict.fromkeys((ADD, XOR, MOV, ADC, BYTE), ((0b0011, 1),)),
            IMUL: ((0b0001, 1),),
            LOAD: ((0b0100, 1),),
            STORE: ((0b1000, 1),),
        },
        issue_width=4,
    ),
    latencies={
        ADD: {("1", "1"): 1.0, ("2", "1"): 1.0, ("1", "flags"): 1.0, ("2", "flags"): 1.0},
        XOR: {("1", "1"): 1.0, ("2", "1"): 1.0},
        ADC: {("1", "1"): 1.0, ("2", "1"): 1.0, ("flags", "1"): 1.0, ("flags", "flags"): 1.0},
        IMUL: {("1", "1"): 3.0, ("2", "1"): 3.0},
        LOAD: {("2 address", "1"): 5.0},
        BYTE: {("1", "1"): 1.0, ("2", "1"): 1.0},
    },
    free=frozenset({XOR, ADC}),
    portless=frozenset({XOR, MOV}),
    moves=frozenset({MOV}),
    memory=MemoryTimes({(64, 64, 0, False): 4.0}, usual=12.0),
    front_end=FrontEndLimits(6.0, 4.0, 16.0, 1000, 1.0),
)


def block(code: str) -> Block:
    (found,) = read_blocks(code, 1)
    return found


def predicted(code: str, without: Collection[BoundKind] = ()) -> CorePrediction:
    one = block(code)
    return predict_core(accesses_of(one), CodeShape(len(one.code), one.kind == LOOP), CORE, without)


def of(code: str, kind: BoundKind) -> float:
    (found,) = [bound.cycles for bound in predicted(code).bounds if bound.kind is kind]
    return found
