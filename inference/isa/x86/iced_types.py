"""Types of iced's enumerations for annotations: classes to the type checker, plain numbers at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iced_x86._iced_x86_py import Code as CodeValue
    from iced_x86._iced_x86_py import EncodingKind as EncodingValue
    from iced_x86._iced_x86_py import FlowControl as FlowValue
    from iced_x86._iced_x86_py import MemorySize as MemorySizeValue
    from iced_x86._iced_x86_py import OpAccess as AccessValue
    from iced_x86._iced_x86_py import OpCodeOperandKind as KindValue
    from iced_x86._iced_x86_py import OpKind as OpKindValue
    from iced_x86._iced_x86_py import Register as RegisterValue
else:
    CodeValue = EncodingValue = FlowValue = MemorySizeValue = int
    AccessValue = KindValue = OpKindValue = RegisterValue = int

__all__ = [
    "AccessValue",
    "CodeValue",
    "EncodingValue",
    "FlowValue",
    "KindValue",
    "MemorySizeValue",
    "OpKindValue",
    "RegisterValue",
]
