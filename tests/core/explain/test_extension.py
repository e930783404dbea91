"""Further schemes of a mapping, by floods of its schemes of one µop."""

from __future__ import annotations

import pytest

from inference.core.explain import NotCharacterised, SchemeFate
from inference.core.explain.extension import extend_mapping
from inference.core.mapping import PortMapping
from inference.core.pacing import SilentReporter
from inference.measuring.simulated import SimulatedProcessor
from tests.core.explain.small import STORES, ZENLIKE, mapping_of


def known_part(truth: PortMapping, *schemes: str) -> PortMapping:
    return PortMapping(truth.ports, {scheme: truth.usage[scheme] for scheme in schemes}, truth.r_max)


def extended(truth: PortMapping, known: PortMapping, **noise: float):
    schemes = sorted(truth.usage.keys() - known.usage.keys())
    return extend_mapping(known, schemes, SimulatedProcessor(truth, **noise), SilentReporter())


@pytest.mark.parametrize("noise", [{}, {"noise": 0.003, "noise_cpi": 0.0003}])
def test_further_schemes_get_the_uops_that_they_have(noise) -> None:
    known = known_part(ZENLIKE, "add", "imul", "shl", "load", "vaddps")
    result = extended(ZENLIKE, known, **noise)
    assert result.mapping.ports == ZENLIKE.ports
    assert dict(result.mapping.usage) == {
        scheme: uops for scheme, uops in ZENLIKE.usage.items() if scheme not in known.usage
    }
    assert all(c.witnesses for c in result.characterisations)


def test_uops_on_ports_that_nothing_blocks_are_not_guessed() -> None:
    known = known_part(STORES, "add", "shl", "load")
    verdicts = {c.scheme: c for c in extended(STORES, known).characterisations}
    assert verdicts["sub"].outcome is SchemeFate.CHARACTERISED
    assert verdicts["store"].outcome is SchemeFate.EXCLUDED
    assert verdicts["store"].reason is NotCharacterised.SLOW


def test_a_scheme_that_takes_another_time_than_the_mapping_says_blocks_nothing() -> None:
    wrong = mapping_of("0123456", {"add": "0123", "shl": "1", "imul": "1", "load": "45", "vaddps": "6"}, 6.0)
    result = extended(ZENLIKE, wrong)
    heads = {witness.blocker for c in result.characterisations for witness in c.witnesses}
    assert "shl" not in heads
    assert "imul" in heads
