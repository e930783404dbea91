"""Detects the types of cores of a hybrid processor, each of which counts as a machine of its own.

On Intel, the kernel has a directory per type (`cpu_core`, `cpu_atom`). On ARM, it has the part number of each
core (MIDR), or at least its relative capacity (`cpu_capacity`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from inference.agent.reading import Json

_DEVICES = Path("/sys/devices")
_INTEL = (("cpu_core", "performance"), ("cpu_atom", "efficient"), ("cpu_lowpower", "low-power"))
_PART = 0xFF00FFF0
"""Bits of MIDR with implementer and part. Cores that differ in variant or revision only are of one type."""


@dataclass(frozen=True)
class CoreType:
    """A type of core: its name in the facts, and the numbers of its processors."""

    name: str
    cpus: frozenset[int]


def core_types(devices: Path = _DEVICES) -> tuple[CoreType, ...]:
    """The types of cores, fastest first; () where there is one, or the kernel does not tell."""
    types = _intel(devices) or _arm(devices / "system/cpu")
    return tuple(types) if len(types) > 1 else ()


def type_of(core: int | None, types: Collection[CoreType]) -> CoreType | None:
    """The type of a core, None where there is only one."""
    return next((core_type for core_type in types if core in core_type.cpus), None)


def fastest(allowed: Collection[int], types: Collection[CoreType]) -> set[int]:
    """The processors of the fastest type among `allowed`; all where there is only one type."""
    usable = (set(allowed) & core_type.cpus for core_type in types)
    return next(filter(None, usable), set(allowed))


def description(core: int | None, types: Collection[CoreType]) -> Json:
    """Facts about the type of the measuring core; {} where all cores are alike."""
    own_type = type_of(core, types)
    if own_type is None:
        return {}
    other_cores = {core_type.name: cpu_list(core_type.cpus) for core_type in types if core_type != own_type}
    return {"core_type": own_type.name, "core_cpus": cpu_list(own_type.cpus), "other_cores": other_cores}


def notice(core: int | None, types: Collection[CoreType]) -> str:
    """A log line about the other types of cores, "" where all cores are alike."""
    own_type = type_of(core, types)
    if own_type is None:
        return ""
    advice = "; ".join(
        f"its {core_type.name} cores ({cpu_list(core_type.cpus)}) are another machine: add one on the site, "
        f"and start an agent for it with --core {max(core_type.cpus)}"
        for core_type in types
        if core_type != own_type
    )
    return (
        f"this measures the {own_type.name} cores ({cpu_list(own_type.cpus)}) of a hybrid processor; {advice}"
    )


def parse_cpu_list(text: str) -> set[int]:
    """The numbers in a kernel list.

    >>> sorted(parse_cpu_list("2-5,8"))
    [2, 3, 4, 5, 8]
    """
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def cpu_list(numbers: Collection[int]) -> str:
    """Numbers as a kernel list; the inverse of `parse_cpu_list`."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _intel(devices: Path) -> list[CoreType]:
    types = ((name, _cpus(devices / directory / "cpus")) for directory, name in _INTEL)
    return [CoreType(name, cpus) for name, cpus in types if cpus]


def _arm(directory: Path) -> list[CoreType]:
    """Types by part, else by capacity; the one with the largest capacity first."""
    online = _cpus(directory / "online")
    parts = {cpu: _part(directory / f"cpu{cpu}") for cpu in online}
    capacities = {cpu: _positive_integer(directory / f"cpu{cpu}/cpu_capacity") for cpu in online}
    if all(parts.values()):
        kinds = {cpu: f"part-{part >> 4 & 0xFFF:#05x}" for cpu, part in parts.items() if part is not None}
    elif all(capacities.values()):
        kinds = {cpu: f"capacity-{capacity}" for cpu, capacity in capacities.items()}
    else:
        return []
    types = [
        CoreType(kind, frozenset(cpu for cpu in online if kinds[cpu] == kind)) for kind in set(kinds.values())
    ]
    return sorted(
        types, key=lambda core_type: (-max(capacities[cpu] or 0 for cpu in core_type.cpus), core_type.name)
    )


def _part(cpu: Path) -> int | None:
    text = _read(cpu / "regs/identification/midr_el1")
    try:
        return int(text, 16) & _PART or None
    except ValueError:
        return None


def _positive_integer(file: Path) -> int | None:
    text = _read(file)
    return int(text) or None if text.isdecimal() else None


def _cpus(file: Path) -> frozenset[int]:
    try:
        return frozenset(parse_cpu_list(_read(file)))
    except ValueError:
        return frozenset()


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
