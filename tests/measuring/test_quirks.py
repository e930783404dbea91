"""Simulated processors that misbehave, count, and can be measured again."""

from __future__ import annotations

import statistics

import pytest

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.protocols import RepeatingMeasurer
from inference.measuring.simulated import PORTS, UOPS, Quirk, SimulatedProcessor, sample_quirks

MAPPING = PortMapping(
    ("0", "1", "2", "3"),
    {
        "add": ((0b1111, 1),),
        "mul": ((0b1, 1),),
        "load": ((0b1100, 1),),
        "fma": ((0b11, 1),),
        "div": ((0b1, 1),),
    },
    r_max=5.0,
)


def cycles(processor: SimulatedProcessor, **terms: int) -> float:
    (result,) = processor.measure([Experiment.of(terms)])
    assert result.cycles is not None
    return result.cycles


def odd(**quirks: Quirk) -> SimulatedProcessor:
    """A processor of which exactly these schemes misbehave."""
    return SimulatedProcessor(MAPPING, quirks=quirks)


def test_a_share_of_the_schemes_misbehaves_in_every_way_and_the_seed_decides_who() -> None:
    large = PortMapping(("0",), {f"s{k}": ((1, 1),) for k in range(100)})
    first = sample_quirks(large, 0.2, 1)
    assert len(first) == 20
    assert set(first.values()) == set(Quirk)
    assert sample_quirks(large, 0.2, 1) == first != sample_quirks(large, 0.2, 2)


def test_a_unit_that_is_not_pipelined_is_slower_than_its_ports() -> None:
    assert cycles(odd(div=Quirk.NOT_PIPELINED), div=1) == pytest.approx(4.0)
    assert cycles(odd(), div=1) == pytest.approx(1.0)


def test_a_scheme_that_waits_delays_only_others() -> None:
    waits = odd(mul=Quirk.WAITS)
    assert cycles(waits, mul=1) == pytest.approx(1.0)
    assert cycles(waits, mul=1, add=4) > 1.25


def test_microcode_stops_everything_else() -> None:
    stops = odd(mul=Quirk.MICROCODE)
    assert cycles(stops, mul=1, load=4) == pytest.approx(2.0 + 6 / 4)


def test_two_speeds_are_seen_beside_others_alone() -> None:
    unstable = odd(fma=Quirk.TWO_SPEEDS)
    seen = {round(cycles(unstable.repetition(k), fma=1, load=1), 3) for k in range(20)}
    assert seen == {0.5, 0.75}
    assert {cycles(unstable.repetition(k), fma=1) for k in range(20)} == {0.5}


def test_a_third_port_is_kept_busy_but_not_counted() -> None:
    processor = SimulatedProcessor(MAPPING, odd_share=1.0, counters=PORTS, seed=3)
    third = [scheme for scheme, quirk in processor.quirks.items() if quirk is Quirk.THIRD_PORT]
    for scheme in third:
        (alone,) = processor.measure([Experiment.of([scheme])])
        assert alone.counters["uops"] == 1.0


def test_counters_add_up_and_ports_share_the_work() -> None:
    processor = SimulatedProcessor(MAPPING, counters=PORTS)
    (result,) = processor.measure([Experiment.of({"add": 2, "mul": 1, "load": 1})])
    assert result.counters["uops"] == 4.0
    ports = [result.counters[f"port {port}"] for port in MAPPING.ports]
    assert sum(ports) == pytest.approx(4.0)
    (plain,) = SimulatedProcessor(MAPPING, counters=UOPS).measure([Experiment.of(["add"])])
    assert plain.counters == {"uops": 1.0}


def test_noise_in_cycles_per_instruction_grows_with_the_experiment_and_repetitions_differ() -> None:
    processor = SimulatedProcessor(MAPPING, noise_cpi=0.01)
    assert isinstance(processor, RepeatingMeasurer)
    short = statistics.stdev(cycles(processor.repetition(k), mul=1) for k in range(200))
    long = statistics.stdev(cycles(processor.repetition(k), mul=20) for k in range(200))
    assert short == pytest.approx(0.01, rel=0.3)
    assert long == pytest.approx(0.2, rel=0.3)
    assert cycles(processor.repetition(7), mul=1) == cycles(processor.repetition(7), mul=1)
    assert (
        processor.repetition(7).identity
        != processor.identity
        == SimulatedProcessor(MAPPING, noise_cpi=0.01).identity
    )


@pytest.mark.parametrize(
    "parameters", [{"noise_cpi": -1.0}, {"noise_cpi": 1.0}, {"odd_share": 1.1}, {"counters": "cycles"}]
)
def test_impossible_parameters_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        SimulatedProcessor(MAPPING, **parameters)  # type: ignore[arg-type]
