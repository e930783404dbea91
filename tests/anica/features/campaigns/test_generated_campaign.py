"""The generated campaign that benchmarks and pages are tried with is like a real one."""

from __future__ import annotations

import pytest

from anica_app.core.domain import documents
from anica_app.core.domain.features import full_vocabulary
from anica_app.features.discoveries.query import samples_of_step, tree_of
from anica_app.models import GeneralisationStep
from benchmarks._generated_campaign import SAMPLES, generated_campaign

pytestmark = pytest.mark.django_db


def test_it_has_the_discoveries_decisions_and_samples_asked_for() -> None:
    campaign = generated_campaign(6, 10)
    assert (campaign.discoveries.count(), campaign.generalisations.count()) == (6, 6)
    assert campaign.batches.count() > 1
    for one in campaign.generalisations.all():
        tree = tree_of(one)
        assert 1 < len(tree.nodes) <= 11
        assert one.samples_count == SAMPLES * len(tree.nodes)
        assert len(samples_of_step(one, 1) or ()) == SAMPLES
        documents.parse_block(one.result, full_vocabulary())
    steps = GeneralisationStep.objects.filter(generalisation__campaign=campaign)
    assert all(step.interesting == step.n for step in steps if step.taken)


def test_each_time_it_is_the_same_campaign() -> None:
    first, second = (generated_campaign(2, 5, name) for name in ("one", "two"))
    documents_of = [list(each.discoveries.values_list("abstract", "code")) for each in (first, second)]
    assert documents_of[0] == documents_of[1]
