"""An instruction set as a JSON document: the public format in which any of them can be given.

    {"format": "pmweb-instruction-set", "version": 1, "name": "AArch64", "source": "…", "encoding": "A64",
     "operands": {"GPR[64]": {"kind": "register", "width": 64, "bank": "general", "assembly": "x{}"}, …},
     "schemes": [{"text": "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "category": "arithmetic", …}, …]}

`operands` describes every operand name that occurs. A scheme's text is its mnemonic, a blank, and its
operands in order, with a comma and a blank between them; behind the name of an operand stands how it is
accessed: `:R`, `:W`, `:RW`, or nothing. docs/formats.md lists all fields.

Version 2 has the encodings of schemes whose instructions are words (`match`, `mask`, `fields`, `flow`), and
under `forms` further instructions: other spellings of a scheme, and instructions without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from inference.agent.reading import read_json
from inference.isa.code.control_flow import Flow
from inference.isa.encodings import WordEncoding, field_of_text, word_of_text
from inference.isa.scheme import Access, Operand, OperandKind, Scheme, memory_use

FORMAT = "pmweb-instruction-set"
VERSIONS = (1, 2)  # of the format
MAX_SCHEMES = 50_000  # of a document
MAX_BYTES = 64 * 2**20  # of a document
MAX_VALUES = 3_000_000
"""Values and keys: fields of `MAX_SCHEMES` schemes."""

MAX_TEXT = 200  # characters
MAX_WIDTH = 32_767  # bits of an operand: what a column of the database holds

_KINDS = get_args(OperandKind)
_ACCESSES = ("R", "W", "RW")
_FLOWS = get_args(Flow)


class InstructionSetError(ValueError):
    """An invalid document; the message says where and what would be right."""


@dataclass(frozen=True, slots=True)
class OperandForm:
    """The meaning of an operand name.

    Attributes:
        kind: Register, memory, address, immediate, branch or flags.
        width: Bits, 0 where it has none.
        registers: Names of fixed registers.
        bank: The set of registers to choose from, "" where there is no choice.
        assembly: How an assembler writes it, with `{}` for the register's number.
        span: Number of consecutive registers, of which the first is chosen.
        registers_below: Only registers with smaller numbers can be named.
    """

    kind: OperandKind
    width: int = 0
    registers: tuple[str, ...] = ()
    bank: str = ""
    assembly: str = ""
    span: int = 1
    registers_below: int = 1000


@dataclass(frozen=True, slots=True)
class FurtherForm:
    """An instruction beside the schemes; its exclusion says why it is none.

    Attributes:
        form: Form as a scheme, with its operands and their accesses.
        instance_of: The text of the scheme that it is another spelling of, "" for none.
    """

    form: Scheme
    instance_of: str = ""


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A document; `encodings` are those of its schemes and further forms, by text."""

    name: str
    source: str
    schemes: tuple[Scheme, ...]
    forms: Mapping[str, OperandForm]
    further: tuple[FurtherForm, ...] = ()
    encodings: Mapping[str, WordEncoding] = field(default_factory=dict)


def read_instruction_set(content: bytes) -> InstructionSet:
    """Read a document.

    Args:
        content: JSON in UTF-8, at most `MAX_BYTES` bytes and `MAX_SCHEMES` schemes.

    Returns:
        The instruction set with its schemes in the document's order.

    Raises:
        InstructionSetError: The document is invalid; the message names the scheme or operand, and its field.
    """
    if len(content) > MAX_BYTES:
        raise InstructionSetError(f"an instruction set has at most {MAX_BYTES >> 20} MiB")
    try:
        parsed = read_json(content.decode("utf-8-sig"), MAX_VALUES)
    except (ValueError, RecursionError) as error:
        raise InstructionSetError(f"not JSON: {error}") from None
    document = _Fields("the document", parsed)
    if document.text("format") != FORMAT or document.integer("version") not in VERSIONS:
        versions = " or ".join(map(str, VERSIONS))
        raise InstructionSetError(f'the document must say "format": "{FORMAT}", "version": {versions}')
    name = document.text("name", limit=100, required=True)
    source = document.text("source", limit=MAX_TEXT)
    encoding = document.text("encoding", limit=10)
    forms = {text: _form(text, parsed) for text, parsed in document.mapping("operands").items()}
    rows, further_rows = document.entries("schemes"), document.entries("forms")
    document.end()
    if not 1 <= len(rows) + len(further_rows) <= MAX_SCHEMES or not rows:
        raise InstructionSetError(f"schemes: 1 to {MAX_SCHEMES:,} are possible, not {len(rows):,}")
    schemes, encodings, instances = _read_forms(rows, further_rows, forms, encoding)
    further = tuple(FurtherForm(form, instances[form.text]) for form in schemes[len(rows) :])
    return InstructionSet(name, source, tuple(schemes[: len(rows)]), forms, further, encodings)


def _read_forms(
    rows: Sequence[Any], further_rows: Sequence[Any], forms: Mapping[str, OperandForm], encoding: str
) -> tuple[list[Scheme], dict[str, WordEncoding], dict[str, str]]:
    """(schemes and further forms in order, {text: its encoding}, {text: its scheme, "" for none}).

    Schemes come first, so that a further form can name any of them.
    """
    schemes: dict[str, Scheme] = {}
    encodings: dict[str, WordEncoding] = {}
    instances: dict[str, str] = {}
    for number, row in enumerate([*rows, *further_rows], 1):
        is_further = number > len(rows)
        fields = _Fields(f"form {number - len(rows)}" if is_further else f"scheme {number}", row)
        instance_of = fields.text("scheme") if is_further else ""
        word = _encoding(fields)
        scheme = _scheme(fields, forms, encoding)
        if scheme.text in schemes:
            raise InstructionSetError(f"{fields.where}: {scheme.text!r:.200} occurs twice")
        if instance_of and instance_of not in schemes:
            raise InstructionSetError(f"{fields.where}: there is no scheme {instance_of!r:.200}")
        schemes[scheme.text] = scheme
        instances[scheme.text] = instance_of
        if word is not None:
            encodings[scheme.text] = word
    return list(schemes.values()), encodings, instances


def _encoding(row: _Fields) -> WordEncoding | None:
    """The encoding of a form; None where the document has none."""
    match, mask = row.text("match", limit=8), row.text("mask", limit=8)
    texts, flow = row.texts("fields"), row.text("flow", limit=10) or "next"
    if flow not in _FLOWS:
        raise InstructionSetError(f"{row.where}: flow must be one of {', '.join(_FLOWS)}, not {flow!r}")
    if not match and not mask and not texts:
        return None
    try:
        fields = tuple(map(field_of_text, texts))
        encoding = WordEncoding(
            word_of_text(match), word_of_text(mask), fields, cast(Flow, flow), 4 * len(match)
        )
        if len(match) != len(mask):
            raise ValueError(f"match and mask must have equally many digits, unlike {match} and {mask}")
        return encoding
    except ValueError as error:
        raise InstructionSetError(f"{row.where}: {error}") from None


def _form(name: str, content: Any) -> OperandForm:
    """The form of an operand from its object in the document."""
    fields = _Fields(f"operand {name!r:.80}", content)
    kind = fields.text("kind")
    if kind not in _KINDS:
        kinds = ", ".join(_KINDS)
        raise InstructionSetError(f"operand {name!r:.80}: kind must be one of {kinds}, not {kind!r}")
    form = OperandForm(
        kind=cast(OperandKind, kind),
        width=fields.integer("width", maximum=MAX_WIDTH),
        registers=tuple(fields.texts("registers")),
        bank=fields.text("bank"),
        assembly=fields.text("assembly"),
        span=fields.integer("span", default=1, maximum=16),
        registers_below=fields.integer("registers_below", default=1000, maximum=1000),
    )
    fields.end()
    return form


def _scheme(row: _Fields, forms: Mapping[str, OperandForm], encoding: str) -> Scheme:
    """A scheme from its object in the document; its explicit operands are those in its text."""
    text = row.text("text", limit=MAX_TEXT, required=True)
    mnemonic, _, texts = text.partition(" ")
    explicit = [_operand(row.where, part, forms, implicit=False) for part in filter(None, texts.split(", "))]
    implicit = [_operand(row.where, part, forms, implicit=True) for part in row.texts("implicit")]
    operands = (*explicit, *implicit)
    scheme = Scheme(
        text=text,
        mnemonic=mnemonic,
        operands=operands,
        extension=row.text("extension", limit=60),
        category=row.text("category", limit=60),
        encoding=encoding,
        memory=memory_use(operands),
        width=max((operand.width for operand in explicit), default=0),
        exclusion=row.text("exclusion", limit=MAX_TEXT),
        starter=row.boolean("starter"),
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
    """The fields of one JSON object; each is read once, and `end` refuses unread ones."""

    def __init__(self, where: str, content: Any) -> None:
        if not isinstance(content, dict):
            raise InstructionSetError(f"{where}: an object is expected, not {content!r:.80}")
        self.where = where
        self._remaining = dict(content)

    def text(self, name: str, *, limit: int = MAX_TEXT, required: bool = False) -> str:
        value = self._remaining.pop(name, "")
        if not isinstance(value, str) or len(value) > limit or (required and not value.strip()):
            raise self._error(name, f"text of {int(required)} to {limit} characters", value)
        return self._printable(name, value)

    def _printable(self, name: str, text: str) -> str:
        """The text; it may not contain line breaks or characters that change the text around it."""
        if not text.isprintable():
            raise InstructionSetError(
                f"{self.where}: {name} must be a line of printable characters, not {text!a:.80}"
            )
        return text

    def integer(self, name: str, *, default: int = 0, maximum: int = 2**31) -> int:
        value = self._remaining.pop(name, default)
        if type(value) is not int or not 0 <= value <= maximum:
            raise self._error(name, f"a whole number from 0 to {maximum:,}", value)
        return value

    def boolean(self, name: str) -> bool:
        value = self._remaining.pop(name, False)
        if type(value) is not bool:
            raise self._error(name, "true or false", value)
        return value

    def texts(self, name: str) -> list[str]:
        value = self.entries(name)
        if not all(isinstance(element, str) for element in value):
            raise self._error(name, "a list of texts", value)
        return [self._printable(name, text) for text in value]

    def entries(self, name: str) -> list[Any]:
        value = self._remaining.pop(name, [])
        if not isinstance(value, list):
            raise self._error(name, "a list", value)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        value = self._remaining.pop(name, {})
        if not isinstance(value, dict):
            raise self._error(name, "an object", value)
        return {self._printable(f"a key of {name}", key): entry for key, entry in value.items()}

    def end(self) -> None:
        if self._remaining:
            raise InstructionSetError(f"{self.where}: unknown field {min(self._remaining)!r:.80}")

    def _error(self, name: str, right: str, value: object) -> InstructionSetError:
        return InstructionSetError(f"{self.where}: {name} must be {right}, not {value!r:.80}")
