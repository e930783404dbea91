"""Who stands for a class while the ports of the blocking instructions are looked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from inference.core.events import PacedReporter
from inference.core.explain import BlockingQuestion, ExplainSettings
from inference.core.explain.ports import Improper, PortSolver
from inference.core.explain.problem import BlockingAnswer
from inference.core.mapping import PortMapping
from tests.core.pmevo.small import Listener


def test_whoever_stands_for_a_class_instead_has_its_ports_and_is_not_improper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[BlockingQuestion] = []

    def solver(question: BlockingQuestion, *_: Any) -> BlockingAnswer:
        asked.append(question)
        return BlockingAnswer(PortMapping(("0", "1"), {"b": ((0b11, 1),), "c": ((0b01, 1), (0b11, 1))}))

    def all_but_a(_: PortSolver, members: list[str]) -> list[str]:
        return [each for each in members if each != "a"]  # a restless one

    monkeypatch.setattr(PortSolver, "_sound", all_but_a)
    problem = SimpleNamespace(domains={}, hint=None)
    widths, teller = {"a": 2, "b": 2}, SimpleNamespace(pace=PacedReporter(Listener()))
    context: Any = SimpleNamespace(
        settings=ExplainSettings(), sampler=None, problem=problem, widths=widths, teller=teller
    )
    improper = [Improper("b", 1), Improper("c", 1)]
    kept, _ = PortSolver(context, solver, 1, None).solve([["a", "b"]], improper, {"a": 0b11})
    (question,) = asked
    assert kept == [["b"]]
    assert (question.schemes, question.improper, question.known) == (("b", "c"), ("c",), {"b": 0b11})
