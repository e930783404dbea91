"""Patterns that port usages of most instructions follow (§6.3.5), and the schemes that break them.

A form with wider vectors has the µops of the narrower one, once or twice; a form that reads memory has those
of the register form and of a load; one that reads and writes it has those of the register form and of a
store. What a load and a store are is learnt from the mapping itself: from its loading and storing moves.

A scheme that breaks a pattern is not proven wrong. It is the first to check.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.mapping import Uops, described, uops_of
from inference.isa.domains import is_move, memory_forms, memory_of
from inference.isa.name_parsing import Key, SchemeNameParts, read


class Pattern(StrEnum):
    """The form whose µops a scheme's are compared with."""

    WIDE = "wide"
    LOAD = "load"
    MODIFY = "modify"


PATTERNS: Mapping[Pattern, str] = {
    Pattern.WIDE: "wider vectors: the µops of the narrower form, once or twice",
    Pattern.LOAD: "memory that is read: the µops of the register form and those of a load",
    Pattern.MODIFY: "memory that is read and written: the µops of the register form and those of a store",
}
"""{pattern: sentence}."""


@dataclass(frozen=True)
class RegularityCheck:
    """A scheme compared with a similar one. Any of `expected` is regular; the first is the usual one."""

    scheme: str
    pattern: Pattern
    other: str
    usage: Uops
    expected: tuple[Uops, ...]

    @property
    def follows(self) -> bool:
        """Whether the scheme has expected µops."""
        return self.usage in self.expected

    def in_words(self, ports: Sequence[str]) -> str:
        """E.g. `[0,1], not 2×[0,1] after vaddps XMM:W, XMM:R, XMM:R`."""
        regular = " or ".join(described(uops, ports) for uops in self.expected)
        uops_text = described(self.usage, ports)
        verb = "as" if self.follows else "not"
        return f"{uops_text}, {verb} {regular} after {self.other}"


@dataclass(frozen=True)
class Regularity:
    """How regular a mapping is.

    `checks` by scheme, then pattern.

    Attributes:
        loads: {bits of memory: µops of a load}.
        store: µops of a store, () where no storing move tells.
        schemes: How many were looked at.
    """

    checks: tuple[RegularityCheck, ...]
    loads: Mapping[int, Uops]
    store: Uops
    schemes: int

    def checked(self, pattern: Pattern) -> list[RegularityCheck]:
        return [check for check in self.checks if check.pattern is pattern]

    @property
    def breakers(self) -> list[RegularityCheck]:
        """The checks whose scheme breaks a pattern."""
        return [check for check in self.checks if not check.follows]

    @property
    def judged(self) -> int:
        """Number of schemes to which some pattern applies."""
        return len({check.scheme for check in self.checks})

    @property
    def regular(self) -> int:
        """Number of schemes that follow every pattern that applies to them."""
        return self.judged - len({check.scheme for check in self.breakers})

    def of(self, scheme: str) -> list[RegularityCheck]:
        return [check for check in self.checks if check.scheme == scheme]


def regularity(usage: Mapping[str, Uops]) -> Regularity:
    """Compare every scheme with those that differ from it in one operand alone.

    Names may be in any style that `inference.isa.name_parsing` knows. Names that it does not understand, and
    schemes without a similar one in the mapping, are not checked.
    """
    readings = {scheme: parts for scheme in usage if (parts := read(scheme)) and parts.understood}
    loads = _loads(readings, usage)
    family = _Family(readings, usage, loads, _store(readings, usage))
    checks = [*family.wide(), *family.loading(), *family.modifying()]
    checks.sort(key=lambda check: (check.scheme, check.pattern))
    return Regularity(tuple(checks), loads, family.store.common, len(usage))


_MEMORY = re.compile(r"mem\[(\d+)\]")
_NEARLY_ALL = 0.8  # share of the loading moves that have a µop, from which on it is the load's own
_SUB_WORD = 32  # bits below which an operation merges its result into a wider register
_DOUBLED = 256  # bits from which on older cores split an access in two
_NARROWER = {"ymm": "xmm", "zmm": "ymm"}
_VECTORS = ("xmm", "ymm", "zmm", "mm")


def _is_register(name: str) -> bool:
    return name.startswith(("gpr[", *_VECTORS))


def _loads(readings: Mapping[str, SchemeNameParts], usage: Mapping[str, Uops]) -> dict[int, Uops]:
    """{bits: µops of a load}: the µops that most loading moves of each width share.

    Many of these have a further µop, to extend a sign or to deliver the data, but not all the same.
    """
    uops_by_width: defaultdict[int, list[dict[int, int]]] = defaultdict(list)
    for scheme, reading in readings.items():
        memory = memory_of(reading)
        if not (memory and usage[scheme] and is_move(reading)):
            continue
        place, bits, _ = memory
        if place == 1 and _is_register(reading.operands[0]):
            uops_by_width[bits].append(dict(usage[scheme]))
    moves = [uops for uop_counts in uops_by_width.values() for uops in uop_counts]
    shares = Counter(mask for uops in moves for mask in uops)
    common = sorted(mask for mask, times in shares.items() if times >= _NEARLY_ALL * len(moves))
    loads = {}
    for width, uop_counts in sorted(uops_by_width.items()):
        parts: Counter[Uops] = Counter(
            tuple((mask, uops[mask]) for mask in common if mask in uops) for uops in uop_counts
        )
        if most_common := _most_common(parts):
            loads[width] = most_common
    return loads


def _most_common(counts: Counter[Uops]) -> Uops:
    """The most frequent µops, of equally frequent ones the fewest; () for none."""
    ranked = [(-times, sum(n for _, n in uops), uops) for uops, times in counts.items() if uops]
    return min(ranked)[2] if ranked else ()


@dataclass(frozen=True)
class _Store:
    """`general`: what a store of a general-purpose register has; `shared`: what that of a vector has too.

    Each of the two also has a µop that delivers the data, unless that is a store's own.
    """

    general: Uops
    shared: Uops

    @property
    def common(self) -> Uops:
        return self.shared or self.general

    def with_register_form(self, uops: Uops) -> Uops:
        """The µops of a form that also stores its result, from those of its register form."""
        if self.shared:
            return _sum(uops, self.shared)
        return tuple(sorted((Counter(dict(uops)) | Counter(dict(self.general))).items()))


def _store(readings: Mapping[str, SchemeNameParts], usage: Mapping[str, Uops]) -> _Store:
    """The µops of a store, from storing moves of registers that no core splits in two."""
    general: Counter[Uops] = Counter()
    vector: Counter[Uops] = Counter()
    for scheme, reading in readings.items():
        memory = memory_of(reading)
        if memory and is_move(reading) and memory[0] == 0 and memory[1] < _DOUBLED:
            source = reading.operands[1]
            if source.startswith("gpr["):
                general[usage[scheme]] += 1
            elif source.startswith(_VECTORS):
                vector[usage[scheme]] += 1
    scalar, wide = _most_common(general), _most_common(vector)
    shared = Counter(dict(scalar)) & Counter(dict(wide))
    return _Store(scalar or wide, tuple(sorted(shared.items())))


class _Family:
    """All schemes by their names, to find the form that each is compared with."""

    def __init__(
        self,
        readings: Mapping[str, SchemeNameParts],
        usage: Mapping[str, Uops],
        loads: Mapping[int, Uops],
        store: _Store,
    ) -> None:
        self.readings = readings
        self.usage = usage
        self.loads = loads
        self.store = store
        self._by_key = {reading.key: scheme for scheme, reading in readings.items()}

    def _partner(self, keys: Iterable[Key]) -> str | None:
        return next((self._by_key[key] for key in keys if key in self._by_key), None)

    def wide(self) -> Iterator[RegularityCheck]:
        """Compare with the form on vectors of half the width."""
        for scheme, reading in self.readings.items():
            other = self._partner(_narrower(reading))
            if other is not None:
                once = self.usage[other]
                twice = tuple((mask, 2 * count) for mask, count in once)
                yield RegularityCheck(
                    scheme, Pattern.WIDE, other, self.usage[scheme], tuple({once: 1, twice: 1})
                )

    def _with_memory(self, access: str) -> Iterator[tuple[str, int, str]]:
        """(scheme, bits of its memory, its register form)."""
        for form in memory_forms(self.readings):
            if form.access == access:
                yield form.scheme, form.bits, form.register_form

    def loading(self) -> Iterator[RegularityCheck]:
        """Compare with the register form and a load."""
        if not self.loads:
            return
        for scheme, bits, other in self._with_memory("r"):
            expected = tuple(_sum(self.usage[other], load) for load in self._loads_of(bits))
            yield RegularityCheck(scheme, Pattern.LOAD, other, self.usage[scheme], expected)

    def _loads_of(self, bits: int) -> list[Uops]:
        """The µops that a load of so many bits may have; those of other widths where no move has this one."""
        if bits in self.loads:
            return [self.loads[bits]]
        usual = _most_common(Counter(self.loads.values()))
        twice = tuple((mask, 2 * count) for mask, count in usual)
        return [usual, twice] if bits >= _DOUBLED else [usual]

    def modifying(self) -> Iterator[RegularityCheck]:
        """Compare with the register form and a store.

        Most schemes of 32 bits and more decide whether a load is a µop of its own (on Intel's cores, not on
        Zen). Narrower schemes may have one more µop on the address ports, which are those of loads.
        """
        if not self.store.common:
            return
        pairs = [
            (scheme, bits, other, self.store.with_register_form(self.usage[other]))
            for scheme, bits, other in self._with_memory("rw")
        ]
        separate = self._loads_are_separate(pairs)
        for scheme, bits, other, stored in pairs:
            loads = self._loads_of(bits) if self.loads else [()]
            usual = _sum(stored, loads[0]) if separate else stored
            narrow = (_sum(usual, loads[0]),) if bits < _SUB_WORD and loads[0] else ()
            yield RegularityCheck(scheme, Pattern.MODIFY, other, self.usage[scheme], (usual, *narrow))

    def _loads_are_separate(self, pairs: Sequence[tuple[str, int, str, Uops]]) -> bool:
        """Whether more schemes have a load's µops beside those of register form and store than have not."""
        votes = 0
        for scheme, bits, _, stored in pairs:
            if bits >= _SUB_WORD and self.loads:
                own_usage = self.usage[scheme]
                votes += (own_usage == _sum(stored, self._loads_of(bits)[0])) - (own_usage == stored)
        return votes > 0


def _narrower(reading: SchemeNameParts) -> Iterator[Key]:
    """The form with vectors half as wide, with memory as narrow or as it is."""
    if not any(name.startswith(tuple(_NARROWER)) for name in reading.operands):
        return
    names = tuple(
        _NARROWER.get(name[:3], name[:3]) + name[3:] if name[:3] in _NARROWER else name
        for name in reading.operands
    )
    halved = tuple(_MEMORY.sub(lambda match: f"mem[{int(match[1]) // 2}]", name) for name in names)
    yield reading.head, halved
    if names != halved:
        yield reading.head, names


def _sum(first: Uops, second: Uops) -> Uops:
    return uops_of([*first, *second])
