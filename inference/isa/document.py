"""An instruction set as a JSON document: the public format in which any of them can be given.

    {"format": "pmweb-instruction-set", "version": 1, "name": "AArch64", "source": "…", "encoding": "A64",
     "operands": {"GPR[64]": {"kind": "register", "width": 64, "bank": "general", "assembly": "x{}"}, …},
     "schemes": [{"text": "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "category": "arithmetic", …}, …]}

`operands` describes every operand name that occurs. A scheme's text is its mnemonic, a blank, and its
operands in order, with a comma and a blank between them; behind the name of an operand stands how it is
accessed: `:R`, `:W`, `:RW`, or nothing. docs/formats.md lists all fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from inference.agent.reading import read_json
from inference.isa.scheme import Access, Operand, OperandKind, Scheme, memory_use

FORMAT = "pmweb-instruction-set"
VERSION = 1
MAX_SCHEMES = 50_000
MAX_BYTES = 64 * 2**20
MOST_VALUES = 3_000_000
"""Values and keys: fields of `MAX_SCHEMES` schemes."""
MAX_TEXT = 200
MAX_WIDTH = 32_767

_KINDS = get_args(OperandKind)
_ACCESSES = ("R", "W", "RW")


class InstructionSetError(ValueError):
    """A document that is no instruction set; the text says where and what would be right."""


@dataclass(frozen=True, slots=True)
class OperandForm:
    """What an operand name stands for.

    `bank` names the set of registers that one can be chosen from, `assembly` how an assembler writes it, with
    `{}` for the register's number. `span`: so many registers in a row, of which the first is chosen.
    `registers_below`: registers from this number on cannot be named.
    """

    kind: OperandKind
    width: int = 0
    registers: tuple[str, ...] = ()
    bank: str = ""
    assembly: str = ""
    span: int = 1
    registers_below: int = 1000


@dataclass(frozen=True, slots=True)
class InstructionSet:
    name: str
    source: str
    schemes: tuple[Scheme, ...]
    forms: Mapping[str, OperandForm]


def read_instruction_set(content: bytes) -> InstructionSet:
    """Read a document. Raises `InstructionSetError`."""
    if len(content) > MAX_BYTES:
        raise InstructionSetError(f"an instruction set has at most {MAX_BYTES >> 20} MiB")
    try:
        given = read_json(content.decode("utf-8-sig"), MOST_VALUES)
    except (ValueError, RecursionError) as error:
        raise InstructionSetError(f"not JSON: {error}") from None
    document = _Fields("the document", given)
    if document.text("format") != FORMAT or document.whole("version") != VERSION:
        raise InstructionSetError(f'the document must say "format": "{FORMAT}", "version": {VERSION}')
    name = document.text("name", limit=100, required=True)
    source = document.text("source", limit=MAX_TEXT)
    encoding = document.text("encoding", limit=10)
    forms = {text: _form(text, given) for text, given in document.mapping("operands").items()}
    rows = document.entries("schemes")
    document.end()
    if not 1 <= len(rows) <= MAX_SCHEMES:
        raise InstructionSetError(f"schemes: 1 to {MAX_SCHEMES:,} are possible, not {len(rows):,}")
    schemes: dict[str, Scheme] = {}
    for number, row in enumerate(rows, 1):
        scheme = _scheme(_Fields(f"scheme {number}", row), forms, encoding)
        if scheme.text in schemes:
            raise InstructionSetError(f"scheme {number}: {scheme.text!r:.200} occurs twice")
        schemes[scheme.text] = scheme
    return InstructionSet(name, source, tuple(schemes.values()), forms)


def _form(name: str, given: Any) -> OperandForm:
    fields = _Fields(f"operand {name!r:.80}", given)
    kind = fields.text("kind")
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise InstructionSetError(f"operand {name!r:.80}: kind must be one of {known}, not {kind!r}")
    form = OperandForm(
        kind=cast(OperandKind, kind),
        width=fields.whole("width", most=MAX_WIDTH),
        registers=tuple(fields.texts("registers")),
        bank=fields.text("bank"),
        assembly=fields.text("assembly"),
        span=fields.whole("span", default=1, most=16),
        registers_below=fields.whole("registers_below", default=1000, most=1000),
    )
    fields.end()
    return form


def _scheme(row: _Fields, forms: Mapping[str, OperandForm], encoding: str) -> Scheme:
    text = row.text("text", limit=MAX_TEXT, required=True)
    mnemonic, _, rest = text.partition(" ")
    shown = [_operand(row.where, part, forms, implicit=False) for part in filter(None, rest.split(", "))]
    hidden = [_operand(row.where, part, forms, implicit=True) for part in row.texts("implicit")]
    operands = (*shown, *hidden)
    scheme = Scheme(
        text=text,
        mnemonic=mnemonic,
        operands=operands,
        extension=row.text("extension", limit=60),
        category=row.text("category", limit=60),
        encoding=encoding,
        memory=memory_use(operands),
        width=max((operand.width for operand in shown), default=0),
        exclusion=row.text("exclusion", limit=MAX_TEXT),
        starter=row.truth("starter"),
    )
    row.end()
    return scheme


def _operand(where: str, part: str, forms: Mapping[str, OperandForm], *, implicit: bool) -> Operand:
    name, colon, access = part.rpartition(":")
    if not colon or access not in _ACCESSES:
        name, access = part, ""
    form = forms.get(name)
    if form is None:
        raise InstructionSetError(f"{where}: the operand {name!r:.80} is not described under operands")
    return Operand(form.kind, name, cast(Access, access), form.width, form.registers, implicit)


class _Fields:
    """The fields of one JSON object, each asked for once; errors say where."""

    def __init__(self, where: str, given: Any) -> None:
        if not isinstance(given, dict):
            raise InstructionSetError(f"{where}: an object is expected, not {given!r:.80}")
        self.where = where
        self._left = dict(given)

    def text(self, name: str, *, limit: int = MAX_TEXT, required: bool = False) -> str:
        value = self._left.pop(name, "")
        if not isinstance(value, str) or len(value) > limit or (required and not value.strip()):
            raise self._wrong(name, f"text of {int(required)} to {limit} characters", value)
        return self._line(name, value)

    def _line(self, name: str, text: str) -> str:
        """No text of a document has line breaks, nor what changes how the text around it is shown."""
        if not text.isprintable():
            raise InstructionSetError(
                f"{self.where}: {name} must be a line of printable characters, not {text!a:.80}"
            )
        return text

    def whole(self, name: str, *, default: int = 0, most: int = 2**31) -> int:
        value = self._left.pop(name, default)
        if type(value) is not int or not 0 <= value <= most:
            raise self._wrong(name, f"a whole number from 0 to {most:,}", value)
        return value

    def truth(self, name: str) -> bool:
        value = self._left.pop(name, False)
        if type(value) is not bool:
            raise self._wrong(name, "true or false", value)
        return value

    def texts(self, name: str) -> list[str]:
        value = self.entries(name)
        if not all(isinstance(one, str) for one in value):
            raise self._wrong(name, "a list of texts", value)
        return [self._line(name, text) for text in value]

    def entries(self, name: str) -> list[Any]:
        value = self._left.pop(name, [])
        if not isinstance(value, list):
            raise self._wrong(name, "a list", value)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        value = self._left.pop(name, {})
        if not isinstance(value, dict):
            raise self._wrong(name, "an object", value)
        return {self._line(f"a key of {name}", key): entry for key, entry in value.items()}

    def end(self) -> None:
        if self._left:
            raise InstructionSetError(f"{self.where}: unknown field {min(self._left)!r:.80}")

    def _wrong(self, name: str, right: str, value: object) -> InstructionSetError:
        return InstructionSetError(f"{self.where}: {name} must be {right}, not {value!r:.80}")
