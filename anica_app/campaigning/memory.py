"""What predictors make of dependencies through memory: the question of Table 8.4 about any block."""

from __future__ import annotations

from collections.abc import Sequence

from anica_app.campaigning.predictors import row_for
from anica_app.core.errors import PredictorError
from anica_app.core.memory_variants import variants
from anica_app.models import Predictor
from anica_app.predictors.llvm import mca
from inference.core.protocols import Json

ABOUT = "memory"
"""In what a run is about: the machine code, in hexadecimal digits, of the block that was varied."""

MAY_ALIAS = "-noalias=false"
"""llvm-mca's switch for: any two accesses to memory may be to the same place."""


def memory_question(predictors: Sequence[Predictor], code: bytes, **about: int) -> Json:
    """The description of a run of kind `ask` about the block's variants, in the order of `Memory`.

    `about`: where it is asked from, `asked` a run of this kind and `block` the number of the block there.

    Raises `AnicaError` for a block whose addresses cannot be varied.
    """
    found = variants(code)
    return {
        "predictors": [row.pk for row in with_switch(predictors)],
        "blocks": [one.hex() for one in found.code.values()],
        "about": {ABOUT: code.hex(), **about},
    }


def with_switch(predictors: Sequence[Predictor]) -> list[Predictor]:
    """These, and behind each llvm-mca the same that assumes accesses to memory to alias."""
    found: list[Predictor] = []
    for row in predictors:
        found.append(row)
        flags = str(row.options.get("flags") or "")
        if row.askable and row.kind == mca.KIND and "noalias" not in flags:
            try:
                found.append(row_for(row.kind, {**row.options, "flags": f"{flags} {MAY_ALIAS}".strip()}))
            except PredictorError:
                continue  # it is not here any more, which it will say itself when it is asked
    return list(dict.fromkeys(found))
