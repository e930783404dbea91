"""Options that reach the start of a program say so, and nobody's text does who may not choose programs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

import inference.predictors
from inference.containment import client, private
from inference.core.tunables import setting
from inference.predictors import nanobench, permission
from inference.predictors.calling import Call, CalledTool, CallSettings
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.kinds import KINDS, PredictorKind
from inference.predictors.permission import ARGUMENTS, COMMAND, FILE, PROGRAM
from inference.predictors.protocol import PredictorError
from inference.predictors.tool_paths import check_program
from tests.predictors import fakes
from tests.predictors.fakes import GOOD
from tests.syntax import trees_with

MARK = "q7x9"
Options = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]


def ithemal(home: Path) -> Options:
    paths = {name: str(home / name) for name in ("model", "data")}
    for path in paths.values():
        Path(path).write_text("x")
    return {"program": fakes.tool(home / "predict.py", "150.0", ""), **paths}


def difftune(home: Path) -> Options:
    (home / "learnt").write_text("x")
    return {"program": fakes.llvm(home), "parameters": str(home / "learnt")}


USABLE: dict[str, Callable[[Path], Options]] = {
    "llvm-mca": lambda home: {"program": fakes.llvm(home)},
    "difftune": difftune,
    "osaca": lambda home: {"program": fakes.osaca(home / "python")},
    "uica": fakes.uica,
    "facile": fakes.uica,
    "iaca": lambda home: {"program": fakes.tool(home / "iaca", "Block Throughput: 1.5", "")},
    "ithemal": ithemal,
    "cqa": lambda home: {"program": fakes.tool(home / "maqao", "Overall L1: 1.50", "")},
    "nanobench": lambda home: {"program": fakes.script(home / "nanoBench.sh", "echo Core cycles: 1.5")},
    "command": lambda home: {"command": [fakes.tool(home / "mine", "1", "")], "form": "object"},
}
"""By kind: options with which it answers, made in a directory."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that decides what is started: words, environments, directories, files that are opened."""
    texts: list[str] = []
    start = client.start

    def recorded(
        command, streams, scratch, environment, limits, access, *, directory="", unbounded_cpu=False
    ):  # type: ignore[no-untyped-def]
        texts.extend(
            (*command, directory, *environment, *environment.values(), *access.reads, *access.writes)
        )
        return start(
            command,
            streams,
            scratch,
            environment,
            limits,
            access,
            directory=directory,
            unbounded_cpu=unbounded_cpu,
        )

    monkeypatch.setattr(client, "start", recorded)
    return texts


def hostile_texts(home: Path) -> Iterator[str]:
    """What would be an option, a path, several words, or a way out of where it stands."""
    program = fakes.script(home / MARK / "python3", "echo 0.9.9")
    yield from (
        f"-{MARK}",
        f"--{MARK}=1",
        program,
        f"../{MARK}",
        f"{MARK} {MARK}",
        f"$({MARK})",
        f"a,-{MARK}=/",
    )


def reaching(kind: PredictorKind, usable: Options, home: Path, started: list[str]) -> dict[str, str]:
    """{option: text of somebody's that it carries into the start of a program}."""
    found: dict[str, str] = {}
    for option in fields(kind.settings):
        if str(option.type) not in ("str", "tuple[str, ...]"):
            continue  # numbers and truths carry no text
        for text in hostile_texts(home):
            started.clear()
            with suppress(PredictorError):
                predictor = kind.predictor({**usable, option.name: text})
                with suppress(PredictorError):
                    predictor.predict([GOOD])
                predictor.close()
            if any(MARK in part for part in started):
                found[option.name] = text
    return found


def chosen_by(kind: PredictorKind) -> dict[str, str]:
    """{option: what it chooses}."""
    return {
        option.name: option.metadata["chooses"]
        for option in fields(kind.settings)
        if option.metadata.get("chooses")
    }


def test_every_kind_of_program_is_tried():
    assert set(USABLE) == set(KINDS)


@pytest.mark.parametrize("name", USABLE)
def test_options_that_reach_the_start_of_a_program_say_so(name, tmp_path, started):
    kind, usable = KINDS[name], USABLE[name](tmp_path)
    reached = reaching(kind, usable, tmp_path, started)
    undeclared = {option: text for option, text in reached.items() if option not in chosen_by(kind)}
    assert undeclared == {}, "declare what it chooses, or check its values by a pattern"
    assert reached  # by those that choose: else nothing was tried


@dataclass(frozen=True)
class CarelessSettings(CallSettings):
    extra: str = setting("", "more words", None)
    surroundings: str = setting("", "a variable", None)


def test_an_option_that_does_not_say_so_is_found(tmp_path, started):
    tool = fakes.tool(tmp_path / "tool", "1", "")

    def make(settings: CarelessSettings) -> CalledTool:
        call = Call([tool, *settings.extra.split()], environment={"EXTRA": settings.surroundings})
        reading = CyclesPattern(r"(\d)")
        return CalledTool("careless", {}, lambda _: call, reading, settings, advice="", probed=False)

    kind = PredictorKind("careless", "", "", "", CarelessSettings, make, list)
    assert set(reaching(kind, {}, tmp_path, started)) == {"extra", "surroundings"}


def test_what_options_choose_is_one_of_few_things():
    chosen = {
        (name, option): what for name, kind in KINDS.items() for option, what in chosen_by(kind).items()
    }
    assert set(chosen.values()) == {ARGUMENTS, PROGRAM, FILE, COMMAND}
    commands = {option for option, what in chosen.items() if what == COMMAND}
    assert commands == {("command", "command"), ("nanobench", "program"), ("nanobench", "prefix")}


@pytest.mark.parametrize("name", ["command", "nanobench"])
def test_programs_of_somebodys_own_need_the_operators_leave(name, tmp_path, started, monkeypatch):
    kind, usable = KINDS[name], USABLE[name](tmp_path)
    kind.predictor(usable).close()
    monkeypatch.setattr(permission._operator, "allows_commands", False)
    started.clear()
    with pytest.raises(PredictorError, match="PMWEB_ALLOW_COMMANDS=1"):
        kind.predictor(usable)
    assert started == []
    assert not {option.name for option in kind.options} & {"program", "prefix"}


@pytest.mark.parametrize("name", [name for name in USABLE if PROGRAM in chosen_by(KINDS[name]).values()])
def test_named_tools_run_from_where_the_site_finds_them(name, tmp_path, started, monkeypatch):
    kind, usable = KINDS[name], USABLE[name](tmp_path)
    kind.predictor(usable).close()
    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", "")
    started.clear()
    with pytest.raises(PredictorError, match=r"is neither what is found .* PMWEB_TOOL_DIRECTORIES"):
        kind.predictor(usable)
    assert not any(str(tmp_path) in text for text in started)


def test_a_path_that_is_found_may_be_chosen_and_no_link_to_it_is_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", "")
    found = fakes.script(tmp_path / "bin" / "tool", "true")
    link = tmp_path / "link"
    link.symlink_to(found)
    assert check_program("program", found, [found], "") == found
    assert check_program("program", str(link), [found], "") == found
    other = fakes.script(tmp_path / "other" / "tool", "true")
    for path in (other, f"{tmp_path}/bin/../other/tool", str(tmp_path / "bin")):
        with pytest.raises(PredictorError, match="neither what is found"):
            check_program("program", path, [found], "")


@pytest.mark.parametrize(
    ("name", "option"), [("ithemal", "model"), ("ithemal", "data"), ("difftune", "parameters")]
)
def test_files_of_tools_lie_with_the_tool_or_where_the_operator_says(name, option, tmp_path, monkeypatch):
    home = tmp_path / "tool"
    home.mkdir()
    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", str(home))
    kind, usable = KINDS[name], USABLE[name](home)
    (tmp_path / "secret-key").write_text("x")
    (home / "link").symlink_to(tmp_path / "secret-key")
    kind.predictor(usable).close()
    with pytest.raises(PredictorError, match=f"{option} .* lies neither in the installation"):
        kind.predictor({**usable, option: str(tmp_path / "secret-key")})


@pytest.mark.parametrize("protocol", ["once", "lines"])
@pytest.mark.parametrize("word", ["{}", "--file={}"])
def test_a_command_that_names_a_private_file_is_no_predictor(word, protocol, tmp_path, monkeypatch, started):
    data = tmp_path / "data"
    data.mkdir()
    (data / "secret-key").write_text(MARK)
    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", "")
    monkeypatch.setattr(private, "_shielded", [data])
    words = ["/bin/cat", word.format(data / "secret-key")]
    with pytest.raises(PredictorError, match=r"its command names .*, which programs may not open"):
        KINDS["command"].predictor({"command": words, "protocol": protocol})
    assert started == []


@pytest.mark.parametrize(
    ("flags", "are_harmless"),
    [
        ("-noalias=false", True),
        ("--dispatch=4  -lqueue=10 -mattr=+avx2,-sse4.2", True),
        ("-noalias=false -debug-file=x", False),
        ("-load=libx.so", False),
        ("-mattr=/etc/shadow", False),
        ("-noalias=false\n-o=x", False),
    ],
)
def test_flags_that_only_say_what_is_simulated_choose_nothing(flags: str, are_harmless: bool):
    assert KINDS["llvm-mca"].launch_options({"flags": flags}) == ([] if are_harmless else ["flags"])


def callers(word: str) -> set[str]:
    """Files in which somebody lets options choose, or makes predictors without asking."""
    return {
        str(path.relative_to(ROOT))
        for path, tree in trees_with([word], "inference", "anica_app")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (_name(node.func) == word or _passes_on(node, word))
    }


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _passes_on(node: ast.Call, argument: str) -> bool:
    """Whether a call says so of its own, and not because its caller does."""
    values = [keyword.value for keyword in node.keywords if keyword.arg == argument]
    return argument == "may_choose" and any(_name(value) != argument for value in values)


ASKING, JUDGING = "inference/features/asking", "inference/features/judging"

DOORS: Mapping[str, set[str]] = {
    "may_choose": {
        f"{ASKING}/predictors/pages.py",  # whose rule asks who it is
        f"{ASKING}/predictors/api.py",  # which does so itself
        f"{ASKING}/predictors/query.py",  # stored options, with another processor
        f"{ASKING}/predictors/modes.py",  # stored options, in another mode
        f"{ASKING}/questions/query.py",  # stored options, with one switch more
        f"{ASKING}/questions/command.py",
        f"{ASKING}/loop/measuring_pages.py",  # what is installed, for the CPU that is explained
        f"{ASKING}/loop/tools.py",  # the same
        *(f"{JUDGING}/{name}/command.py" for name in ("accuracy_checks", "column_accuracy", "engine")),
        *(f"anica_app/features/{name}/command.py" for name in ("campaigns", "families", "matrices")),
    },
    "predictor": {
        *(f"{ASKING}/predictors/{name}.py" for name in ("query", "opening", "kinds")),
        f"{ASKING}/loop/tools.py",  # what is installed, for the CPU that is explained
        f"{JUDGING}/engine/judge_jobs.py",  # a core model
        f"{JUDGING}/engine/sources.py",  # of what is stored, by its name
        "inference/predictors/panel.py",  # what a run shares out
    },
    "predictor_of": {
        f"{ASKING}/predictors/query.py",
        f"{ASKING}/block_files/importer.py",  # a mapping
    },
}
"""Where a caller says that options may choose, or makes a predictor of options at once."""


@pytest.mark.parametrize("word", DOORS)
def test_doors_to_programs_are_known(word):
    assert callers(word) == DOORS[word]


def test_what_runs_uncontained_has_to_be_allowed_by_the_operator(monkeypatch) -> None:
    package = Path(inference.predictors.__file__).parent
    uncontained = {file.stem for file in package.rglob("*.py") if "UNBOUNDED" in file.read_text()}
    assert uncontained == {nanobench.KIND}
    monkeypatch.setattr(permission._operator, "allows_commands", False)
    assert KINDS[nanobench.KIND].obstacle
