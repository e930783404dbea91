from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.congruence import Likeness, congruent_schemes
from inference.core.pmevo.plan import pairs, relative_difference, singletons
from tests.core.pmevo.small import MAPPING, processor

Times = dict[Experiment, float]
Classes = tuple[tuple[str, ...], ...]


def exhaustive(seed: int) -> Times:
    """All that PMEvo's plan measures on the small processor."""
    known = measured(singletons(sorted(MAPPING.usage)), seed)
    alone = {experiment.schemes[0]: cycles for experiment, cycles in known.items()}
    return known | measured(list(pairs(alone, 0.05)), seed)


def measured(experiments: list[Experiment], seed: int) -> Times:
    results = processor(seed).measure(experiments)
    return {result.experiment: result.cycles for result in results if result.cycles is not None}


def classes_of(schemes: list[str], times: Times, evidence: float = 1.0, outliers: float = 0.0) -> Classes:
    settings = PMEvoSettings(
        congruence_epsilon=0.05, congruence_evidence=evidence, congruence_outliers=outliers
    )
    return congruent_schemes(schemes, times, settings, lambda: None)[0]


def congruent_by_the_paper(a: str, b: str, times: Times, epsilon: float) -> bool:
    """§5.1.2 word for word: equal alone, and equal with m copies beside n of any other scheme."""
    single = relative_difference(times[Experiment.of({a: 1})], times[Experiment.of({b: 1})])
    if single >= epsilon:
        return False
    others = {scheme for experiment in times for scheme in experiment.schemes} - {a, b}
    for c, m, n in itertools.product(others, range(1, 9), range(1, 9)):
        one, two = Experiment.of({a: m, c: n}), Experiment.of({b: m, c: n})
        if one in times and two in times and relative_difference(times[one], times[two]) >= epsilon:
            return False
    return True


def test_on_the_exhaustive_plan_congruence_is_the_paper_s() -> None:
    for seed in range(5):
        times = exhaustive(seed)
        home = {scheme: members for members in classes_of(sorted(MAPPING.usage), times) for scheme in members}
        for a, b in itertools.combinations(sorted(MAPPING.usage), 2):
            assert (b in home[a]) == congruent_by_the_paper(a, b, times, 0.05)


def by_the_definition(
    schemes: list[str], times: Times, epsilon: float, evidence: float, outliers: float
) -> list[list[str]]:
    """Experiment by experiment, as the documentation of the filter says it."""

    def congruent(a: str, b: str) -> bool:
        other = {a: b, b: a}
        having = [[e for e in times if scheme in e.schemes] for scheme in (a, b)]
        wanted = evidence * (len(having[0]) + len(having[1])) / 2
        if min(len(having[0]), len(having[1])) < wanted:
            return False
        exchanged = {e: Experiment.of({other.get(s, s): n for s, n in e.terms}) for e in having[0]}
        compared = [(times[e], times[f]) for e, f in exchanged.items() if f in times]
        different = sum(relative_difference(*both) >= epsilon for both in compared)
        return len(compared) > 0 and len(compared) >= wanted and different <= outliers * len(compared)

    classes: list[list[str]] = []
    for scheme in sorted(schemes):
        for members in classes:
            if all(congruent(scheme, member) for member in members):
                members.append(scheme)
                break
        else:
            classes.append([scheme])
    return classes


@given(
    st.dictionaries(
        st.dictionaries(st.sampled_from("abcde"), st.integers(1, 3), min_size=1, max_size=3).map(
            Experiment.of
        ),
        st.sampled_from([1.0, 1.02, 1.049, 1.06, 1.1]),
        max_size=60,
    ),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from([0.0, 0.1, 0.4]),
)
def test_the_compiled_filter_is_its_definition(times: Times, evidence: float, outliers: float) -> None:
    found = classes_of(list("abcd"), times, evidence, outliers)
    wanted = by_the_definition(list("abcd"), times, 0.05, evidence, outliers)
    assert [list(members) for members in found] == wanted


def test_a_share_of_outliers_forgives_what_noise_does() -> None:
    both = [Experiment.of({scheme: 1, other: n}) for scheme in "ab" for other in "cde" for n in (1, 2)]
    times = dict.fromkeys(both, 1.0) | {Experiment.of({"a": 1, "c": 2}): 1.06}
    assert classes_of(["a", "b"], times, outliers=0.1) == (("a",), ("b",))
    assert classes_of(["a", "b"], times, outliers=0.2) == (("a", "b"),)


def test_likeness_counts_what_was_compared_with_the_representative() -> None:
    both = [Experiment.of({scheme: 1, other: n}) for scheme in "ab" for other in "cde" for n in (1, 2)]
    times = dict.fromkeys(both, 1.0) | {Experiment.of({"a": 1, "c": 2}): 1.06}
    forgiving = PMEvoSettings(congruence_outliers=0.2)
    classes, why = congruent_schemes(["a", "b"], times, forgiving, lambda: None)
    assert classes == (("a", "b"),)
    assert why == {"b": Likeness(6, 1, pytest.approx(0.06 / 1.03))}


def test_schemes_of_different_domains_are_not_alike_whatever_was_measured() -> None:
    both = [Experiment.of({scheme: 1, other: 1}) for scheme in "abfg" for other in "cde"]
    times = dict.fromkeys(both, 1.0)
    domains = {"a": "vector", "f": "vector"}
    classes, why = congruent_schemes(list("abfg"), times, PMEvoSettings(), lambda: None, domains)
    assert classes == (("a", "f"), ("b", "g"))
    assert set(why) == {"f", "g"}
    assert congruent_schemes(list("abfg"), times, PMEvoSettings(), lambda: None)[0] == (tuple("abfg"),)


def test_equal_schemes_merge_and_the_others_do_not() -> None:
    classes = classes_of(sorted(MAPPING.usage), exhaustive(1))
    assert classes == (("add", "sub"), ("load",), ("mul",), ("store",))


def test_a_counterpart_that_was_never_measured_keeps_schemes_apart() -> None:
    times = {Experiment.of({"a": 1}): 1.0, Experiment.of({"b": 1}): 1.0, Experiment.of({"a": 1, "c": 1}): 2.0}
    assert classes_of(["a", "b", "c"], times) == (("a",), ("b",), ("c",))
    times[Experiment.of({"b": 1, "c": 1})] = 2.0
    assert classes_of(["a", "b", "c"], times) == (("a", "b"), ("c",))


def test_the_evidence_asked_for_decides_how_many_counterparts_may_be_missing() -> None:
    both = [Experiment.of({scheme: 1}) for scheme in "ab"]
    both += [Experiment.of({scheme: 1, other: 1}) for scheme in "ab" for other in "cde"]
    times = dict.fromkeys(both, 1.0)
    del times[Experiment.of({"b": 1, "e": 1})]  # of the seven that are left, six have a counterpart
    assert classes_of(["a", "b"], times, 0.85) == (("a", "b"),)
    assert classes_of(["a", "b"], times, 0.9) == (("a",), ("b",))
    times[Experiment.of({"b": 1, "d": 1})] = 1.2  # one contradiction outweighs all that agrees
    assert classes_of(["a", "b"], times, 0.5) == (("a",), ("b",))


def test_schemes_that_were_never_compared_are_not_alike() -> None:
    times = {Experiment.of({"a": 1, "c": 1}): 1.0, Experiment.of({"b": 1, "d": 1}): 1.0}
    assert classes_of(["a", "b"], times, 0.0) == (("a",), ("b",))


def test_an_experiment_with_both_schemes_must_look_the_same_exchanged() -> None:
    times = {
        Experiment.of({"a": 1}): 1.0,
        Experiment.of({"b": 1}): 1.0,
        Experiment.of({"a": 1, "b": 1}): 2.0,
        Experiment.of({"a": 2, "b": 1}): 3.0,
        Experiment.of({"a": 1, "b": 2}): 3.0,
    }
    assert classes_of(["a", "b"], times) == (("a", "b"),)
    times[Experiment.of({"a": 1, "b": 2})] = 4.0
    assert classes_of(["a", "b"], times) == (("a",), ("b",))


def test_a_chain_of_small_differences_does_not_merge_its_ends() -> None:
    times = {Experiment.of({s: 1}): t for s, t in (("a", 1.0), ("b", 1.04), ("c", 1.08))}
    assert classes_of(["a", "b", "c"], times) == (("a", "b"), ("c",))


def test_classes_do_not_depend_on_the_order_of_the_schemes() -> None:
    times = exhaustive(2)
    assert classes_of(sorted(MAPPING.usage), times) == classes_of(sorted(MAPPING.usage, reverse=True), times)
