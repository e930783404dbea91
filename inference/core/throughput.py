"""Inverse throughput of an experiment under a port mapping, without a linear program (thesis §5.1.4).

`tp⁻¹(e)` is the optimum of the LP of Theorem 3.12. The closed form over µops gives the same number, as does
that over ports, which the compiled kernels use; both are exact, and since the quotient of two whole numbers
is rounded only once, every way of computing it in this package gives the same float.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.flow import densest_ports
from inference.core.mapping import MAX_PORTS, PortMapping, check_ports

EXACT_LIMIT = 1 << 53
"""Largest amount of work that a float64 still holds exactly."""

_FEW_KINDS = 10


def work_of(mapping: PortMapping, experiment: Experiment) -> dict[int, int]:
    """How many µops of each kind the experiment executes: {port mask: count}.

    Raises `UnknownSchemeError` for schemes without a port usage in the mapping.
    """
    unknown = [scheme for scheme in experiment.schemes if scheme not in mapping.usage]
    if unknown:
        raise UnknownSchemeError(unknown)
    work: dict[int, int] = {}
    for scheme, repeats in experiment.terms:
        for mask, count in mapping.usage[scheme]:
            work[mask] = work.get(mask, 0) + count * repeats
    return work


def inverse_throughput(mapping: PortMapping, experiment: Experiment) -> float:
    """Cycles per execution of the experiment: `max(tp⁻¹, |e| / R_max, slots / issue width)`.

    Limits that are not modelled count nothing; 0.0 where no µop needs a port either. Raises
    `UnknownSchemeError`.
    """
    return max(port_bound(work_of(mapping, experiment)), issue_bound(mapping, experiment))


def issue_bound(mapping: PortMapping, experiment: Experiment) -> float:
    """Cycles that the limits outside the ports alone ask for: the instructions', and the issue slots'."""
    cycles = 0.0
    if mapping.r_max is not None:
        cycles = experiment.length / mapping.r_max
    if mapping.issue_width is not None:
        cycles = max(cycles, slots_in(mapping, experiment) / mapping.issue_width)
    return cycles


def slots_in(mapping: PortMapping, experiment: Experiment) -> int:
    """How many issue slots one execution of the experiment takes."""
    return sum(count * mapping.slots_of(scheme) for scheme, count in experiment.terms)


def port_bound(masses: Mapping[int, int]) -> float:
    """`tp⁻¹` in cycles for {port mask: µops}, by enumeration where that is quick and by flow elsewhere."""
    check_work(masses)
    work = {mask: mass for mask, mass in masses.items() if mass}
    if not work:
        return 0.0
    if len(work) <= _FEW_KINDS:
        return over_uops(work)
    densest = densest_ports(work)
    return densest.mass / densest.width


def over_uops(masses: Mapping[int, int]) -> float:
    """`max over T ⊆ supp of mass(T) / |⋃ ports(T)|`: only unions of occurring port sets can be the maximiser.

    `masses`: {port mask: µops}, any number of ports up to 63. Time grows with the number of different
    unions, at most 2^len(masses). Unions of pairs alone, as in Facile, would not do (thesis App. E.2).
    """
    check_work(masses)
    unions = {0}
    for mask in masses:
        unions |= {union | mask for union in unions}
    return max(
        (
            sum(mass for mask, mass in masses.items() if mask & ~union == 0) / union.bit_count()
            for union in unions
            if union
        ),
        default=0.0,
    )


def check_work(masses: Mapping[int, int], n_ports: int = MAX_PORTS) -> None:
    """Raise `InvalidInputError`, naming the culprit, if this is not {port mask: µops} on `n_ports` ports."""
    check_ports(n_ports)
    for mask, mass in masses.items():
        if isinstance(mask, bool) or not isinstance(mask, int) or not 0 < mask < 1 << MAX_PORTS:
            raise InvalidInputError(f"a µop needs a port set of 1 to {MAX_PORTS} ports, not mask {mask!r}")
        if mask >> n_ports:
            raise InvalidInputError(f"port set {mask:#x} names a port beyond the {n_ports} there are")
        if isinstance(mass, bool) or not isinstance(mass, int) or mass < 0:
            raise InvalidInputError(
                f"the number of µops on port set {mask:#x} must be whole and ≥ 0, not {mass!r}"
            )
    if sum(masses.values()) >= EXACT_LIMIT:
        raise InvalidInputError("an experiment may execute fewer than 2^53 µops")
