"""Discoveries as text: abstract blocks, decisions, reasons; mentions of a scheme; discoveries as CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anica_app.core.block_domain import Mention, mention_of
from anica_app.core.domain.wording import ANY_INSTRUCTION, BlockWording, block_wording, expansion_wording
from anica_app.core.errors import AnicaError
from anica_app.core.search.abstract_check import InterestReason
from anica_app.features.coverage.query import measure_of
from anica_app.features.discoveries.query import Node
from anica_app.models import Campaign, Discovery, GeneralisationStep
from inference.core.protocols import Json
from inference.formats.provenance import head_of
from inference.formats.quoting import csv_text
from inference.isa.blocks import schemes_of_bytes
from inference.isa.code.block import BlockError, BlockName
from inference.isa.targets import target_of
from inference.models import InstructionScheme
from inference.storage.instruction_sets import code_isa, of_code

UNCHANGED, REMOVED, ADDED = "kept", "gone", "new"

Phrase = tuple[str, str]
"""A constraint, and whether it is unchanged, removed or added."""
MAX_SEARCHED = 1000
"""Newest discoveries to search for mentions; those that others cover do not count."""
MAX_LISTED = 20
HEADS = (
    *("number", "label", "kind", "words", "instructions", "interestingness", "generality", "covered_blocks"),
    *("included_by", "mark", "note", "block", "abstract"),
)


@dataclass(frozen=True)
class ComparedPhrases:
    """An abstract block in phrases, each compared with those of an earlier block."""

    instructions: tuple[tuple[Phrase, ...], ...]
    sentences: tuple[Phrase, ...]


@dataclass(frozen=True)
class Table:
    """Constraints as a table: a row per constrained feature, a cell per instruction.

    `dependencies` as `1 → 2 (flag)`, from writer to reader.
    """

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    aliasing: tuple[str, ...]
    dependencies: tuple[str, ...] = ()


def wording_of(document: Json | None) -> BlockWording | None:
    """The text of a document; None where it cannot be expressed here."""
    try:
        return None if document is None else block_wording(document)
    except AnicaError:
        return None


_VERBS = ("reads", "writes", "accesses", "uses", "does not")
_OPERAND = re.compile(r"operand `(?P<name>[^`:]+)(?::[RW]+)?`(?P<bound> of .*)?")
_SHORT_OPERANDS = (("GPR[", "r"), ("IMM[", "imm"), ("MEM[", "m"))
_MAX_QUALIFIERS = 2
"""Operands, and as many effects, that a title names of an instruction."""


def discovery_title(row: Discovery) -> str:
    """Each instruction in a few words: `Shift instruction, then an instruction that reads the flag cf`.

    Its label, which imported files give, or `Discovery 3` where no instruction is constrained, or the block
    cannot be expressed here.
    """
    wording = wording_of(row.abstract)
    names = [] if wording is None else [instruction_text(phrases) for phrases in wording.instructions]
    if not set(names) - {ANY_INSTRUCTION}:
        return row.label or f"Discovery {row.number}"
    text = ", then ".join(names)
    is_mnemonic = wording is not None and wording.instructions[0][0].startswith(("mnemonic `", "`"))
    return text if is_mnemonic else text[:1].upper() + text[1:]


def instruction_text(phrases: Sequence[str]) -> str:
    """The most telling of an instruction's constraints as a noun phrase.

    >>> instruction_text(("category shift", "operand `cl:R`", "writes the flag zf"))
    'a shift instruction with cl that writes the flag zf'
    """
    if tuple(phrases) == (ANY_INSTRUCTION,):
        return ANY_INSTRUCTION
    head = next(filter(None, map(_head, phrases)), "an instruction")
    is_named = phrases[0].startswith(("mnemonic", "`"))
    verbs = [phrase for phrase in phrases if phrase.startswith(_VERBS)]
    operands = [] if is_named and verbs else [match for match in map(_OPERAND.fullmatch, phrases) if match]
    named = [_short_operand(match["name"]) + (match["bound"] or "") for match in operands]
    parts = [head]
    if named:
        parts.append(f"with {' and '.join(dict.fromkeys(named[:_MAX_QUALIFIERS]))}")
    if verbs and not is_named:
        parts.append(f"that {' and '.join(verbs[:_MAX_QUALIFIERS])}")
    return " ".join(parts).replace("`", "")


def _head(phrase: str) -> str:
    """The noun of a constraint on mnemonic, scheme or category; "" for other constraints."""
    kind, _, name = phrase.partition(" ")
    if phrase.startswith("mnemonic within"):
        return f"an instruction named like {phrase.rpartition(' ')[2]}"
    if kind == "category" and " or " not in name:
        return f"{'an' if name[:1] in 'aeiou' else 'a'} {name} instruction"
    return name if kind == "mnemonic" else phrase if phrase.startswith("`") else ""


def _short_operand(name: str) -> str:
    """The operand as manuals abbreviate it: `r64` for `GPR[64]`; kinds of registers in words."""
    for start, letter in _SHORT_OPERANDS:
        if name.startswith(start):
            return letter + name[len(start) :].rstrip("]")
    return {"GPR": "a register", "0x0": "0"}.get(
        name, name.lower() if name in ("XMM", "YMM", "ZMM") else name
    )


def compare_wordings(before: Json | None, now: Json | None) -> ComparedPhrases | None:
    """The constraints of both documents, with their changes; None where `now` cannot be expressed here."""
    after = wording_of(now)
    if after is None:
        return None
    first = wording_of(before) or after
    return ComparedPhrases(
        tuple(_phrases(*pair) for pair in zip(first.instructions, after.instructions, strict=True)),
        _phrases(first.sentences, after.sentences),
    )


def _phrases(before: Sequence[str], now: Sequence[str]) -> tuple[Phrase, ...]:
    """All phrases in the order of `before`; added ones stand where the first was removed."""
    new = [phrase for phrase in now if phrase not in before]
    phrases: list[Phrase] = []
    for phrase in before:
        if phrase in now:
            phrases.append((phrase, UNCHANGED))
        elif phrase != ANY_INSTRUCTION:
            phrases.append((phrase, REMOVED))
            phrases += [(other, ADDED) for other in new]
            new = []
    return (*phrases, *((phrase, ADDED) for phrase in new))


def table_of(document: Json) -> Table:
    instructions = document["instructions"]
    features = dict.fromkeys(name for instruction in instructions for name in instruction)
    rows = [
        (name, tuple(_value(entry[name]) if name in entry else "" for entry in instructions))
        for name in features
    ]
    signs = {"same": "=", "different": "≠"}
    aliasing = document.get("aliasing", [])
    pairs = [f"{first} {signs.get(word, word)} {second}" for first, second, word in aliasing]
    dependencies = document.get("dependencies", [])
    directed = [f"{writer} → {reader} ({kind})" for writer, reader, kind in dependencies]
    return Table(tuple(rows), tuple(pairs), tuple(directed))


def _value(value: Any) -> str:
    match value:
        case {"base": base, "edits": edits}:
            return f"{base} ± {edits}" if edits else str(base)
        case {"fewer_than": bound}:
            return f"< {bound}"
        case list():
            return ", ".join(map(str, value)) or "some"
    return str(value)


def decision_text(node: Node) -> str:
    if node.kind == GeneralisationStep.Kind.START:
        return "the block itself"
    if node.kind == GeneralisationStep.Kind.END:
        return "no way on"
    if node.expansion is not None:
        try:
            return expansion_wording(node.expansion)
        except AnicaError:
            return json.dumps(node.expansion)
    return _foreign(node.foreign)


def decision_label(node: Node) -> str:
    """The decision in abbreviated form, for a box of the tree."""
    match node.expansion:
        case {"aliasing": [str(first), str(second)]}:
            return f"{_short(first)} , {_short(second)} free".replace(" ,", ",")
        case {"dependency": [writer, reader, kind]}:
            return f"{writer} → {reader} ({kind}) free"
        case {"instruction": int(number), "feature": str(feature), **change}:
            if "for" in change:
                return f"{number} · {feature} {change['for']}"
            if "drop" in change:
                return f"{number} · {feature} without {change['drop']}"
            return f"{number} · {feature} {_value(change['to']) if 'to' in change else 'any'}"
    return decision_text(node)


def _short(place: str) -> str:
    number, kind, letter = place.split(".")
    return f"{number}.{kind[0]}{letter}"


def _foreign(document: object) -> str:
    """An expansion of the published AnICA that has no counterpart here, as far as it can be read."""
    match document:
        case [0, int(number), [str(feature), value]]:
            value_text = "any" if value == "$SV:TOP" else json.dumps(value)
            return f"instruction {number + 1}: {feature} {value_text}"
        case [1, pair]:
            return f"operands may be the same or differ: {json.dumps(pair)}"
    return json.dumps(document)


def reason_text(node: Node) -> str:
    """Why it was accepted or rejected."""
    missed = node.n - (node.interesting or 0)
    sentences = {
        InterestReason.ALL.value: (
            f"{node.n - missed} of {node.n} blocks are interesting; others are exceptions or have no answer"
            if missed
            else f"all {node.n} blocks are interesting"
        ),
        InterestReason.KNOWN.value: "it represents blocks known not to be interesting",
        InterestReason.SAME.value: "it represents the same blocks: other constraints say what is left out",
        InterestReason.EMPTY.value: "no block of it could be sampled",
        InterestReason.SAMPLE.value: (
            f"{missed} of {node.n} blocks {'is' if missed == 1 else 'are'} not interesting"
            if missed
            else "a block is interesting in another way"
        ),
    }
    return sentences.get(node.reason, node.reason)


@dataclass(frozen=True)
class Mentions:
    """Discoveries that mention a scheme.

    Attributes:
        listed: At most `MAX_LISTED`, by name first, then newest first.
        named: Number that mention it by mnemonic or whose witness has it.
        among: Number of others.
        looked: Number of discoveries searched.
    """

    listed: Sequence[tuple[Discovery, Mention]]
    named: int
    among: int
    looked: int

    @property
    def more(self) -> int:
        return self.named + self.among - len(self.listed)


def mentions_of(scheme: InstructionScheme) -> Mentions | None:
    """The mentions of a scheme (two queries); None where blocks of its instruction set cannot be
    abstracted.
    """
    isa = scheme.isa.name
    mention_in = mention_of(scheme.text, isa) if target_of(isa).operands is not None else None
    if mention_in is None:
        return None
    rows = Discovery.objects.filter(of_code(isa, "campaign__"), subsumed_by=None).order_by("-id")
    ids: dict[Mention, list[int]] = {Mention.NAMED: [], Mention.AMONG: []}
    examined = 0
    for pk, abstract, code in rows.values_list("pk", "abstract", "code")[:MAX_SEARCHED]:
        examined += 1
        witness = BlockName(isa, bytes(code))
        mention: Mention | None = Mention.NAMED if scheme.text in _schemes_in(witness) else None
        if mention is None and abstract is not None:
            try:
                mention = mention_in(abstract)
            except AnicaError:  # of another version of this program, which knew other features
                continue
        if mention is not None:
            ids[mention].append(pk)
    listed = [*ids[Mention.NAMED], *ids[Mention.AMONG]][:MAX_LISTED]
    named = set(ids[Mention.NAMED])
    by_id = Discovery.listed().in_bulk(listed)
    return Mentions(
        [(by_id[pk], Mention.NAMED if pk in named else Mention.AMONG) for pk in listed if pk in by_id],
        len(ids[Mention.NAMED]),
        len(ids[Mention.AMONG]),
        examined,
    )


@lru_cache(maxsize=2 * MAX_SEARCHED)
def _schemes_in(name: BlockName) -> frozenset[str]:
    """The schemes of a block, cached: every scheme's page searches the same discoveries."""
    try:
        return frozenset(text for text in schemes_of_bytes(name.code, name.isa) if text is not None)
    except BlockError:
        return frozenset()


def discoveries_csv(campaign: Campaign) -> str:
    """All discoveries as CSV below their origin, with coverage where it has been computed."""
    return csv_text(
        HEADS,
        _lines(campaign),
        head_of(**{"campaign": campaign.name, "instruction set": code_isa(campaign.isa)}),
    )


def _lines(campaign: Campaign) -> Iterator[list[object]]:
    measure = measure_of(campaign)
    numbers = dict(campaign.discoveries.values_list("pk", "number"))
    for row in campaign.discoveries.defer("foreign", "facts", "remarks").order_by("number"):
        yield [
            *(row.number, row.label, row.kind, wording_line(row), row.length),
            *(row.interestingness, row.generality),
            None if measure is None else measure.by_discovery.get(row.pk, 0),
            numbers.get(row.subsumed_by_id or 0),
            *(row.mark, row.note, bytes(row.code).hex()),
            None if row.abstract is None else json.dumps(row.abstract, ensure_ascii=False),
        ]


def wording_line(row: Discovery) -> str:
    """The text of an abstract block on one line; "" where it cannot be expressed here."""
    wording = wording_of(row.abstract)
    return "" if wording is None else wording.line
