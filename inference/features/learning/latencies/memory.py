"""What pages, API and shell read of a core's memory: when it renames, and what stores take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.model import MemoryTimes, RenamingConditions, StoreCurve
from inference.core.protocols import Json
from inference.formats.core_latencies_json import renaming_and_stores_json
from inference.isa.chains import MemoryCondition
from inference.models import LatencySet

_LINES = (MemoryCondition.LINES, MemoryCondition.LINES_TWICE)
_FLAT = 1.1
"""Times the cycles of stores over fewer lines, from which on a curve rises."""


def memory_answer(row: LatencySet) -> Json:
    """`renaming`, `other_page` and `stores` as core models have them, absent where they were not measured.

    `words` say all of it.
    """
    times = memory_times(row.memory)
    return {**renaming_and_stores_json(times), "words": memory_sentences(times)}


def memory_sentences(times: MemoryTimes) -> list[str]:
    renaming = [] if times.renaming is None else list(_renaming_sentences(times.renaming))
    if times.other_page is not None:
        served = "is served from the store buffer" if times.serves_other_pages else "waits for the cache"
        renaming.append(f"A load of what was stored, by another page of the same memory, {served}.")
    return [*renaming, *(_store_sentence(bits, curve) for bits, curve in times.stores.items())]


def _renaming_sentences(found: RenamingConditions) -> Iterator[str]:
    if found.by_text:
        base = "also where that was written in between" if found.rewritten else "unwritten in between"
        other = "; another register that leads there does as well" if found.other_base else ""
        yield f"A stored value is there at once by the same register, {base}{other}."
        if found.stores_between is not None:
            yield f"More than {found.stores_between} other stores in between end that."
    for loads, forgotten in (("loads", found.forgotten_pairs), ("updates", found.forgotten_updates)):
        if forgotten is None:
            yield f"In a loop, other {loads} of stored values are learned, as many as were measured."
        elif forgotten > 1:
            yield f"In a loop, fewer than {forgotten} other {loads} of stored values are learned as well."
    if plain := found.forwarded.get((64, 64, 0, False)):
        yield f"Else a stored value takes {plain:.1f} cycles to its load."
    if found.update is not None:
        yield f"An update of what was stored takes {found.update:.1f} cycles then."
    if found.overtaken is not None:
        yield f"Two registers that update one place in turn take {found.overtaken:.1f} cycles each time."


def _store_sentence(bits: int, curve: StoreCurve) -> str:
    text = f"A store of {bits} bits takes {curve.alone:.2f} cycles on one line"
    before = curve.alone
    for lines, cycles in curve.in_turn[1:]:
        if cycles > _FLAT * before:
            text += f", {cycles:.2f} over {lines} or more"
            before = cycles
    return f"{text}."


def store_lines(memory: Sequence[Json]) -> dict[str, list[tuple[float, float]]]:
    """{what is stored how: [(lines in turn, cycles per store)]} of the rows of a set."""
    curves: Mapping[str, list[tuple[float, float]]] = defaultdict(list)
    for one in memory:
        if one.get("condition") in _LINES and one["cycles"] is not None:
            twice = ", two to each line" if one["condition"] == MemoryCondition.LINES_TWICE else ""
            curves[f"{one['stored']} bits{twice}"].append((one["number"], one["cycles"]))
    return {name: sorted(points) for name, points in curves.items()}


def renaming_rows(memory: Sequence[Json]) -> list[Json]:
    """The chains that show when memory is renamed."""
    return [one for one in memory if one.get("condition") and one["condition"] not in _LINES]
