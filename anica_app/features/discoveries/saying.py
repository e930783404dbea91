"""Discoveries in words: abstract blocks, decisions, reasons; those that speak of a scheme; all as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anica_app.core.block_domain import Mention, mention_of
from anica_app.core.domain.wording import ANYTHING, Words, expansion_words, words
from anica_app.core.errors import AnicaError
from anica_app.core.search.checking import InterestReason
from anica_app.features.coverage.query import measure_of
from anica_app.features.discoveries.query import Node
from anica_app.models import Campaign, Discovery, GeneralisationStep
from inference.core.protocols import Json
from inference.formats.csv_cells import written
from inference.formats.provenance import head_of
from inference.isa.blocks import BlockError, BlockName, schemes_of_bytes
from inference.isa.targets import DEFAULT, code_target, target_of
from inference.models import InstructionScheme
from inference.storage.instruction_sets import code_isa

KEPT, GONE, NEW = "kept", "gone", "new"

Phrase = tuple[str, str]
"""What is asked for, and whether that is kept, gone or new."""
LOOKED_THROUGH = 1000
"""Newest discoveries that are looked through; those covered by others are not among them."""
SHOWN = 20
HEADS = (
    *("number", "label", "kind", "words", "instructions", "interestingness", "generality", "covered_blocks"),
    *("included_by", "mark", "note", "block", "abstract"),
)


@dataclass(frozen=True)
class ComparedPhrases:
    """An abstract block in phrases, each beside what became of it since another one."""

    instructions: tuple[tuple[Phrase, ...], ...]
    sentences: tuple[Phrase, ...]


@dataclass(frozen=True)
class Table:
    """Constraints as a table: a row per feature that something is said of, a cell per instruction.

    `dependencies` as `1 → 2 (flag)`: from whom it is written to whom it is read.
    """

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    aliasing: tuple[str, ...]
    dependencies: tuple[str, ...] = ()


def words_of(document: Json | None) -> Words | None:
    """In words; None where our words do not suffice."""
    try:
        return None if document is None else words(document)
    except AnicaError:
        return None


def compared(before: Json | None, now: Json | None) -> ComparedPhrases | None:
    """What `now` asks for, with what `before` asked for marked as gone where it is."""
    after = words_of(now)
    if after is None:
        return None
    first = words_of(before) or after
    return ComparedPhrases(
        tuple(_phrases(*pair) for pair in zip(first.instructions, after.instructions, strict=True)),
        _phrases(first.sentences, after.sentences),
    )


def _phrases(before: Sequence[str], now: Sequence[str]) -> tuple[Phrase, ...]:
    """In the order of before, what is new where the old stood."""
    new = [phrase for phrase in now if phrase not in before]
    found: list[Phrase] = []
    for phrase in before:
        if phrase in now:
            found.append((phrase, KEPT))
        elif phrase != ANYTHING:
            found.append((phrase, GONE))
            found += [(other, NEW) for other in new]
            new = []
    return (*found, *((phrase, NEW) for phrase in new))


def table_of(document: Json) -> Table:
    """The constraints of a document, feature by feature."""
    instructions = document["instructions"]
    features = dict.fromkeys(name for one in instructions for name in one)
    rows = [
        (name, tuple(_value(one[name]) if name in one else "" for one in instructions)) for name in features
    ]
    signs = {"same": "=", "different": "≠"}
    pairs = [f"{one} {signs.get(word, word)} {other}" for one, other, word in document.get("aliasing", [])]
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


def decision(node: Node) -> str:
    """What was tried, in words."""
    if node.kind == GeneralisationStep.Kind.START:
        return "the block itself"
    if node.kind == GeneralisationStep.Kind.END:
        return "no way on"
    if node.expansion is not None:
        try:
            return expansion_words(node.expansion)
        except AnicaError:
            return json.dumps(node.expansion)
    return _foreign(node.foreign)


def label(node: Node) -> str:
    """The same in few words, for a box of the tree."""
    match node.expansion:
        case {"aliasing": [str(one), str(other)]}:
            return f"{_short(one)} , {_short(other)} free".replace(" ,", ",")
        case {"dependency": [writer, reader, kind]}:
            return f"{writer} → {reader} ({kind}) free"
        case {"instruction": int(number), "feature": str(feature), **given}:
            if "for" in given:
                return f"{number} · {feature} {given['for']}"
            if "drop" in given:
                return f"{number} · {feature} without {given['drop']}"
            return f"{number} · {feature} {_value(given['to']) if 'to' in given else 'any'}"
    return decision(node)


def _short(place: str) -> str:
    number, kind, which = place.split(".")
    return f"{number}.{kind[0]}{which}"


def _foreign(given: object) -> str:
    """An expansion of the published AnICA that our words do not say, as far as it can be read."""
    match given:
        case [0, int(number), [str(feature), value]]:
            shown = "any" if value == "$SV:TOP" else json.dumps(value)
            return f"instruction {number + 1}: {feature} {shown}"
        case [1, pair]:
            return f"operands may be the same or differ: {json.dumps(pair)}"
    return json.dumps(given)


def reason(node: Node) -> str:
    """Why it was taken or not."""
    missed = node.n - (node.interesting or 0)
    said = {
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
    return said.get(node.reason, node.reason)


@dataclass(frozen=True)
class Mentions:
    """`found`: the `SHOWN` discoveries that speak most plainly of the scheme, the newest first. `named`: how
    many by its mnemonic or by the block they come from, `among` others; `looked` through were so many.
    """

    found: Sequence[tuple[Discovery, Mention]]
    named: int
    among: int
    looked: int

    @property
    def more(self) -> int:
        """Those that are not listed."""
        return self.named + self.among - len(self.found)


def mentions_of(scheme: InstructionScheme) -> Mentions | None:
    """Two queries; None for a scheme that discoveries cannot speak of."""
    isa = scheme.isa.name
    speaks = mention_of(scheme.text, isa) if target_of(isa).operands is not None else None
    if speaks is None:
        return None
    rows = Discovery.objects.filter(subsumed_by=None).order_by("-id")
    told: dict[Mention, list[int]] = {Mention.NAMED: [], Mention.AMONG: []}
    looked = 0
    facts = rows.values_list("pk", "abstract", "code", "campaign__isa__name")
    for pk, abstract, code, isa in facts[:LOOKED_THROUGH]:
        looked += 1
        witness = BlockName(code_target(isa or DEFAULT).name, bytes(code))
        how: Mention | None = Mention.NAMED if scheme.text in _schemes_in(witness) else None
        if how is None and abstract is not None:
            try:
                how = speaks(abstract)
            except AnicaError:  # of another version of this program, which knew other features
                continue
        if how is not None:
            told[how].append(pk)
    shown = [*told[Mention.NAMED], *told[Mention.AMONG]][:SHOWN]
    named = set(told[Mention.NAMED])
    by_id = Discovery.listed().in_bulk(shown)
    return Mentions(
        [(by_id[pk], Mention.NAMED if pk in named else Mention.AMONG) for pk in shown if pk in by_id],
        len(told[Mention.NAMED]),
        len(told[Mention.AMONG]),
        looked,
    )


@lru_cache(maxsize=2 * LOOKED_THROUGH)
def _schemes_in(name: BlockName) -> frozenset[str]:
    """The schemes of a block, remembered: the same discoveries are looked through for every scheme."""
    try:
        return frozenset(text for text in schemes_of_bytes(name.code, name.isa) if text is not None)
    except BlockError:
        return frozenset()


def discoveries_csv(campaign: Campaign) -> str:
    """All discoveries as CSV below where they come from, with what each includes where that is known."""
    return written(
        HEADS,
        _lines(campaign),
        head_of(**{"campaign": campaign.name, "instruction set": code_isa(campaign.isa)}),
    )


def _lines(campaign: Campaign) -> Iterator[list[object]]:
    measure = measure_of(campaign)
    numbers = dict(campaign.discoveries.values_list("pk", "number"))
    for row in campaign.discoveries.defer("foreign", "facts", "remarks").order_by("number"):
        yield [
            *(row.number, row.label, row.kind, in_one_line(row), row.length),
            *(row.interestingness, row.generality),
            None if measure is None else measure.by_discovery.get(row.pk, 0),
            numbers.get(row.subsumed_by_id or 0),
            *(row.mark, row.note, bytes(row.code).hex()),
            None if row.abstract is None else json.dumps(row.abstract, ensure_ascii=False),
        ]


def in_one_line(row: Discovery) -> str:
    """An abstract block in words; "" where ours do not suffice."""
    said = words_of(row.abstract)
    return "" if said is None else said.line
