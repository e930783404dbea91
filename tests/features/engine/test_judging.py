"""Any sources on any items, in any view, at every door."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.core.judging.sheet import ItemSelection
from inference.features.judging.engine.item_answers import UNKNOWN, block_table
from inference.features.judging.engine.query import (
    ComparisonPart,
    columns_of,
    comparison_rows,
    scores_of,
    verdict_of,
)
from inference.features.judging.engine.request import read_config
from inference.features.judging.engine.sources import SourceError, source_named
from inference.features.judging.engine.views import VIEWS
from inference.formats.block_sets import BlockSetOptions
from inference.models import BasicBlockSet, ExperimentSet, Run
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.answer_sheets import read_sheet
from inference.storage.block_sets import store
from tests.features.engine import compared as small
from tests.features.engine.compared import ADD, CYCLES, IMUL
from tests.rows.programs import Program
from tests.work import work_off

pytestmark = pytest.mark.django_db

ADD_RAX, IMUL_RAX, POPCNT_RAX = "4801d8", "480fafc3", "f3480fb8c3"
BLOCKS = [
    (f"{ADD_RAX}", 0.25, 0.5),
    (f"{IMUL_RAX}", 1.0, 1.0),
    (f"{ADD_RAX}{IMUL_RAX}", 1.1, 1.2),
    (f"{POPCNT_RAX}", 1.0, 3.0),
    (f"{ADD_RAX}{ADD_RAX}{ADD_RAX}", 0.8, None),
]


@pytest.fixture
def block_set(db: None) -> BasicBlockSet:
    lines = [f"{code},{measured},{'-1' if said is None else said}\n" for code, measured, said in BLOCKS]
    text = "bb,measured,uiCA\n" + "".join(lines)
    return store(io.BytesIO(text.encode()), "b.csv", "some blocks", BlockSetOptions())[0]


def judge(config: dict[str, Any]) -> Run:
    run = work_off(lifecycle.submit("judge", config, lifecycle.unused_name("judged")))
    assert run.state == "done", run.error
    return run


@pytest.fixture
def of_experiments(monkeypatch: pytest.MonkeyPatch) -> Run:
    """A mapping, a tool of the set, another set and a tool that counts, on six experiments."""
    small.plant(monkeypatch)
    isa = small.few_schemes()
    judged, other = small.measured_set(isa), small.measured_set(isa, "again", factor=1.01)
    sources = [f"mapping:{small.ports(isa).pk}", "tool:Oracle", f"set:{other.pk}"]
    counting = f"predictor:{small.planted('counting').pk}"
    return judge({"experiment_set": judged.pk, "sources": [*sources, counting]})


@pytest.fixture
def of_blocks(monkeypatch: pytest.MonkeyPatch, block_set: BasicBlockSet) -> Run:
    """A column of the set and a tool that counts, beside the measured column."""
    small.plant(monkeypatch)
    small.few_schemes()
    counting = f"predictor:{small.planted('counting').pk}"
    return judge({"block_set": block_set.pk, "sources": ["column:uiCA", counting]})


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


def test_columns_and_tools_are_held_against_the_measured_column_of_blocks(of_blocks: Run) -> None:
    row = comparison_rows().get(run=of_blocks)
    assert (row.reference, row.n, row.item_kind) == ("measured", 5, "blocks")
    sheet = read_sheet(row.pk)
    assert sheet.reference.tolist() == [measured for _, measured, _ in BLOCKS]
    column, counting = (column.cycles for column in sheet.columns)
    np.testing.assert_array_equal(column, [0.5, 1.0, 1.2, 3.0, np.nan])
    np.testing.assert_array_equal(counting, [0.5, 0.5, 1.0, np.nan, 1.5])
    assert sheet.columns[1].lacking() == [("unsupported", 1)]
    table = sheet.items.table
    assert table is not None
    assert str(table.experiment(2)) == f"{ADD}; {IMUL}"
    scores = scores_of(columns_of(row)[0], ComparisonPart())
    assert scores.mape == pytest.approx(100 * (1 + 0 + 0.1 / 1.1 + 2) / 4)


def test_another_description_of_the_same_gives_the_same(of_experiments: Run) -> None:
    config = of_experiments.config
    ids = [int(text.rpartition(":")[2]) for text in config["sources"] if not text.startswith("tool")]
    lists = {"mappings": ids[:1], "tools": ["Oracle"], "other_sets": ids[1:2], "predictors": ids[2:]}
    before = small.compare({"experiment_set": config["experiment_set"], **lists})
    assert before.result["scores"] == of_experiments.result["scores"]


def test_any_source_may_be_what_others_are_held_against(monkeypatch: pytest.MonkeyPatch) -> None:
    isa = small.few_schemes()
    judged = small.measured_set(isa)
    mapping = small.ports(isa)
    run = judge({"experiment_set": judged.pk, "sources": ["tool:Oracle"], "against": f"mapping:{mapping.pk}"})
    row = comparison_rows().get(run=run)
    assert row.reference == "two ports"
    ports = np.array([0.5, 1.0, 1.5, np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(read_sheet(row.pk).reference, ports)
    errors = [abs(CYCLES[at] - ports[at]) / ports[at] for at in (0, 1, 2, 4)]
    assert run.result["scores"][0]["mape"] == pytest.approx(100 * np.mean(errors))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("items", ["of_experiments", "of_blocks"])
def test_each_view_says_the_same_on_page_and_by_the_api(
    view: str, items: str, request: pytest.FixtureRequest, visitor: Client, program: Program
) -> None:
    run = request.getfixturevalue(items)
    told = program.get(f"/comparisons/{run.pk}?view={view}&against=1&common=true")
    assert told["tables"][0]["rows"] or view in ("bounds", "traits", "extensions", "excess")
    tab = view if VIEWS[view].has_page else "scores"
    if VIEWS[view].applies(columns_of(comparison_rows().get(run=run))):
        address = {"tab": tab, "column": 0, "against": 1, "common": 1}
        page = visitor.get(reverse("comparison", args=[run.pk]), address)
        assert page.status_code == 200
        if VIEWS[view].has_page:
            table, *_ = [shown["table"] for shown in page.context["view_tables"]]
            assert [list(row) for row in table.rows] == told["tables"][0]["rows"]
    written = visitor.get(reverse("comparison-view-csv", args=[run.pk, view]), {"against": 1, "common": 1})
    lines = [line for line in written.content.decode().splitlines() if line[:1] != "#"]
    assert len(lines) == 1 + len(told["tables"][0]["rows"])


def test_the_page_of_blocks_has_their_code_and_a_verdict(of_blocks: Run, visitor: Client) -> None:
    url = reverse("comparison", args=[of_blocks.pk])
    text = visitor.get(url, {"tab": "map", "column": 0}).content.decode()
    assert "imul rax, rbx" in text
    assert "grade-doubtful" in text  # of so few blocks
    far = visitor.get(url, {"apart": "100", "tab": "map"}).context
    assert [row.predicted for row in far["bin_rows"]] == [3.0, 0.5]
    for wrong in ({"against": "7"}, {"apart": "x"}, {"metric": "miles", "tab": "matrix"}):
        assert visitor.get(url, wrong).status_code == 400


def test_a_comparison_on_blocks_leads_to_another_on_them(visitor: Client, of_blocks: Run) -> None:
    page = visitor.get(reverse("comparison", args=[of_blocks.pk])).content.decode()
    assert f"{reverse('comparison-new')}?items=blocks:{of_blocks.config['block_set']}" in page


def test_the_api_starts_one_and_refuses_what_is_not_there(program: Program, block_set: BasicBlockSet) -> None:
    body = {"block_set": block_set.pk, "sources": ["column:uiCA"]}
    status, run = program("POST", "/comparisons", body)
    assert (status, run["kind"]) == (201, "judge")
    started = Run.objects.get(pk=run["id"])
    assert started.config["against"] == f"column:{block_set.columns.get(name='measured').pk}"
    assert program("POST", "/comparisons", {**body, "sources": ["tool:Oracle"]})[0] == 422
    assert (
        program("POST", "/comparisons", {**body, "sources": ["predictor:command:program=/bin/sh"]})[0] == 422
    )
    assert program("GET", f"/comparisons/{run['id']}")[0] == 409


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Oracle", "is no source"),
        ("column:uiCA", "has no answers for experiments"),
        ("mapping:777777", "with this number"),
        ("mapping:three ports", "three ports"),
        ("predictor:no such thing", "no predictor"),
        ("set:measured", "compared with itself"),
    ],
)
def test_a_text_that_names_no_source_is_refused(text: str, complaint: str) -> None:
    judged = small.measured_set(small.few_schemes())
    with pytest.raises(SourceError, match=complaint):
        source_named(text, judged)
    with pytest.raises(ConfigError, match="sources"):
        read_config({"experiment_set": judged.pk, "sources": [text]})


def test_a_source_is_read_by_name_and_number() -> None:
    isa = small.few_schemes()
    judged, mapping = small.measured_set(isa), small.ports(isa)
    for text in (f"mapping:{mapping.pk}", "mapping:two ports"):
        source = source_named(text, judged)
        assert (source.text, source.name) == (f"mapping:{mapping.pk}", "two ports")
    assert source_named("tool:Oracle", judged).text == "tool:Oracle"


def test_from_a_mapping_it_is_three_clicks_to_the_picture(visitor: Client) -> None:
    isa = small.few_schemes()
    judged, mapping = small.measured_set(isa), small.ports(isa)
    menu = visitor.get(reverse("mapping", args=[mapping.pk])).content.decode()
    address = f"{reverse('comparison-new')}?source=mapping:{mapping.pk}"
    assert address in menu
    form = visitor.get(address)
    initial = form.context["form"].initial
    assert (form.context["items"], initial["mappings"]) == (f"set:{judged.pk}", [str(mapping.pk)])
    answer = visitor.post(address, {name: initial[name] for name in ("mappings", "tools")})
    run = Run.objects.get(kind="judge")
    assert answer.url == reverse("comparison", args=[run.pk])
    assert run.config["sources"] == [f"mapping:{mapping.pk}", "tool:Oracle"]
    work_off(run)
    assert "66.67" in visitor.get(answer.url).content.decode().replace("\N{NO-BREAK SPACE}", " ")


def test_a_form_of_blocks_offers_their_columns_and_holds_them_against_any(
    visitor: Client, block_set: BasicBlockSet
) -> None:
    address = f"{reverse('comparison-new')}?items=blocks:{block_set.pk}"
    columns = {row.name: str(row.pk) for row in block_set.columns.all()}
    assert sorted(visitor.get(address).context["form"].initial["columns"]) == sorted(columns.values())
    visitor.post(address, {"columns": list(columns.values())})
    run = Run.objects.get(kind="judge")
    assert (run.config["sources"], run.config["against"]) == (
        [f"column:{columns['uiCA']}"],
        f"column:{columns['measured']}",
    )
    turned = {"columns": list(columns.values()), "against": f"column:{columns['uiCA']}"}
    visitor.post(address, turned)
    newest = Run.objects.filter(kind="judge").latest("pk")
    assert newest.config["sources"] == [f"column:{columns['measured']}"]
    assert visitor.get(f"{reverse('comparison-new')}?items=blocks:777777").status_code == 404


@pytest.fixture
def in_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do their runs in this process."""
    from inference.features.judging.engine.command import Command

    monkeypatch.setattr(Command, "do_run", lambda self, submitted: work_off(submitted()))


@pytest.mark.usefixtures("in_shell")
def test_the_shell_ends_with_the_view_as_json(capsys, block_set: BasicBlockSet):
    call_command("judge", "blocks:some blocks", "column:uiCA", "--view", "worst", "--json")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["reference"], told["column"], told["items"]) == ("measured", "uiCA", "blocks")
    assert told["tables"][0]["rows"][0][1:3] == [1.0, 3.0]
    for option in ("--apart", "--threshold"):
        for number in ("nan", "-1", "inf"):
            with pytest.raises(CommandError, match=f"{option} must be a number of at least 0"):
                call_command("judge", f"run:{told['run']}", f"{option}={number}")
    call_command("judge", f"run:{told['run']}", "--shortest", "2")
    assert "uiCA" in capsys.readouterr().out


@pytest.mark.usefixtures("in_shell")
def test_the_gate_fails_where_a_source_has_become_worse(capsys, block_set: BasicBlockSet, tmp_path: Path):
    kept, junit = tmp_path / "kept.json", tmp_path / "junit.xml"
    asked = ("judge", "blocks:some blocks", "column:uiCA")
    call_command(*asked, "--write-baseline", str(kept))
    call_command(*asked, "--baseline", str(kept), "--junit", str(junit))
    assert "ok" in capsys.readouterr().out
    assert "<testcase" in junit.read_text()
    block_set.columns.get(name="uiCA").predictions.filter(cycles=1.0).update(cycles=9.0)
    with pytest.raises(CommandError, match="worse than") as failure:
        call_command(*asked, "--baseline", str(kept))
    assert failure.value.returncode == 2


@pytest.mark.usefixtures("in_shell")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("some blocks", "column:uiCA"), "names no items"),
        (("blocks:some blocks",), "at least one source"),
        (("blocks:other blocks", "column:uiCA"), "other blocks"),
        (("blocks:some blocks", "column:uica"), "no column"),
        (("run:77777",), "no such comparison"),
        (("blocks:some blocks", "column:uiCA", "--column", "IACA"), "no source 'IACA'"),
    ],
)
def test_the_shell_names_what_is_not_there(block_set: BasicBlockSet, arguments: Any, complaint: str):
    with pytest.raises(CommandError, match=complaint):
        call_command("judge", *arguments)


def test_a_comparison_outlives_its_blocks(of_blocks: Run, block_set: BasicBlockSet, visitor: Client) -> None:
    block_set.delete()
    assert not ExperimentSet.objects.exists()
    page = visitor.get(reverse("comparison", args=[of_blocks.pk]), {"tab": "map"})
    assert "which has been deleted" in page.content.decode()


def test_the_smallest_differences_keep_their_numbers_when_a_block_is_deleted(
    of_blocks: Run, block_set: BasicBlockSet, visitor: Client
) -> None:
    address = f"/api/v1/comparisons/{of_blocks.pk}?view=telling&threshold=0"

    def rows() -> list[list[Any]]:
        return visitor.get(address).json()["tables"][0]["rows"]

    first, *others = rows()
    assert first[0].startswith("popcnt")
    assert len(others) > 1
    block_set.blocks.filter(code=bytes.fromhex(POPCNT_RAX)).delete()
    assert rows() == others


def test_what_takes_longer_than_a_mapping_is_that_of_its_own_operation(program: Program) -> None:
    isa = small.few_schemes()
    slow, mapping = small.measured_set(isa, factor=3.0), small.ports(isa)
    run = judge({"experiment_set": slow.pk, "sources": [f"mapping:{mapping.pk}"]})
    told = program.get(f"/mappings/{mapping.pk}/excess/{slow.pk}")
    rows = program.get(f"/comparisons/{run.pk}?view=excess")["tables"][0]["rows"]
    assert [row[1:3] for row in rows] == [
        [group["experiments"], group["exceeding"]] for group in told["groups"]
    ]
    assert rows[0][4:6] == [told["groups"][0]["largest"][0][name] for name in ("experiment", "measured")]


def test_what_is_measured_again_says_how_near_a_source_can_come(of_experiments: Run) -> None:
    columns = columns_of(comparison_rows().get(run=of_experiments))
    reasons = verdict_of(columns, columns[0], ComparisonPart()).reasons
    assert "measuring once more is off by 1.0 %" in reasons
    assert any(reason.startswith("on the 4 experiments that Oracle predicts") for reason in reasons)
    (part,) = verdict_of(columns, columns[0], ComparisonPart(selection=ItemSelection(longest=1))).reasons[1:2]
    assert part == "measuring once more is off by 1.0 %"
    turned = verdict_of(columns, columns[2], ComparisonPart(against=0)).reasons
    assert "the error of a repeated measurement is unknown" in turned


def test_a_column_that_was_measured_again_repeats_the_measurement_of_blocks() -> None:
    text = "bb,measured,measured again,said\n" + "".join(
        f"{code},{cycles},{1.02 * cycles},{2 * cycles}\n" for code, cycles, _ in BLOCKS
    )
    row, _ = store(io.BytesIO(text.encode()), "b.csv", "twice", BlockSetOptions())
    columns = columns_of(
        comparison_rows().get(
            run=judge({"block_set": row.pk, "sources": ["column:measured again", "column:said"]})
        )
    )
    assert "measuring once more is off by 2.0 %" in verdict_of(columns, columns[1], ComparisonPart()).reasons
    turned = judge({"block_set": row.pk, "sources": ["column:measured"], "against": "column:said"})
    (column,) = columns_of(comparison_rows().get(run=turned))
    assert not column.summary["repeats"]


def test_broken_code_counts_as_an_instruction_without_a_scheme() -> None:
    task: Any = SimpleNamespace(reporter=SimpleNamespace(pulse=lambda: None))
    table = block_table([bytes.fromhex("06"), bytes.fromhex("4801d8")], "x86-64", task)
    assert table.schemes == tuple(sorted((UNKNOWN, "add GPR[64]:RW, GPR[64]:R")))
    assert table.lengths.tolist() == [1, 1]
