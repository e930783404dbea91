"""OSACA: the larger of the busiest port's cycles and the longest loop-carried dependency (thesis §8.2.1).

OSACA is published under the AGPL and stays a program of its own: `worker.py` is run by OSACA's Python, and
both sides exchange lines of JSON. Of x86-64 it analyses AT&T syntax; Intel syntax gives other results.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from inference.containment import CannotStartError, FileAccess, Limits, WorkerError, access_of, run
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_choices, check_integer, check_number, choice, setting
from inference.isa.blocks import BlockError, plain_att_of_bytes, text_writer
from inference.isa.llvm_schemes import llvm_side
from inference.isa.targets import DEFAULT, targets
from inference.predictors.calling import Workers, cpu_count
from inference.predictors.llvm.releases import list_releases
from inference.predictors.llvm.text import texts_of
from inference.predictors.permission import PROGRAM
from inference.predictors.processor_names import check_name, unknown_processor
from inference.predictors.protocol import Answer, Failure, PredictorError, own_error
from inference.predictors.tool_paths import check_program, executables

KIND = "osaca"
INSTALL = "pipx install osaca, or name its Python or its command in PMWEB_OSACA"

_WORKER = Path(__file__).with_name("worker.py")
_SHEBANG = re.compile(rb"#!\s*(?:(/\S*python[\d.]*)\s*\n|/bin/sh\n'''exec' \"?(/\S*python[\d.]*))")
_PLACES = ("~/.local/bin", "/usr/local/bin", "/opt/osaca/bin")
_PROBE = """
import re
from importlib.metadata import distribution
from pathlib import Path
package = distribution("osaca")
models = {}
for file in package.files or ():
    if file.suffix == ".yml" and file.parent.name == "data":
        with Path(file.locate()).open(errors="replace") as content:
            isa = re.search(r"^isa: *(\\w+)", content.read(1 << 16), re.MULTILINE)
        models[file.stem.upper()] = isa.group(1).lower() if isa else ""
print(package.version, *(f"{name}:{isa}" for name, isa in sorted(models.items())))
"""
"""Prints the version and each model with its instruction set, without loading OSACA, which takes seconds."""

_FIRST_SECONDS = 300.0
"""Seconds until the first answer: where OSACA may not write beside its data, it parses its largest models
again.
"""

_GREETING = b""
"""A line that a worker answers with OSACA's version when it has loaded: a block then has its own time
only.
"""


@dataclass(frozen=True)
class OsacaSettings:
    program: str = setting(
        "",
        "OSACA's Python or its command `osaca`; empty: $PMWEB_OSACA, else from the PATH",
        None,
        chooses=PROGRAM,
    )
    arch: str = setting("HSW", "architecture, --arch; one that OSACA has a model of", "HSW")
    flags: bool = setting(False, "dependencies through flags count as well, --consider-flag-deps", False)
    unknown: str = choice(
        "unsupported",
        ("unsupported", "ignored"),
        "what an instruction makes of its block that OSACA's data lacks: unsupported, or ignored as with "
        "--ignore-unknown, which counts it as free of cost",
        "ignored",
    )
    dependency_seconds: int = setting(10, "time for finding the loop-carried dependencies, --lcd-timeout", 10)
    processes: int = setting(0, "workers; 0: one per processor", 20)
    seconds: float = setting(15.0, "time for one block", 10)
    memory: int = setting(4096, "MiB of addresses for one worker", None)

    def __post_init__(self) -> None:
        check_choices(self)
        check_integer("dependency_seconds", self.dependency_seconds, 1, 3600)
        check_integer("processes", self.processes, 0, 1024)
        check_number("seconds", self.seconds, 0.1, 3600)
        check_integer("memory", self.memory, 256, 1 << 20)
        if self.program and not Path(self.program).is_absolute():
            raise InvalidInputError(f"program must be an absolute path, not {self.program!r}")
        check_name("arch", self.arch)


class Osaca:
    """A predictor that keeps several workers loaded. Threads may share it.

    Raises:
        PredictorError: Where OSACA is not found or has no model of the processor; whether it works shows at
            the first question.
    """

    def __init__(self, settings: OsacaSettings) -> None:
        self._settings = settings
        self._python = python_of(settings.program)
        self.version = version_of(self._python)
        self.isa = _isa_of_model(self._python, self.version, settings.arch)
        self._mc = next((release for release in reversed(list_releases()) if release.mc), None)
        self._limits = Limits(seconds=settings.seconds, memory=settings.memory)
        command = [self._python, "-I", str(_WORKER), settings.arch]
        command += [str(settings.dependency_seconds), str(int(settings.flags))]
        self._workers = Workers(
            command,
            settings.processes or cpu_count(),
            self._limits,
            first_seconds=_FIRST_SECONDS,
            environment={"HOME": str(Path.home())},
            access=_access(command),
            greeting=_GREETING,
        )
        self._checked = False
        self._checking = threading.Lock()

    @property
    def name(self) -> str:
        """E.g. `OSACA 0.7.1 · HSW`."""
        words = [f"OSACA {self.version} · {self._settings.arch}"]
        words += ["with flags"] if self._settings.flags else []
        words += ["ignoring unknown"] if self._settings.unknown == "ignored" else []
        return ", ".join(words)

    @property
    def identity(self) -> Json:
        settings = self._settings
        return {
            "kind": KIND,
            "version": self.version,
            "arch": settings.arch,
            "flags": settings.flags,
            "unknown": settings.unknown,
            "assembly": f"llvm-mc {self._mc.version}" if self._mc else text_writer(self.isa),
            "seconds": [settings.seconds, settings.dependency_seconds],
            **custom_model_digests(settings.arch, self.isa),
        }

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        try:
            self._check()
            return self._workers.answers(self._questions(blocks), self._read)
        except CannotStartError as error:
            raise PredictorError(f"{error}; install OSACA: {INSTALL}") from error

    def close(self) -> None:
        self._workers.close()

    def _questions(self, blocks: Sequence[bytes]) -> list[bytes | Answer]:
        if self._mc is not None:
            texts = texts_of(self._mc.mc, blocks, self._limits, llvm_side(self.isa))
        else:
            texts = [_text_without_llvm(block, self.isa) for block in blocks]
        return [
            text if isinstance(text, Answer) else json.dumps("\n".join(text) + "\n").encode()
            for text in texts
        ]

    def _read(self, line: bytes) -> Answer:
        try:
            answer = json.loads(line)
            unknown = answer.get("unknown", [])
            if "error" in answer:
                return Answer(failure=Failure.CRASH, detail=own_error("OSACA", answer["error"]))
            if unknown and self._settings.unknown == "unsupported":
                comment = llvm_side(self.isa).comment
                lines = (" ".join(line.partition(comment)[0].split()) for line in unknown)
                detail = f"its data for {self._settings.arch} lacks: {'; '.join(lines)}"
                return Answer(failure=Failure.UNSUPPORTED, detail=detail[:300])
            if answer["late"]:
                return Answer(failure=Failure.TIMEOUT, detail="its dependency search was stopped")
            return Answer(cycles=float(max(answer["pressure"], answer["carried"])))
        except (ValueError, KeyError, TypeError, AttributeError):
            return Answer(failure=Failure.NO_NUMBER, detail=f"answered {line[:80]!r}")

    def _check(self) -> None:
        """Raise `PredictorError` unless a worker starts."""
        with self._checking:
            if self._checked:
                return
            try:
                greeting = json.loads(self._workers.greeting(_GREETING))
            except (WorkerError, ValueError) as error:
                raise PredictorError(
                    f"OSACA does not work with {self._python} for {self._settings.arch}: {error}; {INSTALL}"
                ) from error
            if "version" not in greeting:
                raise PredictorError(f"OSACA's worker greets with {greeting!r} instead of its version")
            self._checked = True


def _access(command: Sequence[str]) -> FileAccess:
    """Accessible files, with the directory in which OSACA caches parsed models."""
    cache = Path.home() / ".osaca"
    with contextlib.suppress(OSError):  # it does without, and is slower to start
        cache.mkdir(mode=0o700, exist_ok=True)
    usual = access_of(command, str(_WORKER))
    return replace(usual, writes=(*usual.writes, str(cache)))


def python_of(program: str = "") -> str:
    """OSACA's interpreter: the given program, or the one in the first line of the command `osaca`.

    Raises:
        PredictorError: Where there is none, or for a program that may not be chosen.
    """
    named = os.environ.get("PMWEB_OSACA", "")
    candidates = [named] if named else executables(("osaca",), _PLACES)
    if program:
        with_pythons = [path for place in candidates for path in (place, *_interpreters_of(place))]
        return _python_of(check_program("program", program, with_pythons, INSTALL))
    if not candidates:
        raise PredictorError(f"OSACA is not installed here: {INSTALL}")
    return _python_of(candidates[0])


def _interpreters_of(command: str) -> list[str]:
    try:
        return [_python_of(command)]
    except PredictorError:
        return []


def _python_of(command: str) -> str:
    """The Python that runs OSACA's program, from its first line.

    Raises:
        PredictorError: The program cannot be read, or does not say.
    """
    try:
        with Path(command).open("rb") as file:
            begin = file.read(1000)
    except OSError as error:
        raise PredictorError(
            f"OSACA's program {command} cannot be read: {error.strerror}; {INSTALL}"
        ) from error
    if Path(command).name.startswith("python") or not begin.startswith(b"#!"):
        return str(Path(command).absolute())
    match = _SHEBANG.match(begin)
    if match is None:
        raise PredictorError(
            f"{command} does not say which Python runs it: name OSACA's Python in PMWEB_OSACA"
        )
    python: bytes = match.group(1) or match.group(2)
    return python.decode()


def version_of(python: str) -> str:
    """The version of OSACA that a Python has. Raises `PredictorError` where it has none."""
    return _probe(python)[0]


def isa_of(settings: OsacaSettings) -> str:
    """The instruction set of the architecture's model. Raises `PredictorError` as `Osaca` does."""
    python = python_of(settings.program)
    return _isa_of_model(python, version_of(python), settings.arch)


def processors() -> tuple[str, ...]:
    """Processors of which the installed OSACA has a usable model; () where it is not installed."""
    try:
        return tuple(_isa_by_model(python_of()))
    except PredictorError:
        return ()


def _models(python: str) -> dict[str, str]:
    """{model: instruction set} of the package and of the user's own models, where OSACA looks first.

    The instruction set is "" where it is unknown.
    """
    custom = _custom_models().glob("*.yml")
    return {**dict.fromkeys((file.stem.upper() for file in custom), ""), **_probe(python)[1]}


def _custom_models() -> Path:
    """The directory in which OSACA looks for models before it uses those of its package."""
    return Path.home() / ".osaca" / "data"


def custom_model_digests(arch: str, isa: str = DEFAULT) -> Json:
    """{file: digest} of the user's models in place of the package's own; {} where there is none."""
    files = (f"{arch.lower()}.yml", f"isa/{llvm_side(isa).osaca}.yml")
    contents = {name: _custom_models() / name for name in files}
    return {
        name: hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
        for name, file in contents.items()
        if file.is_file()
    }


def _isa_by_model(python: str) -> dict[str, str]:
    """{model: name of the instruction set of its blocks}; a model that names none is for `DEFAULT`."""
    isas = {side.osaca: target.name for target in targets() if (side := target.tools) is not None}
    isas[""] = DEFAULT
    return {name: isas[isa] for name, isa in _models(python).items() if isa in isas}


@lru_cache(maxsize=16)
def _probe(python: str) -> tuple[str, dict[str, str]]:
    """The version of OSACA that a Python has, and {model: instruction set} of its package."""
    try:
        outcome = run([python, "-I", "-c", _PROBE], limits=Limits(seconds=20.0, output=1))
    except CannotStartError as error:
        raise PredictorError(f"{error}; {INSTALL}") from error
    version, *models = outcome.stdout.decode(errors="replace").split() or [""]
    if outcome.status != 0 or not version:
        raise PredictorError(f"{python} has no OSACA: {outcome.last_error_line}; {INSTALL}")
    named = (model.partition(":") for model in models)
    return version, {name: isa for name, _, isa in named}


def _isa_of_model(python: str, version: str, arch: str) -> str:
    """The instruction set of a processor's model; `DEFAULT` where OSACA lists no models.

    Raises:
        PredictorError: Neither this OSACA nor its user has a model of it for an instruction set with blocks.
    """
    models = _models(python)
    usable = _isa_by_model(python)
    if arch in usable or not _probe(python)[1]:
        return usable.get(arch, DEFAULT)
    if arch in models:
        raise PredictorError(
            f"arch: OSACA {version} has a model of {arch}, but for {models[arch]}; blocks here are of "
            f"{' or '.join(dict.fromkeys(usable.values()))}. For these it knows {', '.join(usable)}"
        )
    raise PredictorError(unknown_processor("arch", f"OSACA {version}", arch, tuple(usable)))


def _text_without_llvm(block: bytes, isa: str) -> tuple[str, ...] | Answer:
    try:
        return plain_att_of_bytes(block, isa)
    except BlockError as error:
        return Answer(failure=Failure.UNSUPPORTED, detail=str(error))
