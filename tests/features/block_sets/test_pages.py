"""The pages of basic-block sets: the list, one with its views, what is started and taken away there."""

from __future__ import annotations

import io

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from anica_app.models import Campaign, Discovery
from inference.features.asking.predictors.offers import Offer, Offers
from inference.features.asking.questions import form
from inference.features.judging.column_accuracy import accuracy
from inference.formats.block_sets import BlockSetOptions
from inference.formats.blocks_csv import BrokenRows
from inference.models import BasicBlockSet, BlockColumn, Prediction, Predictor, Run, Upload
from inference.storage.block_sets import store
from tests.heads import behind_head
from tests.work import read_uploads, work_off

pytestmark = pytest.mark.django_db

ADD, IMUL, SCAN, SUB = "4801d8", "480fafc3", "480fbcc3", "4829d8"
TEXT = (
    f"bb,one,two,three\n{ADD},1.0,1.1,2.0\n{IMUL},1.0,3.0,-1\n{SCAN},0.0,0.0,2.0\n{SUB},2.0,9.0,\n"
    f"zz,1,1,1\n{ADD},1.0,1.2,2.0\n"
)


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def block_set() -> BasicBlockSet:
    return store(io.BytesIO(TEXT.encode()), "b.csv", "measured blocks", BlockSetOptions(BrokenRows.SKIP))[0]


@pytest.fixture
def columns(block_set: BasicBlockSet) -> list[BlockColumn]:
    return list(block_set.columns.order_by("position"))


@pytest.fixture
def campaign() -> Campaign:
    row = Campaign.objects.create(name="scans", origin="run")
    abstract = {"instructions": [{"mnemonic": {"base": "imul", "edits": 0}}]}
    Discovery.objects.create(campaign=row, number=0, abstract=abstract, length=1)
    return row


def text_of(visitor: Client, row: BasicBlockSet, **query: object) -> str:
    answer = visitor.get(reverse("block-set", args=[row.pk]), query)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_sets_are_listed_by_name_and_size(visitor: Client, block_set: BasicBlockSet) -> None:
    store(io.BytesIO(b"4801d8,126.0\n"), "h.csv", "hundredths", BlockSetOptions())
    text = visitor.get(reverse("block-sets"), {"sort": "-blocks"}).content.decode()
    assert text.index("measured blocks") < text.index("hundredths")
    assert "hundredths" not in visitor.get(reverse("block-sets"), {"q": "measured"}).content.decode()
    empty = visitor.get(reverse("block-sets"), {"q": "nothing"}).content.decode()
    assert "No basic-block set has" in empty


def test_without_a_set_the_page_says_what_to_do(visitor: Client) -> None:
    text = visitor.get(reverse("block-sets")).content.decode()
    assert reverse("block-set-upload") in text
    assert "dropzone" in visitor.get(reverse("block-set-upload")).content.decode()


def test_blocks_are_shown_with_every_columns_word(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn]
) -> None:
    text = text_of(visitor, block_set)
    assert all(found in text for found in ("imul rax, rbx", "no number", "not predicted", f"code={SCAN}"))
    sorted_by_two = text_of(visitor, block_set, sort=f"-column-{columns[1].pk}")
    assert sorted_by_two.index("sub rax, rbx") < sorted_by_two.index("imul rax, rbx")
    failed = text_of(visitor, block_set, column=columns[2].pk, told="failure")
    assert "imul rax, rbx" in failed
    assert "sub rax, rbx" not in failed
    refused = visitor.get(reverse("block-set", args=[block_set.pk]), {"q": "a;b"})
    assert refused.status_code == 400
    assert "is no mnemonic" in refused.content.decode()


def test_columns_and_what_the_import_found_are_told(visitor: Client, block_set: BasicBlockSet) -> None:
    text = text_of(visitor, block_set, tab="columns")
    assert "two hexadecimal digits" in text or "zz" in text
    assert "Repeated in row" in text


def test_columns_are_compared_with_the_chosen_one(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn]
) -> None:
    text = text_of(visitor, block_set, tab="accuracy")
    assert "1 of 0 cycles are left out" in text
    other = text_of(visitor, block_set, tab="accuracy", reference=columns[2].pk)
    assert "three</option>" in other
    csv = visitor.get(reverse("block-set-accuracy-csv", args=[block_set.pk]), {"reference": columns[0].pk})
    assert csv.content.decode().splitlines()[-2].startswith("two,one,5,0,4,")
    wrong = visitor.get(reverse("block-set", args=[block_set.pk]), {"tab": "accuracy", "reference": 999})
    assert wrong.status_code == 404


def test_a_large_set_is_compared_by_a_run(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy, "MAX_WITHOUT_RUN", 1)
    assert "Not compared with one yet" in text_of(visitor, block_set, tab="accuracy")
    visitor.post(reverse("block-set-compare", args=[block_set.pk]), {"reference": columns[0].pk})
    run = Run.objects.get(kind="accuracy")
    assert run.config == {"block_set": block_set.pk, "reference": columns[0].pk}
    assert f'data-waits-for="{run.pk}"' in text_of(visitor, block_set, tab="accuracy")
    visitor.post(reverse("block-set-compare", args=[block_set.pk]), {"reference": "x"})
    assert Run.objects.filter(kind="accuracy").count() == 1
    work_off(run)
    assert run.state == "done", run.error
    views = reverse("comparison", args=[run.pk])
    assert views in text_of(visitor, block_set, tab="accuracy")
    assert "two" in visitor.get(views, {"tab": "map"}).content.decode()


def test_what_an_earlier_version_found_of_columns_is_shown(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn]
) -> None:
    config = {"block_set": block_set.pk, "reference": columns[0].pk}
    result = {"accuracy": accuracy.accuracy_of(block_set, columns[0]), "block_set": block_set.pk}
    run = Run.objects.create(name="an old one", kind="accuracy", state="done", config=config, result=result)
    page = visitor.get(reverse("comparison", args=[run.pk]))
    assert "Columns compared with the reference" in page.content.decode()


def test_the_form_asks_for_new_columns(
    visitor: Client, block_set: BasicBlockSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Predictor.objects.create(name="tool", kind="command", key="t" * 64)
    offered = Offers([Offer("tool", "tool", "1.0")], [], [], [])
    monkeypatch.setattr(form, "offers", lambda: offered)
    address = reverse("block-set-ask", args=[block_set.pk])
    assert "1.0" in visitor.get(address).content.decode()
    assert visitor.post(address, {}).status_code == 400
    assert visitor.post(address, {"predictors": ["rm -rf"]}).status_code == 400
    answer = visitor.post(address, {"predictors": ["tool"]})
    assert answer.url == f"{reverse('block-set', args=[block_set.pk])}?tab=columns"
    run = Run.objects.get(kind="columns")
    assert run.config == {"block_set": block_set.pk, "predictors": [tool.pk], "mode": ""}
    assert run.name in text_of(visitor, block_set)
    block_set.columns.create(position=3, name="tool", predictor=tool)
    assert "has a column" in visitor.post(address, {"predictors": ["tool"]}).content.decode()


def cover(campaign: Campaign, block_set: BasicBlockSet, names: list[str], **result: object) -> Run:
    config = {
        "campaigns": [campaign.pk],
        "block_set": block_set.pk,
        "columns": names,
        "interest": {"metric": "relative", "threshold": 0.5, "failures": "crash"},
        "blocks": 1000,
    }
    told = {
        "blocks": 2,
        "covered": 1,
        "strange": 0,
        "by_campaign": {str(campaign.pk): 1},
        "unsaid": [],
        "discoveries": [1],
        "widened": False,
        "uncovered": [SUB],
        "uncovered_at": [3],
        "best": [],
        **result,
    }
    return Run.objects.create(name="coverage", kind="coverage", state="done", config=config, result=told)


def test_what_is_not_covered_is_listed_and_can_be_explained(
    visitor: Client,
    block_set: BasicBlockSet,
    columns: list[BlockColumn],
    campaign: Campaign,
    trusting_operator: None,
) -> None:
    run = cover(campaign, block_set, ["one", "two"])
    text = text_of(visitor, block_set, tab="coverage")
    assert "50.0" in text
    assert "sub rax, rbx" in text
    explain = reverse("block-set-explain", args=[block_set.pk, run.pk, 3])
    assert explain not in text, "there is no predictor behind the columns"
    assert visitor.post(explain).status_code == 404
    for at, column in enumerate(columns[:2]):
        tool = Predictor.objects.create(name=f"tool {at}", kind="command", key=str(at) * 64)
        BlockColumn.objects.filter(pk=column.pk).update(predictor=tool)
    assert explain in text_of(visitor, block_set, tab="coverage")
    answer = visitor.post(explain)
    made = Run.objects.get(kind="generalise")
    assert (made.config["block"], made.config["interest"]["threshold"]) == (SUB, 0.5)
    assert answer.url == reverse("campaign", args=[made.campaign.pk])
    csv = visitor.get(reverse("block-set-uncovered-csv", args=[block_set.pk, run.pk])).content.decode()
    lines = [line for line in csv.splitlines() if not line.startswith("#")]
    assert lines == ["block,bb,assembly,one,two", f'3,{SUB},"sub rax, rbx",2.0,9.0']


def test_a_coverage_is_started_over_chosen_campaigns_and_columns(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn], campaign: Campaign
) -> None:
    assert "scans" in text_of(visitor, block_set, tab="coverage")
    address = reverse("block-set-cover", args=[block_set.pk])
    data = {
        "campaigns": [campaign.pk],
        "first": columns[0].name,
        "second": columns[1].name,
        "metric": "absolute",
        "threshold": "2",
        "blocks": "50",
    }
    same = visitor.post(address, {**data, "second": columns[0].name})
    assert same.status_code == 400
    assert "one or two different ones" in same.content.decode()
    assert visitor.post(address, data).status_code == 302
    config = Run.objects.get(kind="coverage").config
    assert (config["columns"], config["interest"]["metric"], config["blocks"]) == (
        ["one", "two"],
        "absolute",
        50,
    )


def test_a_set_leaves_as_it_came_and_is_named_and_deleted(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn]
) -> None:
    answer = visitor.get(reverse("block-set-csv", args=[block_set.pk]))
    content = b"".join(answer.streaming_content).decode()
    assert behind_head(content).splitlines()[1] == f"{ADD},1.0,1.1,2.0"
    assert 'filename="measured-blocks.csv"' in answer["Content-Disposition"]
    visitor.post(reverse("block-set-edit", args=[block_set.pk]), {"name": "renamed", "note": "mind it"})
    assert "mind it" in text_of(visitor, block_set)
    visitor.post(reverse("block-column-delete", args=[block_set.pk, columns[0].pk]))
    assert list(block_set.columns.values_list("name", flat=True)) == ["two", "three"]
    page = visitor.get(reverse("block-set-delete", args=[block_set.pk])).content.decode()
    assert "5 blocks" in page
    visitor.post(reverse("block-set-delete", args=[block_set.pk]))
    assert not BasicBlockSet.objects.exists()


def test_a_set_that_a_run_works_on_stays(visitor: Client, block_set: BasicBlockSet) -> None:
    Run.objects.create(name="r", kind="columns", state="queued", config={"block_set": block_set.pk})
    assert visitor.post(reverse("block-set-delete", args=[block_set.pk])).status_code == 409
    assert BasicBlockSet.objects.exists()


def test_a_preview_shows_rows_units_and_doubts_and_can_be_read_otherwise(visitor: Client) -> None:
    content = b"bb,mca\n4801d8,0.01\n480fafc3,3.0\n4801d,1.0\n"
    upload = Upload.objects.create(file_name="b.csv", beginning=content, sha256="0" * 64)
    address = reverse("anica-import", args=[upload.pk])
    read_uploads()
    text = visitor.get(address).content.decode()
    assert all(
        found in text for found in ("imul rax, rbx", "as detected: cycles per execution", "1 answer below")
    )
    assert "two hexadecimal digits" in text
    data = {"name": "b", "broken": "skip", "issue_width": "4", "numbers_0": "hundredths", "press": "look"}
    assert visitor.post(address, data)["Location"] == reverse("upload-preview", args=[upload.pk])
    read_uploads()
    seen = visitor.get(address)
    assert seen.context["reading"]["columns"][0]["most"] == 0.03
    assert seen.context["form"]["numbers_0"].value() == "hundredths"
    assert seen.context["form"]["issue_width"].value() == 4.0
    assert "0.03" in seen.content.decode()
    assert not Run.objects.filter(kind="import-anica").exists()
    visitor.post(address, {**data, "press": "import"})
    config = Run.objects.get(kind="import-anica").config
    assert (config["numbers"], config["broken"], config["issue_width"]) == (["hundredths"], "skip", 4.0)


def test_pages_take_few_queries_however_many_columns(
    visitor: Client,
    block_set: BasicBlockSet,
    columns: list[BlockColumn],
    campaign: Campaign,
    django_assert_max_num_queries: object,
) -> None:
    cover(campaign, block_set, ["one", "two"])
    for at in range(3, 12):
        block_set.columns.create(position=at, name=f"column {at}")
    queries = [{}, {"tab": "columns"}, {"tab": "coverage"}, {"sort": f"-column-{columns[1].pk}", "q": "imul"}]
    for query in queries:
        with django_assert_max_num_queries(18):  # type: ignore[operator]
            visitor.get(reverse("block-set", args=[block_set.pk]), query)
    with django_assert_max_num_queries(7):  # type: ignore[operator]
        visitor.get(reverse("block-sets"))


def test_a_baseline_is_taken_away_and_compared_with_later(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn]
) -> None:
    file = visitor.get(reverse("block-set-baseline", args=[block_set.pk]), {"reference": columns[0].pk})
    assert file["Content-Disposition"].endswith('baseline.json"')
    address = reverse("block-set-gate", args=[block_set.pk])
    assert visitor.get(address).status_code == 200

    def compared(content: bytes, tolerance: str = "0.5"):
        return visitor.post(address, {"file": SimpleUploadedFile("b.json", content), "tolerance": tolerance})

    assert compared(file.content).context["result"].worse == ()
    Prediction.objects.filter(column=columns[1], block__position=0).update(cycles=2.0)
    assert [one.name for one in compared(file.content).context["result"].worse] == ["two"]
    assert compared(file.content, "99").context["result"].worse == ()
    for wrong in (b"{}", file.content.replace(b'"one"', b'"lost"')):
        assert compared(wrong).status_code == 400
    assert compared(file.content, "many").status_code == 400
    assert visitor.get(reverse("block-set-baseline", args=[block_set.pk])).status_code == 400


def test_the_measurement_is_the_usual_reference(
    visitor: Client, block_set: BasicBlockSet, columns: list[BlockColumn]
) -> None:
    def reference() -> str:
        page = visitor.get(reverse("block-set", args=[block_set.pk]), {"tab": "accuracy"})
        return str(page.context["reference"].name)

    assert reference() == "one"
    BlockColumn.objects.filter(pk=columns[1].pk).update(name="Measured cycles")
    assert reference() == "Measured cycles"
    machine = Predictor.objects.create(name="machine lab", kind="machine", key="m" * 64)
    BlockColumn.objects.filter(pk=columns[2].pk).update(predictor=machine)
    assert reference() == "three"
