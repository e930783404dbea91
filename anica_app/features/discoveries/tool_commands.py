"""Command lines that ask a tool about one basic block, as a user would paste them into a shell.

They contain the block, so that they work wherever the tool is installed. What a campaign's own tools were
told is kept: release, processor, flags. Of tools that came with a file, what their identities say of that is
shown as far as the tool itself would take it; of the published campaigns only names are known:
`llvm-mca.13.hsw`.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import values_of
from inference.formats.quoting import assembly_comment, shell_option
from inference.isa.blocks import att_of_bytes
from inference.isa.microarchitecture import TOOL_NAMES
from inference.models import Predictor
from inference.predictors.llvm.mca_settings import TOTAL, McaSettings
from inference.predictors.processor_names import UICA_NAMES
from inference.predictors.protocol import IMPORTED

LLVM_MCA, OSACA, UICA = "llvm-mca", "osaca", "uica"
_FOREIGN = re.compile(r"(?P<tool>[A-Za-z-]+)\.(?:(?P<release>\d+)\.)?(?P<core>[\w+-]+)")

_DEFAULT_CORE = "haswell"
_SHORT = {"zen+": "znver1", "zenp": "znver1", "zen": "znver1", "zen1": "znver1"}
"""Cores by the short names that only campaigns have; others are those of OSACA and uiCA."""
SITE = "https://godbolt.org"
_LLVM_MCA, _OSACA = "llvm-mcatrunk", "osacatrunk"


@dataclass(frozen=True)
class Command:
    """A command line. `title` says what it asks, `own` whether it is one of the campaign's own tools."""

    title: str
    text: str
    own: bool = False


@dataclass(frozen=True)
class _ToolOptions:
    """A tool, what it is told of the processor as LLVM names it, and the options that only it has."""

    tool: str
    core: str
    release: str = ""
    flags: tuple[str, ...] = ()
    iterations: int = 100


def commands_for(predictors: Sequence[Predictor], code: bytes) -> list[Command]:
    """For each predictor that can be asked in a shell, and for the usual tools that are not among them.

    The latter are asked about the first core that a predictor speaks of. Raises `BlockError` for code that is
    no block.
    """
    tools = [(row, _tool_options(row)) for row in predictors]
    commands = []
    for row, options in tools:
        text = _own(row, code) if options is None else _text(options, code)
        if text:
            commands.append(Command(row.name, text, own=True))
    core = next((options.core for _, options in tools if options is not None and options.core), _DEFAULT_CORE)
    present = {options.tool for _, options in tools if options is not None}
    for kind, title in ((LLVM_MCA, "llvm-mca"), (OSACA, "OSACA"), (UICA, "uiCA")):
        text = "" if kind in present else _text(_ToolOptions(kind, core), code)
        if text:
            commands.append(Command(f"{title} · {core}", text))
    return commands


def core_of(predictors: Sequence[Predictor]) -> str:
    """The core that the first of them speaks of, as LLVM names it; the usual one where none does."""
    tools = map(_tool_options, predictors)
    return next((tool.core for tool in tools if tool is not None and tool.core), _DEFAULT_CORE)


def osaca_name(core: str) -> str:
    """What OSACA calls a core of LLVM's; "" where it has none."""
    return next((names.osaca for names in TOOL_NAMES.values() if names.llvm == core and names.osaca), "")


def tool_and_core(row: Predictor) -> tuple[str, str, str] | None:
    """The tool, its release ("" where nobody says) and the core as LLVM names it; None for other kinds."""
    tool = _tool_options(row)
    return None if tool is None else (tool.tool, tool.release, tool.core)


def options_here(row: Predictor) -> tuple[str, Json] | None:
    """The kind and the options by which a tool that came with a file may be asked here; None for others."""
    tool = None if row.is_runnable else _tool_options(row)
    if tool is None or not tool.core:
        return None
    if tool.tool == LLVM_MCA:
        release = {"release": tool.release} if tool.release else {}
        return LLVM_MCA, {**release, "cpu": tool.core}
    arch = osaca_name(tool.core) if tool.tool == OSACA else UICA_NAMES.get(tool.core, "")
    return (tool.tool, {"arch": arch}) if arch else None


def _tool_options(row: Predictor) -> _ToolOptions | None:
    """What a predictor is; None for one of another kind."""
    options = row.options if row.is_runnable else row.identity
    if row.sort == LLVM_MCA:
        return _llvm_mca(options, _major(str(row.identity.get("version", ""))))
    if row.sort in (OSACA, UICA):
        flags = ("--consider-flag-deps",) if row.sort == OSACA and options.get("flags") else ()
        return _ToolOptions(row.sort, _core(str(options.get("arch") or "HSW")), flags=flags)
    foreign = _FOREIGN.fullmatch(row.name) if row.sort == IMPORTED else None
    if foreign is None or foreign["tool"].lower() not in (LLVM_MCA, OSACA, UICA):
        return None
    return _ToolOptions(foreign["tool"].lower(), _core(foreign["core"]), foreign["release"] or "")


def _llvm_mca(options: Json, release: str) -> _ToolOptions | None:
    """What llvm-mca was told; None for what no llvm-mca of ours was ever told, and a file may say."""
    flags = options.get("flags") or ""
    words = flags.split() if isinstance(flags, str) else flags
    try:
        flags = " ".join(words)
        stated = {name: options[name] for name in ("cpu", "release", "iterations") if options.get(name)}
        values = values_of(McaSettings, {**stated, "flags": flags, "counting": TOTAL}, LLVM_MCA)
        settings = McaSettings(**values)
    except (InvalidInputError, TypeError):
        return None
    iterations = settings.iterations if "iterations" in stated else 100
    release = settings.release or release
    return _ToolOptions(LLVM_MCA, settings.cpu, release, tuple(settings.flags.split()), iterations)


def _core(short: str) -> str:
    """A core by a short name of another tool; "" for one that nobody knows."""
    name = short.upper()
    if short.lower() in _SHORT:
        return _SHORT[short.lower()]
    by_uica = next((core for core, uica_name in UICA_NAMES.items() if uica_name == name), "")
    return by_uica or next((names.llvm for names in TOOL_NAMES.values() if names.osaca == name), "")


def _major(banner: str) -> str:
    version = re.search(r"version (\d+)", banner)
    return version[1] if version else ""


def _text(tool: _ToolOptions, code: bytes) -> str:
    """The command line; "" where the tool has no model of the core."""
    if tool.tool == UICA:
        arch = UICA_NAMES.get(tool.core, "")
        file = f"printf '{''.join(f'{chr(92)}{byte:03o}' for byte in code)}' > block.bin"
        return f"{file} && uiCA.py block.bin -raw -arch {arch} -TPonly" if arch else ""
    if tool.tool == OSACA:
        arch = osaca_name(tool.core)
        words = ["osaca", "--arch", arch, "--ignore-unknown", *tool.flags, "-"] if arch else []
    else:
        program = f"llvm-mca-{tool.release}" if tool.release else "llvm-mca"
        words = [
            program,
            "-mtriple=x86_64",
            f"-mcpu={tool.core or _DEFAULT_CORE}",
            f"-iterations={tool.iterations}",
        ]
        words += tool.flags
    return f"{shlex.join(words)} <<'EOF'\n{chr(10).join(att_of_bytes(code))}\nEOF" if words else ""


def _own(row: Predictor, code: bytes) -> str:
    """How this program asks it; "" for what only an imported file knows."""
    if not row.is_runnable:
        return ""
    return f"echo {code.hex()} | manage.py predict - {shell_option('--predictor', row.name)}"


def state(code: bytes, core: str, comment: str = "") -> Json:
    """A session with the block in AT&T syntax below the comment, for a core as LLVM names it.

    Raises `BlockError` for code that is no block.
    """
    head = [assembly_comment(line) for line in comment.splitlines()]
    compilers = [{"id": _LLVM_MCA, "options": f"-mtriple=x86_64 -mcpu={core} -iterations=100"}]
    if arch := osaca_name(core):
        compilers.append({"id": _OSACA, "options": f"--arch {arch} --ignore-unknown"})
    return {
        "sessions": [
            {
                "id": 1,
                "language": "analysis",
                "source": "\n".join([*head, *att_of_bytes(code)]) + "\n",
                "compilers": compilers,
            }
        ]
    }


def link(session: Json) -> str:
    """The address that opens a state."""
    text = base64.b64encode(json.dumps(session, separators=(",", ":")).encode()).decode()
    return f"{SITE}/clientstate/{quote(text, safe='')}"
