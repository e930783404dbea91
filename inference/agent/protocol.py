"""The messages between agent and server: JSON objects in text frames of one WebSocket, `type` first.

| direction | type | fields |
|---|---|---|
| to server | `hello` | `protocol`, `version`, `instance`, `facts`, `holds` ([batch, fence] or null) |
| to agent | `welcome` | `protocol`, `machine`, `beat_seconds` |
| to agent | `refused` | `reason`, `retry`: whether trying again later makes sense; then the server closes |
| to agent | `batch` | `batch`, `fence`, `content` (a `Batch`) |
| to server | `beat` | a `Beat` |
| to server | `results` | `batch`, `fence`, `results` (a list of `Result`) |
| to agent | `stored` | `batch`: its results are safe (or nobody wants them any more); the next one may come |
| to agent | `drop` | `batch`: stop measuring it |

The agent dials out with its token in the `Authorization` header; a token that lets nobody in is answered with
401 to the handshake. It says hello, and is given one batch at a
time and answers with all of its results at once; until they are acknowledged it keeps them and sends them
again after a reconnection, naming the batch in `holds`. The `fence` is the number of the lease: results
under an old one are acknowledged and thrown away.

Both sides refuse messages larger than `MAX_MESSAGE_BYTES`, another `PROTOCOL`, and floods (`Allowance`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inference.agent.reading import (
    Json,
    ProtocolError,
    check_ranges,
    int_of,
    int_or_none,
    number_of,
    number_or_none,
    read_fields,
    read_json,
    text_of,
)

PROTOCOL = 1  # raised with every incompatible change
MAX_MESSAGE_BYTES = 4 * 2**20  # a batch of the longest blocks has less
NO_ENTRY, TRY_AGAIN = 4401, 4503
"""Codes with which the server closes: the token lets nobody in; later it may."""

MAX_VALUES = 200_000
"""Values and keys of a message: those of `MAX_ITEMS` results with `MAX_COUNTERS` counters."""

MAX_ITEMS = 512
"""Experiments in one batch."""

MAX_CHECKS = 20
"""Blocks with known answers."""

MAX_COUNTERS = 100
"""Events counted of one experiment."""

MAX_ID = 4096  # characters of an experiment's id

RESULT_STATES = ("settled", "unsettled", "contended", "failed")
AGENT_STATES = ("idle", "measuring", "contended", "unfit")
"""`contended`: known blocks take too long at the moment. `unfit`: this computer cannot measure at all."""


@dataclass(frozen=True)
class Frame:
    """What surrounds the loop bodies of a batch.

    `isa`: "x86-64" or "AArch64". `memory_register` points to the middle of a region of `memory_bytes` bytes
    in each direction; `counter_register` counts the iterations. `registers` are the values of the other
    general-purpose registers, `addresses` the offsets from that middle of those that hold addresses (AArch64
    alone), `vector` the 64-bit pattern that every vector register is filled with, `memory` the one that fills
    the region. `avx`: vector registers are 256 bits wide and are cleared by `vzeroupper` at the end.

    `vectors` are the patterns of vector registers (`xmm15`) that differ from `vector`. `mask_bits`: 16 or 64
    where there are mask registers, of which k1 to k7 are set to as many ones, with `clear_masks` to zeros;
    vector registers are 512 bits wide then, 32 of them. `fpu`: "mmx" or "x87" where the registers that these
    share are filled, with `vector`, but st0 with one; they are given back empty.

    Basic blocks have `pages` > 0: so many pages of memory may they touch, wherever these are; each is mapped
    when it is touched first, all to one page that is filled with `memory`. No register is reserved for
    memory then, all others start with `registers` (0 where nothing is said), and an empty `counter_register`
    counts in memory; rax cannot count. `unrolled`: the copies are no loop; registers, and memory that was
    written, begin anew with the first, and the difference between both lengths of an item is what counts.
    `offset`: how many bytes behind the beginning of a cache line the first copy is.
    """

    isa: str = "x86-64"
    memory_register: str = "r14"
    counter_register: str = "r15"
    registers: Mapping[str, int] = field(default_factory=dict)
    vector: int = 0x3F8CCCCD3F8CCCCD
    memory: int = 0x3F8CCCCD3F8CCCCD
    memory_bytes: int = 16384
    avx: bool = True
    vectors: Mapping[str, int] = field(default_factory=dict)
    mask_bits: int = 0
    fpu: str = ""
    pages: int = 0
    unrolled: bool = False
    addresses: Mapping[str, int] = field(default_factory=dict)
    offset: int = 0
    clear_masks: bool = False

    def as_json(self) -> Json:
        """A JSON object of the fields; without those of later protocols that say nothing."""
        content = {**vars(self), "registers": dict(self.registers)}
        content |= {"vectors": dict(self.vectors), "addresses": dict(self.addresses)}
        later = ("vectors", "mask_bits", "fpu", "pages", "unrolled", "addresses", "offset", "clear_masks")
        for name in later:
            if not content[name]:
                del content[name]
        return content

    @classmethod
    def read(cls, document: object) -> Frame:
        """Raises `ProtocolError`."""
        maps = dict.fromkeys(("registers", "vectors", "addresses"), _registers)
        return check_ranges(read_fields(cls, document, **maps), _FRAME_LIMITS)


@dataclass(frozen=True)
class Settings:
    """How a batch is measured; part of the identity of every result.

    `tolerance`: cycles per instruction within which passes agree. `min_passes`, `max_passes`: undisturbed
    passes over an item, at least 2. `repetitions`: of the interleaved samples in a pass, undisturbed ones.
    `sample_us`: length of the shorter sample. `patience`: seconds without any undisturbed pass before
    results are given up as contended. `timeout`: seconds after which an item is taken to hang.
    """

    tolerance: float = 0.01
    min_passes: int = 2
    max_passes: int = 7
    repetitions: int = 5
    sample_us: float = 20.0
    patience: float = 60.0
    timeout: float = 2.0

    def as_json(self) -> Json:
        return dict(vars(self))

    @classmethod
    def read(cls, document: object) -> Settings:
        """Raises `ProtocolError`."""
        return check_ranges(read_fields(cls, document), _SETTINGS_LIMITS)


@dataclass(frozen=True)
class BatchItem:
    """One experiment as machine code.

    `code` is a loop body of `copies` copies of the experiment, of which `half_copies` fill the first
    `half_bytes` bytes: they are measured as a shorter loop as well. `instructions` is the length of one
    copy. `terms` ((scheme, multiplicity) pairs) say what it is, for whoever posted it and for simulated
    agents. `latency_bound`: it waits for itself most of the time, and hardly feels who else uses the core.
    `end` follows the last copy of both loops.
    """

    id: str
    code: bytes
    copies: int
    half_bytes: int
    half_copies: int
    instructions: int
    terms: tuple[tuple[str, int], ...] = ()
    latency_bound: bool = False
    end: bytes = b""

    def as_json(self) -> Json:
        """A JSON object of the fields, machine code in base64.

        Those that older agents do not know are left out where they say nothing.
        """
        code, end = (base64.b64encode(part).decode() for part in (self.code, self.end))
        content = {**vars(self), "code": code, "end": end, "terms": [list(term) for term in self.terms]}
        for name in ("latency_bound", "end"):
            if not content[name]:
                del content[name]
        return content

    @classmethod
    def read(cls, document: object) -> BatchItem:
        """Raises `ProtocolError`."""
        item = read_fields(cls, document, code=_code, terms=_terms, end=_code)
        if len(item.id) > MAX_ID:
            raise ProtocolError(f"item {item.id:.80}: an id has at most {MAX_ID} characters")
        if not (0 < item.half_bytes <= len(item.code) and 0 < item.half_copies <= item.copies):
            raise ProtocolError(f"item {item.id}: its shorter loop does not fit into its code")
        if item.instructions < 1:
            raise ProtocolError(f"item {item.id}: an experiment has at least one instruction")
        return item


@dataclass(frozen=True)
class Batch:
    """Experiments that are measured together, each pass going through all of them in a new random order."""

    frame: Frame
    settings: Settings
    items: tuple[BatchItem, ...]
    seed: int = 0

    def as_json(self) -> Json:
        return {
            "frame": self.frame.as_json(),
            "settings": self.settings.as_json(),
            "items": [item.as_json() for item in self.items],
            "seed": self.seed,
        }

    @classmethod
    def read(cls, document: object) -> Batch:
        """Raises `ProtocolError`."""
        return read_fields(cls, document, frame=_frame, settings=_settings, items=_items)


@dataclass(frozen=True)
class Result:
    """What measuring an item gave: cycles per copy of the experiment, and max − min over undisturbed passes.

    In state "failed" there are no cycles and `note` says why: "illegal instruction", "does not end", …
    `counters`: what was counted per copy, {event: number}, where the agent has counters.
    """

    id: str
    state: str
    cycles: float | None = None
    spread: float | None = None
    passes: int = 0
    note: str = ""
    counters: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> Json:
        """A JSON object of the fields; without counters, as agents before them have it."""
        content = {**vars(self), "counters": dict(self.counters)}
        if not self.counters:
            del content["counters"]
        return content

    @classmethod
    def read(cls, document: object) -> Result:
        """Raises `ProtocolError`."""
        result = read_fields(cls, document, cycles=number_or_none, spread=number_or_none, counters=_counters)
        if result.state not in RESULT_STATES:
            raise ProtocolError(f"result {result.id[:60]}: unknown state {result.state[:60]!r}")
        if (result.state == "failed") != (result.cycles is None):
            raise ProtocolError(f"result {result.id[:60]}: {result.state} with cycles {result.cycles!r}")
        if result.cycles is not None and result.cycles <= 0:
            raise ProtocolError(f"result {result.id[:60]}: cycles must be > 0, not {result.cycles!r}")
        return result


@dataclass(frozen=True)
class Beat:
    """A sign of life with what can be said at the moment.

    `noise`: median relative deviation of known blocks from their known times. `ghz`: the clock that the
    chain of dependent additions shows. `rate`: settled experiments per second, lately. `batch`: the one
    being measured, of which `done` of `total` items have settled. `note`: why it is contended or unfit.
    `checks`: of each known block its latest time and the true one, in cycles per instruction.
    """

    state: str
    noise: float | None = None
    ghz: float | None = None
    rate: float | None = None
    batch: int | None = None
    done: int = 0
    total: int = 0
    note: str = ""
    checks: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)

    def as_json(self) -> Json:
        return {**vars(self), "checks": {name: list(pair) for name, pair in self.checks.items()}}

    @classmethod
    def read(cls, document: object) -> Beat:
        """Raises `ProtocolError`."""
        beat = read_fields(
            cls,
            document,
            noise=number_or_none,
            ghz=number_or_none,
            rate=number_or_none,
            batch=int_or_none,
            checks=_checks,
        )
        if beat.state not in AGENT_STATES:
            raise ProtocolError(f"unknown state {beat.state[:60]!r}")
        return beat


def encode(kind: str, **content: object) -> str:
    return json.dumps({"type": kind, **content}, separators=(",", ":"), allow_nan=False)


def decode(text: str | bytes) -> Json:
    """A message from the text of a frame. Raises `ProtocolError`."""
    if isinstance(text, bytes):
        raise ProtocolError("messages are text, not binary")
    if len(text) > MAX_MESSAGE_BYTES:
        raise ProtocolError(f"a message has at most {MAX_MESSAGE_BYTES} bytes, not {len(text)}")
    try:
        message = read_json(text, MAX_VALUES)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a message is an object with a type")
    return message


def int_field(message: Mapping[str, Any], name: str) -> int:
    """A field that is a whole number. Raises `ProtocolError`."""
    return int_of(name, message.get(name))


def _checks(name: str, value: object) -> dict[str, tuple[float, float | None]]:
    if not isinstance(value, Mapping) or len(value) > MAX_CHECKS:
        raise ProtocolError(f"{name} must be an object of at most {MAX_CHECKS} entries, not {value!r:.80}")
    checks: dict[str, tuple[float, float | None]] = {}
    for key, pair in value.items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise ProtocolError(f"{name} must give a time and the true time, not {pair!r:.80}")
        checks[text_of(name, key)] = (number_of(name, pair[0]), number_or_none(name, pair[1]))
    return checks


def _code(name: str, value: object) -> bytes:
    try:
        return base64.b64decode(text_of(name, value), validate=True)
    except ValueError as error:  # also where it is not ASCII
        raise ProtocolError(f"{name}: {error}") from None


def _terms(name: str, value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, list) or not all(isinstance(term, list) and len(term) == 2 for term in value):
        raise ProtocolError(f"{name} must be a list of pairs, not {value!r:.80}")
    return tuple((text_of(name, scheme), int_of(name, count)) for scheme, count in value)


def _registers(name: str, value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise ProtocolError(f"{name} must be an object, not {value!r:.80}")
    return {text_of(name, register): int_of(name, content) for register, content in value.items()}


def _counters(name: str, value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or len(value) > MAX_COUNTERS:
        raise ProtocolError(f"{name} must be an object of at most {MAX_COUNTERS} numbers")
    counted = {text_of(name, event): number_of(name, number) for event, number in value.items()}
    if any(number < 0 for number in counted.values()):
        raise ProtocolError(f"{name} must be ≥ 0")
    return counted


def _frame(_name: str, value: object) -> Frame:
    return Frame.read(value)


def _settings(_name: str, value: object) -> Settings:
    return Settings.read(value)


def _items(name: str, value: object) -> tuple[BatchItem, ...]:
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise ProtocolError(f"{name} must be a list of at most {MAX_ITEMS} experiments")
    items = tuple(map(BatchItem.read, value))
    if len({item.id for item in items}) < len(items):
        raise ProtocolError(f"{name} must have ids of their own")
    return items


_FRAME_LIMITS = {
    "vector": (0, 2**64 - 1),
    "memory": (0, 2**64 - 1),
    "memory_bytes": (64, 2**26),
    "offset": (0, 63),
}
_SETTINGS_LIMITS: Mapping[str, tuple[float, float]] = {
    "tolerance": (0.0, 1e6),
    **dict.fromkeys(("min_passes", "max_passes"), (0, 1000)),
    "repetitions": (1, 10_000),
    "sample_us": (0.1, 1e6),
    "patience": (0.0, 1e6),
    "timeout": (0.001, 3600.0),
}
"""Beyond these, measuring would never end, or memory would not do."""
