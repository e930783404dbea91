"""What no foreign program may open, however it is named: the site's data, keys, other people's homes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inference.containment import CannotStartError, FileAccess, Limits, access_of, client, host, private, run
from inference.containment.private import paths_without_private
from inference.sandbox import confinement
from tests.predictors.fakes import python, script

LIMITS = Limits(seconds=30.0, memory=512, output=1)
KEY = "the key of the site"

needs_landlock = pytest.mark.skipif(not host().landlock, reason="this kernel has no Landlock")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's data directory, with links to it from elsewhere."""
    data = tmp_path / "site" / "data"
    data.mkdir(parents=True)
    (data / "secret-key").write_text(KEY)
    (data / "pmweb.sqlite3").write_text("SQLite format 3")
    (tmp_path / "linked-key").symlink_to(data / "secret-key")
    (tmp_path / "linked-twice").symlink_to("linked-key")
    (tmp_path / "linked-home").symlink_to(data)
    (data / "way-through").symlink_to("/usr/bin/true")
    monkeypatch.setattr(private, "_shielded", [data])
    return data


WORDS = [
    "{home}/secret-key",
    "{home}/pmweb.sqlite3",
    "{home}",
    "{home}/../..",
    "{tmp}/linked-key",
    "{tmp}/linked-twice",
    "{tmp}/linked-home/secret-key",
    "{home}/way-through",
    "--file={home}/secret-key",
    "--file={tmp}/linked-key",
    "-I{home}",
    "@{home}/secret-key",
    "{relative}/secret-key",
    "--file={relative}/secret-key",
    "-I{relative}",
    "here/../{relative}/secret-key",
    "/usr/lib:{home}",
    "one,{home}/secret-key",
    "file://{home}/secret-key",
    "/usr/../{home}/secret-key",
    "/proc/self/root{home}/secret-key",
    "/proc/{pid}/root{home}/secret-key",
    "/proc/{pid}/environ",
    "/proc/self/environ",
    "/dev/fd/../root{home}/secret-key",
    "/etc/shadow",
    "/etc",
    "/",
    "/root",
    "{user}/.ssh/id_ed25519",
]


@pytest.mark.parametrize("word", WORDS)
def test_no_word_of_a_command_names_a_private_file(word, home, tmp_path, monkeypatch):
    user = tmp_path / "user"
    (user / ".ssh").mkdir(parents=True)
    (user / ".ssh" / "id_ed25519").write_text(KEY)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setattr(client, "start", lambda *_: pytest.fail("it was started"))
    temporary = Path(os.path.realpath(os.environ.get("TMPDIR", "/tmp"))) / "of-its-own"
    names = {
        "home": home,
        "tmp": tmp_path,
        "user": user,
        "pid": os.getpid(),
        "relative": os.path.relpath(home, temporary),
    }
    with pytest.raises(CannotStartError, match="its command names"):
        run(["/bin/cat", word.format(**names)], limits=LIMITS)


@pytest.mark.parametrize(
    "word", ["-", "a..b", "--of=1/2", "/nowhere", "text/plain", "/usr/bin/true", "{file}"]
)
def test_other_words_are_not_in_the_way(word, home):
    assert access_of(["/bin/echo", word, "/dev/stdin", "/dev/null", "/etc/passwd"]).bounded


def test_words_that_name_what_is_not_the_tools_open_nothing(tmp_path):
    (tmp_path / "notes").write_text(KEY)
    tool = script(tmp_path / "tool" / "tool", 'cat "$1"')
    with pytest.raises(CannotStartError, match="PMWEB_TOOL_DIRECTORIES"):
        run([tool, str(tmp_path / "notes")], limits=LIMITS)


@needs_landlock
@pytest.mark.parametrize(
    "path",
    ["{home}/secret-key", "{tmp}/linked-twice", "/proc/self/root{home}/secret-key", "/etc/shadow", "{tmp}"],
)
def test_a_program_opens_nothing_private_that_it_knows_by_itself(path, home, tmp_path):
    deed = path.format(home=home, tmp=tmp_path)
    body = f"try: print(__import__('os').open({deed!r}, 0))\nexcept OSError as e: print(type(e).__name__)"
    assert run([python(tmp_path / "tool" / "tool", body)], limits=LIMITS).stdout == b"PermissionError\n"


@needs_landlock
def test_a_checkout_around_the_data_is_not_a_tools_own(home, tmp_path):
    (home.parent / ".git").mkdir()
    (home.parent / "notes").write_text("notes")
    tool = script(
        home.parent / "tools" / "bin" / "tool", f"cat {home}/secret-key {home.parent}/notes; echo ran"
    )
    assert run([tool], limits=LIMITS).stdout == b"ran\n"


@pytest.mark.parametrize("variable", ["PMWEB_TOOL_CACHES", "PMWEB_TOOL_DIRECTORIES"])
@pytest.mark.parametrize(
    "place", ["{home}", "{home}/", "{home}/..", "{home}/static", "{tmp}/linked-home", "/", "/etc"]
)
def test_no_directory_of_the_operators_opens_the_data(variable, place, home, tmp_path, monkeypatch):
    monkeypatch.setenv(variable, f"/nowhere:{place.format(home=home, tmp=tmp_path)}")
    with pytest.raises(CannotStartError, match=f"in {variable}, would open"):
        run(["/bin/true"], limits=LIMITS)


@pytest.mark.parametrize("place", ["{home}", "{tmp}", "{tmp}/linked-home"])
def test_no_access_of_any_making_changes_the_data(place, home, tmp_path):
    access = FileAccess(writes=(place.format(home=home, tmp=tmp_path),))
    with pytest.raises(CannotStartError, match="would open"):
        run(["/bin/true"], limits=LIMITS, access=access)


@needs_landlock
def test_no_access_of_any_making_reads_the_data(home, tmp_path):
    (home.parent / "notes").write_text("notes")
    access = FileAccess(reads=(*confinement.SYSTEM, str(tmp_path)))
    command = ["/bin/cat", str(home / "secret-key"), str(home.parent / "notes")]
    assert run(command, limits=LIMITS, access=access).stdout == b"notes"


def test_what_is_opened_around_the_data_follows_no_link(home, tmp_path):
    opened = set(paths_without_private(str(tmp_path)))
    assert opened == set()
    (home.parent / "notes").write_text("notes")
    assert set(paths_without_private(str(tmp_path))) == {str(home.parent / "notes")}


@pytest.mark.parametrize("place", ["{home}/tool", "{tmp}/linked-tool"])
def test_a_program_in_the_data_is_not_started(place, home, tmp_path):
    script(home / "tool", "echo ran")
    (tmp_path / "linked-tool").symlink_to(home / "tool")
    with pytest.raises(CannotStartError, match="which programs may not open"):
        run([place.format(home=home, tmp=tmp_path)], limits=LIMITS)


@needs_landlock
def test_tools_in_the_home_of_a_service_are_found_where_its_data_is(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    tool = script(home / ".local" / "bin" / "tool", f"cat {home}/secret-key {home}/.local/lib/data; echo ran")
    (home / ".local" / "lib").mkdir()
    (home / ".local" / "lib" / "data").write_text("data ")
    (home / ".local" / "share").mkdir()
    assert run([tool], limits=LIMITS).stdout == b"data ran\n"
