"""Which schemes all tools support."""

from __future__ import annotations

from anica_app.storage.domains import find_support
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer, Failure
from tests.anica.core.search.toy import Scripted


def no_b(block):
    return Failure.UNSUPPORTED if block[0].startswith("b") else 1.0


def nothing_for_a2(block):
    return 0.0 if block[0].startswith("a2") else 1.0


def test_a_scheme_is_supported_where_every_tool_gives_a_number_other_than_zero():
    done = []
    blocks = {f"scheme {name}": f"{name}x".encode() for name in ("a1", "a2", "b1", "b2")}
    panel = Panel([Scripted("one", no_b), Scripted("two", nothing_for_a2)])
    support = find_support(panel, blocks, done.append)
    panel.close()
    assert support.supported == ("scheme a1",)
    assert support.lacking["scheme a2"] == {2: Answer(cycles=0.0)}
    assert support.lacking["scheme b1"] == {1: Answer(failure=Failure.UNSUPPORTED)}
    assert (support.by_predictor(1), support.by_predictor(2)) == (2, 1)
    assert done == [4]
