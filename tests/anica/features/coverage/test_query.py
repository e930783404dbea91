"""How much of a set discoveries explain."""

from __future__ import annotations

import io

import pytest

from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.features.coverage.job import (
    SetBlock,
    coverage_of,
    interesting_blocks,
    unsubsumed_discoveries,
)
from anica_app.models import Campaign, Discovery
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet
from inference.runs.errors import JobError
from inference.storage.block_sets import store

pytestmark = pytest.mark.django_db

TEXT = (
    "bb,one,two\n"
    '"add rax, rbx",1.0,1.0\n'
    '"imul rax, rbx",1.0,3.0\n'
    '"add rcx, rdx\nimul rax, rbx",1.0,3.0\n'
    '"nop",1.0,\n'
    "0f0b,1.0,9.0\n"
)


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT.encode()), "b.csv", "set", BlockSetOptions())[0]


def discovery(campaign: Campaign, number: int, *instructions: dict[str, object], **more: object) -> Discovery:
    abstract = {"instructions": list(instructions), "aliasing": []}
    values = {"abstract": abstract, "length": len(instructions) or 1, **more}
    return Discovery.objects.create(campaign=campaign, number=number, **values)


def test_blocks_that_discoveries_subsume_are_covered(block_set: BasicBlockSet) -> None:
    campaign = Campaign.objects.create(name="c", origin="run")
    imul = discovery(campaign, 0, {"mnemonic": {"base": "imul", "edits": 0}})
    discovery(campaign, 1, {"category": "arithmetic", "uops": {"fewer_than": 2}})
    discovery(campaign, 2, {"memory": ["W"]}, subsumed_by=imul)
    unsaid = discovery(campaign, 3, abstract=None)
    rows = block_set.blocks.order_by("position").values_list("position", "code")
    blocks = [SetBlock(position, bytes(code)) for position, code in rows]
    found = coverage_of(blocks, unsubsumed_discoveries([campaign]))
    assert [one.number for one in found.discoveries] == [0, 1]
    covered = {block.position: row.tolist() for block, row in zip(found.blocks, found.covered.T, strict=True)}
    assert covered[0] == [False, True]
    assert covered[1] == [True, False]
    assert covered[2] == [True, True]
    assert covered[3] == [False, False]
    assert [block.position for block in found.uncovered] == [3] + [p for p in covered if p > 3]
    assert found.unsaid == (unsaid,)
    assert found.widened


def test_only_blocks_on_which_the_tools_differ_are_interesting(block_set: BasicBlockSet) -> None:
    judge = Disagreement(InterestSettings())
    found = interesting_blocks(block_set, ["one", "two"], judge)
    assert [block.position for block in found] == [1, 2, 4]
    with pytest.raises(JobError, match="no column 'three'"):
        interesting_blocks(block_set, ["one", "three"], judge)


def test_without_discoveries_nothing_is_covered() -> None:
    block = SetBlock(0, bytes.fromhex("4801d8"))
    assert coverage_of([block], []).uncovered == [block]


def test_blocks_with_unknown_instructions_are_told_apart() -> None:
    strange = SetBlock(0, bytes.fromhex("0f0b"))  # ud2
    found = coverage_of([strange], [])
    assert (found.strange, found.blocks) == ((strange,), ())
