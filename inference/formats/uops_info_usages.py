"""Port usages as uops.info writes them, `1*p0156+1*p23`, and what it calls microarchitectures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from inference.core.mapping import Uops, uops_of
from inference.formats.json_fields import COUNT_LIMIT
from inference.formats.problems import Problems, excerpt

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


def choose_one(wanted: str, known: list[str], problems: Problems) -> str | None:
    """The microarchitecture to read; None after noting that none, or an unknown one, is wanted."""
    chosen = known[0] if len(known) == 1 and not wanted else wanted
    if chosen in known:
        return chosen
    problems.add(
        f"there is no microarchitecture {excerpt(chosen)}"
        if chosen
        else f"the file has port usages of {len(known)} microarchitectures",
        f"choose one (--microarchitecture in the shell): {', '.join(known)}",
    )
    return None


def is_usage(text: str, row: int, wanted: str, problems: Problems) -> bool:
    """Whether this is a sum of counted port sets; notes the problem where it is not."""
    if _KINDS.fullmatch(text) and all(1 <= count <= COUNT_LIMIT for count, _ in _kinds(text)):
        return True
    problems.add(f"{excerpt(text)} is no port usage", "e.g. 2*p01+1*p23 is expected", row=row, column=wanted)
    return False


def ports_of(texts: Iterable[str]) -> tuple[str, ...]:
    """All ports that occur, those of the integer core first: "0", "1", …, "A", or "FP0", …"""
    found = {port for text in texts for _, ports in _kinds(text) for port in ports}
    return tuple(sorted(found, key=lambda port: (len(port), port)))


def uops_in(text: str, bits: Mapping[str, int]) -> Uops:
    """The µops of a usage; `bits` numbers the ports."""
    return uops_of((sum(1 << bits[port] for port in set(ports)), count) for count, ports in _kinds(text))


def _kinds(text: str) -> Iterator[tuple[int, list[str]]]:
    for count, file, digits in _KIND.findall(text):
        yield int(count), [file.removeprefix("p") + digit for digit in digits]
