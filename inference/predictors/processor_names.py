"""Names of processors in tools, and the message for one that a tool does not know."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from inference.core.errors import InvalidInputError
from inference.isa.microarchitecture import NO_NAMES, TOOL_NAMES
from inference.isa.targets import target_of

UICA_NAMES = {
    "sandybridge": "SNB",
    "ivybridge": "IVB",
    "haswell": "HSW",
    "broadwell": "BDW",
    "skylake": "SKL",
    "skylake-avx512": "SKX",
    "icelake-client": "ICL",
    "tigerlake": "TGL",
    "rocketlake": "RKL",
}
"""uiCA's names of the cores that it knows, by their names in LLVM; IACA and Facile have the same names."""

PROCESSORS = tuple(TOOL_NAMES)
"""The cores that tools may know, by `Microarchitecture.name`; those of one instruction set are neighbours."""

_SAME_CORE = {"emeraldrapids": "sapphirerapids", "raptorlake": "alderlake"}
"""An older name in LLVM of the same core or a very similar one, for releases that lack the newer."""

_OLDER = {
    "Zen 5": "Zen 4",
    "Zen 4": "Zen 3",
    "Zen 3": "Zen 2",
    "Golden Cove": "Ice Lake-SP",
    "Raptor Cove": "Golden Cove",
    "Cortex-A76": "Cortex-A72",
    "Neoverse N1": "Cortex-A76",
    "Neoverse N2": "Neoverse N1",
    "Neoverse V2": "Neoverse V1",
}
"""The core before, of the same vendor: what people ask a tool about that does not know theirs yet."""

_OPTION = {"llvm-mca": "cpu", "osaca": "arch", "uica": "arch", "iaca": "arch", "facile": "arch"}
"""The option in which a kind of predictor takes its processor."""


def processor_option(kind: str) -> str:
    """The name of the option in which predictors of a kind take their processor; "" for those without."""
    return _OPTION.get(kind, "")


def names_of_processor(kind: str, processor: str) -> tuple[str, ...]:
    """Names of a core in a kind of predictor, the best first; () where it knows none."""
    names = TOOL_NAMES.get(processor, NO_NAMES)
    if kind == "osaca":
        candidates: tuple[str, ...] = (names.osaca,)
    elif kind == "llvm-mca":
        candidates = (names.llvm, _SAME_CORE.get(names.llvm, ""))
    else:
        candidates = (UICA_NAMES.get(names.llvm, ""),)
    return tuple(filter(None, candidates))


def usual_processor(isa: str) -> str:
    """The core that tools predict for where none is chosen and theirs is of another instruction set; "" for
    sets without.
    """
    side = target_of(isa).tools
    name = "" if side is None else side.simulated[0]
    return next((core for core, names in TOOL_NAMES.items() if names.llvm == name), "")


def names_of_older(kind: str, processor: str) -> tuple[str, ...]:
    """Names of the cores before a processor in a kind of predictor, the nearest first; () without any."""
    names: list[str] = []
    while processor := _OLDER.get(processor, ""):
        names += names_of_processor(kind, processor)
    return tuple(names)


def processors_named(kind: str, name: str) -> tuple[str, ...]:
    """The cores that a name may mean in a kind of predictor; () for an unknown name."""
    return tuple(core for core in PROCESSORS if name in names_of_processor(kind, core))


def check_name(option: str, name: str) -> None:
    """Raise `InvalidInputError` unless it can be the name of a processor, and is no option or path."""
    if not re.fullmatch(r"[A-Za-z0-9_][\w.+-]*", name, re.ASCII) or ".." in name:
        raise InvalidInputError(f"{option} must be the name of a processor such as HSW, not {name[:60]!r}")


_MAX_SUGGESTIONS = 3  # of names like an unknown one


def unknown_processor(option: str, tool: str, name: str, choices: Sequence[str]) -> str:
    """The error message for a processor that a tool does not know; it ends with the option.

    Args:
        option: Option of the command line or form, by which the processor is named.
        tool: Name of the tool.
        name: The unknown name. Names by which other tools know a processor count as similar: `HSW` and `Zen
            4`
            for `haswell` and `znver4`.
        choices: The tool's names, in its own order.
    """
    near = _suggestions(name, choices)
    hint = f"is it {' or '.join(near)}? It" if near else "it"
    listed = ", ".join(choices) or "none at all"
    return f"{tool} knows no processor {name[:60]!r}; {hint} knows {listed} (option {option})"


def _suggestions(requested: str, choices: Sequence[str]) -> list[str]:
    by_folded = {processor.casefold(): processor for processor in choices}
    folded = _fold_name(requested)
    normalised = [
        by_folded[tool_name.casefold()]
        for core, names in TOOL_NAMES.items()
        for tool_name in (names.osaca, names.llvm)
        if folded in {_fold_name(core), _fold_name(names.osaca), _fold_name(names.llvm)}
        and tool_name.casefold() in by_folded
    ]
    similar = difflib.get_close_matches(requested.casefold(), by_folded, _MAX_SUGGESTIONS)
    return list(dict.fromkeys([*normalised, *(by_folded[processor] for processor in similar)]))[
        :_MAX_SUGGESTIONS
    ]


def _fold_name(name: str) -> str:
    return "".join(name.casefold().split())
