"""Derives encodings from an assembler: it varies one operand at a time and watches which bits move.

A *slot* is what varies: a register, an immediate, a part of an address. Each of its codecs predicts the bits
of its field for each sample; the codec that agrees with the assembler for most samples is the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from inference.isa import llvm_mc
from inference.isa.document import read_instruction_set
from inference.isa.encodings import (
    WORD_BITS,
    CodecMaker,
    Field,
    LearntDocument,
    WordEncoding,
    codec_of,
    with_encodings,
)

Assemble = Callable[[Sequence[str]], Sequence[int | None]]
"""Lines to words, None for a refused line."""

_CHECKS = 24  # combinations of operands by which an encoding is checked


@dataclass(frozen=True)
class Slot:
    """What varies in a form's text.

    Attributes:
        place: See `Field`.
        samples: {value: its text}; the first one stands in the text while other slots vary.
        codecs: Candidates.
        optional: Without a codec that fits, the slot is part of the form.
    """

    place: str
    samples: Mapping[Hashable, str]
    codecs: Sequence[str]
    optional: bool = False


@dataclass(frozen=True)
class Template:
    """A form's text with slots.

    Attributes:
        line: A format whose fields are the slots' numbers.
        slots: What varies.
        bits: Bits of the machine code.
    """

    line: str
    slots: Sequence[Slot]
    bits: int = WORD_BITS

    def text(self, values: Sequence[Hashable]) -> str:
        samples = zip(self.slots, values, strict=True)
        return self.line.format(*(slot.samples[value] for slot, value in samples))

    @property
    def base(self) -> list[Hashable]:
        return [next(iter(slot.samples)) for slot in self.slots]


@dataclass(frozen=True)
class Learnt:
    """`failures`: {form: why it has no encoding}; `checked`: combinations that the encodings reproduce."""

    encodings: Mapping[str, WordEncoding]
    failures: Mapping[str, str]
    checked: int


def learn(templates: Mapping[str, Template], assemble: Assemble, codecs: Mapping[str, CodecMaker]) -> Learnt:
    """Encodings of forms by their templates, checked with drawn combinations of operands."""
    lines = {
        (name, place, value): template.text([*base[:place], value, *base[place + 1 :]])
        for name, template in templates.items()
        for base in [template.base]
        for place, slot in enumerate(template.slots)
        for value in slot.samples
    }
    lines |= {(name, -1, None): template.text(template.base) for name, template in templates.items()}
    words = dict(zip(lines, assemble(list(lines.values())), strict=True))
    encodings, failures = {}, {}
    for name, template in templates.items():
        base = words[name, -1, None]
        if base is None:
            failures[name] = f"the assembler refuses {lines[name, -1, None]!r}"
            continue
        fields: list[Field] = []
        for place, slot in enumerate(template.slots):
            samples = [(value, words[name, place, value]) for value in slot.samples]
            accepted = [(value, word) for value, word in samples if word is not None]
            fitting = _field_of(slot, accepted, codecs)
            if fitting is None and not slot.optional:
                failures[name] = f"no codec explains operand {slot.place}"
            fields += fitting or []
        bits = 0
        for field in fields:
            if bits & field.bits:
                failures[name] = f"operand {field.place} has bits of another one"
            bits |= field.bits
        mask = ~bits & (1 << template.bits) - 1
        encodings[name] = WordEncoding(base & mask, mask, tuple(fields), bits=template.bits)
    encodings = {name: encoding for name, encoding in encodings.items() if name not in failures}
    checked = _check(templates, encodings, failures, assemble, codecs)
    return Learnt({name: encodings[name] for name in encodings if name not in failures}, failures, checked)


def _field_of(
    slot: Slot, samples: Sequence[tuple[Hashable, int]], codecs: Mapping[str, CodecMaker]
) -> list[Field] | None:
    """The fields of a slot by the codec that explains most samples; None where none explains any."""
    best: list[Field] | None = None
    best_count = 1
    for name in slot.codecs:
        codec = codec_of(name, codecs)
        points = [(field, word) for value, word in samples if (field := codec.encode(value)) is not None]
        if len(points) > best_count and (fields := _pieces(slot.place, name, codec.bits, points)):
            best, best_count = fields, len(points)
    return best


def _pieces(place: str, codec: str, bits: int, points: Sequence[tuple[int, int]]) -> list[Field] | None:
    """Where each bit of the field is in the word; None where a bit of either is not explained."""
    sources = {_column(bit, [field for field, _ in points]): bit for bit in range(bits)}
    if len(sources) < bits:
        return None
    constant = {0, (1 << len(points)) - 1}
    positions: dict[int, list[int]] = {bit: [] for bit in range(bits)}
    for position in range(WORD_BITS):
        column = _column(position, [word for _, word in points])
        if column in constant:
            continue
        if column not in sources:
            return None
        positions[sources[column]].append(position)
    copies = {len(places) for places in positions.values()}
    if len(copies) != 1 or copies == {0}:
        return None
    return [
        Field(place, codec, tuple(_runs([positions[bit][copy] for bit in range(bits)])))
        for copy in range(copies.pop())
    ]


def _column(bit: int, numbers: Sequence[int]) -> int:
    """A bit of all numbers, as one number."""
    return sum((number >> bit & 1) << place for place, number in enumerate(numbers))


def _runs(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, length) of the runs of ascending neighbours."""
    first = 0
    for place in range(1, len(positions) + 1):
        if place == len(positions) or positions[place] != positions[place - 1] + 1:
            yield positions[first], place - first
            first = place


def _check(
    templates: Mapping[str, Template],
    encodings: Mapping[str, WordEncoding],
    failures: dict[str, str],
    assemble: Assemble,
    codecs: Mapping[str, CodecMaker],
) -> int:
    """Add to `failures` what the assembler encodes otherwise; returns the number of comparisons."""
    dice = Random(0)  # noqa: S311  # a sample that is the same each time
    cases: list[tuple[str, str, int]] = []
    for name, encoding in encodings.items():
        template = templates[name]
        varying = {field.place for field in encoding.fields}
        choices = [
            list(slot.samples) if slot.place in varying else [*slot.samples][:1] for slot in template.slots
        ]
        for _ in range(_CHECKS if template.slots else 1):
            values = [dice.choice(choice) for choice in choices]
            word = encoded(
                encoding, dict(zip((slot.place for slot in template.slots), values, strict=True)), codecs
            )
            if word is not None:
                cases.append((name, template.text(values), word))
    words = assemble([text for _, text, _ in cases])
    for (name, text, word), assembled in zip(cases, words, strict=True):
        if assembled is not None and assembled != word:
            failures[name] = f"{text!r} is {assembled:08x} for the assembler, and {word:08x} by the encoding"
    return sum(word is not None for word in words)


def learn_document(
    document: Path,
    templates: Mapping[str, Template],
    assemble: Assemble,
    codecs: Mapping[str, CodecMaker],
    further_fields: Callable[[str, Sequence[Field]], Sequence[Field]] = lambda _text, _fields: (),
) -> LearntDocument:
    """The document with the encodings that an assembler uses.

    Args:
        document: Has the forms; what controls the flow is not seen in an encoding, and stays as it is there.
        templates: Templates by the texts of the forms.
        assemble: The assembler.
        codecs: Codecs by name.
        further_fields: Fields of a form's operands that its template does not have, from its text and fields.
    """
    known_encodings = read_instruction_set(document.read_bytes()).encodings
    learnt = learn(templates, assemble, codecs)
    encodings = {
        text: encoding._replace(
            flow=known_encodings[text].flow if text in known_encodings else "next",
            fields=(*encoding.fields, *further_fields(text, encoding.fields)),
        )
        for text, encoding in learnt.encodings.items()
    }
    changes = [text for text in encodings if encodings[text] != known_encodings.get(text)]
    # A newer assembler may know them.
    former = {text: known_encodings[text] for text in learnt.failures if text in known_encodings}
    content = with_encodings(document.read_bytes(), {**former, **encodings})
    return LearntDocument(content, len(encodings), learnt.checked, tuple(changes), learnt.failures)


def assembled_words(
    lines: Sequence[str], triple: str, cpu: str, features: str, size: int = 4
) -> list[int | None]:
    """The machine code of each line, in two calls of llvm-mc.

    Args:
        lines: Lines of one instruction each.
        triple, cpu, features: The target, as llvm-mc's options.
        size: Bytes of an instruction.

    Returns:
        None for a refused line.

    Raises:
        AssemblerError: llvm-mc is missing or fails.
    """
    refused = llvm_mc.assemble(lines, triple, cpu, features).refused
    accepted = [line for number, line in enumerate(lines) if number not in refused]
    code = llvm_mc.assemble(accepted, triple, cpu, features).code
    words = iter(int.from_bytes(code[at : at + size], "little") for at in range(0, len(code), size))
    return [None if number in refused else next(words) for number in range(len(lines))]


def encoded(
    encoding: WordEncoding, values: Mapping[str, Hashable], codecs: Mapping[str, CodecMaker]
) -> int | None:
    """The word for values by place; None where a codec has no field for its value."""
    word = encoding.match
    for field in encoding.fields:
        value = codec_of(field.codec, codecs).encode(values[field.place])
        if value is None:
            return None
        word |= field.placed(value)
    return word
