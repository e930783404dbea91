"""Scheduling models of cores that issue in order, against llvm-mca's own simulation."""

from __future__ import annotations

from functools import cache

import pytest

from inference.core.core_model import predict_core
from inference.core.core_model.prediction import shape_of
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.targets import AARCH64
from inference.predictors.llvm.core_tables import ModelledCore, modelled_core
from inference.predictors.llvm.mca import LlvmMca
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.llvm.order_tables import issues_in_order
from inference.predictors.llvm.releases import list_releases

pytestmark = pytest.mark.skipif(not list_releases(), reason="llvm-mca is not installed")

ADD, MULTIPLY = "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "mul GPR[64]:W, GPR[64]:R, GPR[64]:R"
RESULTS = [0x9B007C00 | k for k in range(1, 5)]  # mul x1, x0, x0 …
USES = [0x8B000000 | k << 16 | k << 5 | k + 8 for k in range(1, 5)]  # add x9, x1, x1 …
ORDERS = {
    "early": [word for pair in zip(RESULTS, USES, strict=True) for word in pair],
    "late": [*RESULTS, *USES],
}


@cache
def core() -> ModelledCore:
    return modelled_core(McaSettings(cpu="cortex-a55"))


def test_llvms_small_cores_issue_in_order() -> None:
    for cpu, in_order in (("cortex-a55", True), ("cortex-a57", False)):
        mca = LlvmMca(McaSettings(cpu=cpu))
        assert issues_in_order(mca) == in_order
        mca.close()


def test_latencies_are_those_of_repeated_instructions() -> None:
    model = core().model
    assert model.issue is not None
    assert model.issue.in_order
    assert model.scheduler is None
    assert set(model.latencies[ADD].values()) == {1.0}
    assert set(model.latencies[MULTIPLY].values()) == {3.0}
    assert model.issue.stage(ADD) > model.issue.stage(MULTIPLY) > 0


# Additions that return before a multiplication wait in LLVM, while most of what it simulates does not.
@pytest.mark.parametrize(("name", "tolerance"), [("early", 0.03), ("late", 0.17)])
def test_the_bound_by_order_is_near_what_llvm_simulates(name: str, tolerance: float) -> None:
    code = b"".join(word.to_bytes(4, "little") for word in ORDERS[name])
    mca = LlvmMca(McaSettings(cpu="cortex-a55"))
    (answer,) = mca.predict([code])
    mca.close()
    block = block_of_bytes(code, AARCH64)
    predicted = predict_core(accesses_of(block), shape_of(block), core().model)
    assert predicted.cycles == pytest.approx(answer.cycles, rel=tolerance)
