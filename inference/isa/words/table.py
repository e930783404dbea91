"""Decodes and encodes words by the encodings of a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from inference.isa.document import InstructionSet
from inference.isa.encodings import Codec, CodecMaker, Field, WordEncoding, codec_of
from inference.isa.scheme import Scheme
from inference.isa.words.accesses import OperandValue
from inference.isa.words.operands import NoOperandError, OperandCoder, extractor, operand_coders

_OPCODES = (0x7FF << 21, 0x3F << 10)
"""Bits of a word that choose among the forms of A64: most encodings have their opcode there."""

_COUNTED = 13
"""Bits of the largest field whose values are counted: a logical constant."""


@dataclass(frozen=True, eq=False)
class WordForm:
    """An instruction of the document with what decodes and encodes it.

    Attributes:
        form: Form with its operands and their accesses.
        scheme: The text of its scheme in the catalogue, "" for none.
        fields: Fields of the encoding, with their codecs.
    """

    form: Scheme
    scheme: str
    encoding: WordEncoding
    fields: tuple[tuple[Field, Codec], ...]
    coders: tuple[OperandCoder, ...]

    @cached_property
    def rank(self) -> tuple[int, int, int]:
        """Smaller for more special forms: by fixed bits, by fields that must be equal, by possible values."""
        free = {field.place: codec for field, codec in self.fields}
        values = [
            sum(codec.decode(value) is not None for value in range(1 << codec.bits))
            for codec in free.values()
            if codec.bits <= _COUNTED
        ]
        return -self.encoding.mask.bit_count(), sum(codec.bits for codec in free.values()), sum(values)

    @cached_property
    def _equal(self) -> list[tuple[Callable[[int], int], Callable[[int], int]]]:
        """Pairs of fields that must have the same bits."""
        first: dict[str, Field] = {}
        return [
            (extractor(first[field.place]), extractor(field))
            for field, _ in self.fields
            if first.setdefault(field.place, field) is not field
        ]

    def operands(self, word: int) -> tuple[OperandValue, ...] | None:
        """The explicit operands of a word that has the form's fixed bits; None where it is another form."""
        for first, second in self._equal:
            if first(word) != second(word):
                return None
        try:
            return tuple([coder.decode(word) for coder in self.coders])
        except NoOperandError:
            return None

    def word(self, operands: Sequence[OperandValue]) -> int | None:
        """The word with these operands; None where one is not possible."""
        values: dict[str, object] = {}
        try:
            for place, (coder, operand) in enumerate(zip(self.coders, operands, strict=True), start=1):
                for part, value in coder.encode(operand).items():
                    values[f"{place} {part}".rstrip()] = value
        except NoOperandError:
            return None
        word = self.encoding.match
        placed: list[tuple[Field, int]] = []
        for field, codec in self.fields:
            places = field.place.split(",")
            value = (
                values.get(field.place) if len(places) == 1 else tuple(values.get(place) for place in places)
            )
            bits = codec.encode(value)
            if bits is None:
                return None
            word |= field.placed(bits)
            placed.append((field, bits))
        if self._shares_bits and any(field.extracted(word) != bits for field, bits in placed):
            return None  # operands that must be equal are not
        return word

    @cached_property
    def _shares_bits(self) -> bool:
        """Whether two operands are in the same bits, as in compressed instructions."""
        bits = [field.bits for field, _ in self.fields]
        return sum(bits) != reduce(or_, bits, 0)


class WordTable:
    """The forms of an instruction set, the most special ones first."""

    def __init__(
        self,
        instructions: InstructionSet,
        codecs: Mapping[str, CodecMaker],
        opcodes: tuple[int, int] = _OPCODES,
    ) -> None:
        """`opcodes`: bits of a word that choose among the forms, in two steps."""
        self._upper, self._lower = opcodes
        entries = [(scheme, scheme.text) for scheme in instructions.schemes]
        entries += [(extra.form, extra.instance_of) for extra in instructions.further]
        self.forms: list[WordForm] = []
        for form, scheme in entries:
            if (encoding := instructions.encodings.get(form.text)) is not None:
                fields = tuple((field, codec_of(field.codec, codecs)) for field in encoding.fields)
                coders = operand_coders(form, instructions.forms, fields)
                self.forms.append(WordForm(form, scheme, encoding, fields, coders))
        self.forms.sort(key=lambda form: form.rank)
        self._coarse: dict[int, tuple[WordForm, ...]] = {}
        self._fine: dict[int, tuple[WordForm, ...]] = {}

    @cached_property
    def by_text(self) -> dict[str, WordForm]:
        return {form.form.text: form for form in self.forms}

    def decode(self, word: int) -> tuple[WordForm, tuple[OperandValue, ...]] | None:
        """The most special form of a word, and its operands; None where it has no form."""
        key = word & (self._upper | self._lower)
        forms = self._fine.get(key)
        if forms is None:
            forms = self._fine[key] = self._forms_of(word)
        for form in forms:
            if word & form.encoding.mask == form.encoding.match:
                operands = form.operands(word)
                if operands is not None:
                    return form, operands
        return None

    def _forms_of(self, word: int) -> tuple[WordForm, ...]:
        """The forms with the word's bits in both parts."""
        upper = word & self._upper
        if upper not in self._coarse:
            self._coarse[upper] = _fitting_forms(self.forms, word, self._upper)
        return _fitting_forms(self._coarse[upper], word, self._lower)


def _fitting_forms(forms: Sequence[WordForm], word: int, bits: int) -> tuple[WordForm, ...]:
    return tuple(form for form in forms if not (form.encoding.match ^ word) & form.encoding.mask & bits)
