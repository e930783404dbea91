"""Numbers of µops and of ports, from counters, rules and times (§6.2.1, Postulate 6.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from inference.core.errors import InsufficientDataError
from inference.core.experiment import Experiment, Measured
from inference.core.explain import NotCharacterised
from inference.core.explain.alone import width_of
from inference.core.explain.sampling import SampledCycles
from inference.core.explain.uop_counts import counted_uops, integer_count, source_of_counts, zen_extra
from inference.core.identity import structural_agreement
from inference.core.mapping import PortMapping
from inference.measuring.simulated import SimulatedProcessor
from tests.core.explain.small import ZENLIKE, explain


@pytest.mark.parametrize(
    ("scheme", "extra"),
    [
        ("add GPR[32]:RW, GPR[32]:R", 0),
        ("add GPR[32]:RW, MEM[32]:R", 1),
        ("add MEM[32]:RW, GPR[32]:R", 1),
        ("vaddps YMM:W, YMM:R, MEM[256]:R", 2),
        ("vaddps XMM:W, XMM:R, MEM[128]:R", 1),
        ("lea GPR[64]:W, ADDR[B+D8]", 0),
        ("mov GPR[64]:W, MEM[64]:R", 0),
        ("vmovaps XMM:W, MEM[128]:R", 0),
        ("mov MEM[64]:W, GPR[64]:R", 1),
        ("movs MEM[8]:W, MEM[8]:R", 2),
    ],
)
def test_zen_s_macro_ops_miss_the_uops_of_memory_operands(scheme: str, extra: int) -> None:
    assert zen_extra(scheme) == extra


def test_a_counter_counts_uops_or_macro_ops() -> None:
    reading = SampledCycles(Experiment.of(["add GPR[32]:RW, MEM[32]:R"]), 0.5, 1, {"uops": 1.0})
    assert counted_uops(reading, "as-counted") == 1.0
    assert counted_uops(reading, "zen-macro-ops") == 2.0
    assert counted_uops(SampledCycles(reading.experiment, 0.5, 1), "as-counted") is None


@pytest.mark.parametrize(("count", "shown"), [(1.0, 1), (1.05, 1), (1.94, 2), (1.5, None), (0.02, 0)])
def test_a_count_that_is_no_whole_number_says_nothing(count: float, shown: int | None) -> None:
    assert integer_count(count) == shown


def test_counts_come_from_a_table_a_counter_or_nowhere() -> None:
    assert source_of_counts("auto", table=True, counter=True) == "table"
    assert source_of_counts("auto", table=False, counter=True) == "counter"
    assert source_of_counts("auto", table=False, counter=False) == "throughput"
    assert source_of_counts("throughput", table=True, counter=True) == "throughput"


@pytest.mark.parametrize(
    ("cycles", "width"),
    [
        (1.0, 1),
        (0.5, 2),
        (0.334, 3),
        (0.25, 4),
        (0.2, 5),
        (0.169, 6),
        (0.1915, None),  # faster than five ports are, slower than six
        (0.6, None),
        (0.29, None),
        (2.0, None),
        (1.03, None),
        (0.01, None),
    ],
)
def test_a_single_uop_takes_a_fraction_of_a_cycle(cycles: float, width: int | None) -> None:
    assert width_of(cycles, 0.02) == width


class Issuing(SimulatedProcessor):
    """Lets four µops through per cycle, whatever instructions they are of."""

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for measured in super().measure(experiments):
            uops = sum(count * (self._uops[scheme] or 1) for scheme, count in measured.experiment.terms)
            cycles = max(measured.cycles or 0.0, uops / 6)
            yield Measured(measured.experiment, cycles)


def test_slots_among_nops_count_uops_where_the_bottleneck_passes_uops() -> None:
    usage = {**ZENLIKE.usage, "nop": ()}
    processor = Issuing(PortMapping(ZENLIKE.ports, usage))
    truth = PortMapping(ZENLIKE.ports, usage)
    result = explain(truth, measurer=processor, uops_from="issue", r_max=6.0)
    told = {each.scheme: each for each in result.characterisations}
    assert {s: told[s].counted for s in ZENLIKE.usage} == {
        s: sum(count for _, count in uops) for s, uops in ZENLIKE.usage.items()
    }
    assert told["nop"].outcome == "excluded"
    assert structural_agreement(ZENLIKE, result.mapping).agreeing == tuple(sorted(ZENLIKE.usage))


@pytest.mark.parametrize(("most", "counted_uops"), [(24, 2), (23, None)])
def test_slots_are_counted_with_as_many_nops_as_copies_may_be(most: int, counted_uops: int | None) -> None:
    truth = PortMapping(
        ZENLIKE.ports, {**ZENLIKE.usage, "nop": ()}
    )  # two cycles alone leave 18 - 2 slots free
    result = explain(truth, measurer=Issuing(truth), uops_from="issue", r_max=6.0, most_copies=most)
    told = {each.scheme: each for each in result.characterisations}
    assert told["vadd x2"].counted == counted_uops
    assert told["nop"].reason is NotCharacterised.COUNT, "they are no padding for themselves"


def test_without_anything_to_pad_with_the_search_says_so() -> None:
    with pytest.raises(InsufficientDataError, match="padding 'nop' cannot be measured"):
        explain(ZENLIKE, uops_from="issue")
