"""Validation of agents' messages: the program at the other end may be of any origin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inference.agent.protocol import PROTOCOL, Beat, Result, int_field
from inference.agent.reading import ProtocolError
from inference.core.errors import as_written
from inference.core.protocols import Json

MAX_FACTS_BYTES = 64 * 1024  # as JSON
TEXT_LIMIT = 500  # characters
INSTANCE_LIMIT = 40  # characters
VERSION_LIMIT = 40  # characters

_FACT_LIMIT = 1000  # characters of a text among the facts
_MAX_DEPTH = 3  # levels of objects and lists in facts
_MAX_ID = 2**63 - 1  # what a column of the database holds
_CHECK_NAME_LIMIT = 60  # characters
_MAX_PASSES = 10_000  # of one experiment that an agent can have needed
_MAX_CYCLES = 1e9  # that an agent can have measured: a third of a second
_EVENT_LIMIT = 60  # characters of the name of what is counted
_MAX_EVENTS = 1e9  # of one execution
_PLAUSIBLE = {"noise": (0.0, 100.0), "ghz": (0.01, 100.0), "rate": (0.001, 1e6)}
"""{number of a beat: (least, largest)}; others are dropped, since they would distort charts and estimates."""

_KINDS: dict[type, tuple[str, ...]] = {
    str: (
        *("host", "system", "machine", "kernel", "python", "cpu", "vendor", "microcode", "hypervisor"),
        *("governor", "siblings", "counters", "counters_note", "unfit"),
        *("core_type", "core_cpus", "isa", "emulated", "revision"),
    ),
    int: ("family", "model", "stepping", "cores", "core", "implementer", "part"),
    bool: (
        *("virtual", "turbo", "smt", "simulated", "executes"),
        *("blocks", "offsets", "wide_blocks", "x87_blocks", "clear_masks", "latency_bound", "leads_back"),
    ),
    dict: ("confinement", "other_cores"),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
"""{fact: expected type} of the facts that pages and runs read; see `inference.agent.facts`."""


@dataclass(frozen=True)
class Hello:
    """An agent's first message: its process, its computer, and the (batch, fence) that it is measuring.

    The agent's version is among the `facts`: another version may measure differently.
    """

    instance: str
    facts: Json
    holds: tuple[int, int] | None


class OtherProtocolError(ProtocolError):
    """The agent speaks another version of the protocol than this server."""


def read_hello(message: Mapping[str, Any]) -> Hello:
    """Read an agent's first message.

    Raises:
        OtherProtocolError: Another version of the protocol; checked before all fields.
        ProtocolError: A field is missing or wrong.
    """
    version = int_field(message, "protocol")
    if version != PROTOCOL:
        raise OtherProtocolError(f"this agent speaks protocol {version}, the server {PROTOCOL}")
    instance = message.get("instance")
    if not isinstance(instance, str) or clean_text(instance, INSTANCE_LIMIT) != instance or not instance:
        raise ProtocolError(f"instance must be text of 1 to {INSTANCE_LIMIT} characters")
    facts = clean_facts(message.get("facts")) | {"version": clean_text(message.get("version"), VERSION_LIMIT)}
    return Hello(instance, facts, _read_holds(message.get("holds")))


def read_number(message: Mapping[str, Any], name: str) -> int:
    """The number of a batch or lease in the field `name`, 0 to 2**63 - 1. Raises `ProtocolError`."""
    number = int_field(message, name)
    if not 0 <= number <= _MAX_ID:
        raise ProtocolError(f"{name} must be between 0 and {_MAX_ID}, not {number}")
    return number


def read_results(content: Json, payload: object) -> list[Json]:
    """Results of a batch, one per item, in the order of the items. Raises `ProtocolError`."""
    if not isinstance(payload, list):
        raise ProtocolError(f"results must be a list, not {as_written(payload)}")
    item_ids = [item["id"] for item in content["items"]]
    if len(payload) != len(item_ids):
        raise ProtocolError(f"{len(item_ids)} results are expected, one per experiment, not {len(payload)}")
    results = {result.id: result for result in map(_read_result, payload)}
    missing = [item for item in item_ids if item not in results]
    if missing:
        raise ProtocolError(f"there is no result for experiment {missing[0]!r:.80} of this batch")
    return [results[item].as_json() for item in item_ids]


def clean_text(text: object, limit: int = TEXT_LIMIT) -> str:
    """Printable text of at most `limit` characters that any database stores; "" if `text` is no string."""
    if not isinstance(text, str):
        return ""
    text = text[: 2 * limit].encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    return "".join(character if character.isprintable() else " " for character in text).strip()[:limit]


def clean_facts(payload: object) -> Json:
    """An agent's facts about its computer, as JSON data of at most `MAX_FACTS_BYTES`. Raises `ProtocolError`.

    A fact of an unexpected type is dropped.
    """
    if not isinstance(payload, Mapping):
        raise ProtocolError(f"facts must be an object, not {as_written(payload)}")
    cleaned = _clean(payload, _MAX_DEPTH)
    facts = {name: value for name, value in cleaned.items() if _has_expected_type(name, value)}
    size = len(json.dumps(facts))
    if size > MAX_FACTS_BYTES:
        raise ProtocolError(f"facts have at most {MAX_FACTS_BYTES} bytes, not {size}")
    return facts


def read_beat(message: Mapping[str, Any]) -> Beat:
    """A heartbeat without implausible numbers, which become None. Raises `ProtocolError`."""
    beat = Beat.read({name: value for name, value in message.items() if name != "type"})
    implausible: dict[str, Any] = {
        name: None
        for name, (minimum, maximum) in _PLAUSIBLE.items()
        if (value := getattr(beat, name)) is not None and not minimum <= value <= maximum
    }
    checks = {
        name: pair
        for raw_name, pair in beat.checks.items()
        if (name := clean_text(raw_name, _CHECK_NAME_LIMIT)) and all(_is_time(number) for number in pair)
    }
    return replace(beat, **implausible, checks=checks)


def _is_time(number: float | None) -> bool:
    return number is None or 0 < number <= _MAX_CYCLES


def _has_expected_type(name: str, value: object) -> bool:
    """Whether a fact has the type that its readers expect; null is allowed except for `flags`."""
    if name == "cpuid" and value is None:
        return True
    if name in {"flags", "cpuid"}:
        return isinstance(value, list) and all(isinstance(flag, str) for flag in value)
    if name == "load":
        return value is None or type(value) in {int, float}
    return value is None or name not in _KIND_OF or type(value) is _KIND_OF[name]


def _read_holds(payload: object) -> tuple[int, int] | None:
    if payload is None:
        return None
    if not isinstance(payload, list) or len(payload) != 2:
        raise ProtocolError(f"holds must be null or [batch, fence], not {as_written(payload)}")
    named = dict(zip(("batch", "fence"), payload, strict=True))
    return read_number(named, "batch"), read_number(named, "fence")


def _read_result(payload: object) -> Result:
    result = Result.read(payload)
    if not 0 <= result.passes <= _MAX_PASSES:
        raise ProtocolError(f"result {result.id:.80}: {result.passes} passes")
    for name, value in (("cycles", result.cycles), ("spread", result.spread)):
        if value is not None and not 0 <= value <= _MAX_CYCLES:
            raise ProtocolError(f"result {result.id:.80}: {name} {value!r}")
    counters = {
        cleaned: number
        for event, number in result.counters.items()
        if (cleaned := clean_text(event, _EVENT_LIMIT)) and number <= _MAX_EVENTS
    }
    return replace(result, note=clean_text(result.note), counters=counters)


def _clean(value: object, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value, _FACT_LIMIT)
    if isinstance(value, int | float):  # includes booleans
        return value if abs(value) <= _MAX_ID else None  # NaN fails the comparison, too
    if depth and isinstance(value, Mapping):
        return {clean_text(name, _FACT_LIMIT): _clean(entry, depth - 1) for name, entry in value.items()}
    if depth and isinstance(value, list):
        return [_clean(entry, depth - 1) for entry in value]
    return None
