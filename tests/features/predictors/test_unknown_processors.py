"""A predictor with a processor that its tool does not know is refused when it is added, at every door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.features.asking.predictors.query import predictor_listings, row_for
from inference.models import Predictor
from inference.predictors.kinds import KINDS
from inference.predictors.processor_names import unknown_processor
from inference.predictors.protocol import PredictorError
from tests.predictors.fakes import python, script
from tests.predictors.llvm import newest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("trusting_operator")]

KNOWN = ("haswell", "znver3", "znver4", "pentium4")


def llvm_mca(path: Path) -> str:
    """An llvm-mca that knows four processors, and has no scheduling model of the last."""
    listed = "".join(f'echo "  {name} - Select the {name} processor."\n' for name in KNOWN)
    return script(
        path,
        f"""
case "$*" in
  *--version*) echo "LLVM version 99.1.0";;
  *-mcpu=help*) {listed};;
  *-mcpu=pentium4*) echo "error: unable to find instruction-level scheduling information" >&2; exit 1;;
  *-mcpu=haswell*|*-mcpu=znver3*|*-mcpu=znver4*) echo "Total Cycles: 3";;
  *) echo "'that' is not a recognized processor for this target (ignoring processor)" >&2;
     echo "Total Cycles: 3";;
esac""",
    )


def osaca(path: Path) -> str:
    """A Python with an old OSACA, which has models of few processors."""
    return python(path, 'print("0.3.0", "HSW", "SKX", "ZEN1")')


def maqao(path: Path) -> str:
    """A MAQAO that lists what it knows."""
    return script(path, 'case "$*" in *uarch=list*) printf "  HASWELL: Haswell\\n  ZEN_V2: Zen 2\\n";; esac')


@pytest.fixture
def options(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """By kind: options whose processor alone is wrong."""
    parameters = tmp_path / "learnt"
    parameters.write_text("x")
    program = llvm_mca(tmp_path / "llvm-mca")
    script(tmp_path / "llvm-mc", "exit 0")
    return {
        "llvm-mca": {"program": program, "cpu": "Zen4"},
        "difftune": {"program": program, "cpu": "hasswell", "parameters": str(parameters)},
        "osaca": {"program": osaca(tmp_path / "python"), "arch": "ZEN4"},
        "cqa": {"program": maqao(tmp_path / "maqao"), "arch": "ZEN_V3"},
    }


WORDS = {
    "llvm-mca": "llvm-mca 99.1.0 knows no processor 'Zen4'; is it znver4? It knows haswell, znver3, znver4",
    "difftune": "llvm-mca 99.1.0 knows no processor 'hasswell'; is it haswell? It knows",
    "osaca": "OSACA 0.3.0 knows no processor 'ZEN4'; is it ZEN1? It knows SKX, HSW, ZEN1",
    "cqa": "CQA knows no processor 'ZEN_V3'; is it ZEN_V2? It knows HASWELL, ZEN_V2",
}
RIGHT = {
    "llvm-mca": {"cpu": "znver4"},
    "difftune": {"cpu": "haswell"},
    "osaca": {"arch": "ZEN1"},
    "cqa": {"arch": "ZEN_V2"},
}
every_kind = pytest.mark.parametrize("kind", list(WORDS))


def told(text: str, kind: str) -> bool:
    """Whether a text says so, whatever the order of the processors and the writing of quotes."""
    return WORDS[kind].partition(" It knows")[0] in text.replace("&#x27;", "'").replace("\\'", "'")


@every_kind
def test_the_page_refuses_it_beside_the_field(
    kind: str, options: dict[str, dict[str, Any]], client: Client, administrator: User
) -> None:
    client.force_login(administrator)
    usual = {"counting": "rate", "unknown": "unsupported", "iterations": "80", "batch": "1", "processes": "1"}
    usual |= {"seconds": "5", "memory": "512", "dependency_seconds": "5"}
    address = reverse("predictor-add", args=[kind])
    known = client.get(address).context["form"].fields
    posted = {name: value for name, value in usual.items() if name in known}
    page = client.post(address, {**posted, **options[kind]})
    assert page.status_code == 400
    field = next(iter(RIGHT[kind]))
    assert told(page.content.decode(), kind)
    (error,) = page.context["form"].errors[field]
    assert WORDS[kind].partition(" It knows")[0].lower() in error.lower()
    assert not Predictor.objects.exists()


@every_kind
def test_the_api_refuses_it_and_takes_one_that_the_tool_knows(
    kind: str, options: dict[str, dict[str, Any]], client: Client, administrator: User
) -> None:
    client.force_login(administrator)
    answer = client.post(
        "/api/v1/predictors/configurations",
        {"kind": kind, "options": options[kind]},
        content_type="application/json",
    )
    assert (answer.status_code, told(answer.json()["detail"], kind)) == (422, True), answer.content
    assert not Predictor.objects.exists()
    right = {"kind": kind, "options": options[kind] | RIGHT[kind]}
    answer = client.post("/api/v1/predictors/configurations", right, content_type="application/json")
    assert answer.status_code == 201, answer.content


@every_kind
def test_the_shell_refuses_it(kind: str, options: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    blocks = tmp_path / "blocks"
    blocks.write_text("4801d8")
    given = ",".join(f"{name}={value}" for name, value in options[kind].items())
    with pytest.raises(CommandError) as error:
        call_command("predict", str(blocks), "--predictor", f"{kind}:{given}")
    assert told(str(error.value), kind)
    assert not Predictor.objects.exists()


@every_kind
def test_one_that_was_stored_before_is_listed_with_the_reason(
    kind: str, options: dict[str, dict[str, Any]]
) -> None:
    Predictor.objects.create(name="old", kind=kind, options=options[kind], key="k" * 64, origin="configured")
    (reason,) = [one.reason for one in predictor_listings() if one.name == "old"]
    assert told(reason, kind)


def test_a_processor_without_a_scheduling_model_is_refused_too(options: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(PredictorError, match="no scheduling model of pentium4"):
        row_for("llvm-mca", options["llvm-mca"] | {"cpu": "pentium4"}, may_choose=True)


def test_a_model_that_a_user_of_osaca_has_made_is_one_that_it_knows(
    options: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    own = home / ".osaca" / "data"
    own.mkdir(parents=True)
    (own / "zen4.yml").write_text("osaca_version: 0.3.0\n")
    (tmp_path / "tools").mkdir()
    program = osaca(tmp_path / "tools" / "python")
    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", str(tmp_path / "tools"))
    assert row_for("osaca", options["osaca"] | {"program": program}, may_choose=True).pk


def test_a_tool_that_lists_nothing_is_not_second_guessed(tmp_path: Path) -> None:
    silent = script(tmp_path / "maqao", "echo unknown option")
    KINDS["cqa"].predictor({"program": silent, "arch": "ANYTHING"}).close()


def test_the_installed_llvm_mca_refuses_what_it_does_not_know() -> None:
    release = newest()
    with pytest.raises(PredictorError, match=r"knows no processor 'znver9'; is it znver\d"):
        row_for("llvm-mca", {"release": release.number, "cpu": "znver9"})
    assert row_for("llvm-mca", {"release": release.number, "cpu": "znver2"}).pk


def test_names_that_other_tools_have_for_a_processor_are_near() -> None:
    known = ("haswell", "skylake-avx512", "znver2")
    assert "is it haswell?" in unknown_processor("cpu", "x", "HSW", known)
    assert "is it znver2?" in unknown_processor("cpu", "x", "Zen 2", known)
    assert "is it skylake-avx512?" in unknown_processor("cpu", "x", "Skylake-SP", known)
    assert json.dumps(unknown_processor("cpu", "x", "q" * 900, known)).count("q") < 100
