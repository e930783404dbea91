"""The JSON in which the results of explainable inference on Zen+ were published; see docs/formats.md.

A port mapping with the peak rate of instructions per cycle, and for each scheme its inverse throughput alone
and its number of µops. A scheme without port usage could not be characterised, and does not use no port.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.explain import NotCharacterised
from inference.core.mapping import R_MAX_RANGE, Uops
from inference.formats.document import Document, UsageEntry, VerdictEntry, check_name
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import as_list, as_number, as_object, as_ports, as_uops, printable_text
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Source

# The list of schemes that a run of the published explainable algorithm rejected: [[scheme, why], …].
#
# The sentences are those of its program. Some quote the experiment that spoke against a scheme, from which a
# witness is made.


Rejects = Mapping[str, str]
"""{scheme name: why it was rejected}, of one run."""

TEXT_LENGTH = 20_000  # characters; the longest quotes an experiment of a hundred instructions

_REASONS: Sequence[tuple[str, NotCharacterised]] = (
    ("more uops were characterized", NotCharacterised.MORE_UOPS),
    ("fewer uops were characterized", NotCharacterised.MISSING),
    ("significantly non-integer number of surplus uops", NotCharacterised.NOT_WHOLE),
    ("surplus uops do not add up", NotCharacterised.NEGATIVE),
    ("used more uops than expected", NotCharacterised.COUNT),
    ("took fewer cycles than expected", NotCharacterised.FAST),
    ("NOT consistent with inferred mapping", NotCharacterised.FAST),
)
_COUNTS = re.compile(
    r"(?>(?s:.*?)uops were characterized for ).* than were originally observed \((\d+)\):\s*(\d+)"
)
_SURPLUS = re.compile(
    r"(?>.*?number of surplus uops \()(-?\d+(?:\.\d+)?(?:e-?\d+)?)\):\s*\[(.*)\]", re.DOTALL
)
_QUOTED = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")


@dataclass(frozen=True)
class Flood:
    """The experiment that a rejection quotes: copies of a blocking instruction beside the scheme.

    `surplus`: µops on the blocked ports beside the blocking ones.
    """

    blocker: str
    copies: int
    surplus: float


@dataclass(frozen=True)
class Rejection:
    """A rejection understood: the reason, a sentence for a reader, the experiment that it quotes."""

    reason: NotCharacterised
    text: str
    flood: Flood | None = None


def is_rejects(source: Source) -> bool:
    """Whether the document is a list of pairs of texts, and nothing else."""
    if not (source.is_json and isinstance(source.data, list) and source.data):
        return False
    return all(
        isinstance(item, list) and len(item) == 2 and all(isinstance(text, str) for text in item)
        for item in source.data
    )


def read_rejects_alone(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read a list of rejections; by itself it brings nothing, which is noted as a problem."""
    del unit
    read_rejects(source, problems)
    problems.add(
        "a list of rejected schemes brings nothing by itself",
        "choose it in the preview of its port mapping, or give it to `import` with --rejects",
    )
    return Document()


def read_rejects(source: Source, problems: Problems) -> Rejects:
    """Read [[scheme, why], …]; the last of several sentences on a scheme counts."""
    found = {}
    for row, (name, why) in enumerate(source.data, start=1):
        scheme = check_name(name, problems, row=row, column="scheme")
        if len(why) > TEXT_LENGTH:
            problems.add(
                f"{excerpt(why)} has {len(why)} characters",
                f"at most {TEXT_LENGTH} are read",
                row=row,
                column="why",
            )
        elif scheme is not None:
            found[scheme] = why
    return found


def rejection_of(name: str, why: str, schemes: Mapping[str, str]) -> Rejection:
    """What the program's sentence on a scheme says; `schemes`: {name as written: scheme}."""
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
    """The names in the experiment that a sentence quotes, if it quotes one."""
    surplus = _SURPLUS.match(why)
    return frozenset(_names_in(surplus[2]) if surplus else ())


def _names_in(quoted: str) -> Iterator[str]:
    return (plain or other for plain, other in _QUOTED.findall(quoted))


def _flood(name: str, surplus: float, quoted: str, schemes: Mapping[str, str]) -> Flood | None:
    counts = Counter(_names_in(quoted))
    if counts.pop(name, 0) != 1 or len(counts) != 1:
        return None
    ((blocker, copies),) = counts.items()
    return Flood(schemes[blocker], copies, surplus) if blocker in schemes else None


def with_rejects(document: Document, rejects: Sequence[Rejects]) -> Document:
    """The document of a port mapping with verdicts.

    Where it brings none, they are made of its usages: that of a rejected scheme is none if it is empty.
    """
    if document.verdicts or not document.usages:
        return document
    rejected = {name for each in rejects for name in each}
    verdicts = []
    for each in document.usages:
        uops = each.uops if each.uops or each.scheme not in rejected else None
        verdicts.append(VerdictEntry(each.row, each.column, each.scheme, uops))
    kept = tuple(each for each in document.usages if each.uops or each.scheme not in rejected)
    return replace(document, usages=kept, verdicts=tuple(verdicts))


RATE = "peakipc"


def is_explained(source: Source) -> bool:
    """Whether the document has a table of schemes and the rate that goes with it."""
    return source.is_json and isinstance(source.data, dict) and {RATE, "data"} <= source.data.keys()


def read_explained(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read verdicts on all schemes, and the port mapping of those that are characterised."""
    del unit  # the numbers are always cycles
    ports = as_ports(source.data.get("ports"), problems, column="ports")
    rows = as_object(source.data["data"], problems, row=None, column="data")
    r_max = _rate(source.data[RATE], problems)
    if ports is None or rows is None:
        return Document()
    if not rows:
        problems.add("the table is empty", "at least one scheme is expected", column="data")
    bits = {port: bit for bit, port in enumerate(ports)}
    verdicts = []
    for row, (name, fields) in enumerate(rows.items(), start=1):
        verdict = _verdict(row, name, fields, bits, problems)
        if verdict is not None:
            verdicts.append(verdict)
    usages = tuple(
        UsageEntry(each.row, each.column, each.scheme, each.uops)
        for each in verdicts
        if each.uops is not None
    )
    if verdicts and not usages:
        problems.add("no scheme has a port usage", "at least one is expected", column="data.portusage")
    said = printable_text(source.data.get("uarchname"))
    facts = {"instructions": len(rows), **({"arch": said, "name": said} if said else {})}
    return Document(
        usages=usages, verdicts=tuple(verdicts), partial=True, ports=ports, r_max=r_max, facts=facts
    )


def _rate(value: object, problems: Problems) -> float | None:
    number = as_number(value, problems, row=None, column=RATE)
    low, high = R_MAX_RANGE
    if number is not None and not (math.isfinite(number) and low <= number <= high):
        problems.add(
            f"{number!r} cannot be a rate", f"instructions per cycle, {low:g} to {high:g}", column=RATE
        )
        return None
    return number


def _verdict(
    row: int, name: str, value: object, bits: dict[str, int], problems: Problems
) -> VerdictEntry | None:
    before = problems.count
    scheme = check_name(name, problems, row=row, column="data")
    fields = as_object(value, problems, row=row, column="data")
    if scheme is None or fields is None:
        return None
    uops = _uops(row, fields.get("portusage"), bits, problems)
    cycles = _amount(row, fields, "itp", problems)
    counted = _amount(row, fields, "numuops", problems)
    if problems.count > before:
        return None
    return VerdictEntry(row, "data", scheme, uops or None, cycles, counted)


def _uops(row: int, value: object, bits: dict[str, int], problems: Problems) -> Uops | None:
    """From [[[port, …], count], …]; None where there are none."""
    column = "data.portusage"
    pairs: list[tuple[Any, Any]] = []
    for item in (as_list(value, problems, row=row, column=column) or ()) if value is not None else ():
        match item:
            case [ports, count]:
                pairs.append((ports, count))
            case _:
                problems.add(
                    f"{excerpt(item)} is not a kind of µop",
                    "a pair [[port, …], count] is expected",
                    row=row,
                    column=column,
                )
    return as_uops(pairs, bits, problems, row=row, column=column)


def _amount(row: int, fields: dict[str, Any], key: str, problems: Problems) -> float | None:
    """A number that is not negative, None where there is none."""
    if fields.get(key) is None:
        return None
    number = as_number(fields[key], problems, row=row, column=f"data.{key}")
    if number is not None and not (math.isfinite(number) and number >= 0):
        problems.add(
            f"{number!r} cannot be an amount",
            "a finite number ≥ 0 is expected",
            row=row,
            column=f"data.{key}",
        )
        return None
    return number
