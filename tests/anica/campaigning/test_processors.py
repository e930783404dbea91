"""Which processor predictors answer for, and which one tools are asked for by default."""

from __future__ import annotations

from typing import Any

import pytest

from anica_app.core.protocols import PredictorError
from anica_app.features.predictors import query
from anica_app.features.predictors.processors import different_processors, options_for, processor_here
from anica_app.features.predictors.query import listed
from anica_app.models import Predictor
from anica_app.predictors.kinds import KINDS, FoundKind
from inference.models import ISA, Machine
from tests.views.conftest import isa
from tests.views.lab import machine

__all__ = ["isa", "machine"]


def predictor(name: str, kind: str, **options: object) -> Predictor:
    return Predictor.objects.create(name=name, kind=kind, options=options, key=name.rjust(64, "0"))


def test_the_processor_at_hand_is_that_of_this_computer(isa: ISA, machine: Machine) -> None:
    assert processor_here() == "Zen 3"
    facts = {**machine.facts, "family": 0x17, "model": 0x31}
    Machine.objects.create(name="here", kind="agent", isa=isa, facts=facts, local=True)
    assert processor_here() == "Zen 2"


def test_options_name_the_processor_as_each_tool_does() -> None:
    assert options_for("llvm-mca", {"release": "14"}, "Zen 3") == [{"release": "14", "cpu": "znver3"}]
    newest, older = options_for("llvm-mca", {}, "Raptor Cove")
    assert (newest["cpu"], older["cpu"]) == ("emeraldrapids", "sapphirerapids")
    assert options_for("osaca", {}, "Zen 3") == [{"arch": "ZEN3"}]
    assert options_for("uica", {}, "Zen 3") == []
    assert options_for("llvm-mca", {"cpu": "haswell"}, "Zen 3") == [{"cpu": "haswell"}]
    assert options_for("cqa", {"a": 1}, "Zen 3") == [{"a": 1}]


def test_predictions_for_different_processors_are_told(machine: Machine) -> None:
    here = predictor("here", "machine", machine="lab")
    fits = predictor("fits", "llvm-mca", cpu="znver3")
    usual = predictor("usual", "llvm-mca")
    unknown = predictor("own", "command")
    assert different_processors([here, fits, unknown]) == {}
    found = different_processors([here, usual, unknown])
    assert found == {"Zen 3": ["here"], "Haswell": ["usual"]}
    skylake = [predictor("x", "osaca", arch="SKX"), predictor("y", "llvm-mca", cpu="skylake-avx512")]
    assert different_processors(skylake) == {}


class _Made:
    """A tool that knows two processors."""

    def __init__(self, options: Any) -> None:
        self.name = f"tool {options.cpu}"
        self.identity = {"cpu": options.cpu}
        if options.cpu not in ("haswell", "znver3"):
            raise PredictorError("no such processor")

    def close(self) -> None:
        pass


def test_tools_are_listed_for_the_processor_at_hand(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = KINDS["llvm-mca"]
    kind = type(known)(
        **{**vars(known), "make": _Made, "found": lambda: [FoundKind({"release": "14"}, "14")]}
    )

    def names() -> list[str]:
        return [one.name for one in listed({"llvm-mca": kind})]

    assert names() == ["tool znver3"]
    monkeypatch.setattr(query, "processor_here", lambda: "Zen 5")
    assert names() == ["tool haswell"]
