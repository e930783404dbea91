"""Settings from the environment: what is understood, what is refused in words; and production is safe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from inference.runs.webhook_address import EXPECTED_FORM
from pmweb import environment

HOME = Path("/somewhere")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PMWEB_")}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in list(os.environ):
        if name.startswith("PMWEB_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(environment, "PUBLIC", set(environment.PUBLIC))  # other tests list what is read


def facts(found: dict) -> tuple:
    return tuple(found[name] for name in ("HOST", "PORT", "NAME", "USER", "PASSWORD"))


def test_without_a_database_in_the_environment_it_is_sqlite_in_the_data_directory():
    found = environment.database(HOME)
    assert found["ENGINE"] == "django.db.backends.sqlite3"
    assert found["NAME"] == HOME / "pmweb.sqlite3"
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_an_address_says_it_all(monkeypatch, scheme):
    monkeypatch.setenv(
        "PMWEB_DATABASE_URL", f"{scheme}://me:p%40ss%2F@db.example:6543/mine?sslmode=verify-full"
    )
    found = environment.database(HOME)
    assert facts(found) == ("db.example", "6543", "mine", "me", "p@ss/")
    assert found["OPTIONS"]["sslmode"] == "verify-full"


def test_parts_say_what_the_address_leaves_open(monkeypatch):
    monkeypatch.setenv("PMWEB_DATABASE_URL", "postgresql://me@db/mine")
    monkeypatch.setenv("PMWEB_DATABASE_PASSWORD", "s3cret: / @")
    monkeypatch.setenv("PMWEB_DATABASE_HOST", "another")
    assert facts(environment.database(HOME)) == ("db", "", "mine", "me", "s3cret: / @")


def test_parts_alone_do_as_well(monkeypatch):
    monkeypatch.setenv("PMWEB_DATABASE_HOST", "/run/postgresql")
    monkeypatch.setenv("PMWEB_DATABASE_SSLMODE", "require")
    found = environment.database(HOME)
    assert facts(found) == ("/run/postgresql", "", "pmweb", "pmweb", "")
    assert found["OPTIONS"]["sslmode"] == "require"


def test_a_local_socket_can_stand_in_an_address(monkeypatch):
    monkeypatch.setenv("PMWEB_DATABASE_URL", "postgresql:///mine?host=/run/postgresql")
    assert facts(environment.database(HOME))[:3] == ("/run/postgresql", "", "mine")


def test_only_the_web_process_has_a_pool_and_everybody_notices_dead_connections(monkeypatch):
    monkeypatch.setenv("PMWEB_DATABASE_HOST", "db")
    worker = environment.database(HOME)
    assert "pool" not in worker["OPTIONS"]
    assert worker["CONN_MAX_AGE"] > 0
    monkeypatch.setenv(environment.WEB_PROCESS, "1")
    web = environment.database(HOME)
    assert web["OPTIONS"]["pool"]["max_size"] == 10
    assert web["CONN_MAX_AGE"] == 0
    assert worker["CONN_HEALTH_CHECKS"] is web["CONN_HEALTH_CHECKS"] is True
    monkeypatch.setenv("PMWEB_DATABASE_POOL", "0")
    assert "pool" not in environment.database(HOME)["OPTIONS"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PMWEB_DATABASE_URL", "mysql://me:s3cret@db/mine", "postgresql://user:password@host:5432/name"),
        (
            "PMWEB_DATABASE_URL",
            "postgresql://me:s3cret/x@db/mine",
            "postgresql://user:password@host:5432/name",
        ),
        ("PMWEB_DATABASE_URL", "postgresql://me:s3cret@db/mine?pool=1", "has the option 'pool'"),
        ("PMWEB_DATABASE_URL", "postgresql://me:s3cret@/mine", "set PMWEB_DATABASE_HOST to"),
        ("PMWEB_DATABASE_PASSWORD", "s3cret", "set PMWEB_DATABASE_HOST to"),
    ],
)
def test_a_database_that_makes_no_sense_is_explained_without_its_password(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=said.replace("?", r"\?")) as refusal:
        environment.database(HOME)
    assert "s3cret" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_redis_is_a_layer_that_crosses_processes_and_waits_in_silence():
    found = environment.channel_layers("rediss://:s3cret@cache:6380/1")["default"]
    assert found["BACKEND"].startswith("channels_redis.pubsub.")
    assert found["CONFIG"]["hosts"][0]["socket_timeout"] is None
    assert "InMemory" in environment.channel_layers("")["default"]["BACKEND"]
    with pytest.raises(ImproperlyConfigured, match="PMWEB_REDIS_URL must look like redis://"):
        environment.channel_layers("cache:6379")


def test_a_missing_library_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    with pytest.raises(
        ImproperlyConfigured, match="the library channels_redis is missing: `make setup-scale`"
    ):
        environment.channel_layers("redis://cache")


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (lambda: environment.flag("PMWEB_X"), "yes", "PMWEB_X is 'yes'; it must be 1"),
        (lambda: environment.number("PMWEB_X", 1), "-1", "whole number"),
        (lambda: environment.choice("PMWEB_X", ("text", "json")), "xml", "text or json"),
    ],
)
def test_other_values_are_checked_too(monkeypatch, read, text, said):
    read()
    monkeypatch.setenv("PMWEB_X", text)
    with pytest.raises(ImproperlyConfigured, match=said):
        read()


@pytest.mark.parametrize(
    "value",
    [
        "http://example.org:99999/s3cret",
        "https://me:s3cret@example.org/",
        "ftp://example.org/s3cret",
        "s3cret",
    ],
)
def test_an_address_to_tell_that_makes_no_sense_is_explained_without_its_secrets(monkeypatch, value):
    monkeypatch.setenv("PMWEB_WEBHOOK", value)
    with pytest.raises(
        ImproperlyConfigured, match="PMWEB_WEBHOOK is not an address to send to; it must be http"
    ) as no:
        environment.webhook("PMWEB_WEBHOOK")
    assert "s3cret" not in str(no.value)


def test_an_address_to_tell_is_taken_as_it_is(monkeypatch):
    assert environment.webhook("PMWEB_WEBHOOK") == ""
    monkeypatch.setenv("PMWEB_WEBHOOK", " https://chat.example.org:8443/hooks/1?key=2 ")
    assert environment.webhook("PMWEB_WEBHOOK") == "https://chat.example.org:8443/hooks/1?key=2"


def manage(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
        env={**CLEAN, "PMWEB_HOME": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_deployment_check_finds_nothing_in_the_settings_behind_a_tls_proxy(tmp_path):
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", PMWEB_TLS="1")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_the_deployment_check_objects_to_a_site_without_tls(tmp_path):
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 1
    assert "SECURE_SSL_REDIRECT" in done.stderr


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ({"PMWEB_TLS": "maybe"}, "PMWEB_TLS is 'maybe'; it must be 1 (yes) or 0 (no)"),
        (
            {"PMWEB_WEBHOOK": "http://hooks:99999/"},
            f"PMWEB_WEBHOOK is not an address to send to; it must be {EXPECTED_FORM}",
        ),
    ],
)
def test_wrong_settings_end_a_command_with_one_line(tmp_path, variable, said):
    done = manage(tmp_path, "check", **variable)
    assert done.returncode == 1
    assert done.stderr == f"pmweb: {said}.\n"
