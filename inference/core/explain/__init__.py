"""Explainable inference: port mappings in which every µop has its witnesses (thesis ch. 6, ASPLOS 2024).

`infer` runs it. Schemes of one µop are found, then which of them use the same ports; one for each port set
becomes its *blocking instruction*. Another algorithm, passed in, says which ports these are. Then every
scheme runs beside floods of each of them: whatever is delayed cannot evade those ports.

- `alone`: stages 1 and 2; `counting`: numbers of µops; `classes`, `composite`: stage 3
- `units`, `soundness`, `ports`: stages 4 and 5; `blockers`: what these find; `improper`: µops that no scheme
  has alone
- `flooding`: blocking experiments; `surplus`: the formulas behind them; `judging`, `wasting`: what they prove
- `known`, `remaining`, `concluding`: stage 6, its runs and majorities, the result; `problem`: all values
- `regularity`: patterns of §6.3.5 in a result
- `context`, `sampling`: samples and what is known; `telling`, `events`: the story, told once
"""

from inference.core.explain.algorithm import infer
from inference.core.explain.blocking_question import BlockingAnswer, BlockingQuestion, BlockingSolver
from inference.core.explain.problem import (
    REASONS,
    STAGES,
    BlockingClass,
    Characterisation,
    ExplainProblem,
    ExplainResult,
    NotCharacterised,
    SchemeFate,
    Seen,
    VerdictFact,
    Witness,
)
from inference.core.explain.settings import ExplainSettings

__all__ = [
    "REASONS",
    "STAGES",
    "BlockingAnswer",
    "BlockingClass",
    "BlockingQuestion",
    "BlockingSolver",
    "Characterisation",
    "ExplainProblem",
    "ExplainResult",
    "ExplainSettings",
    "NotCharacterised",
    "SchemeFate",
    "Seen",
    "VerdictFact",
    "Witness",
    "infer",
]
