"""Dependencies through memory: the question of Table 8.4 about any block, and what predictors make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.features.asking.predictors.query import row_for
from inference.features.asking.questions.query import PredictorAnswer, PredictorSaid, lines_of, names_in
from inference.isa.blocks import BlockName, intel_or_digits
from inference.models import Predictor, Run
from inference.predictors.llvm import mca
from inference.predictors.memory_variants import Memory, variants
from inference.predictors.protocol import PredictorError

ABOUT = "memory"
"""In what a run is about: the machine code, in hexadecimal digits, of the block that was varied."""

MAY_ALIAS = "-noalias=false"
"""llvm-mca's switch for: any two accesses to memory may be to the same place."""


def memory_question(predictors: Sequence[Predictor], name: BlockName, **about: int) -> Json:
    """The description of a run of kind `ask` about the block's variants, in the order of `Memory`.

    `about`: where it is asked from, `asked` a run of this kind and `block` the number of the block there.

    Raises `InvalidInputError` for a block whose addresses cannot be varied.
    """
    found = variants(name.code, name.isa)
    return {
        "predictors": [row.pk for row in with_switch(predictors)],
        "isa": name.isa,
        "blocks": [one.hex() for one in found.code.values()],
        "about": {ABOUT: name.hex, **about},
    }


def with_switch(predictors: Sequence[Predictor]) -> list[Predictor]:
    """These, and behind each llvm-mca the same that assumes accesses to memory to alias."""
    found: list[Predictor] = []
    for row in predictors:
        found.append(row)
        flags = str(row.options.get("flags") or "")
        if row.askable and row.kind == mca.KIND and "noalias" not in flags:
            try:
                options = {**row.options, "flags": f"{flags} {MAY_ALIAS}".strip()}
                found.append(row_for(row.kind, options, may_choose=True))  # the rest is as it was stored
            except PredictorError:
                continue  # it is not here any more, which it will say itself when it is asked
    return list(dict.fromkeys(found))


ALIKE = 0.1
"""Numbers within this relative distance are called the same in words."""


@dataclass(frozen=True)
class MemoryRow:
    """A predictor with what it says of each variant, and what that means."""

    line: PredictorAnswer
    cells: list[tuple[Memory, PredictorAnswer]]
    reading: str


@dataclass(frozen=True)
class MemoryTable:
    """The answers to a question about variants; `variants`: of each, how it differs and its instructions."""

    run: Run
    variants: list[tuple[Memory, tuple[str, ...]]]
    rows: list[MemoryRow]
    ended: bool


def memory_table(
    run: Run, predictors: Mapping[int, Predictor | None], said: Mapping[int, PredictorSaid]
) -> MemoryTable:
    """The table of a run that `memory_question` describes: its blocks are in the order of `Memory`."""
    names = names_in(run)
    columns = [lines_of(predictors, said, name) for name in names]
    rows = [
        MemoryRow(cells[0], list(zip(Memory, cells, strict=True)), reading(cells))
        for cells in zip(*columns, strict=True)
    ]
    variants = [
        (kind, intel_or_digits(name.code, name.isa)) for kind, name in zip(Memory, names, strict=True)
    ]
    return MemoryTable(run, variants, rows, run.state in Run.FINAL)


def reading(cells: tuple[PredictorAnswer, ...]) -> str:
    """What a predictor's numbers for same address, other offset and other base say in words."""
    cycles = [cell.cycles for cell in cells]
    if any(one is None for one in cycles):
        return ""
    same, offset, base = (one or 0.0 for one in cycles)
    if _alike(same, offset) and _alike(same, base):
        return "makes no difference between them"
    if _alike(offset, base) and same > base:
        return "waits where the address is the same"
    if _alike(same, offset) and same > base:
        return "waits unless the base is another"
    if _alike(same, base) and same > offset:
        return "waits unless the offset tells that it is another place"
    return "each is another case"


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * max(one, other)
