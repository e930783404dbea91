"""Port usages as uops.info writes them, `1*p0156+1*p23`, and what it calls microarchitectures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inference.core.mapping import MAX_PORTS, Uops, uops_of
from inference.formats.document import Document, UsageEntry
from inference.formats.json_fields import COUNT_LIMIT
from inference.formats.problems import FilePlace, excerpt
from inference.formats.source import Source
from inference.isa.scheme import Features

_KIND = re.compile(r"(\d{1,5})\*(FP|p)([0-9A-F]+)")
_KINDS = re.compile(rf"{_KIND.pattern}(?:\+{_KIND.pattern})*")
NAMES = {
    "CON": "Conroe", "WOL": "Wolfdale", "NHM": "Nehalem", "WSM": "Westmere", "SNB": "Sandy Bridge",
    "IVB": "Ivy Bridge", "HSW": "Haswell", "BDW": "Broadwell", "SKL": "Skylake", "SKX": "Skylake-SP",
    "KBL": "Kaby Lake", "CFL": "Coffee Lake", "CNL": "Cannon Lake", "CLX": "Cascade Lake", "ICL": "Ice Lake",
    "TGL": "Tiger Lake", "RKL": "Rocket Lake", "ADL-P": "Alder Lake P", "ADL-E": "Alder Lake E",
    "ZEN+": "Zen+", "ZEN2": "Zen 2", "ZEN3": "Zen 3", "ZEN4": "Zen 4",
}  # fmt: skip
"""What the abbreviations mean, as `inference.isa.x86.microarchitectures` has it."""

SEVERAL = "the table has different port usages for its variants"


def mapping_name(microarchitecture: str) -> str:
    """The name proposed for a mapping of uops.info."""
    return f"uops.info, {NAMES.get(microarchitecture, microarchitecture)}"


def choose_one(source: Source, wanted: str, known: list[str]) -> str | None:
    """The microarchitecture to read; None after noting that none, or an unknown one, is wanted."""
    chosen = known[0] if len(known) == 1 and not wanted else wanted
    if chosen in known:
        return chosen
    several = f"the file has port usages of {len(known)} microarchitectures"
    source.at().add(
        f"there is no microarchitecture {excerpt(chosen)}" if chosen else several,
        f"choose one (--microarchitecture in the shell): {', '.join(known)}",
    )
    return None


def is_usage(text: str, place: FilePlace) -> bool:
    """Whether this is a sum of counted port sets; notes the problem where it is not."""
    if _KINDS.fullmatch(text) and all(1 <= count <= COUNT_LIMIT for count, _ in _kinds(text)):
        return True
    place.add(f"{excerpt(text)} is no port usage", "e.g. 2*p01+1*p23 is expected")
    return False


def mapping_document(
    usages: Mapping[str, tuple[int, str]],
    place: FilePlace,
    dropped: Mapping[str, str],
    facts: Mapping[str, Any],
    features: Mapping[str, Features],
) -> Document:
    """The port mapping of a microarchitecture, in whose column `place` is; `usages`: {scheme: (row, usage)}.

    Ports are all that occur, those of the integer core first: "0", "1", …, "A", or "FP0", …
    """
    names = {port for _, text in usages.values() for _, ports in _kinds(text) for port in ports}
    ports = tuple(sorted(names, key=lambda port: (len(port), port)))
    if not 1 <= len(ports) <= MAX_PORTS:
        place.add(f"{len(ports)} ports", f"1 to {MAX_PORTS} are expected")
        return Document(facts=facts)
    bits = {port: bit for bit, port in enumerate(ports)}
    wanted = place.column
    entries = tuple(
        UsageEntry(row, wanted, scheme, _uops_in(text, bits)) for scheme, (row, text) in usages.items()
    )
    total = len(entries) + len(dropped)
    named = {"arch": wanted, "name": mapping_name(wanted), "instructions": total}
    return Document(
        usages=entries,
        partial=True,
        dropped=dropped,
        ports=ports,
        facts={**facts, **named},
        features=features,
    )


def _uops_in(text: str, bits: Mapping[str, int]) -> Uops:
    return uops_of((sum(1 << bits[port] for port in set(ports)), count) for count, ports in _kinds(text))


def _kinds(text: str) -> Iterator[tuple[int, list[str]]]:
    for count, file, digits in _KIND.findall(text):
        yield int(count), [file.removeprefix("p") + digit for digit in digits]
