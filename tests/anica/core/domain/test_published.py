"""The published discoveries can be said in our words, read, and sampled from."""

from __future__ import annotations

import json
from random import Random

import pytest
from django.conf import settings

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.settings import SpaceSettings
from anica_app.core.domain.wording import block_wording
from anica_app.formats.anica_abstract import abstract_document

_OTHERWISE_HERE = {"tab4_D"}
"""bsf and bsr only write their target in theirs; here they read it too, since a source of 0 leaves it."""


@pytest.mark.shared
def test_every_component_of_the_published_discoveries_can_be_said() -> None:
    folder = settings.SHARED / "data" / "anica"
    domain = BlockDomain.of(None, SpaceSettings(groups="legacy-sse mmx system"))
    files = [*folder.glob("*/*/discovery.json"), *folder.glob("*/discoveries/*.json")]
    assert len(files) >= 24
    for file in files:
        document = abstract_document(json.loads(file.read_text())["ab"])
        abstract = domain.read(document)
        assert len(block_wording(document).instructions) == len(abstract)
        assert domain.document(abstract) == document
        if file.parent.name not in _OTHERWISE_HERE:
            blocks = [domain.sample(abstract, Random(seed)) for seed in range(20)]
            assert any(blocks), file
