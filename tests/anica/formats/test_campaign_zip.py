"""A campaign leaves as an archive and comes back the same; archives of anybody else's are not trusted."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from anica_app.formats.anica_campaigns import read_campaign
from anica_app.formats.campaign_zip import CampaignFileKind, kind_of_content, read_archive
from anica_app.models import (
    Campaign,
    CampaignPredictor,
    Discovery,
    Family,
    Generalisation,
    GeneralisationStep,
    SampleBatch,
)
from anica_app.storage.campaigns import store_campaign, write_campaign
from inference.formats.file_trees import Directory, ZipTree
from inference.formats.problems import ExchangeError
from inference.models import Predictor, identity_key
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack, unpack
from tests.anica.formats.published import write_directory
from tests.zips import packed, unpacked

pytestmark = pytest.mark.django_db

ABSTRACT = {
    "instructions": [{"mnemonic": {"base": "add", "edits": 1}, "memory": []}, {}],
    "aliasing": [],
    "dependencies": [[1, 2, "flag"], [2, 1, "register"]],
}
SAMPLES = [
    Sample(b"\x48\x01\xd8", (Answer(cycles=0.1 + 0.2), Answer(failure=Failure.CRASH, detail="boom"))),
    Sample(b"\x90", (Answer(cycles=1e-9), Answer(failure=Failure.TIMEOUT))),
]


@pytest.fixture
def campaign() -> Campaign:
    """One of ours with a bit of everything."""
    tools = []
    for name in ("a", "b"):
        identity = {"kind": "toy", "name": name}
        tools.append(
            Predictor.objects.create(name=name, kind="toy", identity=identity, key=identity_key(identity))
        )
    config = {"predictors": [tool.pk for tool in tools], "seed": 7}
    row = Campaign.objects.create(name="mine", origin="run", config=config, sampled=2, facts={"judged": 2})
    for position, tool in enumerate(tools):
        CampaignPredictor.objects.create(campaign=row, position=position, predictor=tool)
    general, special = (
        Discovery.objects.create(
            campaign=row,
            number=number,
            abstract=ABSTRACT,
            code=b"\x90",
            length=1,
            kind="difference",
            interestingness=float("inf"),
            mark="reported",
            note="<b>é</b>",
        )
        for number in (0, 1)
    )
    Discovery.objects.filter(pk=special.pk).update(subsumed_by=general)
    order = Generalisation.objects.create(
        campaign=row, number=0, discovery=general, became="discovery", start=ABSTRACT, result=ABSTRACT
    )
    GeneralisationStep.objects.create(generalisation=order, number=0, kind="start", taken=True)
    GeneralisationStep.objects.create(
        generalisation=order,
        number=1,
        expansion={"instruction": 1, "feature": "memory"},
        taken=False,
        reason="not all interesting",
        n=2,
        interesting=1,
        failed=3,
        mean=float("inf"),
        samples=pack(SAMPLES),
    )
    SampleBatch.objects.create(campaign=row, number=0, discovery=special, n=2, samples=pack(SAMPLES))
    _with_families(row, general)
    return Campaign.objects.get(pk=row.pk)


def _with_families(row: Campaign, member: Discovery) -> None:
    """A family with all that can be known of one, held against an earlier campaign and judged."""
    witness = {"block": "4801d8", "cycles": [1.0, None], "failures": ["", "crash"]}
    cut = {"change": "one dependency cut", "cut": ["rax"], "code": "4801d8", "cycles": [1.0, None]}
    identity = {"kind": "difference", "slower": 1, "bound": "ports", "classes": ["pop"], "others": []}
    family = Family.objects.create(
        campaign=row,
        number=0,
        name="pop: throughput",
        bound="ports",
        kind="difference",
        slower=1,
        identity=identity,
        code=bytes.fromhex("4801d8"),
        predictions=[[1.0, 2.5], [None, None]],
        covered=1,
        own=1,
        share=0.5,
        low=0.1,
        high=0.9,
        mark="reported",
        note="<b>é</b>",
        status="new",
        facts={
            "tried": [{**cut, "vanishes": True}],
            "members": {"0": witness},
            "judge": {
                "members": {"0": {"cycles": 1.1, "right": 1}},
                "blocks": 1,
                "right": [1, 0],
                "neither": 0,
            },
        },
    )
    family.discoveries.add(member)
    gone = {"family": family.pk, "name": "bsf: throughput", "witness": "90", "mark": ""}
    league = {"class": "", "blocks": 2, "disputed": 1, "right": [1, 0], "neither": 0, "errors": [0.1, None]}
    row.facts["families"] = {
        "judged": 2,
        "disagreements": 2,
        "explained": 1,
        "by_ten": 1,
        "fresh": True,
        "questions": 3,
        "against": {"campaign": row.pk, "name": "before", "gone": [gone], "unseen": []},
        "judge": {"predictor": 7, "name": "lab", "answered": 2, "unanswered": 0, "league": [league]},
    }
    row.save()


def archive_of(campaign: Campaign) -> bytes:
    out = io.BytesIO()
    write_campaign(campaign, out)
    return out.getvalue()


def brought_back(content: bytes, name: str = "") -> Campaign:
    return store_campaign(read_archive(ZipTree(io.BytesIO(content), "mine.zip")), name)


def test_what_goes_out_comes_back_to_the_byte(campaign: Campaign) -> None:
    content = archive_of(campaign)
    assert kind_of_content(content) is CampaignFileKind.ARCHIVE
    assert archive_of(campaign) == content
    Campaign.objects.all().delete()
    back = brought_back(content)
    assert archive_of(back) == content
    assert back.config["predictors"] == list(back.seats.values_list("predictor_id", flat=True))
    assert back.discoveries.get(number=1).subsumed_by == back.discoveries.get(number=0)
    step = back.generalisations.get().steps.get(number=1)
    assert (unpack(bytes(step.samples)), step.mean, step.failed) == (SAMPLES, float("inf"), 3)


GOLDEN = Path(__file__).parent / "golden_families.json"


def test_families_come_back_without_the_ids_of_the_site_that_they_left(campaign: Campaign) -> None:
    content = archive_of(campaign)
    written = unpacked(content)["families.json"]
    assert written == GOLDEN.read_bytes(), f"write this into {GOLDEN.name} if it is meant: {written.decode()}"
    Campaign.objects.all().delete()
    back = brought_back(content)
    (family,) = back.families.all()
    assert list(family.discoveries.all()) == [back.discoveries.get(number=0)]
    assert (family.mark, family.note, family.status, family.before_id) == (
        "reported",
        "<b>é</b>",
        "new",
        None,
    )
    told = back.facts["families"]
    assert (told["against"]["campaign"], told["judge"]["predictor"]) == (None, None)
    assert told["against"]["gone"] == [
        {"family": None, "name": "bsf: throughput", "witness": "90", "mark": ""}
    ]


def test_an_archive_of_the_version_before_families_is_read_as_one_that_has_none(campaign: Campaign) -> None:
    files = unpacked(archive_of(campaign))
    main = json.loads(files["campaign.json"])
    main["version"] = 1
    before = {name: each for name, each in files.items() if name != "families.json"}
    back = brought_back(packed({**before, "campaign.json": json.dumps(main).encode()}), "old")
    assert not back.families.exists()
    assert "families" not in back.facts
    with pytest.raises(ExchangeError, match=r"families\.json"):
        brought_back(packed({**files, "campaign.json": json.dumps(main).encode()}), "mixed")
    with pytest.raises(ExchangeError, match=r"no families\.json"):
        brought_back(packed(before), "lacking")


def test_the_pages_of_imported_families_open(campaign: Campaign, client: Client, administrator: User) -> None:
    client.force_login(administrator)
    back = brought_back(archive_of(campaign), "again")
    assert "pop: throughput" in client.get(f"/campaigns/{back.pk}/").content.decode()
    assert client.get(f"/families/{back.families.get().pk}/").status_code == 200
    found = client.get(f"/api/v1/campaigns/{back.pk}/families").json()
    assert found["against"]["campaign"] is None
    assert [one["members"] for one in found["items"]] == [[0]]


def test_tools_that_are_known_are_found_again_and_others_are_made(campaign: Campaign) -> None:
    content = archive_of(campaign)
    brought_back(content, "second")
    assert Predictor.objects.count() == 2
    Campaign.objects.all().delete()
    Predictor.objects.all().delete()
    Predictor.objects.create(name="a", kind="other", key="0")
    back = brought_back(content)
    assert [seat.predictor.name for seat in back.seats.all()] == ["a (2)", "b"]
    assert {seat.predictor.origin for seat in back.seats.all()} == {"imported"}


def test_an_imported_campaign_goes_round_as_well(tmp_path: Path) -> None:
    first = store_campaign(read_campaign(Directory(write_directory(tmp_path))), "published")
    content = archive_of(first)
    files = {each.path: bytes(each.content) for each in first.files.all()}
    first.delete()
    back = brought_back(content)
    assert archive_of(back) == content
    assert {each.path: bytes(each.content) for each in back.files.all()} == files


def _changed(content: bytes, name: str, change: Callable[[Any], Any]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for each in old.namelist():
            data = old.read(each)
            new.writestr(each, json.dumps(change(json.loads(data))) if each == name else data)
    return out.getvalue()


def _set(value: Any, *path: Any) -> Callable[[Any], Any]:
    def change(data: Any) -> Any:
        inner = data
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value
        return data

    return change


ONE = "generalisations/00000.json"


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("campaign.json", _set("other", "format"), "pmweb-campaign"),
        ("campaign.json", _set(3, "version"), "version: Input should be 1 or 2"),
        ("campaign.json", _set("dream", "campaign", "kind"), "campaign.kind"),
        ("campaign.json", _set(-1, "campaign", "sampled"), "campaign.sampled"),
        ("campaign.json", _set("7", "campaign", "sampled"), "campaign.sampled"),
        ("campaign.json", _set("noon", "campaign", "created"), "campaign.created: .*no time"),
        ("campaign.json", _set([], "campaign", "config"), "campaign.config: "),
        *(
            ("campaign.json", _set(value, "campaign", field, name), f"campaign.{field}.{name}")
            for field, name, value in (
                *(("config", name, 5) for name in ("interest", "search", "domain", "space", "end", "preset")),
                *(("config", name, None) for name in ("end", "excluded", "scheme_filter")),
                *(("config", "uops", odd) for odd in ("x", 2**63, [1])),
                *(
                    ("facts", name, [])
                    for name in ("judged", "schemes", "failures", "unsayable", "explained")
                ),
                ("facts", "failures", {"crash": "many"}),
                ("facts", "explained", {"interesting": 1}),
            )
        ),
        ("campaign.json", _set([5], "campaign", "config", "excluded"), r"config.excluded\[0\]: "),
        (
            "campaign.json",
            _set([{"discovery": "x"}], "campaign", "config", "excluded"),
            r"excluded\[0\].discovery",
        ),
        (
            "campaign.json",
            _set(
                {"blocks": 1, "interesting": 1, "covered": 1, "by_discovery": {"x": 1}},
                *("campaign", "facts", "explained"),
            ),
            "by_discovery.x",
        ),
        ("campaign.json", _set({}, "predictors"), "list of predictors"),
        ("campaign.json", _set(1, "campaign", "extra"), "campaign.extra: "),
        ("discoveries.json", _set(0, 1, "number"), "the number 0 occurs twice"),
        ("discoveries.json", _set(9, 1, "subsumed_by"), "no discovery with the number"),
        ("discoveries.json", _set("zz", 0, "code"), "hexadecimal"),
        ("discoveries.json", _set({"instructions": []}, 0, "abstract"), r"discoveries.json\[0\].abstract"),
        ("discoveries.json", _set("x" * 101, 0, "label"), "label"),
        *(
            ("families.json", _set(value, 0, *path), rf"families.json.*{says}")
            for value, path, says in (
                ([], ("discoveries",), "discoveries"),
                ([9], ("discoveries",), "discoveries: there is no discovery with the number 9"),
                ([0, 0], ("discoveries",), "discoveries: the number 0 is in a family already"),
                ("zz", ("code",), "code"),
                ("0f", ("code",), "code.*no basic block"),
                ("colour", ("bound",), "bound.*none of"),
                (3, ("slower",), "slower.*no tool 3"),
                ([[1.0, 2.0]], ("predictions",), "predictions.*each of the 2 tools"),
                ([[1.0, None], [1.0, 2.0]], ("predictions",), ".*lowest and the highest"),
                (1.5, ("share",), "share"),
                ("maybe", ("mark",), "mark"),
                ("maybe", ("status",), "status"),
                ({"kind": "difference"}, ("identity",), "identity.slower"),
                ("{cut.__class__}", ("facts", "tried", 0, "change"), r"facts.tried\[0\].change"),
                ("cooked", ("facts", "members", "0", "failures", 1), r"facts.members.0.failures\[1\]"),
                (1, ("facts", "more"), "facts.more"),
                ({"members": {}, "blocks": 1}, ("facts", "judge"), "facts.judge.right"),
            )
        ),
        ("families.json", lambda data: data * 2, "families.json: the number 0 occurs twice"),
        *(
            ("campaign.json", _set(value, "campaign", "facts", "families", *path), f"facts.families.*{says}")
            for value, path, says in (
                (3, ("explained",), "by_ten, explained, disagreements and judged"),
                ("x", ("against", "gone", 0, "witness"), r"against.gone\[0\].witness"),
                (7, ("against", "campaign"), "against.campaign"),
                ([1], ("judge", "league", 0, "right"), r"judge.league\[0\].right"),
            )
        ),
        (ONE, _set({"feature": "colour", "instruction": 1}, "steps", 1, "expansion"), "expansion.*mnemonic"),
        (ONE, _set(5, "steps", 1, "number"), "numbered from 0"),
        (ONE, _set(3, "steps", 1, "n"), "2 blocks where n is 3"),
        (ONE, _set([[1.0, "crashed"], [1, 1]], "steps", 1, "samples", "answers"), "crash, timeout"),
        (ONE, _set([[1.0]], "steps", 1, "samples", "answers"), "a list of 2"),
        (ONE, _set([[1, -1], [1, 1]], "steps", 1, "samples", "answers"), "from 0 on"),
        (ONE, _set(["zz", "90"], "steps", 1, "samples", "blocks"), "no machine code"),
    ],
)
def test_a_changed_archive_is_refused_with_the_place(
    name: str, change: Callable[[Any], Any], says: str, campaign: Campaign
) -> None:
    content = _changed(archive_of(campaign), name, change)
    with pytest.raises(ExchangeError, match=says):
        brought_back(content, "again")
    assert Campaign.objects.count() == 1


def test_a_file_that_does_not_belong_there_is_refused(campaign: Campaign) -> None:
    out = io.BytesIO(archive_of(campaign))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("setup.py", "print()")
    with pytest.raises(ExchangeError, match=r"setup\.py"):
        brought_back(out.getvalue(), "again")
