"""A core model as a predictor of blocks: the largest of its bounds.

Its assumptions: all memory is in the first cache, accesses whose addresses may differ are apart, branches are
predicted, and a straight block is code that runs once, as the harness executes it, or in `mode=loop` copies
in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from inference.core.core_model import Assumptions, BoundKind, CoreModel, CorePrediction
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_choices, choice, setting
from inference.isa.blocks import Block, BlockError, block_of_bytes
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import LOOP, MODES, UNROLLED
from inference.predictors.protocol import Answer, Failure

KIND = "core-model"
_KINDS = tuple(kind.value for kind in BoundKind)


@dataclass(frozen=True)
class CoreModelSettings:
    """Which core model, its assumptions, and the bounds that are left out."""

    model: str = setting("", "name of a core model", None)
    registers: str = choice(
        "alike",
        ("alike", "apart"),
        "what they start with: alike, as machines start blocks, different bases lead to one place",
        None,
    )
    unknown: str = choice(
        "unsupported",
        ("unsupported", "nearest"),
        "instructions that the mapping does not describe: no answer, or that of the nearest scheme",
        None,
    )
    mode: str = choice(
        UNROLLED,
        MODES,
        "how blocks without a jump follow each other: as straight code, or as copies in a loop",
        None,
    )
    without: str = setting("", f"bounds to leave out, separated by +: {', '.join(_KINDS)}", None)

    def __post_init__(self) -> None:
        check_choices(self)
        for name in self.left_out:
            if name not in _KINDS:
                raise InvalidInputError(f"without: there is no bound {name!r}; there are {', '.join(_KINDS)}")

    @property
    def assumed(self) -> Assumptions:
        return Assumptions(
            tuple(map(BoundKind, self.left_out)),
            self.registers == "alike",
            self.unknown == "nearest",
            self.mode == LOOP,
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(filter(None, (name.strip() for name in self.without.split("+"))))


class ModelledBlocks:
    """A predictor over a core model, loaded with the first question.

    A block with an instruction that the mapping does not describe is unsupported, unless nearest schemes are
    used. `content` identifies everything that affects the model's answers.
    """

    def __init__(
        self,
        title: str,
        load: Callable[[], CoreModel],
        settings: CoreModelSettings,
        content: Json,
        isa: str = DEFAULT,
    ) -> None:
        self.isa = isa
        self._title = title
        self._load = load
        self._settings = settings
        self._content = content

    @property
    def name(self) -> str:
        """E.g. `core model lab · loop · nearest schemes · without ports`."""
        excluded_bounds = self._settings.left_out
        mode = " · loop" if self._settings.assumed.in_loop else ""
        nearest = " · nearest schemes" if self._settings.assumed.nearest else ""
        return f"core model {self._title}{mode}{nearest}" + (
            f" · without {', '.join(excluded_bounds)}" if excluded_bounds else ""
        )

    @property
    def identity(self) -> Json:
        settings: Json = {"registers": self._settings.registers, "without": list(self._settings.left_out)}
        if self._settings.assumed.nearest:
            settings["unknown"] = self._settings.unknown
        if self._settings.assumed.in_loop:
            settings["mode"] = self._settings.mode
        return {"kind": KIND, "content": self._content, **settings}

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        return [self._answer(code) for code in blocks]

    def explain(self, block: Block) -> CorePrediction:
        """All bounds of a block, and what the model lacks."""
        return self._explain_blocks.predict(block)

    def close(self) -> None: ...

    @cached_property
    def _explain_blocks(self) -> CoreModelBlocks:
        return CoreModelBlocks(self._load(), self._settings.assumed)

    def _answer(self, code: bytes) -> Answer:
        """The model's prediction, with the bound that decides as detail; a failure where it has none."""
        try:
            prediction = self.explain(block_of_bytes(code, self.isa))
        except BlockError as error:
            return Answer(failure=Failure.UNSUPPORTED, detail=error.message)
        if prediction.unknown:
            detail = f"the mapping does not describe {'; '.join(prediction.unknown)}"
            return Answer(failure=Failure.UNSUPPORTED, detail=detail[:300])
        if not prediction.cycles:
            return Answer(failure=Failure.NO_NUMBER, detail="nothing bounds this block")
        substitutions = "".join(f"; {substitution.text}" for substitution in prediction.substitutions)
        detail = f"bound by {prediction.bounds[0].kind}: {prediction.bounds[0].why}{substitutions}"
        return Answer(cycles=prediction.cycles, detail=detail[:300])
