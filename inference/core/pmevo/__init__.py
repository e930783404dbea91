"""PMEvo: port mappings by evolution (thesis ch. 5; Ritter and Hack, PLDI 2020).

`infer` (in `algorithm`) runs it. `plan` lists the experiments; `population` makes random mappings,
`variation` and `breeding` children; `fitness` evaluates them; `islands` evolve populations apart; `climb`,
`refit` and `final_stages` improve the best; `generations` reports progress. `estimate` predicts how long this
takes. Numba is loaded when a search starts.

Choices where the paper is silent, or where another choice is better on measured data:

- Times are smoothed before n = ⌈tp⁻¹(a) / tp⁻¹(b)⌉ is computed, and whole numbers missed by less than the
  congruence ε count as met (`plan.py`), also in the bound of the initialisation (`population.py`).
- Congruence needs measurements of at least half of the counterparts (`congruence_evidence`): on sparse
  recorded data, absence of evidence keeps schemes apart (`congruence.py`). A scheme without a singleton gets
  the tightest bound from the experiments that contain it.
- A µop that a child gets from both parents: the counts add up (`duplicates="add"`), or one stays ("drop", the
  default, as in the published program: its mappings were as accurate, and never costlier to evaluate).
- Fitness is normalised from the smallest to the largest value of a generation, parents and children together
  (`scaling="range"`, the paper's text), or from zero ("zero", as in the published program, which was worse).
- `volume_weight`: the paper's 1 prefers compact mappings, at about twice the error on sparse data.
- Relative errors below 10 % count as they are, unlike in the published program.
- Beyond the paper, each behind a setting and measured in docs/pmevo.md: the exact re-fit (`search`, the
  default), the adaptive plan (`plan`), islands, other parents and mutations, R_max from data. The
  preset "paper" is the paper's text.
- The hill climb judges by the normalisation of the last generation, starts from the best share of the final
  mappings, from equal ones only once, and never takes a scheme's last µop unless R_max explains its time.
"""

from inference.core.pmevo.algorithm import infer
from inference.core.pmevo.estimate import Estimate, estimate
from inference.core.pmevo.events import phases
from inference.core.pmevo.problem import FrontPoint, PMEvoProblem, PMEvoResult, assumptions
from inference.core.pmevo.settings import PMEvoSettings

__all__ = [
    "Estimate",
    "FrontPoint",
    "PMEvoProblem",
    "PMEvoResult",
    "PMEvoSettings",
    "assumptions",
    "estimate",
    "infer",
    "phases",
]
