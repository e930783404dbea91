"""One mapping of several: which part of a run over a whole core a core model uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inference.core.identity.renaming import best_renaming
from inference.core.mapping import PortMapping
from inference.core.tables import Floats

_ROUNDING = 1e-9  # losses, and errors in per cent, that differ by less are equal


@dataclass(frozen=True)
class PartScore:
    """Errors of a part on held-out mixes.

    Attributes:
        covered: Mixes that it describes.
        error: Its mean absolute error on these in per cent, None without any.
        loss: The mean error over all mixes, as a share, with 1 for a mix that it does not describe or whose
            error is larger than that.
    """

    name: str
    covered: int
    error: float | None
    loss: float

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "covered": self.covered,
            "error": None if self.error is None else round(self.error, 3),
            "loss": round(self.loss, 5),
        }


@dataclass(frozen=True)
class Selection:
    """The selected part of those in `scores`, judged by `mixes` held-out mixes; `why` is a sentence."""

    name: str
    scores: tuple[PartScore, ...]
    mixes: int
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "selected": self.name,
            "scores": [score.as_json() for score in self.scores],
            "mixes": self.mixes,
            "why": self.why,
        }


def select_part(measured: Floats, predicted: Mapping[str, Floats]) -> Selection:
    """Select a part, of parts in the order in which they were made.

    A later part replaces the one before only if its error over all mixes is smaller, those that it does not
    describe included, and no larger on the mixes that both describe: a stage never makes a model worse.
    Without mixes the first part stays.

    Args:
        measured: float64[n] > 0, cycles of held-out mixes that no part has learnt from.
        predicted: {name: float64[n]}, nan where a part does not describe a mix; at least one part.
    """
    names = list(predicted)
    errors = {name: np.abs(cycles - measured) / measured for name, cycles in predicted.items()}
    scores = {name: _score(name, errors[name]) for name in names}
    best, why = names[0], "there is no other part"
    for name in names[1:]:
        both = ~np.isnan(errors[best]) & ~np.isnan(errors[name])
        if not len(measured):
            why = "no mix was held out, so the first part stays"
        elif scores[name].loss >= scores[best].loss - _ROUNDING:
            why = f"{name} is no nearer to the held-out mixes than {best}"
        elif both.any() and errors[name][both].mean() > errors[best][both].mean() + _ROUNDING:
            why = (
                f"{name} is farther off on the {int(both.sum()):,} mixes that {best} describes as well: "
                f"{100 * errors[name][both].mean():.1f} % instead of {100 * errors[best][both].mean():.1f} %"
            )
        else:
            why = f"{name} is nearer to the held-out mixes than {best}"
            best = name
    return Selection(best, tuple(scores.values()), len(measured), why)


def _score(name: str, errors: Floats) -> PartScore:
    is_described = ~np.isnan(errors)
    loss = float(np.where(is_described, np.minimum(errors, 1.0), 1.0).mean()) if len(errors) else 1.0
    return PartScore(
        name,
        int(is_described.sum()),
        100 * float(errors[is_described].mean()) if is_described.any() else None,
        loss,
    )


def merge(ports: PortMapping, base: PortMapping, additions: Sequence[PortMapping]) -> PortMapping | None:
    """`base`, extended by the µops of further mappings for schemes that it does not describe.

    Args:
        ports: One of the mappings, whose port names the result has, so that references to its ports
            stay valid.
        base: Its µops count where several mappings describe a scheme.
        additions: Additions in the order in which their µops count.

    Returns:
        None where two mappings have no scheme in common: nothing then relates their ports.
    """
    result = _with_port_names(ports, base)
    for other in additions:
        renamed = None if result is None else other if other is ports else _with_port_names(result, other)
        if result is None or renamed is None:
            return None
        result = _extend(result, renamed)
    return result


def _with_port_names(names: PortMapping, mapping: PortMapping) -> PortMapping | None:
    if mapping is names:
        return mapping
    if not names.usage.keys() & mapping.usage.keys():
        return None
    renamed = best_renaming(names, mapping).apply(mapping)
    return replace(mapping, ports=renamed.ports, usage=renamed.usage)


def _extend(base: PortMapping, addition: PortMapping) -> PortMapping:
    new = {scheme: uops for scheme, uops in addition.usage.items() if scheme not in base.usage}
    slots = {scheme: addition.slots_of(scheme) for scheme in new} if base.issue_width is not None else {}
    ports = max(base.ports, addition.ports, key=len)  # the names of the one begin with those of the other
    return replace(base, ports=ports, usage={**base.usage, **new}, slots={**base.slots, **slots})
