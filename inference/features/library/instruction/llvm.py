"""LLVM's scheduling models of the forms of an instruction: opcodes, the model's figures, and its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from inference.containment import Limits
from inference.isa.llvm_mc import AssemblerError
from inference.isa.llvm_schemes import llvm_opcodes, llvm_side, without_modes
from inference.isa.microarchitecture import NO_NAMES, TOOL_NAMES
from inference.predictors.llvm.model import LlvmModel, ModelAnswer
from inference.predictors.llvm.releases import list_releases
from inference.predictors.protocol import PredictorError

_TAG = "llvmorg-19.1.0"
_SOURCES = f"https://github.com/llvm/llvm-project/blob/{_TAG}/llvm/lib/Target"
_LIMITS = Limits(seconds=5.0)
MAX_FORMS = 40
"""Forms that LLVM is asked about: more would delay the page."""


@dataclass(frozen=True)
class LlvmCoreModel:
    """The scheduling model of a core.

    Args:
        cpu: Its name for `-mcpu`.
        url: Its file in LLVM's repository, "" where it has none of this core.
        source: The program that gave the figures, "" for none.
        obstacle: Why there are no figures, "" where there are some.
        figures: {scheme text: figures}.
    """

    cpu: str
    url: str
    source: str
    obstacle: str
    figures: Mapping[str, ModelAnswer]

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


@lru_cache(maxsize=64)
def opcodes_of(isa: str, texts: Sequence[str]) -> Mapping[str, str]:
    """{scheme text: LLVM's opcode}; {} where llvm-mc is missing or the instruction set has no code."""
    try:
        return llvm_opcodes(isa, texts[:MAX_FORMS])[0]
    except (AssemblerError, LookupError):
        return {}


@lru_cache(maxsize=64)
def llvm_core_model(isa: str, core: str, texts: Sequence[str]) -> LlvmCoreModel | None:
    """What LLVM's model of a core says about forms; None where LLVM has no name for the core."""
    names = TOOL_NAMES.get(core, NO_NAMES)
    if not names.llvm:
        return None
    side = llvm_side(isa)
    url = f"{_SOURCES}/{side.models}/{names.llvm_model}.td" if side.models and names.llvm_model else ""
    releases = list_releases()
    if not releases:
        return LlvmCoreModel(names.llvm, url, "", "llvm-mca is not installed", {})
    try:
        model = LlvmModel(releases[-1], names.llvm, _LIMITS)
        codes = side.instances(without_modes(isa, texts[:MAX_FORMS]))
        answers = model.ask(list(codes.values()))
    except PredictorError as error:
        reason = str(error).partition(";")[0].removeprefix("cpu: ")
        return LlvmCoreModel(names.llvm, url, "", reason, {})
    figures = {text: answer for text, answer in zip(codes, answers, strict=True) if not answer.failure}
    return LlvmCoreModel(names.llvm, url, model.name, "", figures)
