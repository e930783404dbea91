"""What programs send as code reaches no program that knows directives."""

from __future__ import annotations

import pytest

from inference.models import PortMapping, Run
from tests.directives import SPELLINGS, watching, written
from tests.rows.programs import Program


@pytest.mark.parametrize("path", ["/blocks", "/questions", "/explanations", "/mappings/{}/block-loads"])
def test_an_operation_that_takes_code_refuses_directives(
    program: Program, mapping: PortMapping, path: str, tmp_path
):
    asked = {"predictors": ["mapping:mapping=three ports"] * (2 if path == "/explanations" else 1)}
    more = asked if path in ("/questions", "/explanations") else {}
    with watching(tmp_path) as watch:
        for spelling in SPELLINGS:
            body = {"code": written(spelling, watch.file), **more}
            status, said = program("POST", path.format(mapping.pk), body)
            assert status in (400, 422), (spelling, said)
            assert said["detail"], spelling
            watch.expect_silence(str(said))
    assert not Run.objects.exists()


def test_a_search_takes_directives_for_words(program: Program, mapping: PortMapping, tmp_path):
    from urllib.parse import quote

    with watching(tmp_path) as watch:
        for spelling in SPELLINGS:  # the page's test has them alone, and looks where the API does
            text = written(f"addq %rax, %rbx\n{spelling}", watch.file)
            status, said = program("GET", f"/search?q={quote(text)}")
            assert status == 200, (spelling, said)
            watch.expect_silence(str(said))
