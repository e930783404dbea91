"""Explainable inference from end to end, on simulated processors whose mapping is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core import pacing
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.errors import KEEP, InsufficientDataError, InterruptedRunError
from inference.core.events import Event, Log, Progress
from inference.core.experiment import Experiment, Measured
from inference.core.explain import NotCharacterised, SchemeFate, WitnessOutcome
from inference.core.explain.blocking_question import BlockingAnswer, BlockingQuestion
from inference.core.identity import structural_agreement
from inference.core.mapping import PortMapping
from inference.measuring.simulated import NOTHING, PORTS, UOPS, SimulatedProcessor
from tests.core.explain.small import STORES, ZENLIKE, explain, mapping_of
from tests.core.pmevo.small import Listener
from tests.drawn import examples


def part(mapping: PortMapping, schemes: set[str]) -> PortMapping:
    """The mapping of these alone."""
    return dataclasses.replace(mapping, usage={s: u for s, u in mapping.usage.items() if s in schemes})


def agrees(found: PortMapping, truth: PortMapping) -> bool:
    """Every scheme of the truth has its µops, up to a renaming of ports."""
    return structural_agreement(truth, found).agreeing == tuple(sorted(truth.usage))


def test_every_scheme_gets_its_uops_from_a_counter_and_times() -> None:
    result = explain(ZENLIKE)
    assert agrees(result.mapping, ZENLIKE)
    assert result.outcomes == {SchemeFate.CHARACTERISED: len(ZENLIKE.usage)}
    assert result.r_max == 6.0 or result.r_max is None


def test_noise_is_answered_with_more_samples() -> None:
    noisy = SimulatedProcessor(ZENLIKE, noise_cpi=0.005, counters=UOPS, seed=4)
    result = explain(ZENLIKE, measurer=noisy)
    assert agrees(result.mapping, ZENLIKE)
    assert 0.003 < result.noise < 0.008
    assert result.measurements > 3 * result.experiments


@pytest.mark.parametrize("floods", ["all", "needed", "until-counted"])
def test_every_port_set_has_a_witness_that_shows_what_was_concluded(floods: str) -> None:
    result = explain(ZENLIKE, floods=floods)
    assert agrees(result.mapping, ZENLIKE)
    for each in result.characterisations:
        assert [w.mask.bit_count() for w in each.witnesses] == sorted(
            w.mask.bit_count() for w in each.witnesses
        )
        evaded = [w.mask for w in each.witnesses if w.seen is WitnessOutcome.EVADES]
        shown = {w.mask for w in each.witnesses}
        shown |= {c.mask for c in result.classes if any(c.mask & mask == c.mask for mask in evaded)}
        assert floods == "until-counted" or shown == {c.mask for c in result.classes}
        assert {(w.mask, w.uops) for w in each.witnesses if w.seen is WitnessOutcome.USES} == set(each.usage)
        for witness in each.witnesses:
            assert witness.cycles == pytest.approx(witness.expected_cycles)


class Keeping(Listener):
    """Wants what there is from some event on."""

    def __init__(self, after: Callable[[Event], bool]) -> None:
        super().__init__()
        self._after = after

    def pulse(self) -> None:
        if any(map(self._after, self.events)):
            raise InterruptedRunError(KEEP)


def test_whoever_wants_what_there_is_gets_the_schemes_tested_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "PULSE_INTERVAL", 0.0)
    monkeypatch.setattr("inference.core.explain.remaining._CHUNK", 8)
    some = Keeping(lambda event: isinstance(event, Progress) and event.phase == "remaining, run 1")
    result = explain(ZENLIKE, some)
    tested = {each.scheme for each in result.characterisations if each.witnesses}
    assert len(tested) == 8
    assert agrees(result.mapping, part(ZENLIKE, tested))
    others = {each.reason for each in result.characterisations if each.scheme not in tested}
    assert others == {NotCharacterised.NOT_REACHED}


def test_whoever_wants_what_there_is_gets_what_an_interrupted_attempt_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "PULSE_INTERVAL", 0.0)
    monkeypatch.setattr("inference.core.explain.remaining._CHUNK", 3)
    interrupted = Listener(lambda heard: bool(heard.saved) and heard.last().meta["chunks"] == 2)
    with pytest.raises(InterruptedRunError):
        explain(ZENLIKE, interrupted)
    some = Keeping(lambda event: isinstance(event, Progress) and event.phase == "remaining, run 1")
    result = explain(ZENLIKE, some, resume=interrupted.last())
    assert len({each.scheme for each in result.characterisations if each.witnesses}) == 6


def test_uops_that_only_some_schemes_have_stay_unknown_to_whoever_wants_what_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "PULSE_INTERVAL", 0.0)
    some = Keeping(lambda event: isinstance(event, Log) and "no scheme has alone" in event.text)
    result = explain(STORES, some)
    assert [text for text in result.warnings if "the run had to end" in text]
    assert not [each for each in result.classes if each.improper]
    assert agrees(result.mapping, part(STORES, {"add", "sub", "shl", "load"}))


def test_stores_are_blocked_by_schemes_with_another_uop() -> None:
    result = explain(STORES)
    assert agrees(result.mapping, STORES)
    improper = [each for each in result.classes if each.improper]
    assert [(each.blocker, each.width) for each in improper][:1] == [("store", 1)]


def test_ports_that_were_found_stay_when_schemes_of_two_uops_contradict_them() -> None:
    def tying(question: BlockingQuestion, *others: Any) -> BlockingAnswer:
        found = solve_by_cegar(question, *others)
        if not question.improper:
            return found
        usage = {**found.mapping.usage, "load": found.mapping.usage["shl"]}
        return dataclasses.replace(
            found, mapping=dataclasses.replace(found.mapping, usage=usage), alternatives=()
        )

    result = explain(STORES, solver=tying)
    assert agrees(result.mapping, part(STORES, {"add", "sub", "shl", "load"}))
    assert not [each for each in result.classes if each.improper]
    assert [text for text in result.warnings if "others would have other ports" in text]


def test_counters_of_the_ports_give_the_identical_mapping() -> None:
    by_time = explain(STORES)
    counting = SimulatedProcessor(STORES, counters=PORTS)
    by_counters = explain(STORES, measurer=counting, evidence="port-counters")
    assert agrees(by_counters.mapping, STORES)
    assert by_counters.mapping.ports == STORES.ports
    assert by_counters.mapping.usage == STORES.usage
    assert agrees(by_time.mapping, by_counters.mapping)


def test_floods_without_counters_have_failed_where_ports_are_counted() -> None:
    class Alone(SimulatedProcessor):
        def measure(self, experiments):
            for one in super().measure(experiments):
                yield one if len(one.experiment.terms) == 1 else dataclasses.replace(one, counters={})

    with pytest.raises(InsufficientDataError, match=r"no usable measurement of it, e\.g\. add: beside"):
        explain(STORES, measurer=Alone(STORES, counters=PORTS), evidence="port-counters")


@st.composite
def cores(draw: st.DrawFn) -> PortMapping:
    """Classes on random ports, and stores of one cycle, half a cycle or two, alone and with another µop."""
    ports = "0123456"
    alu = draw(st.sampled_from(["0123", "012", "01"]))
    shift = draw(st.sampled_from(["12", "1", "0"]))
    store = draw(st.sampled_from(["4", "45", "4 4", "5"]))
    load = draw(st.sampled_from(["45", "5", "56"]))
    usage = {
        "add": alu,
        "sub": alu,
        "shl": shift,
        "load": load,
        "store": store,
        "store r": f"{store} {alu}",
        "store x": f"{store} {load}",
        "add r, m": f"{alu} {load}",
    }
    left_out = draw(st.sets(st.sampled_from(sorted(usage)), max_size=2))
    return mapping_of(
        ports, {s: u for s, u in usage.items() if s not in left_out}, draw(st.sampled_from([None, 5.0]))
    )


@examples(20)
@given(cores(), st.booleans())
def test_no_structure_of_classes_ends_in_an_internal_error(core: PortMapping, counted: bool) -> None:
    try:
        result = explain(core, counters=UOPS if counted else NOTHING)
    except InsufficientDataError:
        return
    assert sum(result.outcomes.values()) == len(core.usage)
    assert result.outcomes[SchemeFate.CHARACTERISED] == len(result.mapping.usage) > 0


def test_what_was_found_is_kept_when_the_unknown_uops_cannot_be() -> None:
    def solver(question, measurer, reporter, seed):
        if question.improper:
            raise InsufficientDataError("no ports explain the improper ones")
        return solve_by_cegar(question, measurer, reporter, seed)

    whole = explain(STORES)
    found = explain(STORES, solver=solver)
    assert any("stay unknown: no ports explain" in warning for warning in found.warnings)
    assert {"add", "sub", "shl", "load"} <= set(found.mapping.usage) < set(whole.mapping.usage)


def test_without_any_counter_the_same_is_found_by_throughput() -> None:
    result = explain(ZENLIKE, counters=NOTHING)
    assert result.counts_from == "throughput"
    assert agrees(result.mapping, ZENLIKE)


def test_counts_may_come_from_a_table() -> None:
    table = {scheme: sum(count for _, count in uops) for scheme, uops in ZENLIKE.usage.items()}
    del table["rol"]
    result = explain(ZENLIKE, counters=NOTHING, uops=table)
    assert result.counts_from == "table"
    verdicts = {each.scheme: each for each in result.characterisations}
    assert verdicts["rol"].reason is NotCharacterised.COUNT
    assert agrees(
        result.mapping, PortMapping(ZENLIKE.ports, {s: u for s, u in ZENLIKE.usage.items() if s != "rol"})
    )


def test_nothing_is_dropped_silently_when_schemes_misbehave() -> None:
    usage = {f"{scheme} {k}": uops for k in range(4) for scheme, uops in ZENLIKE.usage.items()}
    large = dataclasses.replace(ZENLIKE, usage=usage)
    odd = SimulatedProcessor(large, noise_cpi=0.003, odd_share=0.2, counters=UOPS, seed=2)
    result = explain(large, measurer=odd)
    assert sum(result.outcomes.values()) == len(usage)
    verdicts = {each.scheme: each for each in result.characterisations}
    for scheme in odd.quirks:
        assert verdicts[scheme].outcome is not SchemeFate.CHARACTERISED, (scheme, odd.quirks[scheme])
        assert verdicts[scheme].text
        assert (
            verdicts[scheme].facts
            or verdicts[scheme].witnesses
            or verdicts[scheme].reason is NotCharacterised.CLASH
        )
    behaved = {s: u for s, u in usage.items() if s not in odd.quirks}
    assert agrees(result.mapping, PortMapping(large.ports, behaved))


def test_a_hint_decides_where_no_experiment_does_and_names_the_ports() -> None:
    truth = mapping_of("abcdef", {"add": "abcd", "vadd": "ef", "vmul": "e", "add v": "abcd ef"}, r_max=5.0)
    hint = mapping_of("abcdef", {"add": "abcd", "vadd": "ef"})
    result = explain(truth, hint=hint, ports=6, r_max=5.0)
    told = {each.scheme: each for each in result.characterisations}
    assert result.mapping.describe("add") == "1×[a,b,c,d]"
    assert not told["add"].alternatives


def test_what_passes_for_a_single_uop_gives_way_to_what_is_documented() -> None:
    truth = mapping_of(
        "0123456",
        {"add": "0123", "sub": "0123", "load": "45", "store": "5 0123", "vor": "6", "add m": "0123 45"},
        r_max=5.0,
    )
    alone = explain(truth, counters=NOTHING, r_max=5.0)
    assert alone.mapping.describe("store").count("×") == 1  # tied to an ALU, it ties the load to it
    assert not agrees(alone.mapping, truth)
    hint = mapping_of("0123456", {"add": "0123", "load": "45"})
    result = explain(truth, counters=NOTHING, r_max=5.0, hint=hint)
    store = next(each for each in result.characterisations if each.scheme == "store")
    fitting = [  # a load's port beside an ALU port takes as long as the other way around
        replace(result.mapping, usage={**result.mapping.usage, "store": usage})
        for usage in (store.usage, *store.alternatives)
    ]
    assert any(agrees(one, truth) for one in fitting)
    assert not result.warnings


def test_a_port_set_as_wide_as_the_bottleneck_is_not_claimed() -> None:
    truth = mapping_of(
        "012345",
        {"add": "0123", "shl": "03", "imul": "1", "load": "45", "add m": "0123 45", "x": "03 45"},
        r_max=4.0,
    )
    result = explain(truth, counters=NOTHING, r_max=4.0)
    told = {each.scheme: each for each in result.characterisations}
    assert told["add m"].doubts
    assert any("cannot be excluded" in doubt for doubt in told["add m"].doubts)
    assert any("§6.2.3" in warning for warning in result.warnings)
    wide = next(each.mask for each in result.classes if each.blocker == "add")
    assert all(mask != wide for each in told.values() for mask, _ in each.usage if each.scheme != "add")


@pytest.mark.parametrize("usage", ["0123 0123 0123", "0123 0123 0123 45"])
def test_uops_that_the_bottleneck_hides_leave_a_scheme_out_where_its_time_shows_them(usage: str) -> None:
    truth = mapping_of(
        "012345", {"add": "0123", "shl": "03", "imul": "1", "load": "45", "x": usage}, r_max=4.0
    )
    result = explain(truth, counters=NOTHING, r_max=4.0)
    (hidden,) = (each for each in result.characterisations if each.scheme == "x")
    assert hidden.reason in (NotCharacterised.MISSING, NotCharacterised.SLOW)


def test_noise_that_grows_with_time_makes_nothing_unstable() -> None:
    slow = {f"slow {count}": ((1 << 6, count),) for count in range(6, 14)}
    truth = replace(ZENLIKE, usage={**ZENLIKE.usage, **slow})
    processor = SimulatedProcessor(truth, noise=0.01, counters=NOTHING)
    result = explain(truth, measurer=processor, r_max=6.0)
    unstable = [e.scheme for e in result.characterisations if e.reason is NotCharacterised.UNSTABLE]
    assert not unstable


def test_what_is_quicker_than_the_widest_port_set_uses_no_port_and_leaves_no_doubt() -> None:
    truth = dataclasses.replace(ZENLIKE, usage={**ZENLIKE.usage, "nop": ()})
    doubtful = explain(truth, counters=NOTHING, r_max=6.0)
    assert any(each.doubts for each in doubtful.characterisations if each.scheme != "nop")
    result = explain(truth, counters=NOTHING, r_max=6.0, widest=4)
    told = {each.scheme: each for each in result.characterisations}
    assert told["nop"].reason is NotCharacterised.NO_PORTS
    assert "no µop may use more than 4 ports" in told["nop"].text
    assert not any(each.doubts for each in told.values())
    assert agrees(result.mapping, ZENLIKE)


class Counting(SimulatedProcessor):
    """Remembers the pairs that it is asked."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        asked = list(experiments)
        self.pairs = getattr(self, "pairs", 0) + sum(each.length == 2 for each in asked)
        return super().measure(asked)


def test_without_counts_a_class_is_first_looked_for_where_its_likes_are() -> None:
    kinds = {"add": "0123", "vadd": "6789", "fma": "67", "shl": "12", "rol": "23"}
    usage = {f"{kind} {k}": ports for kind, ports in kinds.items() for k in range(60)}
    truth = mapping_of("0123456789", usage, r_max=6.0)
    processor = Counting(truth, counters=NOTHING)
    result = explain(truth, measurer=processor)
    assert len(structural_agreement(truth, result.mapping).agreeing) == len(usage)
    assert processor.pairs < 1.5 * len(usage), "not with each class of its width"


def told_by(listener: Listener) -> list[Event]:
    """What does not depend on how long the search takes: how often progress is said does."""
    return [event for event in listener.events if event.kind != "progress"]


@pytest.mark.parametrize("told", [3, 8, 12])
def test_a_search_taken_up_again_tells_its_story_once(told: int) -> None:
    whole = Listener()
    result = explain(ZENLIKE, whole)
    half = Listener(lambda listener: len(told_by(listener)) >= told)
    with pytest.raises(InterruptedRunError):
        explain(ZENLIKE, half)
    rest = Listener()
    again = explain(ZENLIKE, rest, resume=half.last())
    assert again == result
    assert told_by(half) + told_by(rest) == told_by(whole)


def test_schemes_that_cannot_block_anything_end_the_search_with_a_reason() -> None:
    with pytest.raises(InsufficientDataError, match="single µop"):
        explain(mapping_of("01", {"a": "0 1 01", "b": "0 0 0"}))
