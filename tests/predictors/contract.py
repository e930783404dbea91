"""The predictors that the contract holds for, each with a fake in the place of its tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.agent.protocol import Result
from inference.core.evaluator import PortMappingModel
from inference.core.mapping import PortMapping
from inference.core.pacing import LocalExecutor, PacedReporter
from inference.isa.blocks import Block
from inference.isa.start_values import StartValues
from inference.predictors import (
    command,
    cqa,
    difftune,
    iaca,
    ithemal,
    machine,
    mapping,
    nanobench,
)
from inference.predictors.llvm.mca import LlvmMca
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.osaca.predictor import Osaca, OsacaSettings
from inference.predictors.panel import CachedPredictor, DistributedPredictor
from inference.predictors.protocol import Predictor
from inference.predictors.uica import facile
from inference.predictors.uica import simulator as uica
from tests.core.pmevo.small import Listener
from tests.predictors import fakes

QUICK = {"seconds": 0.8, "processes": 2}
ADD = "add GPR[64]:RW, GPR[64]:R"

Make = Callable[[Path, bool], Predictor]
"""From a directory, and whether with an option that is not the usual one, to a predictor."""


@dataclass(frozen=True)
class Case:
    """`crashes`: whether it can fail in other ways than not to know a block."""

    name: str
    make: Make
    crashes: bool = True


def _mca(home: Path, other: bool) -> Predictor:
    settings = McaSettings(program=fakes.llvm(home), cpu="znver2" if other else "haswell", batch=2, **QUICK)
    return LlvmMca(settings)


def _difftune(home: Path, other: bool) -> Predictor:
    parameters = home / "learnt"
    fakes.llvm(home)
    parameters.write_text("other" if other else "usual")
    return difftune.DiffTune(
        difftune.DiffTuneSettings(
            program=str(home / "llvm-mca"), parameters=str(parameters), batch=2, **QUICK
        )
    )


def _osaca(home: Path, other: bool) -> Predictor:
    return Osaca(OsacaSettings(program=fakes.osaca(home / "python"), arch="SKX" if other else "HSW", **QUICK))


def _uica(home: Path, other: bool) -> Predictor:
    return uica.make(uica.UicaSettings(**fakes.uica(home), arch="SKL" if other else "HSW", **QUICK))


def _iaca(home: Path, other: bool) -> Predictor:
    said = "Throughput Analysis Report\nBlock Throughput: 1.50 Cycles       Throughput Bottleneck: Backend"
    program = fakes.tool(home / "iaca", said, f"{said}\nX - instruction not supported, was not accounted for")
    return iaca.make(iaca.IacaSettings(program=program, arch="SKL" if other else "HSW", **QUICK))


def _ithemal(home: Path, other: bool) -> Predictor:
    program = fakes.tool(home / "predict.py", "150.0", "Tokenize failed!")
    (home / "dump").write_text("x")
    (home / "trained.mdl").write_text("other" if other else "usual")
    paths = {"model": str(home / "dump"), "data": str(home / "trained.mdl")}
    return ithemal.make(ithemal.IthemalSettings(program=program, **paths, **QUICK))


def _cqa(home: Path, other: bool) -> Predictor:
    program = fakes.tool(home / "maqao", "Overall L1: 1.50", "")
    return cqa.make(cqa.CqaSettings(program=program, arch="SKYLAKE" if other else "HASWELL", **QUICK))


def _facile(home: Path, other: bool) -> Predictor:
    return facile.make(facile.FacileSettings(**fakes.uica(home), arch="SKL" if other else "HSW", **QUICK))


def _nanobench(home: Path, other: bool) -> Predictor:
    body = """
case "$*" in
  *xor*) echo oh >&2; kill -SEGV $$;; *sub*) sleep 600;; *and*) echo "Illegal instruction"; exit 1;;
  *or*) echo "Instructions retired: 1.00"; exit;;
esac
printf 'Instructions retired: 1.00\\nCore cycles: 1.50\\n'
"""
    settings = nanobench.NanoBenchSettings(
        program=fakes.script(home / "nanoBench.sh", body), unroll=50 if other else 100, samples=1, **QUICK
    )
    return nanobench.NanoBench(settings)


def _command(home: Path, other: bool) -> Predictor:
    program = fakes.tool(home / "mine", "cycles 150", "unknown: and")
    settings = command.CommandSettings(
        command=(program, "{file}"),
        form="object",
        pattern=r"cycles (\d+)",
        unknown="^unknown",
        scale=0.02 if other else 0.01,
        **QUICK,
    )
    return command.make(settings)


def _asked(home: Path, other: bool) -> Predictor:
    settings = command.CommandSettings(
        command=fakes.asked(home / "asked"),
        protocol="lines",
        form="hex",
        pattern=r"cycles (\d+)",
        unknown="^unknown",
        scale=0.02 if other else 0.01,
        **QUICK,
    )
    return command.make(settings)


def _remembering(home: Path, other: bool) -> Predictor:
    return CachedPredictor(_command(home, other))


def _shared_out(home: Path, other: bool) -> Predictor:
    tool = _iaca(home, other)
    options = {"program": str(home / "iaca"), "arch": "SKL" if other else "HSW", **QUICK}
    pace = PacedReporter(Listener())
    return DistributedPredictor(tool, iaca.KIND, options, LocalExecutor(2), pace, tool.close)


def _mapping(home: Path, other: bool) -> Predictor:
    known = [ADD.replace("add", name) for name in ("add", "xor", "sub", "or")]
    value = PortMapping(ports=("0", "1"), usage=dict.fromkeys(known, ((3, 3),)))
    settings = mapping.MappingSettings("two ports", r_max=4.0 if other else None)
    return mapping.MappedBlocks("two ports", PortMappingModel(value), settings, "some digest")


def _machine(home: Path, other: bool) -> Predictor:
    notes = {
        fakes.CRASHING: Result("", "failed", note="the process ended by SIGSEGV"),
        fakes.HANGING: Result("", "failed", note="does not end within 1 s"),
        fakes.UNKNOWN: Result("", "failed", note="illegal instruction"),
        fakes.GARBAGE: Result("", "unsettled", cycles=1.2, spread=0.5),
    }

    def measure(
        blocks: Sequence[Block], *, starts: Sequence[StartValues] = ()
    ) -> Iterator[tuple[int, Result]]:
        for index in reversed(range(len(blocks))):
            yield index, notes.get(blocks[index].code, Result("", "settled", cycles=1.5))

    settings = machine.MachineSettings("lab", mode="loop" if other else "unrolled")
    return machine.MeasuredBlocks("lab", {"machine": 1}, measure, settings)


CASES = (
    Case("llvm-mca", _mca),
    Case("DiffTune", _difftune),
    Case("OSACA", _osaca),
    Case("uiCA", _uica),
    Case("IACA", _iaca),
    Case("Ithemal", _ithemal),
    Case("CQA", _cqa),
    Case("Facile", _facile),
    Case("nanoBench", _nanobench),
    Case("a command", _command),
    Case("a command that is asked line by line", _asked),
    Case("what remembers", _remembering),
    Case("what is asked on workers", _shared_out),
    Case("a mapping", _mapping, crashes=False),
    Case("a machine", _machine),
)
