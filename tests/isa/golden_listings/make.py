"""Writes the golden listings anew: `python -m tests.isa.golden_listings.make`, where all tools are installed.

Each is what a tool prints of `kernel.c`. `expected.json` has the machine code of each instruction in the
order of the listing, in hexadecimal digits; direct jumps and calls, which may be of another length, are their
mnemonic and the address that they lead to. In what a compiler writes, the bytes that the linker fills in are
zero.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from iced_x86 import Decoder, FlowControl, Formatter, FormatterSyntax, Instruction, Mnemonic

from benchmarks._reader_corpus import sections_of

HERE = Path(__file__).parent
COMPILERS = ("gcc", "clang")
FUNCTIONS = ("saxpy", "weighted", "characters", "cleared")
OPTIONS = ("-O2", "-march=haswell", "-fPIC", "-fno-asynchronous-unwind-tables")
EXPECTED = HERE / "expected.json"
_DIRECT = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH, FlowControl.CALL)
_BYTES = re.compile(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t.*)?")
_ADDRESS = re.compile(r"^[ =>]*(?:[0-9.]+ : *)?(?:0x)?0*([0-9a-f]+)(?: <[^>]*>)?:[ \t]", re.MULTILINE)


def main() -> None:
    """Make all files and what is expected of them."""
    expected: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        for name in ("kernel.c", "driver.c"):
            (work / name).write_text((HERE / name).read_text())
        for compiler in COMPILERS:
            for syntax in ("att", "intel"):
                expected[f"{compiler}-{syntax}.txt"] = _compiled(work, compiler, syntax)
        for name, (text, codes) in _listings(work).items():
            (HERE / f"{name}.txt").write_text(text)
            addresses = [int(found, 16) for found in _ADDRESS.findall(text)]
            expected[f"{name}.txt"] = [codes[one] for one in addresses if one in codes]
    EXPECTED.write_text(json.dumps(expected, indent=0) + "\n")


def _compiled(work: Path, compiler: str, syntax: str) -> list[str]:
    """Let a compiler write assembly, keep it, and assemble it."""
    name = f"{compiler}-{syntax}.txt"
    _told(work, [compiler, *OPTIONS, f"-masm={syntax}", "-S", "-o", "kernel.s", "kernel.c"])
    _told(work, [compiler, "-c", "-o", "kernel.o", "kernel.s"])
    (HERE / name).write_text((work / "kernel.s").read_text())
    found: list[str] = []
    for section in sections_of((work / "kernel.o").read_bytes()).values():
        found += (
            written(one, section.code[one.ip : one.ip + one.len]).partition(" ")[0]
            for one in Decoder(64, section.code)
            if one.mnemonic != Mnemonic.NOP  # which align code
        )
    return found


def _listings(work: Path) -> dict[str, tuple[str, Mapping[int, str]]]:
    """{name: (listing, {address: code})}."""
    _told(
        work,
        ["gcc", *OPTIONS, "-g", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", "kernel.so", "kernel.c"],
    )
    _told(work, ["gcc", *OPTIONS, "-o", "driven", "kernel.c", "driver.c"])
    _told(work, ["perf", "record", "-q", "-e", "cpu-clock", "-o", "perf.data", "./driven"])
    library, driven = _codes(work, "kernel.so"), _codes(work, "driven")
    found = {}
    for syntax in ("att", "intel"):
        flavour = ["-M", syntax]
        for bytes_, bare in (("", []), ("-bare", ["--no-show-raw-insn"])):
            asked = ["objdump", "-d", "-w", "-j", ".text", *flavour, *bare, "kernel.so"]
            found[f"objdump-{syntax}{bytes_}"] = _told(work, asked), library
            names = f"--disassemble-symbols={','.join(FUNCTIONS)}"
            asked = ["llvm-objdump", names, *flavour, *bare, "kernel.so"]
            found[f"llvm-objdump-{syntax}{bytes_}"] = _told(work, asked), library
        for kind, how in (("", "disassemble"), ("-raw", "disassemble /r"), ("-source", "disassemble /s")):
            found[f"gdb-{syntax}{kind}"] = (
                _debugged(work, syntax, [f"{how} {one}" for one in FUNCTIONS]),
                library,
            )
        found[f"gdb-{syntax}-examine"] = _debugged(work, syntax, ["x/12i characters"]), library
        asked = ["objdump", "-S", "-j", ".text", *flavour, "--no-show-raw-insn", "kernel.so"]
        found[f"objdump-{syntax}-source"] = _told(work, asked), library
        asked = ["perf", "annotate", "--stdio", "-i", "perf.data", "-M", syntax]
        found[f"perf-{syntax}"] = "\n".join(_told(work, [*asked, one]) for one in FUNCTIONS[:2]), driven
    return found


def _debugged(work: Path, syntax: str, commands: Sequence[str]) -> str:
    asked = [part for command in commands for part in ("-ex", command)]
    return _told(
        work, ["gdb", "-batch", "-nx", "-ex", f"set disassembly-flavor {syntax}", *asked, "kernel.so"]
    )


def _codes(work: Path, file: str) -> dict[int, str]:
    """{address: code} of all instructions of a file."""
    found = {}
    for line in _told(work, ["objdump", "-d", "-w", file]).splitlines():
        if row := _BYTES.fullmatch(line):
            address, code = int(row[1], 16), bytes.fromhex(row[2])
            found[address] = written(Decoder(64, code, ip=address).decode(), code)
    return found


def written(one: Instruction, code: bytes) -> str:
    """An instruction as it stands in `expected.json`."""
    if one.flow_control in _DIRECT:
        return f"{Formatter(FormatterSyntax.INTEL).format_mnemonic(one)} {one.near_branch_target:x}"
    return code.hex()


def _told(work: Path, command: Sequence[str]) -> str:
    done = subprocess.run(command, cwd=work, capture_output=True, check=True, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
