"""The search for R_max on simulated processors whose R_max is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pytest

from inference.core.bottleneck import measure_bottleneck, recorded_bottleneck
from inference.core.errors import InterruptedRunError
from inference.core.events import Event
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping, uops_of
from inference.core.protocols import Checkpoint
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor

Usage = Mapping[str, Sequence[Sequence[int]]]

LIKE_ZEN: Usage = {
    "add": [(0, 1, 2, 3)],
    "sub": [(0, 1, 2, 3)],
    "shl": [(1, 2)],
    "imul": [(1,)],
    "lea": [(0, 3)],
    "vpaddd": [(4, 5, 6, 7)],
    "vaddpd": [(6, 7)],
    "vmulps": [(4, 5)],
    "vpshufb": [(5, 6)],
    "vpermd": [(5,), (5,)],
    "load": [(8, 9, 10)],
    "store": [(8, 9), (11,)],
    "add memory": [(0, 1, 2, 3), (8, 9, 10)],
    "vaddpd memory": [(6, 7), (8, 9, 10)],
}
LIKE_SKYLAKE: Usage = {
    "add": [(0, 1, 5, 6)],
    "shl": [(0, 6)],
    "imul": [(1,)],
    "lea": [(1, 5)],
    "vpand": [(0, 1, 5)],
    "vaddpd": [(0, 1)],
    "vpshufb": [(5,)],
    "load": [(2, 3)],
    "store": [(4,), (2, 3, 7)],
    "imul memory": [(1,), (2, 3)],
    "vpshufb memory": [(5,), (2, 3)],
}


class Quiet:
    """A reporter that counts how often it was called."""

    def __init__(self, until: int = 10**9) -> None:
        self.pulses = 0
        self.until = until

    def emit(self, event: Event) -> None:
        pass

    def save(self, checkpoint: Checkpoint) -> None:
        pass

    def pulse(self) -> None:
        self.pulses += 1
        if self.pulses > self.until:
            raise InterruptedRunError("cancel")


def processor(usage: Usage, r_max: float | None, **noise: float) -> SimulatedProcessor:
    n_ports = 1 + max(port for uops in usage.values() for ports in uops for port in ports)
    masks = {s: uops_of((sum(1 << k for k in ports), 1) for ports in uops) for s, uops in usage.items()}
    mapping = PortMapping(tuple(map(str, range(n_ports))), masks, r_max)
    return SimulatedProcessor(mapping, **noise)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.01])
@pytest.mark.parametrize(
    ("usage", "r_max"), [(LIKE_ZEN, 4), (LIKE_ZEN, 5), (LIKE_ZEN, 6), (LIKE_SKYLAKE, 4), (LIKE_SKYLAKE, 5)]
)
def test_a_bottleneck_below_the_ports_is_found(usage: Usage, r_max: float, noise: float) -> None:
    found = measure_bottleneck(usage, processor(usage, r_max, noise=noise, seed=2), Quiet())
    assert found.r_max == r_max
    assert found.highest == pytest.approx(r_max, rel=0.025)
    assert found.ports > r_max
    assert found.experiments < 400


def test_a_bottleneck_that_is_no_whole_number_is_told_as_it_is() -> None:
    found = measure_bottleneck(LIKE_ZEN, processor(LIKE_ZEN, 5.5), Quiet())
    assert found.r_max == pytest.approx(5.5, abs=0.01)


@pytest.mark.parametrize(("usage", "ports"), [(LIKE_ZEN, 11), (LIKE_SKYLAKE, 7)])
@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_where_the_ports_limit_first_no_bottleneck_is_claimed(usage: Usage, ports: int, noise: float) -> None:
    found = measure_bottleneck(usage, processor(usage, None, noise=noise, seed=2), Quiet())
    assert found.r_max is None
    assert found.evidence is None
    assert ports - 1.1 < found.highest < ports + 0.2  # a lower bound on what the processor can do


def test_ports_that_a_bottleneck_hides_entirely_are_no_evidence_of_it() -> None:
    usage: Usage = {"add": [(0, 1, 2, 3)], "shl": [(1, 2)], "imul": [(1,)]}
    assert measure_bottleneck(usage, processor(usage, 5), Quiet()).r_max is None
    assert measure_bottleneck(usage, processor(usage, 4), Quiet()).r_max is None


BESIDE_LOADS: Usage = {
    "add GPR[64]:RW, GPR[64]:R": [(0, 1, 2)],
    "xor GPR[64]:RW, GPR[64]:R": [(0, 1, 2)],
    "mov GPR[64]:W, MEM[64]:R": [(3, 4, 5, 6)],
    "mov GPR[32]:W, MEM[32]:R": [(3, 4, 5, 6)],
    "add GPR[64]:RW, MEM[64]:R": [(0, 1, 2), (3, 4, 5, 6)],
}
"""A bottleneck of 4 lets nothing be quicker than loads alone."""


def test_loads_have_no_ports_in_common_with_what_computes() -> None:
    assert measure_bottleneck(BESIDE_LOADS, processor(BESIDE_LOADS, 4, noise=0.01), Quiet()).r_max == 4
    assert measure_bottleneck(BESIDE_LOADS, processor(BESIDE_LOADS, None, noise=0.01), Quiet()).r_max is None


def test_random_processors_without_a_bottleneck_are_never_given_one() -> None:
    random = np.random.default_rng(3)
    for _ in range(40):
        usage = {
            f"s{k}": [sorted(random.choice(8, random.integers(1, 5), replace=False).tolist())]
            for k in range(10)
        }
        found = measure_bottleneck(usage, processor(usage, None, noise=0.003), Quiet())
        assert found.r_max is None, (usage, found)


def test_the_witness_and_the_way_to_it_are_told() -> None:
    found = measure_bottleneck(LIKE_ZEN, processor(LIKE_ZEN, 6), Quiet())
    rates = [step.ipc for step in found.trace]
    assert rates == sorted(rates)
    assert found.trace[-1].experiment == found.experiment
    assert found.experiment is not None
    (result,) = processor(LIKE_ZEN, 6).measure([found.experiment])
    assert found.experiment.length / (result.cycles or 1) == pytest.approx(6)
    facts = found.as_json()
    assert (facts["r_max"], facts["experiment"]) == (6, str(found.experiment))


def test_schemes_that_reach_the_bottleneck_alone_are_warned_of() -> None:
    found = measure_bottleneck(LIKE_SKYLAKE, processor(LIKE_SKYLAKE, 4), Quiet())
    assert found.at_limit == ("add",)
    assert "add" in found.warning
    assert "4 instructions per cycle" in found.warning
    assert measure_bottleneck(LIKE_ZEN, processor(LIKE_ZEN, 6), Quiet()).warning == ""


def test_the_order_of_the_schemes_changes_nothing() -> None:
    one = measure_bottleneck(list(LIKE_ZEN), processor(LIKE_ZEN, 6, noise=0.01), Quiet())
    other = measure_bottleneck(list(LIKE_ZEN)[::-1], processor(LIKE_ZEN, 6, noise=0.01), Quiet())
    assert one == other


def test_outliers_and_failures_are_lived_with() -> None:
    class Flaky(SimulatedProcessor):
        def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
            for k, result in enumerate(super().measure(experiments)):
                yield (
                    Measured(result.experiment, None, MeasurementState.FAILED, note="crash")
                    if k % 7 == 5 and not result.experiment.is_singleton
                    else result
                )

    plain = processor(LIKE_ZEN, 6)
    flaky = Flaky(plain._mapping, outlier_share=0.02, outlier_factor=1.5, seed=5)
    assert measure_bottleneck(LIKE_ZEN, flaky, Quiet()).r_max == 6


def test_slow_schemes_alone_say_nothing() -> None:
    usage: Usage = {"div": [(0,), (0,), (0,)]}
    found = measure_bottleneck(usage, processor(usage, 4), Quiet())
    assert (found.r_max, found.experiment, found.experiments) == (None, None, 1)


def test_hundreds_of_schemes_take_no_more_experiments_than_needed() -> None:
    usage = {f"{name} {k}": uops for name, uops in LIKE_ZEN.items() for k in range(30)}
    found = measure_bottleneck(usage, processor(usage, 6), Quiet())
    assert found.r_max == 6
    assert found.experiments - len(usage) < 500


def test_recorded_data_without_the_experiments_it_takes_shows_no_bottleneck() -> None:
    recorded = {("a",): 0.25, ("b",): 0.5, ("a", "b"): 0.75}
    measurer = RecordedMeasurer([Measured(Experiment.of(e), cycles) for e, cycles in recorded.items()])
    found = measure_bottleneck(["a", "b"], measurer, Quiet())
    assert (found.r_max, found.experiment) == (None, None)


def test_it_can_be_interrupted() -> None:
    with pytest.raises(InterruptedRunError):
        measure_bottleneck(LIKE_ZEN, processor(LIKE_ZEN, 6), Quiet(until=30))


def test_recorded_data_show_the_bottleneck_where_several_schemes_run_at_its_rate() -> None:
    usage = {f"alu {k}": ((0b1111, 1),) for k in range(3)} | {f"nop {k}": () for k in range(5)}
    usage["load"] = ((0b110000, 1),)
    truth = PortMapping(tuple("012345"), usage, 5.0)
    asked = [Experiment.of([scheme]) for scheme in usage]
    mixed = [Experiment.of({"alu 0": 10, scheme: 1}) for scheme in usage if scheme != "alu 0"]
    recorded = list(SimulatedProcessor(truth).measure([*asked, *mixed]))
    assert recorded_bottleneck(recorded) == 5.0
    assert recorded_bottleneck(recorded[: len(asked)]) is None, "nothing was recorded that could be quicker"
    others = [each for each in recorded if not each.experiment.schemes[0].startswith("nop")]
    assert recorded_bottleneck(others) is None
