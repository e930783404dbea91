"""When two port mappings are the same, how similar they are, and which experiment distinguishes them.

Throughput cannot tell ports apart that merely swapped their names (thesis §3.3), so mappings are compared up
to a renaming of ports. In the two-level model nothing else is lost: mappings that no renaming makes equal are
told apart by some experiment. In the three-level model some are not, e.g. `{1} + {2}` and `2 × {1,2}` for a
scheme that is all there is; there, equality of the µops is finer than equality of all throughputs.

- `canonical`: the canonical form; `same_up_to_renaming`: equality
- `renaming`: the renaming of one mapping's ports that makes it most like another
- `comparison`: two mappings side by side, for a reader; how far they agree up to what no experiment can show;
  an experiment that distinguishes them by one scheme's µops
- `distinguishing`: an experiment that distinguishes two mappings, constructed in the two-level model;
  `searching` for it in the three-level model
"""

from inference.core.identity.canonical import canonical, same_up_to_renaming
from inference.core.identity.comparison import (
    ComparedScheme,
    MappingComparison,
    SchemeRelation,
    compare,
    deciding_experiment,
)
from inference.core.identity.distinguishing import Distinction, distinguishing_experiment
from inference.core.identity.renaming import (
    Renaming,
    StructuralAgreement,
    best_renaming,
    structural_agreement,
)

__all__ = [
    "ComparedScheme",
    "Distinction",
    "MappingComparison",
    "Renaming",
    "SchemeRelation",
    "StructuralAgreement",
    "best_renaming",
    "canonical",
    "compare",
    "deciding_experiment",
    "distinguishing_experiment",
    "same_up_to_renaming",
    "structural_agreement",
]
