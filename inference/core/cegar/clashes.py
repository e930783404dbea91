"""Minimal sets of contradicting measurements, and the schemes to drop because of them (§6.3.4)."""

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
    """Whether some mapping of this shape explains all of the observations.

    Args:
        shape: Schemes, µops and ports of the mapping.
        observations: Measurements to explain.
        seed: Seed of the solver.
        limit: Resource units of one call of the solver, 0 for no limit.
        pulse: Called now and then; may raise to end the search.
    """
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
    """A subset of contradicting observations that is satisfiable once any one of them is removed.

    It starts from the solver's unsatisfiable core and removes one observation after another, the longest
    experiments first. Each satisfiable rest is confirmed by a matrix, not only by the solver's answer.

    Raises:
        InvalidInputError: The shape has no mapping even without measurements.
        AssertionError: The observations do not contradict.
    """
    formula = Formula(shape, seed, limit, pulse)
    encoding = ClosedForm(formula)
    try:
        learnt = {formula.literal(): observation for observation in observations}
        for literal, observation in learnt.items():
            encoding.add(observation, -literal)
        clash = contradicting_literals(encoding, learnt, learnt)
        if clash is None:
            raise AssertionError("a mapping explains these measurements: they have no clash")
        clash = minimize_clash(encoding, learnt, clash)
        if not clash:
            raise impossible_shape_error(shape)
        return tuple(observation for literal, observation in learnt.items() if literal in clash)
    finally:
        encoding.close()


def impossible_shape_error(shape: Shape) -> InvalidInputError:
    """The error for a shape whose known port sets, widths and shared µops admit no mapping at all."""
    return InvalidInputError(
        f"whatever is measured, no mapping to {shape.ports} ports has these port sets (known), sizes of port "
        f"sets (widths) and shared µops (improper): change one of them, or allow more ports"
    )


def minimize_clash(
    encoding: ClosedForm, learnt: Mapping[Literal, Observation], clash: Collection[Literal]
) -> set[Literal]:
    """A minimal subset of contradicting assumptions; long experiments are removed first."""
    core = set(clash)
    for literal in sorted(core, key=lambda assumption: (-learnt[assumption].experiment.length, assumption)):
        if literal in core:
            smaller_core = contradicting_literals(encoding, learnt, core - {literal})
            core = core if smaller_core is None else smaller_core
    return core


def contradicting_literals(
    encoding: ClosedForm, learnt: Mapping[Literal, Observation], literals: Collection[Literal]
) -> set[Literal] | None:
    """The unsatisfiable core of the assumptions, empty if the shape alone has none; None if satisfiable."""
    candidate = encoding.find(*sorted(literals))
    if candidate is None:
        return encoding.formula.core()
    if not all(learnt[literal].holds(candidate) for literal in literals):
        raise AssertionError("the solver's matrix does not explain the measurements assumed")
    return None


def culprit(clash: Sequence[Observation], observations: Sequence[Observation]) -> str:
    """The scheme to drop: the one in most clashing experiments, then in the fewest others."""

    def blame(scheme: str) -> tuple[int, int, str]:
        clashing = sum(scheme in observation.experiment.schemes for observation in clash)
        elsewhere = sum(scheme in observation.experiment.schemes for observation in observations) - clashing
        return -clashing, elsewhere, scheme

    return min({scheme for observation in clash for scheme in observation.experiment.schemes}, key=blame)


def schemes_to_drop(scheme: str, schemes: Sequence[str], on_clash: str) -> tuple[str, ...]:
    """The scheme, or with `DROP_MNEMONIC` all of `schemes` with its mnemonic."""
    if on_clash == DROP_MNEMONIC:
        return tuple(other for other in schemes if mnemonic(other) == mnemonic(scheme))
    return (scheme,)


def mnemonic(scheme: str) -> str:
    """`add` of `add GPR[64]:RW, GPR[64]:R`."""
    return scheme.split(maxsplit=1)[0]


def as_clash(clashing: Sequence[Observation], observations: Sequence[Observation], ports: int) -> Clash:
    """The clash as a value to report: short experiments first, with the times of their schemes alone."""
    ordered = sorted(
        clashing, key=lambda observation: (observation.experiment.length, observation.experiment)
    )
    schemes = {scheme for o in clashing for scheme in o.experiment.schemes}
    alone = sorted(
        (o.experiment.schemes[0], o.cycles)
        for o in observations
        if o.experiment.is_singleton and o.experiment.schemes[0] in schemes
    )
    return Clash(tuple((o.experiment, o.cycles) for o in ordered), ports, tuple(alone))
