"""Databases that older releases have filled: migrated by today's migrations, shown, and worked on.

`make` says how the dumps came about.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from inference.models.schema import schema
from tests.prepared import migrated_file
from tests.runs.fixtures import opened
from tests.upgrade.going_on import check_that_it_goes_on
from tests.upgrade.make import COMMITS, restore
from tests.upgrade.tables import tables


@pytest.mark.parametrize("version", sorted(COMMITS))
def test_an_older_site_is_migrated_shown_and_goes_on(
    version: str, tmp_path: Path, tmp_path_factory, django_db_blocker, client: Client
) -> None:
    old = tmp_path_factory.mktemp("old") / "old.sqlite3"
    restore(version, old)
    with closing(sqlite3.connect(migrated_file(tmp_path_factory))) as new:
        made_at_once = tables(new.cursor())
    with opened(old, tmp_path, django_db_blocker):
        assert schema().lacks
        call_command("migrate", verbosity=0, skip_checks=True)
        with connection.cursor() as migrated:
            assert tables(migrated) == made_at_once
        check_that_it_goes_on(client)
