"""Archives that older releases have written of runs and campaigns of their dumps: they open, with all of it.

Each was written by the release's own code, from its dump (`make`).
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from anica_app.formats.campaign_zip import read_all, tree_of_path
from anica_app.storage.campaigns import store_campaign, write_campaign
from inference.features.running.runs.archive import store_archive
from inference.formats.run_archive.reading import read_archive
from inference.storage.run_archive_writing import write_archive
from tests.zips import unpacked

pytestmark = pytest.mark.django_db

ARCHIVES = Path(__file__).parent / "archives"


def named(pattern: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted(ARCHIVES.glob(pattern))]


def journal(files: dict[str, bytes]) -> list[Any]:
    events = map(json.loads, files["events.jsonl"].splitlines())
    return [event for event in events if event["kind"] != "result"]  # which has numbers of rows


@pytest.mark.parametrize("path", named("*-run-*.zip"))
def test_a_run_of_an_older_release_opens_with_its_journal(
    path: Path, client: Client, administrator: User
) -> None:
    run = store_archive(read_archive(path.read_bytes()), path.name)
    before, after = unpacked(path.read_bytes()), unpacked(write_archive(run))
    assert journal(after) == journal(before)
    kept, written = json.loads(before["run.json"]), json.loads(after["run.json"])
    for rows in ("sets", "mappings", "resource_mappings"):
        assert len(written[rows]) == len(kept[rows])
    client.force_login(administrator)
    assert client.get(f"/runs/{run.pk}/").status_code == 200


@pytest.mark.parametrize("path", named("*-campaign-*.zip"))
def test_a_campaign_of_an_older_release_opens_with_its_discoveries(
    path: Path, client: Client, administrator: User
) -> None:
    (content,) = read_all(tree_of_path(path))
    campaign, file = store_campaign(content), io.BytesIO()
    write_campaign(campaign, file)
    before, after = unpacked(path.read_bytes()), unpacked(file.getvalue())
    assert after["discoveries.json"] == before["discoveries.json"]
    assert after.keys() == before.keys() | {"families.json"}, "which 0.7.0 did not write"
    client.force_login(administrator)
    assert client.get(f"/campaigns/{campaign.pk}/").status_code == 200
