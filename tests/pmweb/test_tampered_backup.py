"""A back-up that somebody has changed: its rows come back, and nothing else that is in it."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from inference.models import Run
from pmweb.backup import postgresql
from pmweb.backup.archive import BackupError
from tests.doors import printed
from tests.pmweb.test_backup import home, names
from tests.prepared import migrated_file
from tests.runs.fixtures import migrated, opened, site
from tests.upgrade.make import COMMITS, restore

__all__ = ["home", "migrated", "site"]

PASSWORD = "known to whoever changed it"


def tampered(source: Path, target: Path, *statements: str, **values: object) -> Path:
    """A copy of a back-up whose database has been changed, with a manifest that says so."""
    database = target.with_suffix(".sqlite3")
    with zipfile.ZipFile(source) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    database.write_bytes(parts["database"])
    with closing(sqlite3.connect(database)) as changed:
        for statement in statements:
            changed.execute(statement, values if ":" in statement else {})
        changed.commit()
        changed.execute("VACUUM")
        tables = changed.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        rows = {name: changed.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in tables}
    content = database.read_bytes()
    manifest = json.loads(parts["manifest.json"])
    manifest |= {"rows": rows, "sha256": hashlib.sha256(content).hexdigest()}
    parts |= {"database": content, "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(target, "w") as packed:
        for name, part in parts.items():
            packed.writestr(name, part)
    return target


def schema_of(database: Path) -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(database)) as opened_file:
        return set(opened_file.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


CHANGES = {
    "a trigger": (
        "CREATE TRIGGER back AFTER UPDATE ON auth_user BEGIN UPDATE auth_user SET is_superuser = 1; END",
    ),
    "a trigger that revives tokens": (
        "CREATE TRIGGER alive AFTER UPDATE ON pmweb_apitoken"
        " BEGIN UPDATE pmweb_apitoken SET revoked = NULL; END",
    ),
    "a view": ("CREATE VIEW spy AS SELECT * FROM auth_user",),
    "a table": ("CREATE TABLE spare (a)", "INSERT INTO spare VALUES (1)"),
    "a virtual table": ("CREATE VIRTUAL TABLE words USING fts5(a)",),
    "an index": ("CREATE UNIQUE INDEX few ON inference_run (name)",),
    "an index of an expression": ("CREATE INDEX odd ON auth_user (upper(username))",),
    "a column": ("ALTER TABLE auth_user ADD COLUMN spare text DEFAULT 'x'",),
    "a generated column": ("ALTER TABLE auth_user ADD COLUMN spare text AS (upper(password)) VIRTUAL",),
    "a missing index": ("DROP INDEX inference_run_state_lane",),
}


def existing(statement: str, database: Path) -> str:
    """The statement, about an index that there is."""
    if not statement.startswith("DROP INDEX"):
        return statement
    index = min(name for kind, name, _, sql in schema_of(database) if kind == "index" and sql)
    return f'DROP INDEX "{index}"'


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_restored_database_has_the_schema_of_a_new_one(home, tmp_path, change, tmp_path_factory):
    file, place = tmp_path / "mine.pmweb-backup", home / "pmweb.sqlite3"
    printed("backup", file)
    statements = [existing(statement, place) for statement in change]
    bad = tampered(file, tmp_path / "bad.pmweb-backup", *statements)
    said = printed("restore", bad, "--replace")
    assert schema_of(place) == schema_of(migrated_file(tmp_path_factory))
    assert names(place) == ["one", "two"]
    strange = any(word in change[0] for word in ("TRIGGER", "VIEW", "CREATE TABLE", "VIRTUAL TABLE"))
    assert ("left out, since pmweb has none of that name" in said) == strange


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (
            ("ALTER TABLE inference_run RENAME TO runs", "CREATE VIEW inference_run AS SELECT * FROM runs"),
            "has no table inference_run, or another thing of that name",
        ),
        (("DROP TABLE pmweb_apitoken",), "has no table pmweb_apitoken"),
        (("ALTER TABLE inference_run DROP COLUMN note",), "rows that do not fit"),
        (("INSERT INTO auth_user_groups (user_id, group_id) VALUES (77, 77)",), "points to none of"),
    ],
)
def test_rows_that_do_not_fit_into_it_change_nothing(home, tmp_path, statements, said):
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    bad = tampered(file, tmp_path / "bad.pmweb-backup", "PRAGMA foreign_keys = OFF", *statements)
    with pytest.raises(CommandError, match=said):
        printed("restore", bad, "--replace")
    assert names(home / "pmweb.sqlite3") == ["one", "two"]
    assert not list(home.glob("pmweb.sqlite3.before-*"))


def with_stranger(file: Path, target: Path) -> Path:
    """A back-up into which somebody has put an administrator, and a password of everybody's."""
    return tampered(
        file,
        target,
        "UPDATE auth_user SET password = :password",
        "INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, first_name, last_name,"
        " email, date_joined) VALUES ('mallory', :password, 1, 1, 1, '', '', '', '2026-01-01')",
        password=make_password(PASSWORD),
    )


def let_in(password: str) -> set[str]:
    found = {user.username for user in User.objects.all() if user.check_password(password)}
    connections.close_all()
    return found


def test_no_password_of_a_back_up_lets_anybody_in(home, tmp_path):
    User.objects.create_user("ada", password="hers")
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    bad = with_stranger(file, tmp_path / "bad.pmweb-backup")
    said = printed("restore", bad, "--replace")
    assert let_in(PASSWORD) == set()
    assert "no password is valid any more" in said
    assert "`manage.py account list`" in said
    assert not any(user.has_usable_password() for user in User.objects.all())


def test_passwords_are_kept_where_that_is_asked_for_which_is_said(home, tmp_path):
    User.objects.create_user("ada", password="hers")
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    said = printed("restore", file, "--replace", "--keep-passwords")
    assert let_in("hers") == {"ada"}
    assert "Passwords are those that the back-up has" in said
    assert "no password is valid" not in said


def test_no_number_is_given_out_again(home, tmp_path):
    last = Run.objects.order_by("-pk").first()
    assert last is not None
    Run.objects.filter(pk=last.pk).delete()
    printed("backup", tmp_path / "mine.pmweb-backup")
    printed("restore", tmp_path / "mine.pmweb-backup", "--replace")
    copy = Run.objects.get()
    copy.pk, copy.name = None, "another"
    copy.save()
    assert copy.pk > last.pk


@pytest.mark.parametrize("version", sorted(COMMITS))
def test_a_back_up_of_an_older_version_comes_back_and_is_migrated(
    version: str, tmp_path: Path, settings: Any, django_db_blocker, tmp_path_factory
) -> None:
    old, file = tmp_path_factory.mktemp("old") / "old.sqlite3", tmp_path / "old.pmweb-backup"
    restore(version, old)
    with opened(old, tmp_path, django_db_blocker), pytest.MonkeyPatch.context() as patch:
        settings.HOME = tmp_path
        place = Path(connections["default"].settings_dict["NAME"])
        patch.setitem(settings.DATABASES["default"], "NAME", place)
        runs = names(place)
        printed("backup", file)
        printed("restore", file, "--replace")
        assert names(place) == runs
        call_command("migrate", verbosity=0, skip_checks=True)
        connections.close_all()
        made = {entry[:2] for entry in schema_of(place) if entry[1] != "sqlite_stat1"}
        assert made == {entry[:2] for entry in schema_of(migrated_file(tmp_path_factory))}


# Of PostgreSQL: the text that `pg_restore` writes.


class Cursor:
    """Notes what is executed, and the rows that are copied."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, object]] = []
        self.copied: dict[str, list[bytes]] = {}

    def execute(self, statement: str, values: object = None) -> None:
        self.executed.append((statement, values))

    def fetchall(self) -> list[tuple[str]]:
        return [("auth_user_id_seq",)]

    def copy(self, statement: str) -> Any:
        return Rows(self.copied.setdefault(statement, []))


class Rows:
    def __init__(self, rows: list[bytes]) -> None:
        self.write = rows.append

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        pass


HOSTILE = rb"""SET statement_timeout = 0;
\! touch /tmp/hostile
COPY public.auth_user (id, username) FROM stdin;
1	ada
2	\\! id
\! echo
\.
COPY auth_user (id, username) FROM PROGRAM 'id';
COPY public.auth_user (id, username) FROM stdin; DROP TABLE auth_user;
DROP TABLE auth_user;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN END $$;
SELECT pg_catalog.setval('public.auth_user_id_seq', 7, true);
SELECT pg_catalog.setval('public.other_seq', 7, true);
SELECT pg_catalog.setval('public.auth_user_id_seq', 7, true); DROP TABLE auth_user;
COPY public.spare (a) FROM stdin;
1
\.
COPY public.django_migrations (id, app, name, applied) FROM stdin;
1	pmweb	9999	now
\.
"""


def lines(text: bytes) -> Iterator[bytes]:
    return iter(io.BytesIO(text))


def test_nothing_in_the_text_of_a_dump_is_executed():
    cursor = Cursor()
    said = postgresql.copy_rows(cursor, lines(HOSTILE), {"auth_user": ["id", "username"]})
    (rows,) = cursor.copied.values()
    assert rows == [b"1\tada\n", rb"2	\\! id" + b"\n", b"\\! echo\n"]
    assert [values for statement, values in cursor.executed if "setval" in statement] == [
        ("auth_user_id_seq", 7, True)
    ]
    assert all("DROP" not in statement for statement, _ in cursor.executed)
    assert said == "left out, since pmweb has none of that name: table spare"


@pytest.mark.parametrize("names_in_dump", [b"id", b"id, username, spare", b"id, id", b"id, password"])
def test_rows_of_other_columns_are_refused(names_in_dump: bytes):
    text = b"COPY public.auth_user (%s) FROM stdin;\n1\n\\.\n" % names_in_dump
    with pytest.raises(BackupError, match="has the columns"):
        postgresql.copy_rows(Cursor(), lines(text), {"auth_user": ["id", "username"]})
