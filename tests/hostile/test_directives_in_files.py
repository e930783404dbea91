"""Assembly in imported files is read by nobody but the reader."""

from __future__ import annotations

import io

import pytest

from anica_app.formats.anica_campaigns import MINIMISED_BLOCK, START_BLOCK
from anica_app.formats.campaign_zip import read_part, tree_of_path
from anica_app.storage.campaigns import store_campaign
from inference.formats.block_sets import BlockSetOptions, summarise
from inference.formats.blocks_csv import BrokenRows
from tests.anica.formats.published import DOCUMENTS, LABEL, write_directory
from tests.directives import SPELLINGS, watching, written

ONE = {
    "discovery.json": DOCUMENTS[f"discoveries/{LABEL}.json"],
    "witness.json": DOCUMENTS[f"witnesses/{LABEL}.json"],
}
"""One generalisation, which has its block in files of its own."""


@pytest.mark.django_db
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_row_of_a_block_set_with_a_directive_is_a_problem_with_its_place(spelling, tmp_path):
    with watching(tmp_path) as watch:
        cell = written(spelling, watch.file).replace('"', '""')
        content = f'bb,a tool\n4801d8,1\n"{cell}",1.5\n"nop; {cell}",1.5\n'.encode()
        found = summarise(io.BytesIO(content), "blocks.csv", BlockSetOptions(BrokenRows.SKIP))
        assert {problem.column for problem in found.problems.listed} == {"bb"}
        assert found.problems.count == 2
        watch.expect_silence(str([problem.message for problem in found.problems.listed]))


@pytest.mark.django_db
def test_a_campaign_s_block_with_a_directive_is_left_out_with_the_reason(tmp_path):
    for number, spelling in enumerate(SPELLINGS):
        with watching(tmp_path) as watch:
            text = written(spelling, watch.file)
            files = {**ONE, START_BLOCK: text, MINIMISED_BLOCK: f"nop\n{text}"}
            top = write_directory(tmp_path / str(number), files)
            stored = store_campaign(read_part(tree_of_path(top)), f"campaign {number}")
            assert stored.facts[START_BLOCK], spelling
            assert stored.facts[MINIMISED_BLOCK], spelling
            watch.expect_silence(str(stored.facts))
            assert not any(one.code or one.start_code for one in stored.discoveries.all())
