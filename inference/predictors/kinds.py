"""The kinds of predictors: their settings, their installations on this computer, and their construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import values_of
from inference.isa.blocks import BlockName, block_of_bytes, body_of, iteration_of
from inference.isa.targets import DEFAULT, FOLDERS
from inference.measuring.blocks import LOOP, MODES, UNROLLED
from inference.predictors import (
    command,
    core_model,
    cqa,
    difftune,
    iaca,
    ithemal,
    machine,
    mapping,
    nanobench,
)
from inference.predictors.calling import NOTHING, digest_of
from inference.predictors.llvm import mca, releases
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.osaca import predictor as osaca
from inference.predictors.permission import HOW_TO_ALLOW, are_commands_allowed, is_offered, launch_options
from inference.predictors.protocol import Predictor, PredictorError
from inference.predictors.tool_paths import ToolProgram
from inference.predictors.uica import facile, installation
from inference.predictors.uica import simulator as uica


class UnconfiguredError(PredictorError):
    """A kind is installed but needs options that have no default."""


@dataclass(frozen=True)
class InstalledKind:
    """An installation of a kind on this computer: options that make a predictor, and the version.

    `make`: makes it with less effort than the options do, where that is possible.
    """

    options: Json
    version: str
    make: Callable[[], Predictor] | None = None


@dataclass(frozen=True)
class PredictorKind:
    """A kind of predictor.

    Args:
        name: Identifies the kind.
        title: For people.
        summary: Describes it in a sentence.
        install: How to install it.
        settings: Dataclass of its options.
        make: Makes a predictor of its settings.
        find: Lists what can be used without configuration; raises `PredictorError` with what is missing.
        anywhere: The same program on another computer gives the same answers.
        takes_jumps: A loop's code includes the jump that closes it; other kinds get the body alone.
        processors: Values of the option `arch` that the installed tool knows, () where it does not say.
        is_uncontained: The operator has to allow it (`permission`), since it is any program of this computer,
            or executes blocks with rights that no other program has.
        modes: {mode of `inference.measuring.blocks`: options that select it for a block without a jump}. A
            single mode is that of all its answers; none means that the answer is the same in both, or that
            its mode is
                unknown.
        isas: The instruction sets whose blocks it predicts, with one options or another.
        isa_of: Of settings, the only instruction set whose blocks it then predicts; None where it predicts
            those of all `isas`.
    """

    name: str
    title: str
    summary: str
    install: str
    settings: type[Any]
    make: Callable[[Any], Predictor]
    find: Callable[[], Sequence[InstalledKind]]
    anywhere: bool = False
    takes_jumps: bool = False
    processors: Callable[[], Sequence[str]] = tuple
    is_uncontained: bool = False
    modes: Mapping[str, Json] = field(default_factory=dict)
    isas: Sequence[str] = (DEFAULT,)
    isa_of: Callable[[Any], str] | None = None

    @property
    def obstacle(self) -> str:
        """Why the operator of this site does not allow the kind; empty where it is allowed."""
        if self.is_uncontained and not are_commands_allowed():
            return f"this site runs no programs of its users' own and does not ask nanoBench: {HOW_TO_ALLOW}"
        return ""

    @property
    def options(self) -> list[Field[Any]]:
        return [option for option in fields(self.settings) if is_offered(option)]

    def launch_options(self, options: Mapping[str, Any]) -> list[str]:
        """The options that choose a part of the program that is started; see `permission`."""
        return launch_options(self.settings, options)

    def predictor(self, options: Mapping[str, Any]) -> Predictor:
        """The predictor of these options, or of texts for them. Raises `PredictorError`."""
        try:
            return self.make(self.settings_of(options))
        except OSError as error:  # of a file that they name: a name too long, no right to read it
            raise PredictorError(f"{self.name}: {error}") from error

    def isas_of(self, options: Mapping[str, Any]) -> Sequence[str]:
        """The instruction sets whose blocks it predicts with these options. Raises `PredictorError`."""
        return self.isas if self.isa_of is None else (self.isa_of(self.settings_of(options)),)

    def mode_of(self, options: Mapping[str, Any]) -> str:
        """The mode that options select; "" where it makes no difference to this kind."""
        if len(self.modes) < len(MODES):
            return next(iter(self.modes), "")
        usual = {option.name: option.default for option in fields(self.settings)}
        is_unrolled = all(
            str(options.get(name, usual[name])) == str(value) for name, value in self.modes[UNROLLED].items()
        )
        return UNROLLED if is_unrolled else LOOP

    def in_mode(self, options: Mapping[str, Any], mode: str) -> Json:
        """The options changed to select a mode, as far as this kind knows it."""
        if mode not in self.modes or self.mode_of(options) == mode:
            return dict(options)
        names = {name for mode_names in self.modes.values() for name in mode_names}
        unmoded = {name: value for name, value in options.items() if name not in names}
        return unmoded if mode == UNROLLED else {**unmoded, **self.modes[mode]}

    def choices_of(self, option: str) -> Sequence[str]:
        """Values of an option that the installed tool lists; () where it lists none. It may accept others."""
        return self.processors() if option == "arch" else ()

    def settings_of(self, options: Mapping[str, Any]) -> Any:
        """The options as settings. Raises `PredictorError`, naming the wrong or forbidden one."""
        if self.obstacle:
            raise PredictorError(self.obstacle)
        allowed = {option.name for option in self.options}
        if refused := [name for name in self.launch_options(options) if name not in allowed]:
            raise PredictorError(f"{refused[0]} is not an option on this site: {HOW_TO_ALLOW}")
        try:
            return self.settings(**values_of(self.settings, options, self.name))
        except InvalidInputError as error:
            raise PredictorError(f"{self.name}: {error}") from error


def _installed_llvm() -> list[InstalledKind]:
    usable = [release for release in releases.list_releases() if release.mc]
    kinds = [InstalledKind({"release": release.number}, release.version) for release in usable]
    if not kinds:
        raise PredictorError(f"llvm-mca is not installed here: {releases.INSTALL}")
    return kinds


def _installed_osaca() -> list[InstalledKind]:
    return [InstalledKind({}, osaca.version_of(osaca.python_of()))]


def _installed_uica() -> list[InstalledKind]:
    files = installation.find()
    return [InstalledKind({}, f"files {files.digest(uica.UicaSettings.arch)[:8]}")]


def _installed_program(path: Callable[[], str]) -> Callable[[], Sequence[InstalledKind]]:
    """The installation of a tool that does not report its version: a digest of its program replaces that."""
    return lambda: [InstalledKind({}, f"program {digest_of(path())[:8]}")]


def _unconfigured_search(
    advice: str, program: ToolProgram | None = None
) -> Callable[[], Sequence[InstalledKind]]:
    """The search for a kind whose options have no default: it always raises `UnconfiguredError`."""

    def find() -> Sequence[InstalledKind]:
        if program is not None:
            program.path()
        raise UnconfiguredError(f"it has to be configured: {advice}")

    return find


_ANALYSERS_MODES: Mapping[str, Json] = {
    UNROLLED: {"around": NOTHING, "mode": UNROLLED},
    LOOP: {"mode": LOOP},
}

KINDS: dict[str, PredictorKind] = {
    kind.name: kind
    for kind in (
        PredictorKind(
            mca.KIND,
            "llvm-mca",
            "LLVM's machine code analyser: simulates a back end from LLVM's scheduling models.",
            releases.INSTALL,
            McaSettings,
            mca.LlvmMca,
            _installed_llvm,
            anywhere=True,
            takes_jumps=True,
            isas=tuple(FOLDERS),
            isa_of=mca.isa_of,
        ),
        PredictorKind(
            osaca.KIND,
            "OSACA",
            "Open Source Architecture Code Analyzer: port pressure and loop-carried dependencies.",
            osaca.INSTALL,
            osaca.OsacaSettings,
            osaca.Osaca,
            _installed_osaca,
            anywhere=True,
            processors=osaca.processors,
            isas=tuple(FOLDERS),
            isa_of=osaca.isa_of,
        ),
        PredictorKind(
            uica.KIND,
            "uiCA",
            "uops.info Code Analyzer: simulates recent Intel processors from measured data.",
            installation.INSTALL,
            uica.UicaSettings,
            uica.make,
            _installed_uica,
            anywhere=True,
            takes_jumps=True,
            processors=installation.processors,
            modes=_ANALYSERS_MODES,
        ),
        PredictorKind(
            iaca.KIND,
            "IACA",
            "Intel Architecture Code Analyzer 3.0: Intel's own analyser, no longer maintained.",
            iaca.INSTALL,
            iaca.IacaSettings,
            iaca.make,
            _installed_program(iaca.TOOL.path),
            anywhere=True,
        ),
        PredictorKind(
            ithemal.KIND,
            "Ithemal",
            "A neural network trained on measured blocks.",
            ithemal.INSTALL,
            ithemal.IthemalSettings,
            ithemal.make,
            _unconfigured_search("name its model and its data", ithemal.TOOL),
            anywhere=True,
        ),
        PredictorKind(
            difftune.KIND,
            "DiffTune",
            "llvm-mca with scheduling parameters that were learnt from measured blocks.",
            difftune.INSTALL,
            difftune.DiffTuneSettings,
            difftune.DiffTune,
            _unconfigured_search("name the file with its parameters", difftune.TOOL),
            anywhere=True,
        ),
        PredictorKind(
            cqa.KIND,
            "CQA",
            "Code Quality Analyzer of MAQAO: analyses the block as the body of a loop.",
            cqa.INSTALL,
            cqa.CqaSettings,
            cqa.make,
            _installed_program(cqa.TOOL.path),
            anywhere=True,
            takes_jumps=True,
            modes={LOOP: {}},
        ),
        PredictorKind(
            facile.KIND,
            "Facile",
            "Analytical bounds over uiCA's data, the largest of which counts.",
            installation.INSTALL,
            facile.FacileSettings,
            facile.make,
            _installed_uica,
            anywhere=True,
            takes_jumps=True,
            processors=installation.processors,
            modes=_ANALYSERS_MODES,
        ),
        PredictorKind(
            nanobench.KIND,
            "nanoBench",
            "Measures on this computer with performance counters.",
            nanobench.INSTALL,
            nanobench.NanoBenchSettings,
            nanobench.NanoBench,
            _installed_program(nanobench.find),
            is_uncontained=True,
            modes={UNROLLED: {"loop": 0}, LOOP: {"loop": nanobench.ROUNDS}},
        ),
        PredictorKind(
            command.KIND,
            "any command",
            "A program of your own: called once per block, or kept running and asked line by line.",
            command.INSTALL,
            command.CommandSettings,
            command.make,
            _unconfigured_search("name its program and arguments, and how its answer is read"),
            is_uncontained=True,
        ),
    )
}
"""{name: kind} of all programs."""

WITH_JUMP, WITHOUT_JUMP = "branch included", "branch left out"


_STORED = (core_model.KIND, mapping.KIND)
"""Kinds of the database that include the jump."""


def loop_wording(kind: str, name: BlockName) -> str:
    """The part of a loop that predictors of this kind get, as text; "" for a block that is no loop."""
    if body_of(name.code, name.isa) == name.code:
        return ""
    if kind == machine.KIND:
        return iteration_of(block_of_bytes(name.code, name.isa)).loop_note
    takes_jumps = kind in _STORED or (kind in KINDS and KINDS[kind].takes_jumps)
    return WITH_JUMP if takes_jumps else WITHOUT_JUMP
