"""Entries of a document whose schemes are known: what an instruction set lacks is left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from inference.formats.document import Document, LatencyEntry, VerdictEntry
from inference.formats.problems import Problems

NO_SCHEME = "the instruction set has no such scheme"


def known_verdicts(
    document: Document, texts: Mapping[str, str], left_out: dict[str, str]
) -> dict[str, VerdictEntry]:
    """{scheme: verdict}; of two names of one scheme the first characterised one counts, as in the mapping."""
    found: dict[str, VerdictEntry] = {}
    for verdict in sorted(document.verdicts, key=lambda each: each.uops is None):
        text = texts.get(verdict.scheme)
        if text is None:
            left_out[verdict.scheme] = NO_SCHEME
        elif found.setdefault(text, verdict).uops != verdict.uops:
            left_out[verdict.scheme] = f"{text} has the verdict on {found[text].scheme}"
    return dict(sorted(found.items(), key=lambda item: item[1].row))


def known_latencies(
    document: Document, texts: Mapping[str, str], problems: Problems, left_out: dict[str, str]
) -> dict[str, LatencyEntry]:
    """{scheme: latencies}; of two names of one scheme the first counts."""
    found: dict[str, LatencyEntry] = {}
    for entry in document.latencies:
        text = texts.get(entry.scheme)
        if text is None:
            left_out[entry.scheme] = NO_SCHEME
        elif found.setdefault(text, entry) is not entry:
            left_out[entry.scheme] = f"{text} has the latencies of {found[text].scheme}"
    if document.latencies and not found:
        nothing_known(len(left_out), problems)
    return found


def nothing_left(dropped: Mapping[str, str], problems: Problems) -> None:
    """Note that a file brings nothing, whatever the instruction set, with what most of it lacks."""
    why = Counter(dropped.values()).most_common(1)
    told = f": of most, {why[0][0]}" if why else ""
    problems.add(
        f"none of its {len(dropped):,} instructions can be imported{told}",
        "a file with numbers for instructions of x86-64 or AArch64 is expected",
    )


def nothing_known(instructions: int, problems: Problems) -> None:
    """Note that no instruction of a file has a scheme."""
    problems.add(
        f"none of the {instructions} instructions is known",
        "choose the instruction set that the file is about, or import it as a new one",
    )
