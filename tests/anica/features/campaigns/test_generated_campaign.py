"""The generated campaign that benchmarks and pages are tried with is like a real one."""

from __future__ import annotations

import pytest

from anica_app.core.domain import documents
from anica_app.core.domain.features import everything
from anica_app.features.discoveries.generalisations import samples_of_step, tree_of
from anica_app.models import GeneralisationStep
from benchmarks._generated_campaign import Size, generated_campaign

pytestmark = pytest.mark.django_db


def test_it_has_the_discoveries_decisions_and_samples_asked_for() -> None:
    size = Size(discoveries=6, decisions=10, samples=8, orders=2, rounds=3, pool=60, batches=10)
    campaign = generated_campaign(size)
    assert (campaign.discoveries.count(), campaign.generalisations.count(), campaign.batches.count()) == (
        6,
        12,
        3,
    )
    for one in campaign.generalisations.all():
        tree = tree_of(one)
        assert 1 < len(tree.nodes) <= 11
        assert one.samples_count == 8 * len(tree.nodes)
        assert len(samples_of_step(one, 1) or ()) == 8
        documents.read(one.result, everything())
    steps = GeneralisationStep.objects.filter(generalisation__campaign=campaign)
    assert all(step.interesting == step.n for step in steps if step.taken)


def test_the_same_seed_makes_the_same_campaign() -> None:
    size = Size(discoveries=2, decisions=5, samples=4, rounds=1, pool=30, batches=4)
    first, second = (generated_campaign(size, name) for name in ("one", "two"))
    documents_of = [list(each.discoveries.values_list("abstract", "code")) for each in (first, second)]
    assert documents_of[0] == documents_of[1]
