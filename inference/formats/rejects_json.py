"""The published files of explainable inference on Zen+: results, and the schemes that a run rejected.

Results are a port mapping with the peak rate in instructions per cycle, and each scheme's inverse throughput
alone and number of µops. A scheme without port usage was not characterised; it does not mean that it uses no
port. Rejected schemes are [[scheme, sentence], …] with sentences of the published program, some of which
quote the experiment that spoke against the scheme. See docs/formats.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.explain import NotCharacterised
from inference.core.mapping import R_MAX_RANGE
from inference.formats.document import Document, UsageEntry, VerdictEntry, check_name
from inference.formats.json_fields import (
    as_amount,
    as_number_in,
    as_object,
    as_pairs,
    as_ports,
    as_uops,
    printable_text,
    rows_of,
)
from inference.formats.problems import FilePlace, excerpt
from inference.formats.source import Signature, Source

Rejects = Mapping[str, str]
"""{scheme name: the program's sentence}, of one run."""

TEXT_LENGTH = 20_000
"""Characters of a sentence; the longest quotes an experiment of a hundred instructions."""

_REASONS: Sequence[tuple[str, NotCharacterised]] = (
    ("more uops were characterized", NotCharacterised.MORE_UOPS),
    ("fewer uops were characterized", NotCharacterised.MISSING),
    ("significantly non-integer number of surplus uops", NotCharacterised.NOT_INTEGER),
    ("surplus uops do not add up", NotCharacterised.NEGATIVE),
    ("used more uops than expected", NotCharacterised.COUNT),
    ("took fewer cycles than expected", NotCharacterised.FAST),
    ("NOT consistent with inferred mapping", NotCharacterised.FAST),
)
"""Words of a sentence, and what they mean; the first that occur count."""

# "… uops were characterized for <scheme> than were originally observed (<counted>): <found>". The group is
# atomic, so that a long sentence without the rest is not searched again from each of its places.
_COUNTS = re.compile(
    r"(?>(?s:.*?)uops were characterized for ).* than were originally observed \((\d+)\):\s*(\d+)"
)

# "… number of surplus uops (<number>): [<quoted instructions of the experiment>]".
_SURPLUS = re.compile(
    r"(?>.*?number of surplus uops \()(-?\d+(?:\.\d+)?(?:e-?\d+)?)\):\s*\[(.*)\]", re.DOTALL
)
_QUOTED = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
"""A string of a list that Python printed: in single quotes, in double ones where it contains a single one."""


@dataclass(frozen=True)
class Flood:
    """The experiment quoted by a rejection: copies of a blocking instruction, and one instance of the scheme.

    `surplus`: µops on the blocked ports besides those of the blocking instruction.
    """

    blocker: str
    copies: int
    surplus: float


@dataclass(frozen=True)
class Rejection:
    """A parsed rejection: the reason, a sentence for readers, and the quoted experiment if any."""

    reason: NotCharacterised
    text: str
    flood: Flood | None = None


def _has_pairs(data: Any) -> bool:
    """Whether a document is a list of pairs of texts throughout."""
    return (
        isinstance(data, list)
        and bool(data)
        and all(
            isinstance(item, list) and len(item) == 2 and all(isinstance(text, str) for text in item)
            for item in data
        )
    )


SIGNATURE = Signature(shape=_has_pairs)


def read_rejects_alone(source: Source) -> Document:
    """Read rejections that were imported alone; notes as a problem that they need a mapping."""
    read_rejects(source)
    source.at().add(
        "a list of rejected schemes brings nothing by itself",
        "choose it in the preview of its port mapping, or give it to `import` with --rejects",
    )
    return Document()


def read_rejects(source: Source) -> Rejects:
    """Read [[scheme, sentence], …]; of several sentences on a scheme, the last counts."""
    rejects = {}
    for row, (name, why) in enumerate(source.data, start=1):
        scheme = check_name(name, source.at("scheme", row))
        if len(why) > TEXT_LENGTH:
            fault = f"{excerpt(why)} has {len(why)} characters"
            source.at("why", row).add(fault, f"at most {TEXT_LENGTH} are read")
        elif scheme is not None:
            rejects[scheme] = why
    return rejects


def rejection_of(name: str, why: str, schemes: Mapping[str, str]) -> Rejection:
    """Parse the program's sentence on a scheme. `schemes`: {name as written: scheme}."""
    reason = next((reason for words, reason in _REASONS if words in why), NotCharacterised.NONE)
    if counts := _COUNTS.match(why):
        return Rejection(reason, f"{counts[2]} µops were found, {counts[1]} counted")
    if surplus := _SURPLUS.match(why):
        flood = _flood(name, float(surplus[1]), surplus[2], schemes)
        beside = "" if flood is None else f" beside {flood.copies} × {flood.blocker}"
        return Rejection(reason, f"{float(surplus[1]):.2f} µops{beside}, no whole number", flood)
    if reason is NotCharacterised.NEGATIVE:
        return Rejection(reason, "fewer µops on a port set than had been found on subsets")
    first = why.strip().partition("\n")[0]
    return Rejection(reason, "".join(sign if sign.isprintable() else " " for sign in first[:300]))


def quoted_names(why: str) -> frozenset[str]:
    """The scheme names in the experiment that a sentence quotes; empty for other sentences."""
    surplus = _SURPLUS.match(why)
    return frozenset(_names_in(surplus[2]) if surplus else ())


def _names_in(quoted: str) -> Iterator[str]:
    """The names in a printed list of strings, with repetitions."""
    return (plain or other for plain, other in _QUOTED.findall(quoted))


def _flood(name: str, surplus: float, quoted: str, schemes: Mapping[str, str]) -> Flood | None:
    """The quoted experiment; None where it is not one instance of the scheme beside one known blocker."""
    counts = Counter(_names_in(quoted))
    if counts.pop(name, 0) != 1 or len(counts) != 1:
        return None
    ((blocker, copies),) = counts.items()
    return Flood(schemes[blocker], copies, surplus) if blocker in schemes else None


def with_rejects(document: Document, rejects: Sequence[Rejects]) -> Document:
    """The document of a port mapping with verdicts.

    Where it has none, they are made from its usages; an empty usage of a rejected scheme means that the
    scheme was not characterised.
    """
    if document.verdicts or not document.usages:
        return document
    rejected = {name for run in rejects for name in run}
    verdicts = []
    for usage in document.usages:
        uops = usage.uops if usage.uops or usage.scheme not in rejected else None
        verdicts.append(VerdictEntry(usage.row, usage.column, usage.scheme, uops))
    usages = tuple(usage for usage in document.usages if usage.uops or usage.scheme not in rejected)
    return replace(document, usages=usages, verdicts=tuple(verdicts))


RATE = "peakipc"
_RIGHT_RATE = f"instructions per cycle, {R_MAX_RANGE[0]:g} to {R_MAX_RANGE[1]:g}"


def read_explained(source: Source) -> Document:
    """Read the verdicts on all schemes, and the port mapping of the characterised ones."""
    data, place = source.data, source.at("data")
    ports = as_ports(data.get("ports"), source.at("ports"))
    rows = as_object(data["data"], place)
    r_max = as_number_in(R_MAX_RANGE, data[RATE], source.at(RATE), "a rate", _RIGHT_RATE)
    if ports is None or rows is None:
        return Document()
    if not rows:
        place.add("the table is empty", "at least one scheme is expected")
    bits = {port: bit for bit, port in enumerate(ports)}
    entries = (_verdict(at, scheme, fields, bits) for at, scheme, fields in rows_of(rows, place))
    verdicts = tuple(entry for entry in entries if entry is not None)
    usages = tuple(
        UsageEntry(verdict.row, verdict.column, verdict.scheme, verdict.uops)
        for verdict in verdicts
        if verdict.uops is not None
    )
    if verdicts and not usages:
        source.at("data.portusage").add("no scheme has a port usage", "at least one is expected")
    name = printable_text(data.get("uarchname"))
    facts = {"instructions": len(rows), **({"arch": name, "name": name} if name else {})}
    return Document(usages=usages, verdicts=verdicts, partial=True, ports=ports, r_max=r_max, facts=facts)


def _verdict(
    place: FilePlace, scheme: str | None, value: object, bits: dict[str, int]
) -> VerdictEntry | None:
    """The verdict on a scheme; None, with problems noted, for a faulty one."""
    before = place.problems.count
    fields = as_object(value, place)
    if scheme is None or fields is None:
        return None
    at = place.at("data.portusage")
    listed = fields.get("portusage")
    pairs = [] if listed is None else as_pairs(listed, at, "a kind of µop", "[[port, …], count]")
    uops = as_uops(pairs, bits, at)
    cycles, counted = (as_amount(fields.get(key), place.at(f"data.{key}")) for key in ("itp", "numuops"))
    if place.problems.count > before:
        return None
    return VerdictEntry(*place.start, scheme, uops or None, cycles, counted)
