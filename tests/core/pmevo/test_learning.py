from __future__ import annotations

import pytest

from inference.core.experiment import Experiment
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.representatives import learnable, of_classes, of_representatives

CLASSES = (("a", "b"), ("c",))


def e(**counts: int) -> Experiment:
    return Experiment.of(counts)


def test_representatives_alone_are_the_paper_s_choice() -> None:
    times = {e(a=1): 1.0, e(b=1): 1.1, e(a=1, c=1): 2.0, e(b=1, c=1): 2.2}
    assert of_representatives(times, CLASSES) == {e(a=1): 1.0, e(a=1, c=1): 2.0}


def test_members_count_as_their_representative_and_repeats_as_their_median() -> None:
    times = {e(a=1): 1.0, e(b=1): 1.1, e(a=1, c=2): 2.0, e(b=1, c=2): 2.4, e(c=1): 3.0}
    learnt = of_classes(times, CLASSES)
    assert learnt == {
        e(a=1): pytest.approx(1.05),
        e(a=1, c=2): pytest.approx(2.2),
        e(c=1): pytest.approx(3.0),
    }


def test_multiples_of_an_experiment_tell_of_it_too() -> None:
    times = {e(a=1): 1.0, e(a=1, b=1): 2.2, e(a=2, c=2): 4.2, e(b=1, c=1): 1.9, e(a=1, c=1): 2.0}
    learnt = of_classes(times, CLASSES)
    assert learnt == {e(a=1): pytest.approx(1.05), e(a=1, c=1): pytest.approx(2.0)}


def test_schemes_of_no_class_leave_their_experiments_out() -> None:
    assert of_classes({e(a=1, x=1): 2.0, e(c=1): 1.0}, CLASSES) == {e(c=1): 1.0}


def test_the_settings_choose() -> None:
    times = {e(a=1): 1.0, e(b=1): 1.2}
    assert learnable(times, CLASSES, PMEvoSettings(learn_from="representatives")) == ([e(a=1)], [1.0])
    assert learnable(times, CLASSES, PMEvoSettings(learn_from="classes")) == ([e(a=1)], [1.1])
