"""Which families of campaigns a block belongs to, beside the answers of their tools."""

from __future__ import annotations

import pytest
from django.urls import reverse

from anica_app.features.families.block_notes import notes_on_block
from anica_app.models import Campaign
from inference.models import Predictor
from tests.anica.features.families.test_doors import SCAN, campaign

__all__ = ["campaign"]

pytestmark = pytest.mark.django_db


def test_a_block_belongs_to_the_families_that_cover_it(campaign: Campaign) -> None:
    notes = notes_on_block("x86-64", SCAN, campaign.tools[1:])
    scans = campaign.families.get(number=0)
    assert [note.url for note in notes] == [
        reverse("family", args=[row.pk]) for row in campaign.families.all()
    ]
    assert notes[0].text == f"{scans.name}, slower in {campaign.tools[1].name}: a family of releases"


def test_other_blocks_and_other_tools_have_no_notes(campaign: Campaign) -> None:
    add = bytes.fromhex("4801d8")
    assert notes_on_block("x86-64", add, campaign.tools) == []
    stranger = Predictor.objects.create(name="OSACA", kind="osaca", key="9" * 64)
    assert notes_on_block("x86-64", SCAN, [stranger]) == []
    assert notes_on_block("x86-64", SCAN, []) == []
    assert notes_on_block("aarch64", SCAN, campaign.tools) == []
