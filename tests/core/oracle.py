"""The linear program of thesis Theorem 3.12 as it stands, and Theorem 5.2: judges of everything faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, ports_in
from inference.core.throughput import check_work, issue_bound, work_of

MAX_ENUMERATED_PORTS = 20
"""`over_ports` looks at 2^ports subsets; beyond this it would need gigabytes."""


def lp_port_bounds(
    works: Sequence[Mapping[int, int]], floors: Sequence[float] | None = None
) -> npt.NDArray[np.float64]:
    """`tp⁻¹` in cycles of each {port mask: µops}, within the solver's tolerance (1e-7): float64[len(works)].

    Per experiment e the variables are its bound t_e and, for each kind of µop u and each k in ports(u), the
    share x_uk ≥ 0 of u on port k. Minimise Σ t_e subject to Σ_k x_uk = mass(u) and Σ_u x_uk ≤ t_e,
    and to `floors[e]` ≤ t_e: cycles that something outside the ports asks for, none by default. No
    constraint joins two experiments, so every t_e is the optimum of its own LP. Raises `InvalidInputError`.
    """
    for work in works:
        check_work(work)
    from scipy.optimize import linprog  # loads scipy
    from scipy.sparse import coo_array  # loads scipy

    kinds = [(e, mask, mass) for e, work in enumerate(works) for mask, mass in work.items()]
    shares = [(row, e, port) for row, (e, mask, _) in enumerate(kinds) for port in ports_in(mask)]
    least = np.zeros(len(works)) if floors is None else np.array(floors, dtype=np.float64)
    if not shares:
        return least
    buckets = {place: row for row, place in enumerate(sorted({(e, port) for _, e, port in shares}))}
    n = len(works) + len(shares)
    columns = np.arange(len(works), n)
    decomposition = coo_array(
        (np.ones(len(shares)), ([row for row, _, _ in shares], columns)), shape=(len(kinds), n)
    )
    in_bucket = [buckets[e, port] for _, e, port in shares]
    load = coo_array(
        (
            np.concatenate((np.ones(len(shares)), -np.ones(len(buckets)))),
            (
                np.array(in_bucket + list(buckets.values())),
                np.concatenate((columns, [e for e, _ in buckets])),
            ),
        ),
        shape=(len(buckets), n),
    )
    solved = linprog(
        np.concatenate((np.ones(len(works)), np.zeros(len(shares)))),
        A_ub=load,
        b_ub=np.zeros(len(buckets)),
        A_eq=decomposition,
        b_eq=np.array([mass for _, _, mass in kinds], dtype=np.float64),
        bounds=[(cycles, None) for cycles in least] + [(0, None)] * len(shares),
        method="highs",
    )
    if not solved.success:
        raise ArithmeticError(f"the throughput LP has an optimum, but the solver said: {solved.message}")
    return np.asarray(solved.x[: len(works)], dtype=np.float64)


def lp_inverse_throughput(mapping: PortMapping, experiment: Experiment) -> float:
    """Cycles per execution of the experiment, its limits outside the ports included.

    A limit outside them is one more constraint on the experiment's time. Raises `UnknownSchemeError`.
    """
    floors = [issue_bound(mapping, experiment)]
    return float(lp_port_bounds([work_of(mapping, experiment)], floors)[0])


def over_ports(masses: Mapping[int, int], n_ports: int) -> float:
    """`max over Q ⊆ P of mass{u : ports(u) ⊆ Q} / |Q|` (Thm 5.2), over all 2^n_ports sets.

    `masses`: {port mask: µops}; `n_ports` from 1 to 20. A zeta transform sums the µops inside each set.
    """
    if not 1 <= n_ports <= MAX_ENUMERATED_PORTS:
        raise InvalidInputError(
            f"all port sets can be listed for 1 to {MAX_ENUMERATED_PORTS} ports, not for {n_ports}"
        )
    check_work(masses, n_ports)
    inside = np.zeros(1 << n_ports, dtype=np.int64)
    for mask, mass in masses.items():
        inside[mask] += mass
    for port in range(n_ports):
        halves = inside.reshape(-1, 2, 1 << port)
        halves[:, 1] += halves[:, 0]
    sizes = np.bitwise_count(np.arange(1 << n_ports, dtype=np.int64))
    return float(np.max(inside[1:] / sizes[1:]))
