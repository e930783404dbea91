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
from tests.upgrade.tables import row_counts, tables

NEWEST = list(COMMITS)[-1]
UNUSED = {"auth_group", "auth_group_permissions", "auth_user_groups", "auth_user_user_permissions"}
"""Tables of Django into which no release writes."""
RECOMPUTED = {"inference_setcomparison"}
"""Tables of results that today's releases work out anew."""


@pytest.mark.parametrize("version", COMMITS)
def test_an_older_site_is_migrated_shown_and_goes_on(
    version: str, tmp_path: Path, tmp_path_factory, django_db_blocker, client: Client
) -> None:
    old = tmp_path_factory.mktemp("old") / "old.sqlite3"
    restore(version, old)
    with closing(sqlite3.connect(migrated_file(tmp_path_factory))) as new:
        made_at_once = tables(new.cursor())
    with opened(old, tmp_path, django_db_blocker):
        assert (
            schema().needs_migration or version == NEWEST
        )  # which has the tables of today until a migration joins
        with connection.cursor() as cursor:
            rows = {
                table: count
                for table, count in row_counts(cursor).items()
                if count and table not in RECOMPUTED
            }
            call_command("migrate", verbosity=0, skip_checks=True)
            assert row_counts(cursor).items() >= rows.items()
            assert tables(cursor) == made_at_once
        check_that_it_goes_on(client)


def test_the_newest_dump_has_rows_in_every_table(tmp_path: Path) -> None:
    database = tmp_path / "newest.sqlite3"
    restore(NEWEST, database)
    with closing(sqlite3.connect(database)) as rows:
        empty = {table for table, count in row_counts(rows.cursor()).items() if not count}
    assert empty == UNUSED, "let tests/upgrade/fill_tables.py fill them, and make the dump again"
