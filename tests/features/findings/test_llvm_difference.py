"""Runs that hold a mapping against LLVM's model, and the page that starts and shows them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from inference.core.mapping import PortMapping as Mapping
from inference.features.judging.findings.llvm_job import KIND, LlvmDifference
from inference.isa.targets import X86
from inference.models import PortMapping, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.predictors.llvm import newest
from tests.work import work_off

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"


@pytest.fixture
def mapping(db: None) -> PortMapping:
    """Haswell has four ports for an addition, here are two."""
    isa = new_isa(X86, [ADD, IMUL], "by hand")
    value = Mapping(ports=("0", "1"), usage={ADD: ((3, 1),), IMUL: ((2, 1),)})
    return store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)


def finished(mapping: PortMapping, **config: object) -> Run:
    return work_off(submit(KIND, {"mapping": mapping.pk, "cpu": "haswell", **config}, "beside LLVM"))


def test_a_run_reports_the_schemes_that_differ(mapping: PortMapping) -> None:
    release = newest()
    run = finished(mapping)
    assert run.state == Run.State.DONE, run.error
    report = LlvmDifference.of(run.result["report"])
    assert (report.asked, report.within, report.quicker, report.release) == (2, 1, 1, release.number)
    (row,) = report.differing
    assert (row.scheme, row.llvm, row.predicted, row.measured) == (ADD, 0.25, 0.5, None)
    assert "two ports" in " ".join(report.head)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"cpu": "z80"}, "knows no processor 'z80'"),
        ({"cpu": "a b"}, "name of a processor"),
        ({"release": "7"}, "llvm-mca 7 is not installed here"),
        ({"mapping": 10**6}, "there is no port mapping"),
        ({"speed": 1}, "speed"),
        ({"tolerance": -1}, "tolerance"),
    ],
)
def test_what_cannot_be_done_is_told_before_it_begins(
    mapping: PortMapping, config: dict[str, object], told: str
) -> None:
    newest()
    with pytest.raises(ConfigError) as refusal:
        submit(KIND, {"mapping": mapping.pk, "cpu": "haswell", **config}, "beside LLVM")
    assert told in str(refusal.value)


def test_the_page_starts_a_run_and_shows_and_hands_out_its_report(
    client: Client, administrator: User, mapping: PortMapping
) -> None:
    newest()
    client.force_login(administrator)
    assert f'href="/mappings/{mapping.pk}/llvm/"' in client.get(f"/mappings/{mapping.pk}/").content.decode()
    page = f"/mappings/{mapping.pk}/llvm/"
    assert client.get(page).status_code == 200
    refused = client.post(page, {"release": newest().number, "cpu": "z80", "tolerance": 20})
    assert refused.status_code == 400
    assert "knows no processor" in refused.content.decode()
    answer = client.post(page, {"release": newest().number, "cpu": "haswell", "tolerance": 20})
    run = work_off(Run.objects.get())
    assert answer["Location"] == f"/runs/{run.pk}/"
    shown = client.get(page).content.decode()
    assert "too fast by a factor of 2" in shown
    assert (
        f'href="/mappings/{mapping.pk}/llvm/?run={run.pk}"' in client.get(f"/runs/{run.pk}/").content.decode()
    )
    report = client.get(f"{page}{run.pk}/report.md")
    assert report["Content-Type"] == "text/markdown; charset=utf-8"
    assert f"## `{ADD}`: too fast by a factor of 2" in report.content.decode()


def test_the_shell_writes_the_report(mapping: PortMapping) -> None:
    newest()
    out = StringIO()
    call_command("llvm-difference", "two ports", "--cpu", "haswell", "--tolerance", "0.1", stdout=out)
    assert f"## `{ADD}`: too fast by a factor of 2" in out.getvalue()
    with pytest.raises(CommandError, match="give it with --cpu"):
        call_command("llvm-difference", "two ports", stdout=out)
