"""uiCA and Facile: our worker on modules with recorded numbers, and on the real ones where present.

To run the latter: `PMWEB_UICA=/path/to/uiCA .venv/bin/python -m pytest tests/predictors/test_uica.py`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from iced_x86 import Decoder, Mnemonic

from inference.predictors.kinds import KINDS
from inference.predictors.protocol import Answer, Failure, Predictor, PredictorError
from inference.predictors.uica.installation import INSTALL, VARIABLE, UicaFiles, find
from tests.predictors import fakes
from tests.predictors.uica_stand_in import GOLDEN, files

TOOLS = ("uica", "facile")
UNKNOWN = ("undecoded", "unknown")
Opened = Callable[..., Predictor]


@pytest.fixture
def opened() -> Iterator[Opened]:
    made: list[Predictor] = []

    def make(tool: str, **options: object) -> Predictor:
        made.append(KINDS[tool].predictor({"processes": 1, **options}))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def real() -> UicaFiles:
    try:
        return find()
    except PredictorError:
        pytest.skip(f"uiCA is not here; where it is: {VARIABLE}=… pytest tests/predictors/test_uica.py")


def expected(arch: str, tool: str) -> dict[bytes, float | Failure]:
    """What is recorded of each block."""
    told = {bytes.fromhex(code): said[tool] for code, said in GOLDEN[arch].items()}
    return {code: Failure.UNSUPPORTED if isinstance(said, str) else said for code, said in told.items()}


def meant(answers: list[Answer]) -> list[object]:
    return [answer.failure or answer.cycles for answer in answers]


@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_tools_have_answered_is_understood(tool: str, tmp_path: Path, opened: Opened) -> None:
    asked = expected("ICL", tool)
    predictor = opened(tool, program=str(files(tmp_path / "uiCA")), arch="ICL")
    answers = predictor.predict(list(asked))
    assert meant(answers) == list(asked.values())
    details = {answer.detail for answer in answers if answer.failure}
    assert any("its decoder" in detail for detail in details)
    assert any("its data for ICL lacks" in detail for detail in details)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_real_ones_answer_as_recorded_and_as_their_command_lines(
    tool: str, real: UicaFiles, tmp_path: Path, opened: Opened
) -> None:
    asked = expected("HSW", tool)
    predictor = opened(tool)
    answers = dict(zip(asked, predictor.predict(list(asked)), strict=True))
    assert meant(list(answers.values())) == list(asked.values())
    for code, mode in ((bytes.fromhex("488b00"), "unroll"), (bytes.fromhex("48ffc975fb"), "loop")):
        block = tmp_path / "block"
        if tool == "uica":
            block.write_bytes(code)
            words = ["uiCA.py", str(block), "-raw", "-TPonly", "-arch", "HSW"]
        else:
            block.write_text(f"{code.hex()}\n")
            words = ["facile.py", "-file", str(block), "-mode", mode, "-arch", "HSW"]
        command = [real.python, str(real.directory / words[0]), *words[1:]]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
        assert said == f"{answers[code].cycles:.2f}"


def test_what_was_asked_before_changes_no_answer(real: UicaFiles, opened: Opened) -> None:
    predictor = opened("uica", arch="SKX")
    blocks = [code for code, said in expected("SKX", "uica").items() if isinstance(said, float)]
    assert predictor.predict([*blocks, *reversed(blocks)])[len(blocks) :] == predictor.predict(blocks[::-1])


@pytest.mark.parametrize("tool", TOOLS)
def test_a_loop_that_is_wanted_is_asked_about_with_its_jump(
    tool: str, tmp_path: Path, opened: Opened
) -> None:
    options = {"program": str(files(tmp_path / "uiCA")), "arch": "HSW", "around": "loop"}
    (given,) = opened(tool, **options).predict([bytes.fromhex("48ffc975fb")])
    assert given.cycles == 1.0
    assert KINDS[tool].takes_jumps


def test_a_processor_without_data_is_refused_with_those_that_have_some(tmp_path: Path) -> None:
    program = str(files(tmp_path / "uiCA"))
    with pytest.raises(PredictorError, match=r"uiCA knows no processor 'ZEN4'.*HSW, ICL, SKX"):
        KINDS["uica"].predictor({"program": program, "arch": "ZEN4"})


@pytest.mark.parametrize("name", ["uiCA.py", "facile.py", ""])
def test_it_is_found_by_a_file_of_it_or_its_directory(name: str, tmp_path: Path) -> None:
    home = files(tmp_path / "uiCA")
    assert find(str(home / name)).directory == home


def test_a_package_is_found_by_the_python_of_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    home = files(site / "machine_code_analyzer" / "deps" / "uiCA")
    (home / "xed-here.so").rename(site / "xed.cpython-311-x86_64-linux-gnu.so")
    (tmp_path / "pyvenv.cfg").touch()
    python = fakes.python(tmp_path / "bin" / "python", "")
    monkeypatch.setenv(VARIABLE, python)
    found = find()
    assert (found.directory, found.python, found.processors) == (home, python, ("HSW", "ICL", "SKX"))


def test_a_decoder_that_is_missing_is_told(tmp_path: Path) -> None:
    home = files(tmp_path / "uiCA")
    (home / "xed-here.so").unlink()
    with pytest.raises(PredictorError, match="lacks its decoder, the Python module `xed`") as caught:
        find(str(home))
    assert INSTALL in str(caught.value)


def test_what_is_not_set_up_is_told_before_a_block_is_blamed(tmp_path: Path, opened: Opened) -> None:
    home = files(tmp_path / "uiCA")
    (home / "xed.py").write_text("raise ImportError('built for another Python')")
    with pytest.raises(PredictorError, match=r"does not work with .*built for another Python"):
        opened("uica", program=str(home), arch="HSW").predict([fakes.GOOD])


def test_other_data_make_another_predictor(tmp_path: Path, opened: Opened) -> None:
    home = files(tmp_path / "uiCA")
    before = opened("uica", program=str(home), arch="HSW").identity
    (home / "instrData" / "HSW_data.py").write_text("# newer")
    assert opened("uica", program=str(home), arch="HSW").identity != before


@pytest.mark.parametrize("tool", TOOLS)
def test_in_a_loop_as_many_copies_are_asked_about_as_machines_measure(
    tool: str, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = opened(tool, program=str(files(tmp_path / "uiCA")), arch="ICL", mode="loop")
    asked: list[bytes] = []

    def answers(questions: list[bytes | Answer], read: object) -> list[Answer]:
        asked[:] = [question for question in questions if isinstance(question, bytes)]
        return [question if isinstance(question, Answer) else Answer(cycles=50.0) for question in questions]

    monkeypatch.setattr(predictor._workers, "answers", answers)
    add, loop, no_block = bytes.fromhex("4801d8"), bytes.fromhex("48ffc975fb"), b"\xff\xff"
    told = predictor.predict([add, loop, no_block])
    assert meant(told) == [0.5, 50.0, Failure.UNSUPPORTED]
    copies, closing = asked[0][:600], asked[0][600:]
    assert bytes.fromhex(copies.decode()) == 100 * add
    assert Decoder(64, bytes.fromhex(closing.decode())).decode().mnemonic == Mnemonic.DEC
    assert asked[1] == loop.hex().encode()
    assert predictor.name.endswith(" · ICL · loop")
    assert "mode" not in opened(tool, program=str(tmp_path / "uiCA"), arch="ICL").identity
