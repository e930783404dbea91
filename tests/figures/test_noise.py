"""The picture of a machine's noise over time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from inference.figures.noise import MAX_POINTS, NoiseReading, downsample, noise_over_time, spans

START = datetime(2026, 1, 1, tzinfo=UTC)


def reading(seconds: float, state: str = "idle", noise: float | None = 0.004, ghz: float | None = 3.0):
    return NoiseReading(START + timedelta(seconds=seconds), state, noise, ghz)


def test_noise_is_drawn_in_per_cent_and_the_clock_in_gigahertz():
    noise, clock = noise_over_time([reading(0), reading(30, noise=0.02, ghz=2.5)])["data"]
    assert noise["y"] == [0.4, 2.0]
    assert clock["y"] == [3.0, 2.5]
    assert noise["x"] == clock["x"] == ["2026-01-01T00:00:00+00:00", "2026-01-01T00:00:30+00:00"]


def test_no_line_crosses_the_time_when_nobody_was_there():
    steady = [reading(30 * k) for k in range(10)]
    later = [reading(3600 + 30 * k) for k in range(10)]
    noise = noise_over_time([*steady, *later])["data"][0]
    assert noise["y"][9:12] == [0.4, None, 0.4]
    assert len(noise["x"]) == 21
    assert noise["connectgaps"] is False


def test_a_number_that_was_not_told_is_a_gap_too():
    assert noise_over_time([reading(0), reading(30, noise=None)])["data"][0]["y"] == [0.4, None]


def test_neighbours_in_one_state_are_one_shade_and_idleness_is_none():
    states = ["idle", "contended", "contended", "idle", "measuring", "unfit"]
    found = spans([reading(30 * k, state) for k, state in enumerate(states)])
    told = [(span.state, (span.start - START).seconds, (span.end - START).seconds) for span in found]
    assert told[:2] == [("contended", 30, 90), ("measuring", 120, 150)]
    assert told[2][:2] == ("unfit", 150)


def test_a_shade_ends_where_the_readings_do():
    steady = [reading(20 * k, "contended") for k in range(4)]
    before, after = spans([*steady, reading(3600, "contended")])
    assert before.end - before.start < timedelta(minutes=2)
    assert after.start == START + timedelta(hours=1)


def test_a_shade_says_its_state_and_leaves_the_colour_to_the_page():
    (shade,) = noise_over_time([reading(0, "contended"), reading(30)])["layout"]["shapes"]
    assert shade["name"] == "contended"
    assert "fillcolor" not in shade
    assert noise_over_time([reading(0, "contended")])["data"][0]["text"] == ["disturbed"]


def test_many_readings_become_medians_in_the_worst_of_their_states():
    many = [reading(k, "contended" if k == 5 else "idle", noise=k / 1000) for k in range(4 * MAX_POINTS)]
    few = downsample(many, MAX_POINTS)
    assert len(few) == MAX_POINTS
    assert few[1].state == "contended"
    assert few[1].noise == 0.0055
    assert [each.state for each in few].count("contended") == 1


def test_readings_without_any_number_can_be_merged_as_well():
    assert downsample([reading(k, noise=None, ghz=None) for k in range(4)], 2)[0].noise is None


def test_a_single_reading_is_a_point():
    assert noise_over_time([reading(0)])["data"][0]["marker"]["size"] == [5]


def test_a_reading_between_two_gaps_is_a_dot() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    minutes = [0, 1, 2, 30, 60, 61]
    readings = [NoiseReading(start + timedelta(minutes=each), "idle", 0.01, 3.0) for each in minutes]
    noise = noise_over_time(readings)["data"][0]
    dots = [each for each, size in zip(noise["y"], noise["marker"]["size"], strict=True) if size]
    assert len(dots) == 1
    assert noise["marker"]["size"][noise["y"].index(None) + 1] > 0
