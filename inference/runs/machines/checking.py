"""What agents say, made safe or refused: nobody knows who wrote the program at the other end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inference.agent.protocol import PROTOCOL, Beat, Result, whole
from inference.agent.reading import ProtocolError
from inference.core.errors import as_written
from inference.core.protocols import Json

MAX_FACTS_BYTES = 64 * 1024
TEXT_LIMIT = 500
INSTANCE_LIMIT = 40
VERSION_LIMIT = 40

_FACT_LIMIT = 1000  # characters of a text among the facts
_DEPTH = 3
_LARGEST_ID = 2**63 - 1
_CHECK_NAME = 60
_MOST_PASSES = 10_000
_MOST_CYCLES = 1e9
_EVENT_LIMIT = 60  # characters of the name of what is counted
_MOST_EVENTS = 1e9  # of one execution
_PLAUSIBLE = {"noise": (0.0, 100.0), "ghz": (0.01, 100.0), "rate": (0.001, 1e6)}
"""Numbers of a beat outside of these mean nothing, and would spoil pictures and estimates."""

_KINDS: dict[type, tuple[str, ...]] = {
    str: (
        *("host", "system", "machine", "kernel", "python", "cpu", "vendor", "microcode", "hypervisor"),
        *("governor", "siblings", "counters", "counters_note", "unfit"),
        *("core_type", "core_cpus", "isa", "emulated", "revision"),
    ),
    int: ("family", "model", "stepping", "cores", "core", "implementer", "part"),
    bool: (
        *("virtual", "turbo", "smt", "simulated"),
        *("blocks", "offsets", "wide_blocks", "x87_blocks", "clear_masks", "latency_bound"),
    ),
    dict: ("confinement", "other_cores"),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
"""Facts that pages and runs rely on; see `inference.agent.facts`."""


@dataclass(frozen=True)
class Hello:
    """The greeting of an agent: its process, its computer, and the (batch, fence) that it holds.

    The agent's own version is among the `facts`: another one may measure differently.
    """

    instance: str
    facts: Json
    holds: tuple[int, int] | None


class OtherProtocolError(ProtocolError):
    """The agent is older or newer than this server."""


def read_hello(message: Mapping[str, Any]) -> Hello:
    """A greeting. Raises `OtherProtocolError` first of all, then `ProtocolError`."""
    spoken = whole(message, "protocol")
    if spoken != PROTOCOL:
        raise OtherProtocolError(f"this agent speaks protocol {spoken}, the server {PROTOCOL}")
    instance = message.get("instance")
    if not isinstance(instance, str) or clean_text(instance, INSTANCE_LIMIT) != instance or not instance:
        raise ProtocolError(f"instance must be text of 1 to {INSTANCE_LIMIT} characters")
    facts = clean_facts(message.get("facts")) | {"version": clean_text(message.get("version"), VERSION_LIMIT)}
    return Hello(instance, facts, _read_holds(message.get("holds")))


def read_number(message: Mapping[str, Any], name: str) -> int:
    """The number of a batch or of a lease. Raises `ProtocolError`."""
    number = whole(message, name)
    if not 0 <= number <= _LARGEST_ID:
        raise ProtocolError(f"{name} must be between 0 and {_LARGEST_ID}, not {number}")
    return number


def read_results(content: Json, given: object) -> list[Json]:
    """Results of a batch, one per item and in the order of the items. Raises `ProtocolError`."""
    if not isinstance(given, list):
        raise ProtocolError(f"results must be a list, not {as_written(given)}")
    wanted = [item["id"] for item in content["items"]]
    if len(given) != len(wanted):
        raise ProtocolError(f"{len(wanted)} results are expected, one per experiment, not {len(given)}")
    results = {result.id: result for result in map(_read_result, given)}
    missing = [item for item in wanted if item not in results]
    if missing:
        raise ProtocolError(f"there is no result for experiment {missing[0]!r:.80} of this batch")
    return [results[item].as_json() for item in wanted]


def clean_text(text: object, limit: int = TEXT_LIMIT) -> str:
    """Printable text that any database takes, of at most `limit` characters; "" where it is no text."""
    if not isinstance(text, str):
        return ""
    text = text[: 2 * limit].encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    return "".join(sign if sign.isprintable() else " " for sign in text).strip()[:limit]


def clean_facts(given: object) -> Json:
    """What an agent says of its computer, as JSON data of bounded size. Raises `ProtocolError`.

    A fact of another kind than it should be is left out, as one that is not known.
    """
    if not isinstance(given, Mapping):
        raise ProtocolError(f"facts must be an object, not {as_written(given)}")
    cleaned = _clean(given, _DEPTH)
    facts = {name: value for name, value in cleaned.items() if _is_sound(name, value)}
    size = len(json.dumps(facts))
    if size > MAX_FACTS_BYTES:
        raise ProtocolError(f"facts have at most {MAX_FACTS_BYTES} bytes, not {size}")
    return facts


def read_beat(message: Mapping[str, Any]) -> Beat:
    """A sign of life, without numbers that cannot be. Raises `ProtocolError`."""
    beat = Beat.read({name: value for name, value in message.items() if name != "type"})
    odd: dict[str, Any] = {
        name: None
        for name, (least, most) in _PLAUSIBLE.items()
        if (value := getattr(beat, name)) is not None and not least <= value <= most
    }
    checks = {
        name: pair
        for given, pair in beat.checks.items()
        if (name := clean_text(given, _CHECK_NAME)) and all(_is_time(number) for number in pair)
    }
    return replace(beat, **odd, checks=checks)


def _is_time(number: float | None) -> bool:
    return number is None or 0 < number <= _MOST_CYCLES


def _is_sound(name: str, value: object) -> bool:
    """Whether a fact is of the kind that its readers expect; null is, where it is of a single value."""
    if name == "cpuid" and value is None:
        return True
    if name in {"flags", "cpuid"}:
        return isinstance(value, list) and all(isinstance(flag, str) for flag in value)
    if name == "load":
        return value is None or type(value) in {int, float}
    return value is None or name not in _KIND_OF or type(value) is _KIND_OF[name]


def _read_holds(given: object) -> tuple[int, int] | None:
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 2:
        raise ProtocolError(f"holds must be null or [batch, fence], not {as_written(given)}")
    named = dict(zip(("batch", "fence"), given, strict=True))
    return read_number(named, "batch"), read_number(named, "fence")


def _read_result(given: object) -> Result:
    result = Result.read(given)
    if not 0 <= result.passes <= _MOST_PASSES:
        raise ProtocolError(f"result {result.id:.80}: {result.passes} passes")
    for name, value in (("cycles", result.cycles), ("spread", result.spread)):
        if value is not None and not 0 <= value <= _MOST_CYCLES:
            raise ProtocolError(f"result {result.id:.80}: {name} {value!r}")
    counters = {
        cleaned: number
        for event, number in result.counters.items()
        if (cleaned := clean_text(event, _EVENT_LIMIT)) and number <= _MOST_EVENTS
    }
    return replace(result, note=clean_text(result.note), counters=counters)


def _clean(value: object, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value, _FACT_LIMIT)
    if isinstance(value, int | float):  # truth values are whole numbers too
        return value if abs(value) <= _LARGEST_ID else None  # not for "not a number" either
    if depth and isinstance(value, Mapping):
        return {clean_text(name, _FACT_LIMIT): _clean(entry, depth - 1) for name, entry in value.items()}
    if depth and isinstance(value, list):
        return [_clean(entry, depth - 1) for entry in value]
    return None
