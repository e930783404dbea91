"""Lists of schemes that users type: one per line, alone, with a number, or with ports.

Empty lines and lines that begin with # are ignored. The readers return problems instead of raising.
"""

from __future__ import annotations

from collections.abc import Iterator

_ACCESS = ("R", "W", "RW")  # what stands behind the last colon of a scheme without ports
_RIGHT_PORTS = "write the scheme, a colon and its ports, e.g. add GPR[64]:RW, GPR[64]:R: 6 7 8 9"
_RIGHT = "write the scheme, a colon and a number, e.g. imul GPR[64]:RW, GPR[64]:R: 1"


def read_counts(text: str) -> tuple[dict[str, int], list[str]]:
    """Read lines `scheme: number`: ({scheme: number}, problems with line and scheme).

    >>> read_counts("imul GPR[64]:RW, GPR[64]:R: 1")
    ({'imul GPR[64]:RW, GPR[64]:R': 1}, [])
    """
    counts: dict[str, int] = {}
    problems = []
    for number, line in _lines(text):
        scheme, colon, value = (part.strip() for part in line.rpartition(":"))
        if not colon or not value.isdecimal() or not value.isascii() or len(value) > 9:
            problems.append(f"line {number}: {line!r} ends with no whole number; {_RIGHT}")
        elif not scheme:
            problems.append(f"line {number}: there is no scheme before the number; {_RIGHT}")
        elif scheme in counts:
            problems.append(f"line {number}: {scheme!r} has a line already; leave one of them out")
        else:
            counts[scheme] = int(value)
    return counts, problems


def read_names(text: str) -> tuple[list[str], list[str]]:
    """Read lines with a scheme each: (schemes, problems with line and scheme)."""
    first_lines: dict[str, int] = {}
    problems = []
    for number, scheme in _lines(text):
        if scheme in first_lines:
            first = first_lines[scheme]
            problems.append(f"line {number}: {scheme!r} is in line {first} already; leave it out")
        first_lines.setdefault(scheme, number)
    return list(first_lines), problems


def read_ports(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """Read lines `scheme: ports`: ({scheme: names of its ports}, problems with line and scheme)."""
    ports_by_scheme: dict[str, list[str]] = {}
    problems = []
    for number, line in _lines(text):
        scheme, _, ports = (part.strip() for part in line.rpartition(":"))
        names = ports.replace(",", " ").split()
        if not scheme or not names or names[0] in _ACCESS:
            problems.append(f"line {number}: {line!r} ends with no ports; {_RIGHT_PORTS}")
        elif len(set(names)) < len(names):
            problems.append(f"line {number}: a port of {scheme!r} is named twice")
        elif scheme in ports_by_scheme:
            problems.append(f"line {number}: {scheme!r} has a line already; leave one of them out")
        else:
            ports_by_scheme[scheme] = names
    return ports_by_scheme, problems


def counts_text(counts: dict[str, int]) -> str:
    return "\n".join(f"{scheme}: {number}" for scheme, number in counts.items())


def ports_text(documented: dict[str, list[str]]) -> str:
    return "\n".join(f"{scheme}: {' '.join(ports)}" for scheme, ports in documented.items())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped
