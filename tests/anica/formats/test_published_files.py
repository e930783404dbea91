"""The published AnICA's files: what is understood of them, and what is refused with its place."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anica_app.formats.anica_abstract import abstract_document
from anica_app.formats.anica_campaigns import read_campaign
from anica_app.formats.campaign_zip import CampaignFileKind, kind_of_content, kind_of_path, read_part
from anica_app.models import Campaign
from anica_app.storage.campaigns import store_campaign
from inference.formats.file_trees import Directory, ZipTree
from inference.formats.problems import ExchangeError
from inference.models import Predictor
from inference.predictors.protocol import Failure
from inference.predictors.samples import unpack
from inference.storage.errors import NameInUseError
from tests.anica.formats.published import LABEL, RESULT, START, documents, write_directory

pytestmark = pytest.mark.django_db


def stored(path: Path, files: dict[str, Any] | None = None) -> Campaign:
    return store_campaign(read_campaign(Directory(write_directory(path, files))), "campaign")


def test_decisions_samples_and_figures_arrive(tmp_path: Path) -> None:
    campaign = stored(tmp_path)
    assert (campaign.rounds, campaign.sampled, campaign.interesting, campaign.seconds) == (1, 2, 1, 7.5)
    assert campaign.facts["counts"] == {"series": 6, "blocks": 15, "answers": 30}
    assert campaign.facts["failures"] == {"crash of 2": 1}
    assert "min_interestingness.doc" not in str(campaign.config)
    discovery = campaign.discoveries.get()
    assert discovery.interestingness == float("inf")
    assert discovery.remarks == ["strategy: random", "done"]
    one, lost = campaign.generalisations.all()
    assert (one.became, one.discovery, one.seconds) == ("discovery", discovery, 1.5)
    assert (lost.became, lost.discovery, lost.facts) == ("subsumed", discovery, {"steps": 9})
    steps = list(one.steps.all())
    assert [(step.kind, step.taken, step.n, step.interesting) for step in steps] == [
        ("start", True, 3, 3),
        ("expansion", True, 0, None),
        ("expansion", True, 3, 3),
        ("expansion", False, 3, 2),
        ("expansion", True, 3, 3),
        ("end", False, 0, None),
    ]
    assert steps[3].reason == "1 of 3 blocks are not interesting"
    assert steps[1].reason == "taken without sampling"
    assert steps[2].expansion == {"instruction": 1, "feature": "mnemonic"}
    assert steps[3].expansion["drop"] == "GPR[64]:R"
    last = unpack(bytes(steps[4].samples))[2]
    assert last.answers[1].failure is Failure.CRASH
    assert (last.answers[1].detail, last.seconds) == ("failed: Stack dump", (0.125, 0.5))
    purposes = {batch.number: (batch.purpose, batch.interesting) for batch in campaign.batches.all()}
    assert purposes == {1: ("round", 2), 2: ("minimisation", 1)}


def _without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(files: dict[str, Any]) -> None:
        inner = files[path[0]]
        for name in path[1:-1]:
            inner = inner[name]
        del inner[path[-1]]

    return change


def _with(value: Any, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(files: dict[str, Any]) -> None:
        inner = files
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value

    return change


WITNESS, DISCOVERY = f"witnesses/{LABEL}.json", f"discoveries/{LABEL}.json"


@pytest.mark.parametrize(
    "change",
    [
        _without(WITNESS, "trace", "start", "abs_insns", 0, "mnemonic"),
        _with("$SV:TOP", WITNESS, "trace", "start", "abs_insns", 0, "mnemonic"),
    ],
)
def test_a_mnemonic_that_began_as_nothing_is_kept_in_their_words(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    files = documents()
    change(files)
    files[WITNESS]["trace"]["trace"][1]["expansion"][2][1] = 2
    steps = stored(tmp_path, files).generalisations.first().steps.all()
    assert steps[2].foreign == [0, 0, ["mnemonic", 2]]


def test_fewer_than_two_to_the_power_of_nothing_uops_are_none() -> None:
    instruction = {**START["abs_insns"][0], "uops_on_SKL": {"val": 0, "max_ub": 5}}
    document = abstract_document({**START, "abs_insns": [instruction]})
    assert document["instructions"][0]["uops"] == {"fewer_than": 1}


def test_our_words_for_their_abstract_blocks() -> None:
    assert abstract_document(START) == {
        "instructions": [
            {
                "scheme": "add GPR[64]:RW, GPR[64]:R",
                "mnemonic": {"base": "add", "edits": 0},
                "operands": ["GPR[64]:R", "GPR[64]:RW", "cf:W"],
                "memory": "none",
                "uops": {"fewer_than": 2},
                "category": ["arithmetic", "compare", "divide", "multiply"],
                "extension": "BASE",
                "isa-set": ["INTEL386", "INTEL8086", "X64"],
                "lock": "no",
                "rep": "no",
            }
        ],
        "aliasing": [["1.register.1", "1.register.2", "different"]],
    }
    result = abstract_document(RESULT)
    assert result["aliasing"] == []
    assert not {"scheme", "mnemonic"} & result["instructions"][0].keys()


def test_what_our_words_lack_is_kept_as_it_was(tmp_path: Path) -> None:
    files = documents()
    files[f"discoveries/{LABEL}.json"]["ab"]["abs_insns"][0]["opschemes"] = ["W:x87control"]
    campaign = stored(tmp_path, files)
    discovery = campaign.discoveries.get()
    assert discovery.abstract is None
    assert discovery.foreign["abs_insns"][0]["opschemes"] == ["W:x87control"]
    assert "x87control" in campaign.facts["unsayable"][LABEL]


def test_an_archive_of_a_directory_brings_the_same(tmp_path: Path) -> None:
    write_directory(tmp_path / "run")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in tmp_path.rglob("*"):
            archive.write(path, path.relative_to(tmp_path))
    assert kind_of_content(out.getvalue()) is CampaignFileKind.PUBLISHED
    assert kind_of_path(tmp_path / "run") is CampaignFileKind.PUBLISHED
    one = store_campaign(read_part(Directory(tmp_path / "run")), "one")
    other = store_campaign(read_part(ZipTree(out, "other.zip")), "other")
    fields = ("number", "kind", "expansion", "taken", "reason", "n", "interesting", "mean", "samples")
    rows = [
        list(each.generalisations.values_list(*(f"steps__{name}" for name in fields)))
        for each in (one, other)
    ]
    assert rows[0] == rows[1]
    assert Predictor.objects.filter(kind="imported").count() == 2  # the same tools, not new ones


def test_a_name_in_use_is_refused_and_stores_nothing(tmp_path: Path) -> None:
    stored(tmp_path)
    with pytest.raises(NameInUseError):
        store_campaign(read_campaign(Directory(tmp_path)), "campaign")
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_with("{", DISCOVERY), "not valid JSON"),
        (_with("[]", "campaign_config.json"), "should be an object"),
        (_with("[" * 100_000, "report.json"), "nested too deeply"),
        (_with('{"ab": 1e999}', DISCOVERY), "a number beyond 1.8e308"),
        (_with('{"ab": "\\ud800"}', DISCOVERY), "half of a character"),
        (_with("nul\0", WITNESS), "NUL"),
        (_without("campaign_config.json", "predictors"), "predictors: Field required"),
        (_with(["a", "a"], "campaign_config.json", "predictors"), "each once"),
        (_without(DISCOVERY, "ab"), r"ab: Field required"),
        (_with([], DISCOVERY, "ab", "abs_insns"), "an abstract block"),
        (_with("6", DISCOVERY, "result_ref"), "result_ref"),
        (_with("yes", WITNESS, "trace", "trace", 0, "taken"), r"trace\[0\]"),
        (_with([0, 7, ["mnemonic", 1]], WITNESS, "trace", "trace", 1, "expansion"), r"trace\[1\].expansion"),
        (_with(-1, WITNESS, "trace", "trace", 1, "measurements"), r"trace\[1\].measurements"),
        (_with({LABEL: 3}, "metrics.json"), "metrics.json"),
        (_with({LABEL: {"mean_interestingness": "much"}}, "metrics.json"), "mean_interestingness"),
        (_with({LABEL: {"mean_interestingness": 10**400}}, "metrics.json"), "mean_interestingness"),
        (_with({"\0": {}}, "metrics.json"), "half of a character"),
    ],
)
def test_a_broken_document_is_told_with_its_file(
    change: Callable[[dict[str, Any]], None], says: str, tmp_path: Path
) -> None:
    files = documents()
    change(files)
    with pytest.raises(ExchangeError, match=says):
        stored(tmp_path, files)
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DROP TABLE series", "no table series"),
        ("DROP TABLE series; CREATE VIEW series AS SELECT 1 AS series_id", "no table series"),
        ("ALTER TABLE predictor_runs RENAME COLUMN result TO outcome", "no column result"),
        ("UPDATE measurements SET input = 'zz' WHERE measurement_id = 2", "measurement 2.*machine code"),
        ("UPDATE measurements SET input = '' WHERE measurement_id = 2", "1 to 65,535 bytes"),
        ("UPDATE measurements SET input = x'4801' WHERE measurement_id = 2", "bytes, not a str"),
        (
            "UPDATE predictor_runs SET predictor = 'three' WHERE predrun_id = 1",
            "none of the campaign's tools",
        ),
        ("UPDATE predictor_runs SET result = 'fast' WHERE predrun_id = 1", "no number of cycles"),
        ("UPDATE predictor_runs SET result = 9e999 WHERE predrun_id = 1", "no number of cycles"),
        ("UPDATE series SET source_computer = x'00'", "bytes, not a str"),
        ("UPDATE predictor_runs SET remark = hex(zeroblob(2000000)) WHERE predrun_id = 1", "cannot be read"),
    ],
)
def test_broken_measurements_are_refused(statement: str, says: str, tmp_path: Path) -> None:
    write_directory(tmp_path)
    connection = sqlite3.connect(tmp_path / "measurements.db")
    connection.executescript(statement)
    connection.close()
    with pytest.raises(ExchangeError, match=says):
        read_campaign(Directory(tmp_path))


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"no database at all" * 100])
def test_what_is_no_database_is_refused(content: bytes, tmp_path: Path) -> None:
    write_directory(tmp_path)
    (tmp_path / "measurements.db").write_bytes(content)
    with pytest.raises(ExchangeError, match=r"measurements\.db"):
        read_campaign(Directory(tmp_path))


def test_the_database_cannot_run_code_of_its_own(tmp_path: Path) -> None:
    write_directory(tmp_path)
    connection = sqlite3.connect(tmp_path / "measurements.db")
    connection.executescript(
        "ALTER TABLE predictor_runs RENAME TO kept;"
        "CREATE TABLE predictor_runs (predrun_id INTEGER, measurement_id INTEGER, predictor TEXT, "
        "result REAL, remark TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL);"
    )
    connection.close()
    with pytest.raises(ExchangeError, match="no column remark"):
        read_campaign(Directory(tmp_path))


def test_a_database_changed_by_nobody(tmp_path: Path) -> None:
    write_directory(tmp_path)
    before = (tmp_path / "measurements.db").read_bytes()
    (tmp_path / "measurements.db").chmod(0o444)
    read_campaign(Directory(tmp_path))
    assert (tmp_path / "measurements.db").read_bytes() == before
    assert not list(tmp_path.glob("measurements.db-*"))
