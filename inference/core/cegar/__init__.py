"""Counter-example-guided inference of port mappings, CEGAR (thesis ch. 4).

`infer` runs the search; `contradictions` is a quick check beforehand. z3 is loaded when a search starts.

The search looks for two mappings that explain all measurements, and for an experiment for which they predict
different times. Measuring it excludes at least one of them. The search ends when no admissible experiment
distinguishes a second mapping from the first. The first is then unique up to a renaming of ports; mappings
that no admissible experiment can distinguish from it are listed as alternatives.

- `shape`: the Boolean matrix that is searched for, and the constraint that a measurement puts on it
- `solving`, `formula`: z3, interruptible and repeatable, and constraints on the matrix
- `closed_form`: measurements as Boolean constraints; `tabulated`: the same where few ports leave room to list
  all sets of them; `linear_program`: as in the thesis
- `union_question` for schemes with one µop; for several, `fact_question` or, with few ports,
  `table_question` (and `faster_question`, `profiles`): is there a second mapping that can be distinguished?
- `telling_apart`: the experiment that distinguishes two mappings; `alternatives`: mappings without one
- `clashing`: minimal sets of measurements that no mapping explains; `waiving`: which of them to leave
  unexplained, after `readings` has measured them again
- `algorithm`: the search over numbers of ports; `deciding`: the loop for one number of ports; `port_choice`:
  how many ports, which domains share none, which measurements stay unexplained
- `search`, `readings`, `events`: the state of a search and what it reports
- `strategy`: mappings that a fixed set of experiments cannot distinguish
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
