"""Readers of JSON fields: each returns the checked value, or notes a problem and returns None."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from inference.core.mapping import MAX_PORTS, R_MAX_RANGE, Uops, uops_of
from inference.core.resources import LOAD_RANGE, MAX_RESOURCES, Loads
from inference.formats.document import ENTRY_LIMIT, NAME_LENGTH, check_name
from inference.formats.problems import FilePlace, excerpt

COUNT_LIMIT = 10_000  # µops of one kind in one scheme; microcoded instructions stay below


def as_object(value: object, place: FilePlace) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    place.add(f"{excerpt(value)} is not an object", "an object {…} is expected")
    return None


def as_list(value: object, place: FilePlace) -> list[Any] | None:
    """The value if it is a JSON list of at most `ENTRY_LIMIT` entries."""
    if not isinstance(value, list):
        place.add(f"{excerpt(value)} is not a list", "a list […] is expected")
    elif len(value) > ENTRY_LIMIT:
        place.add(f"a list of {len(value)} entries", f"at most {ENTRY_LIMIT} are read")
    else:
        return value
    return None


def as_pairs(value: object, place: FilePlace, label: str, right: str) -> list[tuple[Any, Any]]:
    """The pairs in a JSON list. Messages call an entry `what`, and its expected form `right`."""
    pairs: list[tuple[Any, Any]] = []
    for item in as_list(value, place) or ():
        match item:
            case [first, second]:
                pairs.append((first, second))
            case _:
                place.add(f"{excerpt(item)} is not {label}", f"a pair {right} is expected")
    return pairs


def rows_of(table: Mapping[str, Any], place: FilePlace) -> Iterator[tuple[FilePlace, str | None, Any]]:
    """(place, checked name, value) of each entry of an object; rows are numbered from 1."""
    for row, (name, value) in enumerate(table.items(), start=1):
        at = FilePlace(place.problems, row, place.column)
        yield at, check_name(name, at), value


def as_number(value: object, place: FilePlace) -> float | None:
    """The value if it is a JSON number; integers beyond the range of a float become infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        place.add(f"{excerpt(value)} is not a number", "a number is expected")
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def as_number_in(
    limits: tuple[float, float], value: object, place: FilePlace, label: str, right: str
) -> float | None:
    """The value if it is finite and within the limits.

    Messages call it `what`, and the expected form `right`.
    """
    number = as_number(value, place)
    low, high = limits
    if number is None or (math.isfinite(number) and low <= number <= high):
        return number
    place.add(f"{number!r} cannot be {label}", right)
    return None


def as_amount(value: object, place: FilePlace, label: str = "an amount") -> float | None:
    """The value if it is a finite number ≥ 0; None for null as well."""
    right = "a finite number ≥ 0 is expected"
    return None if value is None else as_number_in((0, math.inf), value, place, label, right)


def as_rate(value: object, place: FilePlace, label: str, unit: str) -> float | None:
    """The value if it is a limit outside the ports, in `unit` per cycle; None for null as well."""
    low, high = R_MAX_RANGE
    right = f"{unit} per cycle, from {low:g} to {high:g}, or null"
    return None if value is None else as_number_in(R_MAX_RANGE, value, place, label, right)


def printable_text(value: object) -> str:
    """A printable text, cut to `NAME_LENGTH`; "" for anything else."""
    return value.strip()[:NAME_LENGTH] if isinstance(value, str) and value.isprintable() else ""


def texts_in(data: Mapping[str, Any], *keys: str) -> dict[str, str]:
    """{key: text} of those keys whose value is a printable text."""
    return {key: text for key in keys if (text := printable_text(data.get(key)))}


def as_count(
    value: object, place: FilePlace, label: str = "is not a possible count", limit: int = COUNT_LIMIT
) -> int | None:
    """The value if it is a whole number from 1 to `limit`."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= limit:
        return value
    place.add(f"{excerpt(value)} {label}", f"a whole number from 1 to {limit} is expected")
    return None


def as_ports(value: object, place: FilePlace) -> tuple[str, ...] | None:
    """Port names from a list of texts or whole numbers."""
    return _as_names(value, place, "port", (1, MAX_PORTS), port_name)


def as_resources(value: object, place: FilePlace) -> tuple[str, ...] | None:
    """Resource names from a list of texts; there may be none."""
    return _as_names(value, place, "resource", (0, MAX_RESOURCES), check_name)


def _as_names(
    value: object,
    place: FilePlace,
    noun: str,
    sizes: tuple[int, int],
    name_of: Callable[[object, FilePlace], str | None],
) -> tuple[str, ...] | None:
    """A list of different names of an allowed number; None, with problems noted, for any other value."""
    before = place.problems.count
    listed = as_list(value, place)
    if listed is None:
        return None
    names = tuple(name_of(item, place) or "" for item in listed)
    minimum, maximum = sizes
    if not minimum <= len(names) <= maximum:
        place.add(f"{len(names)} {noun}s", f"{minimum} to {maximum} {noun}s are expected")
    elif place.problems.count == before and len(set(names)) < len(names):
        place.add(f"a {noun} is listed twice", f"every {noun} is listed once")
    return names if place.problems.count == before else None


def port_name(value: object, place: FilePlace) -> str | None:
    """The name of a port written as a text or as a whole number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000:
        return str(value)
    return check_name(value, place)


def as_uops(pairs: Sequence[tuple[object, object]], bits: Mapping[str, int], place: FilePlace) -> Uops | None:
    """µops from (list of ports, count) pairs. `bits`: {port name: bit of a mask}."""
    uops = []
    before = place.problems.count
    for ports, number in pairs:
        listed, count = as_list(ports, place), as_count(number, place)
        if listed is None or count is None:
            continue
        if not listed:
            place.add("a µop without ports", "every µop can use at least one port")
        names = {name for port in listed if (name := port_name(port, place)) is not None}
        for name in sorted(names - bits.keys()):
            place.add(f"there is no port {excerpt(name)}", f"the ports are {', '.join(bits)}")
        uops.append((sum(1 << bits[name] for name in names & bits.keys()), count))
    return uops_of(uops) if place.problems.count == before else None


def as_loads(
    pairs: Iterable[tuple[object, object]], indices: Mapping[str, int], place: FilePlace
) -> Loads | None:
    """Loads from (resource, cycles) pairs; a pair with 0 cycles is ignored."""
    loads: dict[int, float] = {}
    before = place.problems.count
    named: set[object] = set()
    low, high = LOAD_RANGE
    for resource, number in pairs:
        name, cycles = check_name(resource, place), as_number(number, place)
        if name is None or cycles is None:
            continue
        if name not in indices:
            place.add(f"there is no resource {excerpt(name)}", "use one of the resources")
        elif name in named:
            place.add(f"two loads on {excerpt(name)}", "one per resource is expected")
        elif cycles != 0 and not (math.isfinite(cycles) and low <= cycles <= high):
            right = f"cycles, 0 or from {low:g} to {high:g}, are expected"
            place.add(f"{cycles!r} cannot be a load on {excerpt(name)}", right)
        elif cycles:
            loads[indices[name]] = cycles
        named.add(name)
    return tuple(sorted(loads.items())) if place.problems.count == before else None
