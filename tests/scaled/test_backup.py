"""Back-ups of PostgreSQL by its own programs: complete, all or nothing, and never under a running site."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import connection

from inference.models import ISA, Run, RunEvent
from inference.runs import journal, leases
from tests.doors import printed
from tests.runs.fixtures import assert_journal_is_whole, numbers, payloads
from tests.ways_in import lets_in, make_ways_in


def test_what_was_backed_up_comes_back_and_numbering_goes_on(site, tmp_path):
    file = tmp_path / "mine.pmweb-backup"
    run = site.count("one")
    assert "rows of" in printed("backup", file)
    Run.objects.all().delete()
    ISA.objects.create(name="made later")
    with pytest.raises(CommandError, match="is not empty: --replace"):
        printed("restore", file)
    assert "has been replaced" in printed("restore", file, "--replace")
    assert list(Run.objects.values_list("name", flat=True)) == ["one"]
    assert not ISA.objects.filter(name="made later").exists()
    assert site.count("two").pk > run.pk  # the sequences came along
    assert numbers(run) == [1]


def test_a_back_up_that_is_put_back_lets_nobody_in_unless_tokens_shall_stay(site, tmp_path):
    session = make_ways_in()
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    assert lets_in(session) == {"session", "link", "token", "agent"}
    assert "are kept" in printed("restore", file, "--replace", "--keep-tokens")
    assert lets_in(session) == {"token", "agent"}
    assert "are revoked" in printed("restore", file, "--replace")
    assert lets_in(session) == set()


def schema_of() -> set[tuple[str, ...]]:
    """Tables, columns, constraints, indexes, triggers, views and functions of the database."""
    queries = (
        "SELECT 'column', table_name, column_name, data_type || is_nullable || coalesce(column_default, '')"
        " FROM information_schema.columns WHERE table_schema = 'public'",
        "SELECT 'constraint', conrelid::regclass::text, contype::text, pg_get_constraintdef(oid)"
        " FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
        "SELECT 'index', tablename, '', indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT 'trigger', tgrelid::regclass::text, tgname, '' FROM pg_trigger WHERE NOT tgisinternal",
        "SELECT 'view', viewname, '', '' FROM pg_views WHERE schemaname = 'public'",
        "SELECT 'rule', tablename, rulename, '' FROM pg_rules WHERE schemaname = 'public'",
        "SELECT 'relation', relname, relkind::text, '' FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace",
    )
    found: set[tuple[str, ...]] = set()
    with connection.cursor() as cursor:
        for query in queries:
            cursor.execute(query)
            found.update(cursor.fetchall())
    return found


CHANGES = (
    "CREATE FUNCTION back() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN NEW.is_superuser := true; RETURN NEW; END $$",
    "CREATE TRIGGER back BEFORE INSERT OR UPDATE ON auth_user FOR EACH ROW EXECUTE FUNCTION back()",
    "CREATE VIEW spy AS SELECT * FROM auth_user",
    "CREATE TABLE spare (a int)",
    "INSERT INTO spare VALUES (1)",
    "CREATE INDEX odd ON auth_user (upper(username))",
    "CREATE RULE double AS ON INSERT TO pmweb_loginlink DO ALSO UPDATE auth_user SET is_superuser = true",
    "ALTER TABLE auth_user ALTER COLUMN is_superuser SET DEFAULT true",
    "ALTER TABLE pmweb_apitoken DROP CONSTRAINT pmweb_apitoken_digest_key",
)
"""What somebody could put into a dump, and what it could leave out."""


def test_of_a_dump_that_was_changed_rows_come_back_and_nothing_else(site, tmp_path):
    usual = schema_of()
    user = User.objects.create_user("ada", password="hers")
    site.count("one")
    with connection.cursor() as cursor:
        for statement in CHANGES:
            cursor.execute(statement)
    assert schema_of() != usual
    printed("backup", tmp_path / "bad.pmweb-backup")
    with connection.cursor() as cursor:
        cursor.execute("DROP VIEW spy; DROP TABLE spare; DROP FUNCTION back CASCADE")
    said = printed("restore", tmp_path / "bad.pmweb-backup", "--replace")
    assert schema_of() == usual
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace")
        assert cursor.fetchone() == (0,)
    assert list(Run.objects.values_list("name", flat=True)) == ["one"]
    user.refresh_from_db()
    assert not user.is_superuser
    assert not user.has_usable_password()
    assert "left out, since pmweb has none of that name: table spare" in said
    printed("restore", tmp_path / "bad.pmweb-backup", "--replace", "--keep-passwords")
    user.refresh_from_db()
    assert user.check_password("hers")


def test_rows_that_break_a_constraint_change_nothing(site, tmp_path):
    site.count("one")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE inference_run ALTER COLUMN created_by_id SET DEFAULT NULL")
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = 'inference_run'::regclass AND contype = 'f'"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'ALTER TABLE inference_run DROP CONSTRAINT "{name}"')
        cursor.execute("UPDATE inference_run SET created_by_id = 777")
    printed("backup", tmp_path / "bad.pmweb-backup")
    Run.objects.update(name="two", created_by=None)
    with pytest.raises(CommandError, match="rejects rows of the back-up"):
        printed("restore", tmp_path / "bad.pmweb-backup", "--replace")
    assert list(Run.objects.values_list("name", flat=True)) == ["two"]


def test_others_that_are_connected_are_not_robbed(site, tmp_path, postgresql):
    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    with (
        postgresql.connect(connection.settings_dict["NAME"]),
        pytest.raises(CommandError, match=r"1 other connections to .* are open: stop"),
    ):
        printed("restore", file, "--replace")
    assert Run.objects.count() == 0


def test_one_moment_is_backed_up_while_others_write(site, tmp_path):
    """Events and the number of the next one belong together: in the back-up they fit."""
    run = site.count("busy")
    lease = leases.claim("w")
    stop = threading.Event()

    def write():
        step = 0
        while not stop.is_set():
            step += 1
            journal.append(lease, [("step", {"number": step})])
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        printed("backup", tmp_path / "mine.pmweb-backup")
    finally:
        stop.set()
        writer.join()
    written = RunEvent.objects.count()
    printed("restore", tmp_path / "mine.pmweb-backup", "--replace")
    run.refresh_from_db()
    assert run.next_seq == len(numbers(run)) + 1
    assert_journal_is_whole(run, len(payloads(run, "step")))
    assert 0 < RunEvent.objects.count() <= written


def test_a_dump_that_cannot_be_put_back_changes_nothing(site, tmp_path, monkeypatch):
    from pmweb.backup import postgresql as dumping

    file = tmp_path / "mine.pmweb-backup"
    printed("backup", file)
    site.count("one")
    monkeypatch.setattr(dumping, "_EMPTY", dumping._EMPTY + "; SELECT 1 / 0")
    with pytest.raises(CommandError, match="rejects rows of the back-up: division by zero"):
        printed("restore", file, "--replace")
    assert Run.objects.count() == 1
