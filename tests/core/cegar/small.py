"""Processors small enough to infer in a test, and searches of them."""

from __future__ import annotations

from hypothesis import strategies as st

from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, infer
from inference.core.mapping import PortMapping, uops_of
from inference.core.protocols import Checkpoint, Measurer
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.small import Listener

TWO_LEVEL = PortMapping(
    ("0", "1", "2", "3"),
    {
        "add r, r": ((0b0111, 1),),
        "imul r, r": ((0b0010, 1),),
        "shl r, i": ((0b0101, 1),),
        "load r, m": ((0b1000, 1),),
    },
)


def search(
    mapping: PortMapping,
    listener: Listener | None = None,
    *,
    measurer: Measurer | None = None,
    resume: Checkpoint | None = None,
    improper: tuple[str, ...] = (),
    widths: dict[str, int] | None = None,
    known: dict[str, int] | None = None,
    **settings: object,
) -> CegarResult:
    """Infer the mapping from a simulated processor that has it, the number of µops being known."""
    settings = {"ports": len(mapping.ports), "r_max": mapping.r_max, **settings}
    problem = CegarProblem(
        tuple(mapping.usage),
        CegarSettings(**settings),  # type: ignore[arg-type]
        uops={scheme: sum(count for _, count in uops) for scheme, uops in mapping.usage.items()},
        improper=improper,
        widths=widths or {},
        known=known or {},
    )
    return infer(problem, measurer or SimulatedProcessor(mapping), listener or Listener(), 1, resume)


def mappings(ports: int, schemes: int, most_uops: int = 1) -> st.SearchStrategy[PortMapping]:
    """Random mappings with 1 to 3 ports per µop."""
    uop = st.sets(st.integers(0, ports - 1), min_size=1, max_size=3).map(
        lambda chosen: (sum(1 << port for port in chosen), 1)
    )
    usage = st.lists(uop, min_size=1, max_size=most_uops).map(uops_of)
    names = tuple(f"s{k}" for k in range(schemes))
    return st.tuples(*(usage for _ in names)).map(
        lambda found: PortMapping(tuple(map(str, range(ports))), dict(zip(names, found, strict=True)))
    )
