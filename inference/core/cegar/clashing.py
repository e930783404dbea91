"""Which measurements contradict one another, and what to leave out because of it (§6.3.4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.formula import Formula, Literal
from inference.core.cegar.problem import Clash
from inference.core.cegar.settings import DROP_MNEMONIC
from inference.core.cegar.shape import Observation, Shape
from inference.core.errors import InvalidInputError


def is_explainable(
    shape: Shape, observations: Sequence[Observation], seed: int, limit: int, pulse: Callable[[], None]
) -> bool:
    """Whether some mapping of this shape explains all of the observations."""
    encoding = ClosedForm(Formula(shape, seed, limit, pulse))
    try:
        for observation in observations:
            encoding.add(observation)
        return encoding.find() is not None
    finally:
        encoding.close()


def minimal_clash(
    shape: Shape, observations: Sequence[Observation], seed: int, limit: int, pulse: Callable[[], None]
) -> tuple[Observation, ...]:
    """Observations that contradict, and would not without any one of them; those given must contradict.

    The solver names some that do; one after another is left out for as long as the rest still contradicts,
    the longest first. That the rest without one can hold is shown by a matrix each time, not by the solver's
    word. Raises `InvalidInputError` where no measurement is needed for a contradiction.
    """
    formula = Formula(shape, seed, limit, pulse)
    encoding = ClosedForm(formula)
    try:
        learnt = {formula.literal(): observation for observation in observations}
        for literal, observation in learnt.items():
            encoding.add(observation, -literal)
        kept = contradicting(encoding, learnt, learnt)
        if kept is None:
            raise AssertionError("a minimal clash was asked for of measurements that can hold together")
        kept = minimal(encoding, learnt, kept)
        if not kept:
            raise impossible(shape)
        return tuple(observation for literal, observation in learnt.items() if literal in kept)
    finally:
        encoding.close()


def impossible(shape: Shape) -> InvalidInputError:
    """The error where what is known beforehand contradicts itself."""
    return InvalidInputError(
        f"whatever is measured, no mapping to {shape.ports} ports has the given port sets (known), sizes of "
        f"these (widths) and shared µops (improper)"
    )


def minimal(
    encoding: ClosedForm, learnt: Mapping[Literal, Observation], clash: Collection[Literal]
) -> set[Literal]:
    """Assumptions of a clash that would not contradict without any one of them; long experiments go first."""
    kept = set(clash)
    for literal in sorted(kept, key=lambda one: (-learnt[one].experiment.length, one)):
        if literal in kept:
            fewer = contradicting(encoding, learnt, kept - {literal})
            kept = kept if fewer is None else fewer
    return kept


def contradicting(
    encoding: ClosedForm, learnt: Mapping[Literal, Observation], literals: Collection[Literal]
) -> set[Literal] | None:
    """Those of the assumptions that contradict, perhaps none at all; None where all can hold."""
    candidate = encoding.find(*sorted(literals))
    if candidate is None:
        return encoding.formula.core()
    if not all(learnt[literal].holds(candidate) for literal in literals):
        raise AssertionError("the solver's matrix does not explain the measurements assumed")
    return None


def culprit(clash: Sequence[Observation], observations: Sequence[Observation]) -> str:
    """The scheme to leave out: in most of what clashes, and of these in the fewest other experiments."""

    def blame(scheme: str) -> tuple[int, int, str]:
        clashing = sum(scheme in each.experiment.schemes for each in clash)
        others = sum(scheme in each.experiment.schemes for each in observations) - clashing
        return -clashing, others, scheme

    return min({scheme for each in clash for scheme in each.experiment.schemes}, key=blame)


def to_drop(scheme: str, schemes: Sequence[str], on_clash: str) -> tuple[str, ...]:
    """The scheme, or with `DROP_MNEMONIC` all of its mnemonic, of those there are."""
    if on_clash == DROP_MNEMONIC:
        return tuple(other for other in schemes if mnemonic(other) == mnemonic(scheme))
    return (scheme,)


def mnemonic(scheme: str) -> str:
    """`add` of `add GPR[64]:RW, GPR[64]:R`."""
    return scheme.split(maxsplit=1)[0]


def as_clash(found: Sequence[Observation], observations: Sequence[Observation], ports: int) -> Clash:
    """Some of the observations as a value to report, short experiments first."""
    ordered = sorted(found, key=lambda each: (each.experiment.length, each.experiment))
    schemes = {scheme for each in found for scheme in each.experiment.schemes}
    alone = sorted(
        (each.experiment.schemes[0], each.cycles)
        for each in observations
        if each.experiment.is_singleton and each.experiment.schemes[0] in schemes
    )
    return Clash(tuple((each.experiment, each.cycles) for each in ordered), ports, tuple(alone))
