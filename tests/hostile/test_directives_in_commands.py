"""Files that commands read code from reach no program that knows directives."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command, get_commands

from inference.core.mapping import PortMapping as Mapping
from inference.isa.targets import X86
from inference.models import Machine, PortMapping, Run
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.directives import SPELLINGS, watching, written

ADD = "add GPR[64]:RW, GPR[64]:R"
needs_decode = pytest.mark.skipif("decode" not in get_commands(), reason="there is no decode yet")


@pytest.fixture
def mapping(db: None) -> PortMapping:
    isa = new_isa(X86, [ADD], "by hand")
    Machine.objects.create(name="box", kind="agent", isa=isa, facts={"blocks": True})
    value = Mapping(ports=("0", "1"), usage={ADD: ((3, 1),)})
    return store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "{}", "--predictor", "mapping two ports"],
        ["predict", "{}", "--ports", "two ports"],
        ["measure-block", "{}", "--machine", "box"],
        pytest.param(["decode", "{}"], marks=needs_decode),
        pytest.param(["decode", "{}", "--json"], marks=needs_decode),
    ],
    ids=" ".join,
)
def test_a_command_that_reads_code_refuses_directives(command, mapping, tmp_path):
    pasted = tmp_path / "pasted"
    for spelling in SPELLINGS:
        out = StringIO()
        with watching(tmp_path) as watch:
            pasted.write_text(written(spelling, watch.file))
            with pytest.raises((CommandError, SystemExit)) as caught:
                call_command(*[part.format(pasted) for part in command], stdout=out, stderr=out)
            if isinstance(caught.value, SystemExit):
                assert caught.value.code == 1, spelling
            assert "Unknown command" not in str(caught.value)
            watch.expect_silence(out.getvalue() + str(caught.value))
    assert not Run.objects.exists()
