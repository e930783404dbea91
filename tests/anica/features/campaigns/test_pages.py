"""The pages of campaigns: list, one campaign, comparison, what one takes away."""

from __future__ import annotations

import io
import json
import zipfile
import zlib

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from anica_app.core.search.events import CountersEvent
from anica_app.features.campaigns.query import lacking_of
from anica_app.models import Campaign, CampaignFile, CampaignPredictor, Discovery, SampleBatch
from anica_app.storage.domains import SUPPORT
from inference.models import Predictor, Run, RunEvent
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack

pytestmark = pytest.mark.django_db

SCAN = bytes.fromhex("480fbcc3")
ADD = bytes.fromhex("4801d8")
SAMPLES = [
    Sample(SCAN, (Answer(cycles=3.0), Answer(cycles=1.0))),
    Sample(ADD, (Answer(cycles=1.0), Answer(failure=Failure.TIMEOUT, detail="gave up"))),
]
TABS = ("discoveries", "selection", "rounds", "left-out", "asked")


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def tools(db: None) -> list[Predictor]:
    return [
        Predictor.objects.create(
            name=f"tool {name}", kind="imported", key=name * 64, identity={"version": name}
        )
        for name in "ab"
    ]


def make(tools: list[Predictor], name: str = "scans", found: int = 3, state: str = "done") -> Campaign:
    run = Run.objects.create(
        name=f"{name} run", kind="campaign", state=state, lease_until="2100-01-01T00:00Z"
    )
    row = Campaign.objects.create(
        name=name,
        origin="run",
        run=run,
        sampled=100,
        interesting=4,
        rounds=1,
        seconds=10,
        facts={"judged": 500, "schemes": 7, "unsupported": 1, "failures": {"timeout of 2": 3}},
        config={"search": {"samples": 50}, "interest": {"metric": "relative", "threshold": 0.5}, "seed": 1},
    )
    for position, tool in enumerate(tools):
        CampaignPredictor.objects.create(campaign=row, position=position, predictor=tool)
    for number in range(found):
        Discovery.objects.create(
            campaign=row,
            number=number,
            length=1 + number % 3,
            abstract={"instructions": [{"mnemonic": {"base": "bsf", "edits": number % 4}}]},
            interestingness=float("inf") if number == 1 else 0.5 + number / 1000,
            generality=number + 1,
            code=SCAN,
            kind="difference",
        )
    SampleBatch.objects.create(campaign=row, number=0, n=2, interesting=1, samples=pack(SAMPLES))
    content = json.dumps({"supported": ["a"], "lacking": {"lar GPR[16]:W": {"2": "unsupported"}}}).encode()
    CampaignFile.objects.create(campaign=row, path=SUPPORT, size=len(content), content=zlib.compress(content))
    return row


def page(visitor: Client, row: Campaign, **query: object) -> str:
    answer = visitor.get(reverse("campaign", args=[row.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_names_tools_discoveries_and_state(visitor: Client, tools: list[Predictor]) -> None:
    make(tools)
    make(tools, "others", found=1, state="running")
    text = visitor.get(reverse("campaigns")).content.decode()
    assert "tool a" in text
    assert text.index("others") < text.index("scans")
    assert 'class="badge running"' in text
    found = visitor.get(reverse("campaigns"), {"q": "sca"}).content.decode()
    assert "scans" in found
    assert "others" not in found
    stranger = Predictor.objects.create(name="stranger", kind="imported", key="c" * 64)
    answer = visitor.get(reverse("campaigns"), {"tool": stranger.pk})
    assert "No campaign matches" in answer.content.decode()
    assert visitor.get(reverse("campaigns"), {"kind": "odd"}).status_code == 400


def test_the_list_takes_a_fixed_number_of_queries(
    visitor: Client, tools: list[Predictor], django_assert_max_num_queries: object
) -> None:
    for number in range(12):
        make(tools, f"c{number}", found=1)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        visitor.get(reverse("campaigns"))


@pytest.mark.parametrize("tab", TABS)
def test_each_view_of_a_campaign_takes_a_fixed_number_of_queries(
    tab: str, visitor: Client, tools: list[Predictor], django_assert_max_num_queries: object
) -> None:
    row = make(tools, found=60)
    page(visitor, row, tab=tab)
    with django_assert_max_num_queries(13):  # type: ignore[operator]
        page(visitor, row, tab=tab)


def test_discoveries_are_in_words_and_sorted_as_the_address_says(
    visitor: Client, tools: list[Predictor]
) -> None:
    row = make(tools)
    text = page(visitor, row)
    assert "mnemonic within 2 edits of <code>bsf</code>" in text
    places = [text.index(f'aria-label="Discovery discovery {number}"') for number in (1, 2, 0)]
    assert places == sorted(places)  # a failure that counts is the most interesting
    assert "∞" in text
    by_number = page(visitor, row, sort="number")
    places = [by_number.index(f'aria-label="Discovery discovery {number}"') for number in range(3)]
    assert places == sorted(places)


def test_what_a_campaign_found_out_at_its_end_is_a_column(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools)
    assert "Covers" not in page(visitor, row)
    row.facts["explained"] = {
        "blocks": 100,
        "interesting": 8,
        "covered": 6,
        "share": 0.75,
        "by_discovery": {"0": 1, "2": 5},
    }
    row.save()
    text = page(visitor, row, sort="-coverage")
    places = [text.index(f'aria-label="Discovery discovery {number}"') for number in (2, 0, 1)]
    assert places == sorted(places)
    assert "75.0" in text


def coverage_run(*campaigns: Campaign, **found: object) -> Run:
    pks = [row.pk for campaign in campaigns for row in campaign.discoveries.all()]
    result = {
        "discoveries": pks,
        "blocks": 10,
        "strange": 0,
        "covered": 9,
        "by_discovery": {str(pks[0]): 4, str(pks[1]): 6},
        "by_campaign": {str(row.pk): 5 for row in campaigns},
        "best": [
            {"chosen": [pks[1]], "covered": 6, "proven": True},
            {"chosen": [pks[1], pks[0]], "covered": 9, "proven": True},
        ],
        "uncovered": [ADD.hex()],
        "overlap": {},
        "url": "/",
        **found,
    }
    config = {"campaigns": [row.pk for row in campaigns], "block_set": None, "columns": []}
    return Run.objects.create(name="coverage", kind="coverage", state="done", config=config, result=result)


def test_the_best_selection_of_the_size_asked_for_is_shown(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools)
    coverage_run(row)
    text = page(visitor, row, tab="selection", k=1)
    assert "60.0" in text
    assert "no other 1 cover more" in text
    assert 'aria-label="Discovery discovery 1"' in text
    assert 'aria-label="Discovery discovery 0"' not in text
    assert "add rax, rbx" in text  # what is not covered
    assert 'aria-label="Discovery discovery 0"' in page(visitor, row, tab="selection", k=2)


def test_coverage_is_found_out_by_a_run(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools)
    answer = visitor.post(reverse("campaign-coverage", args=[row.pk]), {"over": "own"})
    assert answer.status_code == 302
    run = Run.objects.get(kind="coverage")
    assert run.config["campaigns"] == [row.pk]
    assert run.name in page(visitor, row, tab="selection")
    assert visitor.post(reverse("campaign-coverage", args=[row.pk]), {"over": "999"}).status_code == 404


def test_failures_and_schemes_left_out_are_told_with_the_tool(
    visitor: Client, tools: list[Predictor]
) -> None:
    text = page(visitor, make(tools), tab="left-out")
    assert "<b>lar</b>" in text
    assert "timeout" in text
    assert text.count("tool b") >= 2


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON",
        b"[]",
        b"{}",
        b'{"lacking": 1}',
        b'{"lacking": {"a": ["x"]}}',
        b'{"lacking": {"a": {"one": "timeout"}}}',
        b'{"lacking": {"a": {"0": "timeout"}}}',
        b'{"lacking": {"a": {"1": "timeout"}}, "more": [' + b"{}," * 500_000 + b"{}]}",
    ],
    ids=lambda content: content[:40].decode(),
)
def test_a_file_of_that_name_that_came_with_an_import_may_say_anything(
    visitor: Client, tools: list[Predictor], content: bytes
) -> None:
    row = make(tools)
    row.files.filter(path=SUPPORT).update(content=zlib.compress(content), size=len(content))
    page(visitor, row)
    page(visitor, row, tab="left-out")
    assert lacking_of(row, ["tool a", "tool b"]) == []


def test_what_was_asked_shows_what_is_not_usual_first(visitor: Client, tools: list[Predictor]) -> None:
    text = page(visitor, make(tools), tab="asked")
    assert text.index("Samples per abstract block") < text.index("defaults")
    assert text.index("defaults") < text.index("Threshold")
    assert "support.json" in text


def test_while_it_runs_the_newest_counters_are_shown(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools, state="running")
    counted = CountersEvent(
        sampled=1234,
        interesting=60,
        rate=321.0,
        seconds=5.0,
        discoveries=0,
        standing=0,
        failures={},
        generalising=2,
    )
    RunEvent.objects.create(run=row.run, seq=1, kind=counted.kind, payload=counted.payload())
    text = page(visitor, row)
    assert "1,234" in text
    assert "321" in text
    assert "Generalising 2 blocks on which they disagree" in text
    assert "js/campaign.js" in text
    Run.objects.filter(pk=row.run_id).update(state="done")
    assert "1,234" not in page(visitor, row)
    assert "js/campaign.js" not in page(visitor, row)


def test_the_blocks_of_a_round_have_every_answer(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools)
    url = reverse("campaign-round", args=[row.pk, 0])
    text = visitor.get(url).content.decode()
    assert "bsf rax, rbx" in text
    assert "timeout" in text
    assert 'title="gave up"' in text
    by_first = visitor.get(url, {"sort": "1"}).content.decode()
    assert by_first.index("add rax, rbx") < by_first.index("bsf rax, rbx")
    assert visitor.get(reverse("campaign-round", args=[row.pk, 7])).status_code == 404


def test_campaigns_side_by_side_show_what_differs_alone(visitor: Client, tools: list[Predictor]) -> None:
    first, second = make(tools), make(tools, "others")
    second.config["search"]["samples"] = 70
    second.save()
    overlap = {str(first.discoveries.get(number=1).pk): [second.discoveries.get(number=2).pk]}
    coverage_run(first, second, overlap=overlap)
    text = visitor.get(reverse("campaign-compare"), {"c": [first.pk, second.pk]}).content.decode()
    assert "Samples per abstract block" in text
    assert "Threshold" not in text
    assert "1 of 3" in text
    assert "0 of 3" in text
    assert "5 discoveries" in text  # found by one alone
    assert visitor.get(reverse("campaign-compare"), {"c": first.pk}).status_code == 200
    many = list(range(1, 10))
    assert visitor.get(reverse("campaign-compare"), {"c": many}).status_code == 400


def test_what_campaigns_share_is_found_out_by_a_run(visitor: Client, tools: list[Predictor]) -> None:
    first, second = make(tools), make(tools, "others")
    answer = visitor.post(reverse("campaign-overlap"), {"c": [first.pk, second.pk]})
    assert answer.status_code == 302
    assert Run.objects.get(kind="coverage").config["campaigns"] == [first.pk, second.pk]


def test_a_campaign_is_taken_away_as_zip_and_as_csv(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools, found=2)
    answer = visitor.get(reverse("campaign-export", args=[row.pk]))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]
    assert "campaign.json" in archive.namelist()
    text = visitor.get(reverse("campaign-csv", args=[row.pk])).content.decode()
    assert "# cite: " in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == 3
    assert "mnemonic bsf" in lines[1]
    assert ADD.hex() not in lines[1]
    assert SCAN.hex() in lines[1]
    kept = row.files.get()
    file = visitor.get(reverse("campaign-file", args=[row.pk, kept.pk]))
    assert json.loads(b"".join(file.streaming_content))["supported"] == ["a"]  # type: ignore[attr-defined]


def test_a_campaign_is_renamed_and_deleted_but_not_while_it_runs(
    visitor: Client, tools: list[Predictor]
) -> None:
    row = make(tools, state="running")
    visitor.post(reverse("campaign-edit", args=[row.pk]), {"name": "renamed", "note": "seen"})
    row.refresh_from_db()
    assert (row.name, row.note) == ("renamed", "seen")
    refused = visitor.post(reverse("campaign-delete", args=[row.pk]))
    assert refused.status_code == 409
    assert "cancel it first" in refused.content.decode()
    Run.objects.filter(pk=row.run_id).update(state="done")
    assert "3 discoveries" in visitor.get(reverse("campaign-delete", args=[row.pk])).content.decode()
    assert visitor.post(reverse("campaign-delete", args=[row.pk])).status_code == 302
    assert not Campaign.objects.exists()
    assert not Discovery.objects.exists()


def test_the_start_page_shows_campaigns_and_the_newest_discoveries(
    visitor: Client, tools: list[Predictor]
) -> None:
    make(tools, "ended")
    make(tools, "going on", found=0, state="running")
    make(tools, "newer", found=0)
    text = visitor.get("/").content.decode()
    assert "Newest discoveries" in text
    assert "An instruction named like bsf" in text
    section = text[text.index('id="campaigns-here"') :]
    assert section.index("going on") < section.index("newer") < section.index("ended")


def test_the_page_of_a_run_leads_to_its_campaign(visitor: Client, tools: list[Predictor]) -> None:
    row = make(tools, state="running")
    text = visitor.get(reverse("run", args=[row.run_id])).content.decode()
    assert reverse("campaign", args=[row.pk]) in text
