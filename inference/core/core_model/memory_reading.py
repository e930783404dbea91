"""The memory of a core as a core model has it, from the measured loads and stores of a latency set."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from inference.core.core_model.model import ForwardingCase, MemoryTimes, RenamingConditions, StoreCurve
from inference.core.latency import Forwarding
from inference.core.protocols import Json
from inference.isa.chains import (
    AFTER_POP,
    HALVES_IN_TURN,
    LINES_IN_TURN,
    OTHER_PAGE,
    PARTIAL_STORE,
    POP_AND_LOAD,
    POPS,
    PREDICTED_ADDRESS,
    PUSHES,
    SAME_LINE,
    SAME_WORD,
    THREE_THEN_OTHER,
    MemoryCondition,
)

_PLAIN_BITS = 64
"""Width of the load that represents widths that were not measured."""
_PLAIN_CASE: ForwardingCase = (_PLAIN_BITS, _PLAIN_BITS, 0, False)
_READING_ERROR = 0.1
"""Cycles by which a reading may be too large."""
_SAME_BASE, _OTHER_BASE = "same base", "another base"
_BY_BASE = (_SAME_BASE, "base and displacement", "stack pointer")
"""Addresses by which cores recognise, or do not, that a load reads a stored value."""
_MAX_VARIATION = 2.0
"""Cycles by which forwarding may take longer depending on when the load executes."""
_OVERTAKEN = 1.2
"""Multiple of the time of an update that is not renamed, from which on something other than forwarding
takes it.
"""


def memory_times(rows: Sequence[Json]) -> MemoryTimes:
    """The times of a core's memory; of a loaded value after its store, those of the best case.

    Otherwise with as few instructions between as were measured: a block's bound assumes that nothing else
    waits.
    """
    measured = [row for row in rows if row["cycles"] is not None]
    settled = [row for row in measured if not row.get("condition")]
    cases = sorted((row for row in settled if row["stored"]), key=lambda row: row.get("between", 0))
    forwarded = [row["cycles"] for row in cases if row["how"] == Forwarding.FORWARDED]
    quick = _quick_forwarding(cases)
    same_line: dict[ForwardingCase, float] = {}
    by: dict[str, float] = {}
    for row in cases:
        cycles = _best_case_cycles(row, cases, quick)
        by.setdefault(row["address"], cycles)
        if row["address"] == _SAME_BASE:
            same_line.setdefault(_case(row), cycles)
    loads = [row["cycles"] for row in settled if _is_plain_load(row)]
    alone = {row["address"]: row["cycles"] for row in settled if not row.get("chained", True)}
    return MemoryTimes(
        same_line,
        usual=median(forwarded) if forwarded else MemoryTimes.usual,
        indexed=by.get("base and index", MemoryTimes.indexed),
        relative=by.get("instruction pointer", MemoryTimes.relative),
        load=min(loads, default=MemoryTimes.load),
        blocked=alone.get(PARTIAL_STORE),
        of_one_word=alone.get(SAME_WORD),
        to_one_line=alone.get(SAME_LINE),
        to_another_line=alone.get(LINES_IN_TURN),
        to_another_half=alone.get(HALVES_IN_TURN),
        three_and_one=alone.get(THREE_THEN_OTHER),
        foreseen=alone.get(PREDICTED_ADDRESS),
        behind_pop=alone.get(AFTER_POP),
        other_page=alone.get(OTHER_PAGE),
        pop=alone.get(POPS),
        push=alone.get(PUSHES),
        load_beside_pop=_added_by_load(alone.get(POP_AND_LOAD), alone.get(POPS)),
        renaming=_conditions(measured, settled),
        stores=store_curves(measured),
    )


def _added_by_load(both: float | None, pop: float | None) -> float:
    return 0.0 if both is None or pop is None else max(both - pop, 0.0)


def _conditions(measured: Sequence[Json], settled: Sequence[Json]) -> RenamingConditions | None:
    """When the core renames memory; None where that was not measured, and where it never does."""
    by_condition: dict[str, list[Json]] = defaultdict(list)
    for row in sorted(measured, key=lambda row: row.get("number", 0)):
        by_condition[row.get("condition", "")].append(row)
    rewritten = by_condition[MemoryCondition.REWRITTEN]
    plain = [row for row in settled if _case(row) == _PLAIN_CASE]
    by_text = [row for row in plain if row["address"] == _SAME_BASE]
    learned = by_condition[MemoryCondition.PAIRS_IN_LOOP], by_condition[MemoryCondition.UPDATES_IN_LOOP]
    is_by_text = any(map(_is_renamed, by_text))
    if not rewritten or not (is_by_text or any(map(_is_renamed, [*learned[0], *learned[1]]))):
        return None
    stores = by_condition[MemoryCondition.OTHER_STORES]
    behind = [row["number"] for row in stores if _is_renamed(row)]
    forwarded = _forwarding_times(rewritten, _not_renamed(learned[0]))
    updates = [row["cycles"] for row in _not_renamed(by_condition[MemoryCondition.REWRITTEN_UPDATE])]
    if in_loops := _not_renamed(learned[1]):  # of some of which a core has learned a part
        updates.append(median(row["cycles"] for row in in_loops))
    update = min(updates, default=forwarded.get(_PLAIN_CASE))
    overtaken = min((row["cycles"] for row in by_condition[MemoryCondition.OVERTAKEN]), default=None)
    renamed = {_case(row) for row in settled if row["address"] == _SAME_BASE and _is_renamed(row)}
    return RenamingConditions(
        by_text=is_by_text,
        rewritten=all(_is_renamed(row) for row in rewritten if _case(row) in renamed),
        other_base=any(_is_renamed(row) for row in plain if row["address"] == _OTHER_BASE),
        computing=all(map(_is_renamed, by_condition[MemoryCondition.COMPUTING])),
        stores_between=max(behind, default=0) if stores and stores[-1]["number"] not in behind else None,
        forgotten_pairs=_unlearned_count(learned[0]),
        forgotten_updates=_unlearned_count(learned[1]),
        forwarded=forwarded,
        update=update,
        learned_update=min((row["cycles"] for row in learned[1] if _is_renamed(row)), default=None),
        overtaken=overtaken if update is not None and (overtaken or 0.0) > _OVERTAKEN * update else None,
    )


def _is_renamed(row: Json) -> bool:
    return bool(row["how"] == Forwarding.RENAMED)


def _unlearned_count(in_loops: Sequence[Json]) -> int | None:
    """The smallest number of loads that the core was found not to have learned; see `RenamingConditions`."""
    learned = max((row["number"] for row in in_loops if _is_renamed(row)), default=0)
    if not learned:
        return 1
    return min((row["number"] for row in in_loops if row["number"] > learned), default=None)


def _not_renamed(rows: Sequence[Json]) -> list[Json]:
    return [row for row in rows if not _is_renamed(row)]


def _forwarding_times(rewritten: Sequence[Json], in_loops: Sequence[Json]) -> dict[ForwardingCase, float]:
    """Cycles of values that are not renamed, each in the best case.

    `in_loops`: pairs that the core had not learned. Their usual case may be better than those of chains: 6.7
    cycles on a Zen 4, which takes 7.0 to 7.2 in chains.
    """
    late = _not_renamed(rewritten)
    quick = _quick_of([row for row in late if _is_forwarded(row)])
    if quick is not None and in_loops:
        quick = min(quick, median(row["cycles"] for row in in_loops))
    cycles_of: dict[ForwardingCase, float] = {}
    for row in sorted(late, key=lambda row: float(row["cycles"])):
        cycles_of.setdefault(_case(row), _without_delay(row, quick))
    return cycles_of


def store_curves(rows: Sequence[Json]) -> dict[int, StoreCurve]:
    """{bits: cycles of stores over alternating lines} of the measured loads and stores of a latency set."""
    points: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if row.get("condition") == MemoryCondition.LINES and row["cycles"] is not None:
            points[row["stored"]].append((row["number"], row["cycles"]))
    curves = {bits: tuple(sorted(values)) for bits, values in points.items()}
    return {bits: StoreCurve(curve) for bits, curve in sorted(curves.items()) if curve[0][0] == 1}


def _case(row: Json) -> ForwardingCase:
    return row["stored"], row["loaded"], row["offset"], row["register_class"] == "vector"


def _best_case_cycles(row: Json, cases: Sequence[Json], quick: float | None) -> float:
    """Cycles of a stored value to its load in the best case: the same code takes more or less as its position
    shifts.

    Renaming does not always happen; a value from the store buffer comes when the load retries.
    """
    if row["how"] == Forwarding.RENAMED:
        addresses = _BY_BASE if row["address"] in _BY_BASE else (row["address"],)
        similar = (other for other in cases if other["how"] == row["how"] and _case(other) == _case(row))
        return float(min(other["cycles"] for other in similar if other["address"] in addresses))
    return _without_delay(row, quick)


def _without_delay(row: Json, quick: float | None) -> float:
    if quick is not None and _is_forwarded(row) and row["cycles"] <= quick + _MAX_VARIATION:
        return min(quick, float(row["cycles"]))
    return float(row["cycles"])


def _quick_forwarding(cases: Iterable[Json]) -> float | None:
    """Cycles of forwarding between general-purpose registers in the best case: whole cycles, from the
    quickest quarter of the readings.
    """
    return _quick_of([row for row in cases if row["address"] == _SAME_BASE and _is_forwarded(row)])


def _quick_of(forwarded: Sequence[Json]) -> float | None:
    cycles = sorted(row["cycles"] for row in forwarded)
    return float(math.floor(cycles[len(cycles) // 4] + _READING_ERROR)) if cycles else None


def _is_forwarded(row: Json) -> bool:
    return bool(row["how"] == Forwarding.FORWARDED and row["register_class"] == "general")


def _is_plain_load(row: Json) -> bool:
    chained = row.get("chained", True)  # older sets have nothing else
    return chained and not row["stored"] and not row["at_most"] and row["loaded"] == _PLAIN_BITS
