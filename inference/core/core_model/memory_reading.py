"""What the measured loads and stores of a latency set say of a core's memory, as a core model has it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from inference.core.core_model.model import ForwardingCase, MemoryTimes, RenamingConditions, StoreCurve
from inference.core.latency import Forwarding
from inference.core.protocols import Json
from inference.isa.chains import (
    BEHIND_POP,
    BLOCKED,
    FORESEEN,
    HALVES_IN_TURN,
    LINES_IN_TURN,
    ONE_LINE,
    ONE_WORD,
    OTHER_PAGE,
    POP_AND_LOAD,
    POPS,
    PUSHES,
    THREE_AND_ONE,
    MemoryCondition,
)

_PLAIN = 64
"""Bits of the load that stands for those that were not measured."""
_PLAIN_CASE: ForwardingCase = (_PLAIN, _PLAIN, 0, False)
_OFF = 0.1
"""Cycles by which a reading may be too large."""
_SAME_BASE, _OTHER_BASE = "same base", "another base"
_BY_BASE = (_SAME_BASE, "base and displacement", "stack pointer")
"""Addresses by which cores know, or do not know, that a load reads what was stored."""
_VARIES = 2.0
"""Cycles by which forwarding may take longer as the load comes."""
_LONGER = 1.2
"""Times what an update takes that is not renamed, from which on something else than forwarding takes it."""


def memory_times(listed: Sequence[Json]) -> MemoryTimes:
    """What a loaded value takes after its store at a good moment.

    Else with as few instructions between as were measured: what limits a block waits for nothing else.
    """
    measured = [one for one in listed if one["cycles"] is not None]
    settled = [one for one in measured if not one.get("condition")]
    cases = sorted((one for one in settled if one["stored"]), key=lambda one: one.get("between", 0))
    forwarded = [one["cycles"] for one in cases if one["how"] == Forwarding.FORWARDED]
    quick = _quick_forwarding(cases)
    same: dict[ForwardingCase, float] = {}
    by: dict[str, float] = {}
    for one in cases:
        cycles = _at_a_good_moment(one, cases, quick)
        by.setdefault(one["address"], cycles)
        if one["address"] == _SAME_BASE:
            same.setdefault(_case(one), cycles)
    loads = [one["cycles"] for one in settled if _is_plain_load(one)]
    alone = {one["address"]: one["cycles"] for one in settled if not one.get("chained", True)}
    return MemoryTimes(
        same,
        usual=median(forwarded) if forwarded else MemoryTimes.usual,
        indexed=by.get("base and index", MemoryTimes.indexed),
        relative=by.get("instruction pointer", MemoryTimes.relative),
        load=min(loads, default=MemoryTimes.load),
        blocked=alone.get(BLOCKED),
        of_one_word=alone.get(ONE_WORD),
        to_one_line=alone.get(ONE_LINE),
        to_another_line=alone.get(LINES_IN_TURN),
        to_another_half=alone.get(HALVES_IN_TURN),
        three_and_one=alone.get(THREE_AND_ONE),
        foreseen=alone.get(FORESEEN),
        behind_pop=alone.get(BEHIND_POP),
        other_page=alone.get(OTHER_PAGE),
        pop=alone.get(POPS),
        push=alone.get(PUSHES),
        load_beside_pop=_beside(alone.get(POP_AND_LOAD), alone.get(POPS)),
        renaming=_conditions(measured, settled),
        stores=store_curves(measured),
    )


def _beside(both: float | None, pop: float | None) -> float:
    return 0.0 if both is None or pop is None else max(both - pop, 0.0)


def _conditions(measured: Sequence[Json], settled: Sequence[Json]) -> RenamingConditions | None:
    """When the core renames memory; None where it was not measured, and where it never does."""
    by: dict[str, list[Json]] = defaultdict(list)
    for one in sorted(measured, key=lambda row: row.get("number", 0)):
        by[one.get("condition", "")].append(one)
    rewritten = by[MemoryCondition.REWRITTEN]
    plain = [one for one in settled if _case(one) == _PLAIN_CASE]
    by_text = [one for one in plain if one["address"] == _SAME_BASE]
    learned = by[MemoryCondition.PAIRS_IN_LOOP], by[MemoryCondition.UPDATES_IN_LOOP]
    is_by_text = any(map(_is_renamed, by_text))
    if not rewritten or not (is_by_text or any(map(_is_renamed, [*learned[0], *learned[1]]))):
        return None
    others = by[MemoryCondition.OTHER_STORES]
    behind = [one["number"] for one in others if _is_renamed(one)]
    forwarded = _forwarded(rewritten, _late(learned[0]))
    updates = [one["cycles"] for one in _late(by[MemoryCondition.REWRITTEN_UPDATE])]
    if in_loops := _late(learned[1]):  # of some of which a core has learned a part
        updates.append(median(one["cycles"] for one in in_loops))
    update = min(updates, default=forwarded.get(_PLAIN_CASE))
    overtaken = min((one["cycles"] for one in by[MemoryCondition.OVERTAKEN]), default=None)
    renamed = {_case(one) for one in settled if one["address"] == _SAME_BASE and _is_renamed(one)}
    return RenamingConditions(
        by_text=is_by_text,
        rewritten=all(_is_renamed(one) for one in rewritten if _case(one) in renamed),
        other_base=any(_is_renamed(one) for one in plain if one["address"] == _OTHER_BASE),
        stores_between=max(behind, default=0) if others and others[-1]["number"] not in behind else None,
        forgotten_pairs=_forgotten(learned[0]),
        forgotten_updates=_forgotten(learned[1]),
        forwarded=forwarded,
        update=update,
        learned_update=min((one["cycles"] for one in learned[1] if _is_renamed(one)), default=None),
        overtaken=overtaken if update is not None and (overtaken or 0.0) > _LONGER * update else None,
    )


def _is_renamed(one: Json) -> bool:
    return bool(one["how"] == Forwarding.RENAMED)


def _forgotten(in_loops: Sequence[Json]) -> int | None:
    """From which number of loads on the core was found not to have learned them; see `RenamingConditions`."""
    learned = max((one["number"] for one in in_loops if _is_renamed(one)), default=0)
    if not learned:
        return 1
    return min((one["number"] for one in in_loops if one["number"] > learned), default=None)


def _late(rows: Sequence[Json]) -> list[Json]:
    return [one for one in rows if not _is_renamed(one)]


def _forwarded(rewritten: Sequence[Json], in_loops: Sequence[Json]) -> dict[ForwardingCase, float]:
    """What values take that are not renamed, each at a good moment.

    `in_loops`: pairs that the core had not learned. Of many moments the usual one may be better than those
    of chains: 6.7 cycles on a Zen 4, which takes 7.0 to 7.2 in chains.
    """
    late = _late(rewritten)
    quick = _quick_of([one for one in late if _is_forwarded(one)])
    if quick is not None and in_loops:
        quick = min(quick, median(one["cycles"] for one in in_loops))
    found: dict[ForwardingCase, float] = {}
    for one in sorted(late, key=lambda row: float(row["cycles"])):
        found.setdefault(_case(one), _unless_late(one, quick))
    return found


def store_curves(listed: Sequence[Json]) -> dict[int, StoreCurve]:
    """{bits: what stores take over lines in turn} of the measured loads and stores of a latency set."""
    points: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for one in listed:
        if one.get("condition") == MemoryCondition.LINES and one["cycles"] is not None:
            points[one["stored"]].append((one["number"], one["cycles"]))
    curves = {bits: tuple(sorted(found)) for bits, found in points.items()}
    return {bits: StoreCurve(curve) for bits, curve in sorted(curves.items()) if curve[0][0] == 1}


def _case(one: Json) -> ForwardingCase:
    return one["stored"], one["loaded"], one["offset"], one["register_class"] == "vector"


def _at_a_good_moment(one: Json, cases: Sequence[Json], quick: float | None) -> float:
    """What a stored value takes to its load at best: the same code takes more or less of it as it shifts.

    What a core renames, it does not always; from the store buffer a value comes when the load tries again.
    """
    if one["how"] == Forwarding.RENAMED:
        addresses = _BY_BASE if one["address"] in _BY_BASE else (one["address"],)
        alike = (other for other in cases if other["how"] == one["how"] and _case(other) == _case(one))
        return float(min(other["cycles"] for other in alike if other["address"] in addresses))
    return _unless_late(one, quick)


def _unless_late(one: Json, quick: float | None) -> float:
    if quick is not None and _is_forwarded(one) and one["cycles"] <= quick + _VARIES:
        return min(quick, float(one["cycles"]))
    return float(one["cycles"])


def _quick_forwarding(cases: Iterable[Json]) -> float | None:
    """What forwarding between general-purpose registers takes at a good moment: whole cycles, as the quickest
    quarter of the readings tells."""
    return _quick_of([one for one in cases if one["address"] == _SAME_BASE and _is_forwarded(one)])


def _quick_of(forwarded: Sequence[Json]) -> float | None:
    found = sorted(one["cycles"] for one in forwarded)
    return float(math.floor(found[len(found) // 4] + _OFF)) if found else None


def _is_forwarded(one: Json) -> bool:
    return bool(one["how"] == Forwarding.FORWARDED and one["register_class"] == "general")


def _is_plain_load(one: Json) -> bool:
    chained = one.get("chained", True)  # older sets have nothing else
    return chained and not one["stored"] and not one["at_most"] and one["loaded"] == _PLAIN
