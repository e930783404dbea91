"""The numbers of §3.2.2, held against such as were reckoned by hand."""

from __future__ import annotations

import math

import pytest

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment, Measured, MeasurementState, OrderedExperiment
from inference.core.model_check import (
    MIX_LENGTHS,
    AloneCheck,
    AloneVerdict,
    MixTally,
    OrderTally,
    judge_alone,
    mixes_by_length,
    most_orders,
    nearest_single_uop,
    orders_of,
    summary_of,
)


def alone(cycles: float | None, state: str = "settled", note: str = "") -> Measured:
    return Measured(Experiment.of(["a"]), cycles, MeasurementState(state), note=note)


@pytest.mark.parametrize(
    ("measured", "modelled", "verdict"),
    [
        (1.0, 1.09, AloneVerdict.WITHIN),
        (1.0, 1.11, AloneVerdict.DISCREPANCY),
        (1.11, 1.0, AloneVerdict.WITHIN),  # 10 % of the measurement
        (1.12, 1.0, AloneVerdict.DISCREPANCY),
        (1.0, 0.91, AloneVerdict.WITHIN),
        (1.0, 0.89, AloneVerdict.DISCREPANCY),
        (0.25, 0.0, AloneVerdict.NO_PORTS),
        (0.25, None, AloneVerdict.NOT_DESCRIBED),
    ],
)
def test_ten_per_cent_are_those_of_the_measurement(measured, modelled, verdict):
    assert judge_alone(alone(measured), modelled).verdict is verdict


def test_a_discrepancy_says_which_way_and_how_far():
    assert judge_alone(alone(3.0), 2.0).note == "50 % slower than modelled"
    assert judge_alone(alone(1.5), 2.0).note == "25 % faster than modelled"


def test_what_is_not_compared_says_why():
    assert judge_alone(alone(None, "failed", "illegal instruction"), 1.0).note == "illegal instruction"
    assert judge_alone(alone(1.0, "unsettled"), 1.0).verdict is AloneVerdict.NOT_SETTLED
    assert judge_alone(alone(1.0, "contended"), 1.0).note == "the computer was too disturbed"
    excluded = judge_alone(alone(9.0), 1.0, "its time depends on values")
    assert (excluded.verdict, excluded.note) == (AloneVerdict.EXCLUDED, "its time depends on values")
    assert not excluded.compared
    assert (excluded.measured, excluded.modelled) == (9.0, 1.0)


def test_without_a_reference_a_scheme_is_held_against_a_single_uop():
    assert [nearest_single_uop(c) for c in (4.0, 1.0, 0.7, 0.5, 0.34, 0.2, 0.01)] == [
        1.0,
        1.0,
        0.5,
        0.5,
        1 / 3,
        0.2,
        0.05,
    ]
    assert judge_alone(alone(0.26), None, referred=False).verdict is AloneVerdict.WITHIN
    assert judge_alone(alone(1.5), None, referred=False).verdict is AloneVerdict.DISCREPANCY


def test_the_share_is_of_those_that_are_compared():
    rows = [
        AloneCheck("a", 1.0, 1.0, AloneVerdict.WITHIN),
        AloneCheck("b", 3.0, 3.0, AloneVerdict.WITHIN),
        AloneCheck("c", 4.0, 4.0, AloneVerdict.WITHIN),
        AloneCheck("d", 9.0, 1.0, AloneVerdict.DISCREPANCY),
        AloneCheck("e", 0.2, 0.0, AloneVerdict.NO_PORTS),
        AloneCheck("f", None, 1.0, AloneVerdict.NOT_MEASURED),
    ]
    found = summary_of(rows)
    assert (found.requested, found.compared, found.within, found.short) == (6, 4, 3, 2)
    assert (found.share, found.short_share) == (0.75, 0.5)
    assert found.verdicts[AloneVerdict.NO_PORTS] == 1
    assert summary_of([]).share is None
    assert [AloneCheck.of_row(row.as_row()) for row in rows] == rows


def test_mixes_are_scored_per_instruction():
    tally = MixTally(2, {"a": 1.0, "b": 0.5})
    tally.add(Measured(Experiment.of(["a", "b"]), 1.0), 1.0)  # 0.5 measured, 0.5 modelled
    tally.add(Measured(Experiment.of(["a", "a"]), 2.0), 1.5)  # 1.0 and 0.75
    tally.add(Measured(Experiment.of(["b", "b"]), 1.25), 1.0)  # 0.625 and 0.5
    tally.add(Measured(Experiment.of(["b", "b"]), None, MeasurementState.FAILED), 1.0)
    found = tally.summary
    assert (found.asked, found.settled) == (4, 3)
    assert found.scores is not None
    assert found.scores.mape == pytest.approx((0 + 25 + 20) / 3)
    # Deviations from the means 17/24 and 7/12, in 24ths: measured -5, 7, -2; modelled -2, 4, -2.
    assert found.scores.pearson == pytest.approx((10 + 28 + 4) / math.sqrt(78 * 24))
    # Measured ranks 1 < 0.625 (rounded 0.62) < 1; modelled 0.5, 0.5, 0.75: two pairs agree, one is tied.
    assert found.scores.kendall == pytest.approx(2 / math.sqrt(3 * 2))


def test_what_no_port_mapping_explains_is_counted():
    tally = MixTally(2, {"a": 1.0, "b": 0.5})
    for cycles in (1.0, 1.64, 1.66, 0.91, 0.89):  # alone 1.0 and 0.5, one after the other 1.5
        tally.add(Measured(Experiment.of(["a", "b"]), cycles), None)
    assert (tally.summary.slower, tally.summary.faster) == (1, 1)
    assert tally.summary.scores is None


def test_the_mixes_are_those_of_the_seed_and_of_length_one_all_schemes():
    schemes = list("abcdef")
    drawn = mixes_by_length(schemes, 7, seed=3)
    assert tuple(drawn) == MIX_LENGTHS
    assert [e.schemes[0] for e in drawn[1]] == schemes
    assert all({e.length for e in mixes} == {length} for length, mixes in drawn.items())
    assert len(set(drawn[5])) == 7
    assert drawn == mixes_by_length(schemes, 7, seed=3) != mixes_by_length(schemes, 7, seed=4)
    assert mixes_by_length(schemes, 0, seed=3) == mixes_by_length([], 5, seed=3) == {}


def test_orders_differ_and_are_those_of_the_seed():
    e = Experiment.of({"a": 2, "b": 1, "c": 3})
    orders = orders_of(e, 8, seed=1)
    assert len({each.order for each in orders}) == 8
    assert {each.multiset for each in orders} == {e}
    assert orders == orders_of(e, 8, seed=1) != orders_of(e, 8, seed=2)
    assert len(orders_of(Experiment.of(["a", "b"]), 8, seed=1)) == 2
    assert len(orders_of(Experiment.of({"a": 9}), 8, seed=1)) == 1
    assert (most_orders(2, 10), most_orders(4, 10)) == (2, 10)


def test_an_order_is_not_its_multiset():
    ordered = OrderedExperiment.in_order(["b", "a", "b"])
    assert ordered.terms == Experiment.of(["a", "b", "b"]).terms
    assert ordered != ordered.multiset
    assert ordered != OrderedExperiment.in_order(["a", "b", "b"])
    assert len({ordered, ordered.multiset}) == 2
    with pytest.raises(InvalidInputError, match="not one of"):
        OrderedExperiment(ordered.terms, ("a", "b"))


def test_orders_are_summed_up_as_in_table_3_1():
    tally = OrderTally(2)
    ab, ba = (OrderedExperiment.in_order(order) for order in ("ab", "ba"))
    for order, cycles in ((ab, 1.0), (ba, 1.2)):  # 0.5 and 0.6: a difference of 0.1
        tally.add(order, Measured(order, cycles))
    for text, cycles in (("ac", 2.0), ("ca", 2.04)):  # 1.0 and 1.02
        order = OrderedExperiment.in_order(text)
        tally.add(order, Measured(order, cycles))
    unsettled = OrderedExperiment.in_order("bc")
    tally.add(unsettled, Measured(unsettled, 5.0, MeasurementState.UNSETTLED))
    found = tally.summary
    assert (found.asked, found.samples, found.notable, found.share) == (3, 2, 1, 0.5)
    assert found.mean == pytest.approx(0.06)
    assert found.largest == pytest.approx(0.1)
    assert found.worst[0] == ("a; b", 0.5, 0.6)
    assert OrderTally(4).summary.mean is None
