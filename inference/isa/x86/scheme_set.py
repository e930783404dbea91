"""The scheme set: all forms described, without duplicate texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version

from iced_x86 import EncodingKind, OpCodeInfo

from inference.isa.scheme import Operand, Scheme, memory_use
from inference.isa.x86.availability import EXTENSION_NAMES
from inference.isa.x86.category import category
from inference.isa.x86.exclusion import exclusion
from inference.isa.x86.forms import PREFIXES, STRING_REGISTERS, Form, features, forms
from inference.isa.x86.iced_types import CodeValue, FlowValue
from inference.isa.x86.instances import instance
from inference.isa.x86.operands import explicit_operands, implicit_operands, information
from inference.isa.x86.starter_set import STARTER_SET

SOURCE = f"iced-x86 {version('iced-x86')}"

_EVEX = "{evex}"
"""Prefix of a scheme that would have the text of a VEX-encoded one."""

_ENCODINGS = {
    EncodingKind.LEGACY: "legacy",
    EncodingKind.VEX: "VEX",
    EncodingKind.EVEX: "EVEX",
    EncodingKind.XOP: "XOP",
    EncodingKind.D3NOW: "3DNow!",
}


@cache
def schemes() -> tuple[Scheme, ...]:
    """All x86-64 schemes, one per text, in the order of iced's opcode numbers."""
    return tuple(scheme for scheme, _ in _described().values())


@cache
def forms_by_text() -> dict[str, Form]:
    """{scheme text: its form}, for building instances."""
    return {text: form for text, (_, form) in _described().items()}


def scheme_and_form(text: str) -> tuple[Scheme, Form] | None:
    """The scheme of a text and its form, None for an unknown text.

    It describes the schemes of one mnemonic instead of all, which takes milliseconds instead of seconds.
    """
    words = [word for word in text.split() if word not in PREFIXES and word != _EVEX]
    return _described(words[0]).get(text) if words else None


def schemes_of(mnemonic: str) -> tuple[Scheme, ...]:
    """The schemes of one mnemonic, in the same order; () for an unknown one."""
    return tuple(scheme for scheme, _ in _described(mnemonic).values())


@cache
def texts_of_forms(mnemonic: str) -> dict[Form, str]:
    """{form of a mnemonic: the text of its scheme}; encodings of one scheme are separate forms."""
    return {form: text_of_form(form) for form in forms(mnemonic)}


@cache
def text_of_form(form: Form) -> str:
    """The text of its scheme, without describing the scheme."""
    text = _text(form, explicit_operands(form, information(instance(form))))
    if OpCodeInfo(form.code).encoding == EncodingKind.EVEX and text in _texts_before_evex(form.mnemonic):
        return f"{_EVEX} {text}"
    return text


@cache
def _texts_before_evex(mnemonic: str) -> frozenset[str]:
    earlier = (form for form in forms(mnemonic) if OpCodeInfo(form.code).encoding != EncodingKind.EVEX)
    return frozenset(map(text_of_form, earlier))


@cache
def _described(mnemonic: str | None = None) -> dict[str, tuple[Scheme, Form]]:
    forms_by_scheme_text: dict[str, tuple[Scheme, Form]] = {}
    evex = []
    for form in forms(mnemonic):
        scheme = _describe(form)
        if scheme.encoding == "EVEX":
            evex.append((scheme, form))
        else:
            forms_by_scheme_text.setdefault(scheme.text, (scheme, form))
    for scheme, form in evex:
        twin = forms_by_scheme_text.get(scheme.text)
        distinct = scheme
        if twin is not None and twin[0].encoding != "EVEX":
            distinct = replace(scheme, text=f"{_EVEX} {scheme.text}", starter=False)
        forms_by_scheme_text.setdefault(distinct.text, (distinct, form))
    return forms_by_scheme_text


@dataclass(frozen=True, slots=True)
class _Opcode:
    """Properties that all forms of one opcode share."""

    info: OpCodeInfo
    features: tuple[str, ...]
    category: str

    @property
    def extension(self) -> str:
        return "+".join(dict.fromkeys(EXTENSION_NAMES.get(name, name) for name in self.features))


@cache
def _opcode(code: CodeValue, mnemonic: str, flow: FlowValue, *, string: bool) -> _Opcode:
    info = OpCodeInfo(code)
    needed = features(code)
    return _Opcode(info, needed, category(mnemonic, info.encoding, needed, flow, string=string))


def _describe(form: Form) -> Scheme:
    """The scheme of a form, from iced-x86's facts about an instance of it."""
    instruction = instance(form)
    used = information(instruction)
    explicit = explicit_operands(form, used)
    operands = explicit + implicit_operands(form, instruction, used)
    string = any(hole.shape in STRING_REGISTERS for hole in form.holes)
    opcode = _opcode(form.code, form.mnemonic, instruction.flow_control, string=string)
    text = _text(form, explicit)
    return Scheme(
        text=text,
        mnemonic=form.mnemonic,
        operands=operands,
        extension=opcode.extension,
        category=opcode.category,
        encoding=_ENCODINGS[opcode.info.encoding],
        memory=memory_use(operands),
        width=max((operand.width for operand in explicit), default=0),
        exclusion=exclusion(form, opcode.info, opcode.category, opcode.features, operands),
        starter=text in STARTER_SET,
    )


def _text(form: Form, explicit: tuple[Operand, ...]) -> str:
    parts = [operand.text for operand in explicit]
    if form.rounding:
        parts.append(form.rounding)
    name = f"{form.prefix} {form.mnemonic}".lstrip()
    return f"{name} {', '.join(parts)}" if parts else name
