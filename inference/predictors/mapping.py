"""A port mapping, or a resource mapping, as a predictor of blocks.

Its assumptions: dependencies are ignored, all memory is in the first cache, the block runs in a steady state,
and the front end has the limits of the mapping, or those that the user sets. A loop has its branch in
addition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from inference.core.core_model.prediction import SLOT, LoopBranch, loop_branch
from inference.core.evaluator import PortMappingModel, ThroughputModel
from inference.core.experiment import Experiment
from inference.core.mapping import R_MAX_RANGE, PortMapping, with_sums
from inference.core.protocols import Json
from inference.core.tables import ExperimentTable
from inference.core.tunables import check_number, setting
from inference.isa.blocks import Block, BlockError, block_of_bytes, body_of, schemes_of_bytes
from inference.isa.targets import DEFAULT
from inference.predictors.protocol import Answer, Failure

KIND = "mapping"
NO_LIMIT = 0.0  # the value of R_max by which a request asks for none


@dataclass(frozen=True)
class MappingSettings:
    """Which mapping answers, under which assumption about the front end."""

    mapping: str = setting("", "name of a port mapping or a resource mapping", None)
    r_max: float | None = setting(
        None,
        "instructions per cycle that the front end lets through; empty: as the mapping says; 0: any",
        None,
    )

    def __post_init__(self) -> None:
        if self.r_max is not None and self.r_max != NO_LIMIT:
            check_number("r_max", self.r_max, *R_MAX_RANGE)


class MappedBlocks:
    """A predictor over a model of experiments: a block is the multiset of its schemes.

    A block with an instruction that the mapping does not describe is unsupported. `content` identifies
    everything that affects the answers; `fused`: see `loop_branch`.
    """

    def __init__(
        self,
        title: str,
        mapping: ThroughputModel,
        settings: MappingSettings,
        content: str,
        fused: Callable[[], Collection[str] | None] = lambda: None,
        isa: str = DEFAULT,
    ) -> None:
        self._isa = isa
        self._settings = settings
        self._title = title
        self._mapping = _assuming_model(mapping, settings.r_max)
        self._content = content
        self._load_fused = fused

    @property
    def name(self) -> str:
        """E.g. `mapping Zen+ · R_max 5`."""
        limit = self._settings.r_max
        words = "" if limit is None else " · no R_max" if limit == NO_LIMIT else f" · R_max {limit:g}"
        return f"mapping {self._title}{words}"

    @property
    def identity(self) -> Json:
        """What changes its answers: the content of the mapping, not its name."""
        return {"kind": KIND, "content": self._content, "r_max": self._settings.r_max}

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        answers: list[Answer | None] = []
        experiments: list[Experiment] = []
        for block in blocks:
            terms = self._terms(block)
            answers.append(terms if isinstance(terms, Answer) else None)
            if not isinstance(terms, Answer):
                experiments.append(Experiment.of(terms))
        cycles = iter(self._cycles(experiments))
        return [answer or Answer(cycles=next(cycles)) for answer in answers]

    def close(self) -> None: ...

    @cached_property
    def _fused_pairs(self) -> Collection[str] | None:
        return self._load_fused()

    @cached_property
    def _described_schemes(self) -> frozenset[str]:
        return frozenset(self._mapping.described)

    def _cycles(self, experiments: Sequence[Experiment]) -> list[float]:
        if not experiments:
            return []
        cycles: list[float] = self._mapping.cycles(ExperimentTable.from_experiments(experiments)).tolist()
        return cycles

    def _terms(self, code: bytes) -> dict[str, int] | Answer:
        """{scheme: instances per iteration} of a block, or why the mapping cannot predict it."""
        try:
            schemes = schemes_of_bytes(code, self._isa)
        except BlockError as error:
            return Answer(failure=Failure.UNSUPPORTED, detail=error.message)
        lacking = [
            scheme or "an instruction of no scheme"
            for scheme in schemes
            if scheme not in self._described_schemes
        ]
        if lacking:
            detail = f"the mapping does not describe {'; '.join(dict.fromkeys(lacking))}"
            return Answer(failure=Failure.UNSUPPORTED, detail=detail[:300])
        if body_of(code, self._isa) == code:
            return dict(Counter(filter(None, schemes)))
        block = block_of_bytes(code, self._isa)
        terms = iteration_terms(block, loop_branch(block, self._described_schemes, self._fused_pairs))
        return {scheme: count for scheme, count in terms.items() if scheme in self._described_schemes}


def with_loops(model: ThroughputModel) -> ThroughputModel:
    """The model, with the slot of a loop's branch where it models slots."""
    return PortMappingModel(with_branch_slot(model.mapping)) if isinstance(model, PortMappingModel) else model


def _assuming_model(model: ThroughputModel, r_max: float | None) -> ThroughputModel:
    if r_max is None or not isinstance(model, PortMappingModel):
        return with_loops(model)
    if r_max == NO_LIMIT:
        return with_loops(PortMappingModel(replace(model.mapping, r_max=None, issue_width=None)))
    return with_loops(PortMappingModel(replace(model.mapping, r_max=r_max)))


def iteration_terms(block: Block, branch: LoopBranch | None) -> dict[str, int]:
    """The schemes of one iteration with their multiplicities, the branch of a loop included."""
    terms = Counter(dict(block.terms))
    if branch is not None:
        terms.update(filter(None, [branch.scheme]))
        terms.subtract(filter(None, [branch.replaced]))
    return dict(+terms)


def with_branch_slot(mapping: PortMapping) -> PortMapping:
    """The mapping with the scheme `SLOT`."""
    return with_sums(mapping, {SLOT: ()})
