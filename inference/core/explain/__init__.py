"""Explainable inference: port mappings in which every µop has its witnesses (thesis ch. 6, ASPLOS 2024).

`infer` runs it. It finds the schemes of one µop, and which of them use the same ports; one scheme of each
port set becomes its *blocking instruction*. Another algorithm, passed in, finds their ports. Then every
scheme is measured beside floods of each blocking instruction: a µop that delays a flood cannot evade its
ports.

- `alone`: stages 1 and 2; `uop_counts`: numbers of µops; `classes`, `composite`: stage 3
- `units`, `soundness`, `ports`: stages 4 and 5; `blockers`: their results; `improper`: µops that
  no scheme has alone
- `flooding`: blocking experiments; `surplus`: formulas; `run_verdict`, `waste_judge`: verdicts from them
- `blocking_instructions`, `remaining`, `characterising`: stage 6, its runs and majorities, the result
- `problem`: all values
- `regularity`: patterns of §6.3.5 in a result
- `context`, `sampling`: the state of a search and its samples; `reporting`, `events`: what it reports
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
    VerdictFact,
    Witness,
    WitnessOutcome,
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
    "VerdictFact",
    "Witness",
    "WitnessOutcome",
    "infer",
]
