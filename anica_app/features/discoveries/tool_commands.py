"""Shell commands that run a tool on one basic block.

A command contains the block, so that it works wherever the tool is installed. Release, processor and flags
are those of the campaign's tools. Of imported tools, identities give these as far as the tool would accept
them; of the published campaigns only names such as `llvm-mca.13.hsw` are known.
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
from inference.isa.llvm_schemes import llvm_side
from inference.isa.microarchitecture import TOOL_NAMES
from inference.isa.targets import DEFAULT
from inference.models import Predictor
from inference.predictors.llvm.mca_settings import TOTAL, McaSettings
from inference.predictors.processor_names import UICA_NAMES
from inference.predictors.protocol import IMPORTED

LLVM_MCA, OSACA, UICA = "llvm-mca", "osaca", "uica"
_FOREIGN = re.compile(r"(?P<tool>[A-Za-z-]+)\.(?:(?P<release>\d+)\.)?(?P<core>[\w+-]+)")

_SHORT = {"zen+": "znver1", "zenp": "znver1", "zen": "znver1", "zen1": "znver1"}
"""Cores by the short names that only campaigns have; others are those of OSACA and uiCA."""
SITE = "https://godbolt.org"
_LLVM_MCA, _OSACA = "llvm-mcatrunk", "osacatrunk"


@dataclass(frozen=True)
class Command:
    """A command line. `title` names the tool, `own` whether it is one of the campaign's.

    `is_here`: it works on this site only.
    """

    title: str
    text: str
    own: bool = False
    is_here: bool = False


@dataclass(frozen=True)
class _ToolOptions:
    """A tool with its core, in LLVM's name, and the options that only it has."""

    tool: str
    core: str
    release: str = ""
    flags: tuple[str, ...] = ()
    iterations: int = 100


def commands_for(predictors: Sequence[Predictor], code: bytes, isa: str = DEFAULT) -> list[Command]:
    """Commands for the predictors that have one, and for the default tools that are not among them.

    The latter use the first core that a predictor names.

    Raises:
        BlockError: The code cannot be decoded.
    """
    tools = [(row, _tool_options(row)) for row in predictors]
    commands = []
    for row, options in tools:
        text = _own(row, code) if options is None else _text(options, code, isa)
        if text:
            commands.append(Command(row.name, text, own=True, is_here=options is None))
    core = core_of(predictors, isa)
    present = {options.tool for _, options in tools if options is not None}
    for kind, title in ((LLVM_MCA, "llvm-mca"), (OSACA, "OSACA"), (UICA, "uiCA")):
        text = "" if kind in present else _text(_ToolOptions(kind, core), code, isa)
        if text:
            commands.append(Command(f"{title} · {core}", text))
    return commands


def core_of(predictors: Sequence[Predictor], isa: str = DEFAULT) -> str:
    """The first core that a predictor names, in LLVM's name; a core of the instruction set without one."""
    tools = map(_tool_options, predictors)
    return next((tool.core for tool in tools if tool is not None and tool.core), _usual_core(isa))


def _usual_core(isa: str) -> str:
    return llvm_side(isa).simulated[0]


def osaca_name(core: str) -> str:
    """OSACA's name of a core, given LLVM's; "" where it has none."""
    return next((names.osaca for names in TOOL_NAMES.values() if names.llvm == core and names.osaca), "")


def tool_and_core(row: Predictor) -> tuple[str, str, str] | None:
    """The tool, its release ("" where unknown) and the core in LLVM's name; None for other kinds of
    predictors.
    """
    tool = _tool_options(row)
    return None if tool is None else (tool.tool, tool.release, tool.core)


def options_here(row: Predictor) -> tuple[str, Json] | None:
    """Kind and options with which an imported tool can run here; None where it cannot."""
    tool = None if row.is_runnable else _tool_options(row)
    if tool is None or not tool.core:
        return None
    if tool.tool == LLVM_MCA:
        release = {"release": tool.release} if tool.release else {}
        return LLVM_MCA, {**release, "cpu": tool.core}
    arch = osaca_name(tool.core) if tool.tool == OSACA else UICA_NAMES.get(tool.core, "")
    return (tool.tool, {"arch": arch}) if arch else None


def _tool_options(row: Predictor) -> _ToolOptions | None:
    """The tool that a predictor is; None for other kinds."""
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
    """The options of an llvm-mca; None for options that only imported files have."""
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
    """A core by another tool's short name; "" for an unknown one."""
    name = short.upper()
    if short.lower() in _SHORT:
        return _SHORT[short.lower()]
    by_uica = next((core for core, uica_name in UICA_NAMES.items() if uica_name == name), "")
    return by_uica or next((names.llvm for names in TOOL_NAMES.values() if names.osaca == name), "")


def _major(banner: str) -> str:
    version = re.search(r"version (\d+)", banner)
    return version[1] if version else ""


def _text(tool: _ToolOptions, code: bytes, isa: str) -> str:
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
            f"-mtriple={llvm_side(isa).triple}",
            f"-mcpu={tool.core or _usual_core(isa)}",
            f"-iterations={tool.iterations}",
        ]
        words += tool.flags
    return f"{shlex.join(words)} <<'EOF'\n{chr(10).join(att_of_bytes(code, isa))}\nEOF" if words else ""


def _own(row: Predictor, code: bytes) -> str:
    """The command of this program; "" for an imported predictor."""
    if not row.is_runnable:
        return ""
    return f"echo {code.hex()} | manage.py predict - {shell_option('--predictor', row.name)}"


def state(code: bytes, core: str, comment: str = "", isa: str = DEFAULT) -> Json:
    """A Compiler Explorer session: the block for GNU assemblers below the comment, for a core in LLVM's name.

    Raises:
        BlockError: The code cannot be decoded.
    """
    head = [assembly_comment(line) for line in comment.splitlines()]
    compilers = [
        {"id": _LLVM_MCA, "options": f"-mtriple={llvm_side(isa).triple} -mcpu={core} -iterations=100"}
    ]
    if arch := osaca_name(core):
        compilers.append({"id": _OSACA, "options": f"--arch {arch} --ignore-unknown"})
    return {
        "sessions": [
            {
                "id": 1,
                "language": "analysis",
                "source": "\n".join([*head, *att_of_bytes(code, isa)]) + "\n",
                "compilers": compilers,
            }
        ]
    }


def link(session: Json) -> str:
    text = base64.b64encode(json.dumps(session, separators=(",", ":")).encode()).decode()
    return f"{SITE}/clientstate/{quote(text, safe='')}"
