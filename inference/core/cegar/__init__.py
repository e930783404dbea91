"""Counter-example-guided inference of port mappings, CEGAR (thesis ch. 4).

`infer` runs the search; `contradictions` is a quick check beforehand. z3 is loaded when a search starts.

The search looks for two mappings that explain all measurements, and for an experiment for which they predict
different times. Measuring it excludes at least one of them. The search ends when no admissible experiment
distinguishes a second mapping from the first. The first is then unique up to a renaming of ports; mappings
that no admissible experiment can distinguish from it are listed as alternatives.

- `shape`: the Boolean matrix that is searched for, and the constraint that a measurement puts on it
- `z3_solver`, `formula`: z3, interruptible and repeatable, and constraints on the matrix
- `closed_form`: measurements as Boolean constraints; `fact_table`: the same with all port sets listed, for
  few ports; `linear_program`: as in the thesis
- `union_question` for schemes with one µop; for several, `fact_question` or, with few ports,
  `table_question` (and `faster_question`, `profiles`): is there a second mapping that can be distinguished?
- `experiment_choice`: the experiment that distinguishes two mappings; `alternatives`: mappings without one
- `clashes`: minimal sets of measurements that no mapping explains; `waivers`: which of them to leave
  unexplained, after `readings` has measured them again
- `algorithm`: the search over numbers of ports; `decision_loop`: the loop for one of them;
  `port_choice`: how many ports, which domains share none, which measurements stay unexplained
- `search`, `readings`, `events`: the state of a search and what it reports
- `strategy`: mappings that a fixed set of experiments cannot distinguish
"""

from inference.core.cegar.algorithm import contradictions, infer
from inference.core.cegar.problem import (
    PHASES,
    REASONS,
    Alternative,
    AmbiguityReason,
    CegarProblem,
    CegarResult,
    Clash,
    ClashError,
    Determinacy,
    Unexplained,
)
from inference.core.cegar.settings import CegarSettings
from inference.core.cegar.z3_solver import SolverLimitError

__all__ = [
    "PHASES",
    "REASONS",
    "Alternative",
    "AmbiguityReason",
    "CegarProblem",
    "CegarResult",
    "CegarSettings",
    "Clash",
    "ClashError",
    "Determinacy",
    "SolverLimitError",
    "Unexplained",
    "contradictions",
    "infer",
]
