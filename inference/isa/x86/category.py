"""The category of an instruction: a rule table over its mnemonic, CPU features and control flow.

The names are this project's own. Vector forms share the category of their scalar relatives, so that
`category:shift` finds `shl` and `vpsllw` alike; the CPU feature tells them apart.
"""

from __future__ import annotations

import re

from iced_x86 import EncodingKind, FlowControl

from inference.isa.tables import table_of_module
from inference.isa.x86.iced_types import EncodingValue, FlowValue

_BY_FLOW = {
    FlowControl.UNCONDITIONAL_BRANCH: "jump",
    FlowControl.INDIRECT_BRANCH: "jump",
    FlowControl.CONDITIONAL_BRANCH: "branch",
    FlowControl.CALL: "call",
    FlowControl.INDIRECT_CALL: "call",
    FlowControl.RETURN: "return",
    FlowControl.INTERRUPT: "interrupt",
    FlowControl.XBEGIN_XABORT_XEND: "transaction",
    FlowControl.EXCEPTION: "interrupt",
}

_RULES: list[tuple[str, re.Pattern[str]]] = [
    (name, re.compile(pattern))  # bounded: mnemonics
    for name, pattern in table_of_module(__file__)["rules"]
]


def category(
    mnemonic: str,
    encoding: EncodingValue,
    features: tuple[str, ...],
    flow: FlowValue,
    *,
    string: bool,
) -> str:
    """The category of an instruction; `system` where no rule applies.

    Args:
        mnemonic: Its mnemonic.
        encoding: iced's `EncodingKind`.
        features: CPU features that it needs.
        flow: iced's `FlowControl`.
        string: An operand is memory at rsi or rdi, which distinguishes the string instruction `movsd` from
            the vector one.
    """
    if flow in _BY_FLOW:
        return _BY_FLOW[flow]
    if any(feature.startswith("FPU") for feature in features):
        return "x87"
    if string and "maskmov" not in mnemonic:
        return "string"
    vector = encoding in {EncodingKind.VEX, EncodingKind.EVEX, EncodingKind.XOP}
    bare = mnemonic.removeprefix("v") if vector else mnemonic
    for name, pattern in _RULES:
        if pattern.fullmatch(bare):
            return name
    return "system"
