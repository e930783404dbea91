"""Counter-example-guided inference: port mappings by asking what would tell two of them apart (thesis ch. 4).

`infer` runs it; `contradictions` has a quick look before. z3 is loaded when a search starts.

Two mappings that explain all measurements are sought, then an experiment for which they predict different
times; measuring it excludes one of them, or both. When no second mapping is left that any experiment could
tell from the first, the first is the answer, unique but for the names of ports and for what no admissible
experiment can tell, which is listed beside it.

- `shape`: the unknown, a Boolean matrix, and what a measurement says about it
- `solving`, `formula`: z3, interruptible and repeatable, and constraints on the matrix
- `closed_form`: measurements as Boolean constraints; `tabulated`: the same where few ports leave room to list
  all sets of them; `linear_program`: as in the thesis
- `union_question` for schemes with one µop; for several, `fact_question` or, where few ports are listed,
  `table_question` (and `faster_question`, `profiles`): is there another mapping that can be told apart?
- `telling_apart`: the experiment that decides; `alternatives`: what none decides
- `clashing`: measurements that no mapping explains together; `waiving`: which of them to leave unexplained,
  once `readings` has them measured again
- `algorithm`: from ports to ports; `deciding`: the loop for one number of them; `port_choice`: how many,
  which domains are apart, what is waived
- `search`, `readings`, `events`: the memory of a search, and its story
- `strategy`: what a fixed set of experiments cannot tell apart
"""

from inference.core.cegar.algorithm import contradictions, infer
from inference.core.cegar.problem import (
    PHASES,
    REASONS,
    Alternative,
    CegarProblem,
    CegarResult,
    Clash,
    ClashError,
    Determinacy,
    Hidden,
    Unexplained,
)
from inference.core.cegar.settings import CegarSettings
from inference.core.cegar.solving import SolverLimitError

__all__ = [
    "PHASES",
    "REASONS",
    "Alternative",
    "CegarProblem",
    "CegarResult",
    "CegarSettings",
    "Clash",
    "ClashError",
    "Determinacy",
    "Hidden",
    "SolverLimitError",
    "Unexplained",
    "contradictions",
    "infer",
]
