"""Kinds are placed together where measurements show that they share ports, and apart where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.experiment import Experiment, Measured
from inference.core.explain import ExplainProblem, ExplainResult, ExplainSettings, SchemeFate, infer
from inference.core.explain.units import domain_of_class
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping
from inference.measuring.simulated import NOTHING, SimulatedProcessor
from tests.core.explain.small import mapping_of
from tests.core.pmevo.small import Listener

HIDDEN = replace(
    mapping_of(
        "0123456789ab",
        {
            **dict.fromkeys(("neg", "add", "sub"), "01234"),
            **dict.fromkeys(("load", "loadx"), "5678"),
            **dict.fromkeys(("vpor", "vpand"), "9ab"),
            **dict.fromkeys(("sar", "ror"), "2"),
            **dict.fromkeys(("vmulps", "vmulpd"), "9"),
            "add m": "01234 5678",
            "vpor m": "9ab 5678",
            "sar m": "2 5678",
        },
    ),
    r_max=6.0,
)
"""The bottleneck hides whether integers and loads share ports: 5 and 4 of them exceed 6 per cycle."""

SHARED = mapping_of(
    "012345",
    {
        **dict.fromkeys(("add", "sub", "and"), "0123"),
        **dict.fromkeys(("imul", "mulx"), "1"),
        **dict.fromkeys(("shl", "ror"), "03"),
        **dict.fromkeys(("vpor", "vpand", "vpxor"), "012"),
        **dict.fromkeys(("vmulps", "vmulpd"), "01"),
        **dict.fromkeys(("vpermd", "vpshufb"), "2"),
        **dict.fromkeys(("load", "loadx"), "45"),
        **dict.fromkeys(("vpor m", "vpand m", "vpxor m", "vpsub m"), "012 45"),
    },
)
"""Vector instructions on ports of the integers'."""


NOPS = ("nop", "endbr64")


class PairedNops(SimulatedProcessor):
    """Passes six instructions per cycle, and two NOPs in place of any, which need no port."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for experiment in experiments:
            executed = [s for s, n in experiment.terms if s not in NOPS for _ in range(n)]
            slots = (len(executed) + experiment.length) / 2
            (of_ports,) = super().measure([Experiment.of(executed)]) if executed else (None,)
            cycles = 0.0 if of_ports is None or of_ports.cycles is None else of_ports.cycles
            yield Measured(experiment, max(cycles, slots / 6))


def explained(core: PortMapping, domains: Mapping[str, str]) -> ExplainResult:
    processor = SimulatedProcessor(core, counters=NOTHING)
    problem = ExplainProblem(tuple(core.usage), ExplainSettings(r_max=core.r_max), domains=domains)
    return infer(problem, processor, Listener(), 1, None, solve_by_cegar)


def domains_of(core: PortMapping) -> dict[str, str]:
    """Of the schemes without memory operands."""
    return {
        scheme: "vector" if scheme.startswith("v") else "memory" if scheme.startswith("load") else "integer"
        for scheme in core.usage
        if not scheme.endswith(" m")
    }


def is_right(result: ExplainResult, core: PortMapping) -> bool:
    return result.outcomes[SchemeFate.CHARACTERISED] == len(core.usage) and same_up_to_renaming(
        result.mapping, core
    )


def test_nops_that_pass_in_pairs_hide_no_bottleneck() -> None:
    core = replace(HIDDEN, r_max=None)
    schemes = (*core.usage, *NOPS)
    problem = ExplainProblem(schemes, ExplainSettings(), domains=domains_of(core))
    result = infer(problem, PairedNops(core, counters=NOTHING), Listener(), 1, None, solve_by_cegar)
    assert result.r_max == 6
    assert is_right(result, HIDDEN)


def test_kinds_share_no_ports_where_the_bottleneck_hides_it() -> None:
    for domains in ({}, domains_of(HIDDEN)):
        result = explained(HIDDEN, domains)
        assert is_right(result, HIDDEN)
        assert not any(each.doubts for each in result.characterisations)


def test_kinds_of_different_domains_share_the_ports_that_measurements_show() -> None:
    for domains in ({}, domains_of(SHARED)):
        assert is_right(explained(SHARED, domains), SHARED)


def test_a_kind_has_the_domain_of_those_that_have_one() -> None:
    """Most of a kind can be forms of which nobody knows what they are for."""
    forms = {f"vmulps m{number}": "01" for number in range(3)}
    core = mapping_of(
        "0123", {**dict.fromkeys(("vpor", "vpand"), "0123"), "vmulps": "01", "vmulpd": "01", **forms}
    )
    domains = {scheme: "vector" for scheme in core.usage if scheme not in forms}
    assert is_right(explained(core, domains), core)


class SlotProcessor(SimulatedProcessor):
    """Where `xchg` is beside one instruction of another domain, that takes longer; it has no port of it."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            assert measured.cycles is not None
            schemes = set(measured.experiment.schemes)
            is_slow = measured.experiment.length == 2 and schemes & {"xchg", "xadd"} and schemes & FOREIGN
            yield replace(measured, cycles=measured.cycles + 0.2) if is_slow else measured


FOREIGN = {"vpor", "vpand", "load", "loadx"}


@pytest.mark.parametrize(
    ("registers", "loading", "domain"), [(2, 3, "integer"), (2, 18, "integer"), (1, 30, "memory"), (0, 0, "")]
)
def test_forms_that_load_make_no_class_of_memory(registers: int, loading: int, domain: str) -> None:
    members = [*(f"shl {k}" for k in range(registers)), *(f"shl m {k}" for k in range(loading))]
    domains = {scheme: "memory" if " m " in scheme else "integer" for scheme in members}
    context: Any = SimpleNamespace(problem=SimpleNamespace(domains=domains))
    assert domain_of_class(context, members) == domain


def test_a_kind_that_is_slow_beside_all_domains_is_limited_by_slots() -> None:
    core = mapping_of(
        "01234567",
        {
            **dict.fromkeys(("add", "sub"), "0123"),
            **dict.fromkeys(("vpor", "vpand"), "45"),
            **dict.fromkeys(("load", "loadx"), "67"),
            **dict.fromkeys(("xchg", "xadd"), "012"),
        },
    )
    problem = ExplainProblem(tuple(core.usage), ExplainSettings(r_max=8.0), domains=domains_of(core))
    processor = SlotProcessor(core, counters=NOTHING)
    result = infer(problem, processor, Listener(), 1, None, solve_by_cegar)
    assert {each.blocker for each in result.classes if each.mask} == {"add", "vpor", "load"}
    assert any("xchg" in text and "slots" in text for text in result.warnings)
