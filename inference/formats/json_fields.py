"""Reading fields of JSON documents: each says what it expected and where, none raises."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inference.core.mapping import MAX_PORTS, Uops, uops_of
from inference.core.resources import LOAD_RANGE, MAX_RESOURCES, Loads
from inference.formats.document import ENTRY_LIMIT, NAME_LENGTH, check_name
from inference.formats.problems import Problems, excerpt

COUNT_LIMIT = 10_000  # µops of one kind in one scheme; microcoded instructions stay below


def as_object(value: object, problems: Problems, *, row: int | None, column: str) -> dict[str, Any] | None:
    """The value if it is a JSON object."""
    if isinstance(value, dict):
        return value
    problems.add(f"{excerpt(value)} is not an object", "an object {…} is expected", row=row, column=column)
    return None


def as_list(value: object, problems: Problems, *, row: int | None, column: str) -> list[Any] | None:
    """The value if it is a JSON list of bearable length."""
    if not isinstance(value, list):
        problems.add(f"{excerpt(value)} is not a list", "a list […] is expected", row=row, column=column)
    elif len(value) > ENTRY_LIMIT:
        problems.add(
            f"a list of {len(value)} entries", f"at most {ENTRY_LIMIT} are read", row=row, column=column
        )
    else:
        return value
    return None


def as_number(value: object, problems: Problems, *, row: int | None, column: str) -> float | None:
    """The value if it is a JSON number; whole numbers beyond the range of a float become infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        problems.add(f"{excerpt(value)} is not a number", "a number is expected", row=row, column=column)
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def printable_text(value: object) -> str:
    """A text that a page and the database can take, cut to the length of a name; nothing for all else."""
    return value.strip()[:NAME_LENGTH] if isinstance(value, str) and value.isprintable() else ""


def as_count(value: object, problems: Problems, *, row: int | None, column: str) -> int | None:
    """The value if it is a whole number from 1 to `COUNT_LIMIT`."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= COUNT_LIMIT:
        return value
    problems.add(
        f"{excerpt(value)} is not a possible count",
        f"a whole number from 1 to {COUNT_LIMIT} is expected",
        row=row,
        column=column,
    )
    return None


def as_ports(value: object, problems: Problems, *, column: str) -> tuple[str, ...] | None:
    """Port names from a list of texts or whole numbers."""
    listed = as_list(value, problems, row=None, column=column)
    if listed is None:
        return None
    before = problems.count
    names = tuple(port_name(port, problems, row=None, column=column) or "" for port in listed)
    if not 1 <= len(names) <= MAX_PORTS:
        problems.add(f"{len(names)} ports", f"1 to {MAX_PORTS} ports are expected", column=column)
    elif problems.count == before and len(set(names)) < len(names):
        problems.add("a port is listed twice", "every port is listed once", column=column)
    return names if problems.count == before else None


def port_name(value: object, problems: Problems, *, row: int | None, column: str) -> str | None:
    """The name of a port written as a text or as a whole number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000:
        return str(value)
    return check_name(value, problems, row=row, column=column)


def as_uops(
    pairs: Sequence[tuple[object, object]],
    bits: dict[str, int],
    problems: Problems,
    *,
    row: int | None,
    column: str,
) -> Uops | None:
    """µops from (list of ports, count) pairs; `bits` gives the bit of each port name."""
    uops = []
    before = problems.count
    for ports, number in pairs:
        listed = as_list(ports, problems, row=row, column=column)
        count = as_count(number, problems, row=row, column=column)
        if listed is None or count is None:
            continue
        if not listed:
            problems.add("a µop without ports", "every µop can use at least one port", row=row, column=column)
        mask = 0
        for port in listed:
            name = port_name(port, problems, row=row, column=column)
            if name is None:
                continue
            if name in bits:
                mask |= 1 << bits[name]
            else:
                problems.add(
                    f"there is no port {excerpt(name)}",
                    f"the ports are {', '.join(bits)}",
                    row=row,
                    column=column,
                )
        uops.append((mask, count))
    return uops_of(uops) if problems.count == before else None


def as_resources(value: object, problems: Problems, *, column: str) -> tuple[str, ...] | None:
    """Resource names from a list of texts; there may be none."""
    listed = as_list(value, problems, row=None, column=column)
    if listed is None:
        return None
    before = problems.count
    names = tuple(check_name(name, problems, row=None, column=column) or "" for name in listed)
    if len(names) > MAX_RESOURCES:
        problems.add(f"{len(names)} resources", f"at most {MAX_RESOURCES} are expected", column=column)
    elif problems.count == before and len(set(names)) < len(names):
        problems.add("a resource is listed twice", "every resource is listed once", column=column)
    return names if problems.count == before else None


def as_loads(
    pairs: Iterable[tuple[object, object]],
    indices: Mapping[str, int],
    problems: Problems,
    *,
    row: int | None,
    column: str,
) -> Loads | None:
    """Loads from (resource, cycles) pairs; 0 cycles say the same as no pair at all."""
    loads: dict[int, float] = {}
    before = problems.count
    named: set[object] = set()
    low, high = LOAD_RANGE
    for resource, number in pairs:
        name = check_name(resource, problems, row=row, column=column)
        cycles = as_number(number, problems, row=row, column=column)
        if name is None or cycles is None:
            continue
        if name not in indices:
            problems.add(
                f"there is no resource {excerpt(name)}", "use one of the resources", row=row, column=column
            )
        elif name in named:
            problems.add(
                f"two loads on {excerpt(name)}", "one per resource is expected", row=row, column=column
            )
        elif cycles != 0 and not (math.isfinite(cycles) and low <= cycles <= high):
            problems.add(
                f"{cycles!r} cannot be a load on {excerpt(name)}",
                f"cycles, 0 or from {low:g} to {high:g}, are expected",
                row=row,
                column=column,
            )
        elif cycles:
            loads[indices[name]] = cycles
        named.add(name)
    return tuple(sorted(loads.items())) if problems.count == before else None
