"""The ports of blocking instructions, and who is left out when measurements contradict."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from inference.core import cegar
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.cegar import CegarProblem
from inference.core.errors import InsufficientDataError
from inference.core.experiment import Measured
from inference.core.explain import BlockingQuestion
from inference.core.identity import structural_agreement
from inference.core.mapping import PortMapping
from inference.measuring.simulated import Quirk, SimulatedProcessor
from tests.core.explain.small import STORES, ZENLIKE
from tests.core.pmevo.small import Listener


def question(
    mapping: PortMapping, *schemes: str, improper: tuple[str, ...] = (), **trust: int
) -> BlockingQuestion:
    return BlockingQuestion(
        schemes=(*schemes, *improper),
        widths={scheme: mapping.usage[scheme][0][0].bit_count() for scheme in schemes},
        improper=improper,
        ports=len(mapping.ports),
        most_ports=12,
        r_max=mapping.r_max,
        epsilon=0.02,
        alternatives=20,
        trust={scheme: trust.get(scheme, 1) for scheme in schemes},
        domains={},
    )


def part(mapping: PortMapping, schemes: tuple[str, ...]) -> PortMapping:
    return PortMapping(mapping.ports, {scheme: mapping.usage[scheme] for scheme in schemes})


def test_the_ports_are_found_up_to_their_names() -> None:
    schemes = ("add", "shl", "imul", "load", "vaddps")
    answer = solve_by_cegar(question(ZENLIKE, *schemes), SimulatedProcessor(ZENLIKE), Listener(), 1)
    assert structural_agreement(part(ZENLIKE, schemes), answer.mapping).share == 1.0
    assert not answer.dropped
    assert answer.experiments >= len(schemes)


def test_improper_ones_share_a_uop_with_a_proper_one() -> None:
    asked = question(STORES, "add", "shl", "load", improper=("store", "vstore"))
    answer = solve_by_cegar(asked, SimulatedProcessor(STORES), Listener(), 1)
    schemes = ("add", "shl", "load", "store", "vstore")
    fitting = [answer.mapping, *answer.alternatives]
    assert any(structural_agreement(part(STORES, schemes), one).share == 1.0 for one in fitting)


def test_what_is_known_of_proper_ones_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cegar, "contradictions", lambda *asked: pytest.fail("it asks for all"))
    schemes = ("add", "shl", "load")
    known = {"add": 0b00111, "shl": 0b00010, "load": 0b11000}
    asked = replace(question(STORES, *schemes, improper=("store", "vstore")), known=known, ports=None)
    answer = solve_by_cegar(asked, SimulatedProcessor(STORES), Listener(), 1)
    wanted = part(STORES, (*schemes, "store", "vstore"))
    fitting = [answer.mapping, *answer.alternatives]
    assert any(structural_agreement(wanted, one).share == 1.0 for one in fitting)


def test_improper_ones_come_in_when_the_others_contradict_one_another_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[CegarProblem] = []

    def heard(ask: Any, problem: CegarProblem, *others: Any, **options: Any) -> Any:
        asked.append(problem)
        return ask(problem, *others, **options)

    for name in ("contradictions", "infer"):
        monkeypatch.setattr(cegar, name, partial(heard, getattr(cegar, name)))
    processor = SimulatedProcessor(STORES, quirks={"shl": Quirk.WAITS})
    wanted = question(STORES, "add", "shl", "load", improper=("store", "vstore"), add=240, load=9)
    answer = solve_by_cegar(wanted, processor, Listener(), 1)
    assert list(answer.dropped) == ["shl"]
    with_shl = [problem for problem in asked if "shl" in problem.schemes]
    assert with_shl
    assert not any(problem.improper for problem in with_shl)
    assert set(asked[-1].improper) == {"store", "vstore"}


def test_of_schemes_that_contradict_the_one_that_is_alone_is_left_out() -> None:
    processor = SimulatedProcessor(ZENLIKE, quirks={"imul": Quirk.WAITS})
    asked = question(ZENLIKE, "add", "shl", "imul", "load", add=240, shl=30, load=9)
    answer = solve_by_cegar(asked, processor, Listener(), 1)
    assert list(answer.dropped) == ["imul"]
    why = answer.dropped["imul"]
    assert "imul" in why.text
    assert why.contradicting
    assert all("imul" in experiment.schemes for experiment in why.contradicting)
    assert set(answer.mapping.usage) == {"add", "shl", "load"}


def test_where_nothing_fits_the_search_says_why() -> None:
    class Nonsense(SimulatedProcessor):
        def measure(self, experiments):  # type: ignore[no-untyped-def]
            for experiment in experiments:
                yield Measured(experiment, 0.7 * experiment.length + 0.11 * len(experiment.terms))

    with pytest.raises(InsufficientDataError, match="no ports explain"):
        solve_by_cegar(question(ZENLIKE, "add", "load"), Nonsense(ZENLIKE), Listener(), 1)


TIED = PortMapping(
    ("0", "1", "2", "3"),
    {"add": ((0b0011, 1),), "shl": ((0b0001, 1),), "load": ((0b1100, 1),), "odd": ((0b0110, 1),)},
)


@pytest.mark.parametrize("like_it", [1, 9])
def test_what_hardly_a_scheme_is_like_does_not_tie_parts_of_the_core(like_it: int) -> None:
    asked = replace(
        question(TIED, *TIED.usage, add=240, shl=30, load=9, odd=like_it),
        domains={"add": "integer", "shl": "integer", "odd": "integer", "load": "memory"},
    )
    answer = solve_by_cegar(asked, SimulatedProcessor(TIED), Listener(), 1)
    assert list(answer.dropped) == (["odd"] if like_it == 1 else [])
    assert set(answer.mapping.usage) == set(TIED.usage) - set(answer.dropped)
    assert structural_agreement(part(TIED, tuple(answer.mapping.usage)), answer.mapping).share == 1.0
