"""Tools that are set up for one instruction set predict for a core of another one where blocks need it."""

from __future__ import annotations

import pytest

from inference.features.asking.predictors.kinds import isas_of_row
from inference.features.asking.predictors.offers import offers
from inference.features.asking.predictors.query import available_on, predictor_row
from inference.isa.targets import AARCH64, DEFAULT
from inference.predictors.llvm.releases import list_releases

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        not any(release.mc for release in list_releases()), reason="llvm-mca is not installed"
    ),
]


def test_blocks_choose_the_processor_where_nobody_does() -> None:
    row = predictor_row("llvm-mca")
    assert isas_of_row(row) == (DEFAULT,)
    assert available_on([row], "", DEFAULT) == ([row], [])
    ((chosen,), left_out) = available_on([row], "", AARCH64)
    assert chosen.options["cpu"] == "neoverse-n1"
    assert not left_out
    ((chosen,), left_out) = available_on([row], "Cortex-A72", AARCH64)
    assert chosen.options["cpu"] == "cortex-a72"
    rows, (reason,) = available_on([row], "Zen 2", AARCH64)
    assert not rows
    assert reason.endswith(f"znver2 answers for blocks of {DEFAULT}, not of {AARCH64}")


def test_offers_are_those_for_an_instruction_set() -> None:
    predictor_row("llvm-mca:cpu=cortex-a72", may_choose=True)
    tools = {isa: [offer.label for offer in offers().answering_for(isa).tools] for isa in (DEFAULT, AARCH64)}
    fixed = [label for label in tools[AARCH64] if label.endswith("cortex-a72")]
    assert len(fixed) == 1
    assert fixed[0] not in tools[DEFAULT]
    assert set(tools[DEFAULT]) <= set(tools[AARCH64])  # a tool that is not fixed knows cores of both
