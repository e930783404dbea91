"""Blocks with known answers: is this computer fit to be measured on, and is it undisturbed right now?

Sources of the expected times: Intel's and AMD's optimisation guides, Agner Fog's instruction tables.
"""

from __future__ import annotations

import statistics
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.agent.protocol import Item

COPIES = 120
NEAR = 0.04
"""Relative deviation from a known time up to which a block counts as undisturbed."""

_TARGETS = (0, 1, 2, 6, 7, 8, 9, 10, 11, 12)  # rax rcx rdx rsi rdi r8 … r12
_SOURCE = 3  # rbx
_VECTORS = (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13)


@dataclass(frozen=True)
class Check:
    """A block of independent instructions, and the cycles per instruction that any x86-64 core may show."""

    name: str
    item: Item
    plausible: tuple[float, ...]


def _item(name: str, instructions: Sequence[bytes]) -> Item:
    code = b"".join(instructions)
    half = len(b"".join(instructions[: COPIES // 2]))
    return Item(id=name, code=code, copies=COPIES, half_bytes=half, half_copies=COPIES // 2, instructions=1)


def _addition(k: int) -> bytes:
    target = _TARGETS[k % len(_TARGETS)]  # add target, rbx
    return bytes([0x48 | target >> 3, 0x01, 0xC0 | _SOURCE << 3 | target & 7])


def _multiplication(k: int) -> bytes:
    target = _TARGETS[k % len(_TARGETS)]  # imul target, rbx
    return bytes([0x48 | (target >> 3) << 2, 0x0F, 0xAF, 0xC0 | (target & 7) << 3 | _SOURCE])


def _load(k: int) -> bytes:
    target = _TARGETS[k % len(_TARGETS)]  # mov target, [r14 + 8·k]
    return bytes([0x49 | (target >> 3) << 2, 0x8B, 0x46 | (target & 7) << 3, 8 * (k % 8)])


def _vector_multiplication(k: int) -> bytes:
    target = _VECTORS[k % len(_VECTORS)]  # vmulps target, ymm6, ymm7
    return bytes([0xC5, (0 if target > 7 else 0x80) | (~6 & 15) << 3 | 4, 0x59, 0xC7 | (target & 7) << 3])


ADDITIONS = Check(
    "additions",
    _item("additions", [_addition(k) for k in range(COPIES)]),
    (1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6),
)
MULTIPLICATIONS = Check(
    "multiplications", _item("multiplications", [_multiplication(k) for k in range(COPIES)]), (2, 1, 1 / 2)
)
LOADS = Check("loads", _item("loads", [_load(k) for k in range(COPIES)]), (1, 1 / 2, 1 / 3, 1 / 4))
VECTORS = Check(
    "vector multiplications",
    _item("vector multiplications", [_vector_multiplication(k) for k in range(COPIES)]),
    (2, 1, 1 / 2),
)


def checks(*, avx: bool) -> tuple[Check, ...]:
    """The blocks for a computer with or without AVX."""
    return (ADDITIONS, MULTIPLICATIONS, LOADS, *((VECTORS,) if avx else ()))


_FOUR_ALUS = {"additions": 1 / 4, "multiplications": 1.0, "loads": 1 / 2, "vector multiplications": 1 / 2}
_ZEN = {"additions": 1 / 4, "multiplications": 2.0, "loads": 1 / 2, "vector multiplications": 1.0}
_THREE_LOADS = {**_FOUR_ALUS, "loads": 1 / 3}
_GOLDEN_COVE = {**_THREE_LOADS, "additions": 1 / 5}
_SANDY_BRIDGE = {**_FOUR_ALUS, "additions": 1 / 3, "vector multiplications": 1.0}

_FAMILIES: tuple[tuple[str, int, range | tuple[int, ...], Mapping[str, float]], ...] = (
    ("GenuineIntel", 6, (0x2A, 0x2D, 0x3A, 0x3E), _SANDY_BRIDGE),
    ("GenuineIntel", 6, (0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56), _FOUR_ALUS),  # Haswell, Broadwell
    ("GenuineIntel", 6, (0x4E, 0x5E, 0x55, 0x8E, 0x9E, 0xA5, 0xA6), _FOUR_ALUS),  # Skylake to Comet Lake
    ("GenuineIntel", 6, (0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7), _FOUR_ALUS),  # Ice, Tiger, Rocket Lake
    ("GenuineIntel", 6, (0x8F, 0xCF), _GOLDEN_COVE),  # Sapphire and Emerald Rapids
    ("AuthenticAMD", 23, range(0x30), _ZEN),
    ("AuthenticAMD", 23, range(0x30, 0x100), _FOUR_ALUS),  # Zen 2
    ("AuthenticAMD", 25, range(0x100), _THREE_LOADS),  # Zen 3 and Zen 4
)


def expected(vendor: str, family: int, model: int) -> Mapping[str, float]:
    """{check: cycles per instruction} of a known microarchitecture, empty for another one."""
    for known_vendor, known_family, models, answers in _FAMILIES:
        if (vendor, family) == (known_vendor, known_family) and model in models:
            return answers
    return {}


_REMEMBERED = 40
_ENOUGH = 5


@dataclass
class Answers:
    """What the checks have shown lately, and what follows from it.

    `known` are the expected cycles per instruction by check, where the microarchitecture is known; otherwise
    the shortest plausible time that comes up again and again is taken for the true one. Single answers can be
    anything on a disturbed computer, too fast ones included.
    """

    known: Mapping[str, float]
    _answers: dict[str, deque[float]] = field(default_factory=dict)
    _seen: Counter[tuple[str, float]] = field(default_factory=Counter)

    def take(self, check: Check, cycles: float) -> None:
        """A new answer of one check."""
        self._answers.setdefault(check.name, deque(maxlen=_REMEMBERED)).append(cycles)
        for value in check.plausible:
            self._seen[check.name, value] += abs(cycles / value - 1) <= NEAR

    def deviations(self, wanted: Sequence[Check]) -> dict[str, float]:
        """{check: latest answer / true one − 1} of those that have been asked."""
        return {check.name: self._deviation(check) for check in wanted if check.name in self._answers}

    def noise(self, wanted: Sequence[Check]) -> float | None:
        """The median absolute deviation of the latest answers."""
        found = self.deviations(wanted)
        return statistics.median(abs(value) for value in found.values()) if found else None

    def trouble(self, wanted: Sequence[Check]) -> str:
        """What is disturbed at the moment, in words; empty where nothing is."""
        off = {name: value for name, value in self.deviations(wanted).items() if abs(value) > NEAR}
        if not off:
            return ""
        name = max(off, key=lambda one: abs(off[one]))
        how = "slower" if off[name] > 0 else "faster"
        return f"{name} are {100 * abs(off[name]):.0f} % {how} than they should be"

    def contradiction(self, wanted: Sequence[Check]) -> str:
        """Why the clock cannot be trusted: something is always faster than it can be; empty otherwise."""
        for check in wanted:
            answers = self._answers.get(check.name, ())
            least = self.known.get(check.name, min(check.plausible))
            if len(answers) >= _ENOUGH and (typical := statistics.median(answers)) < least * (1 - 2 * NEAR):
                return (
                    f"{check.name} take {typical:.3f} cycles each where {least:.3f} is the least possible: "
                    "the chain of dependent additions is no clock on this computer"
                )
        return ""

    def true(self, check: Check) -> float | None:
        """The documented time, else the shortest plausible one seen more than by chance, if there is any."""
        if check.name in self.known:
            return self.known[check.name]
        return min(
            (value for value in check.plausible if self._seen[check.name, value] >= _ENOUGH), default=None
        )

    def _deviation(self, check: Check) -> float:
        return self._answers[check.name][-1] / (self.true(check) or check.plausible[0]) - 1
