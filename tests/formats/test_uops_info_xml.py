"""uops.info's `instructions.xml`: condensed as it streams in, then read for one microarchitecture."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.formats import uops_info_xml
from inference.formats.import_formats import bytes_to_store, read
from inference.formats.parsing import NO_SCHEME, AnyNames, parse, resolve
from inference.formats.problems import ExchangeError
from inference.formats.uops_info_digest import DIFFERENT_USAGES, NO_PORTS
from inference.formats.uops_info_xml import condense
from inference.isa import x86
from inference.isa.names import SchemeNames
from inference.models import ISA, ExperimentSet, PortMapping
from inference.storage.importing import Preview, commit, preview

GOLDEN = Path(__file__).parent / "golden" / "uops-info-xml.xml"
ADD = "add GPR[64]:RW, GPR[64]:R"


@pytest.fixture(scope="module")
def digest() -> bytes:
    with GOLDEN.open("rb") as file:
        return bytes_to_store(file, GOLDEN.name)


def seen_as(digest: bytes, isa: ISA, wanted: str) -> Preview:
    return preview(digest, GOLDEN.name, isa=isa, microarchitecture=wanted)


def with_xml(inside: str) -> bytes:
    return condense(io.BytesIO(f"<root>{inside}</root>".encode()), "a.xml")


def test_registers_masks_and_implicit_operands_become_scheme_names(default_x86: ISA, digest: bytes) -> None:
    told = {title: name for _, name, title, *_ in json.loads(digest)["instructions"]}
    assert len(told) == 31  # one of the 32 was measured nowhere
    assert told["ADD_LOCK (M64, R64)"] == "lock add MEM[64]:RW, GPR[64]:R"
    assert told["ADD (R8h, R8l)"] == "add GPR[8h]:RW, GPR[8]:R"
    assert told["SHL (R64, 1)"] == "shl GPR[64]:RW, 0x1"
    assert told["ROL_R0 (R8l, I8)"] == "rol GPR[8a]:RW, IMM[8]:R"
    assert told["MUL (R8l)"] == "mul GPR[8]:R"
    assert told["STOSB"] == "stosb MEM[8,rdi]:W, al:R"
    assert told["LEA_B_IS_D8 (R64)"] == "lea GPR[64]:W, ADDR[B+S*I+D8]"
    assert told["VGATHERDPS (XMM, M32, XMM)"] == "vgatherdps XMM:RW, MEM[32,XMM]:R, XMM:RW"
    assert told["VADDPS_Z (ZMM, K, ZMM, M32_1to16)"] == "vaddps ZMM{k}{z}:W, ZMM:R, MEM[32]{1to16}:R"
    assert told["VADDPS_ER (ZMM, ZMM, ZMM)"] == "vaddps ZMM:W, ZMM:R, ZMM:R, {er}"
    assert told["VADDPS_EVEX (XMM, XMM, XMM)"] == "{evex} vaddps XMM:W, XMM:R, XMM:R"
    assert told["VPCMPEQD (K, K, ZMM, ZMM)"] == "vpcmpeqd K{k}:W, ZMM:R, ZMM:R"


@pytest.fixture(scope="module")
def every_scheme() -> SchemeNames:
    return SchemeNames(scheme.text for scheme in x86.schemes())


def test_the_ports_of_one_microarchitecture_become_a_mapping_and_the_rest_is_listed(
    digest: bytes, every_scheme: SchemeNames
) -> None:
    parsed = resolve(read(digest, GOLDEN.name, part="SKL"), every_scheme)
    assert parsed.lines() == []
    assert (parsed.format.key, parsed.facts["name"]) == ("uops-info-xml", "uops.info, Skylake")
    assert parsed.mapping.ports == ("0", "1", "2", "3", "4", "5", "6", "7")
    usage = parsed.mapping.usage
    anywhere = 0b1100011  # ports 0, 1, 5 and 6
    assert usage[ADD] == ((anywhere, 1),)
    assert (anywhere, 2) in usage["lock add MEM[64]:RW, GPR[64]:R"]
    assert usage["repne cmpsb MEM[8,rsi]:R, MEM[8,rdi]:R"] == ((0b1100, 2), (anywhere, 3))
    assert usage["nop"] == ()  # measured, and no µop was executed
    assert usage["xchg GPR[64]:RW, GPR[64]:RW"] == ((anywhere, 3),)  # measured twice, alike
    assert usage["blendvps XMM:RW, XMM:R"] == ((0b100011, 1),)
    assert usage["fadd MEM[64]:R"] == ((0b1100, 1), (0b100000, 1))
    assert parsed.left_out == {
        "BSWAP (R64)": DIFFERENT_USAGES,
        "MOVSB_REPE": NO_PORTS,
        "MOV_8B (R64, R64)": "mov GPR[64]:W, GPR[64]:R has the µops of MOV_89 (R64, R64)",
        "frobnicate GPR[64]:RW, GPR[64]:R": f"{NO_SCHEME}; the nearest is "
        + every_scheme.nearest("frobnicate GPR[64]:RW, GPR[64]:R")[0],
    }
    assert len(usage) + len(parsed.left_out) == parsed.facts["instructions"] == 26


def test_masked_forms_are_matched(digest: bytes, every_scheme: SchemeNames) -> None:
    parsed = resolve(read(digest, GOLDEN.name, part="ICL"), every_scheme)
    assert parsed.left_out == {}
    assert parsed.mapping.usage["vaddps ZMM{k}:RW, ZMM:R, ZMM:R"] == ((0b100001, 1),)


def test_measured_times_become_a_set_with_iacas_answers_beside(default_x86: ISA, digest: bytes) -> None:
    seen = seen_as(digest, default_x86, "SKL measured")
    assert (seen.parsed.lines(), seen.own_name) == ([], "uops.info, Skylake, measured")
    found = {str(each.experiment): each for each in seen.parsed.measured}
    add = found[ADD]
    assert (add.cycles, add.note, add.counters) == (0.25, "latency 1", {"uops": 1.0})
    assert add.annotations == {"IACA 2.3": 0.25, "IACA 3.0": 0.27}
    assert found["add MEM[64]:RW, GPR[64]:R"].note == "latency 5 to 6"
    assert any(name.startswith("frobnicate") for name in seen.parsed.left_out)
    assert commit(seen, "times").rows == len(found)


def test_a_microarchitecture_has_to_be_chosen(default_x86: ISA, digest: bytes) -> None:
    parsed = preview(digest, GOLDEN.name).parsed
    assert "has port usages of 3 microarchitectures; choose one" in parsed.lines()[0]
    assert parsed.facts["microarchitectures"][:3] == ["SKL", "ICL", "ZEN+"]
    assert "ICL measured" in parsed.facts["microarchitectures"]


def test_an_instruction_set_founded_on_the_file_has_its_extensions(db: None, digest: bytes) -> None:
    commit(preview(digest, GOLDEN.name, new_isa_name="toy", microarchitecture="ICL"), "reference")
    row = ISA.objects.get(name="toy").schemes.get(text="vaddps ZMM:W, ZMM:R, ZMM:R, {er}")
    assert (row.extension, row.category) == ("AVX512F_512", "AVX512")


def test_the_shell_imports_several_at_once_or_none(default_x86: ISA, tmp_path: Path) -> None:
    packed = tmp_path / "instructions.xml.gz"
    packed.write_bytes(gzip.compress(GOLDEN.read_bytes()))
    call_command("import", packed, "--microarchitecture", "SKL", "ZEN+", "SKL measured", verbosity=0)
    assert sorted(PortMapping.objects.values_list("name", flat=True)) == [
        "uops.info, Skylake",
        "uops.info, Zen+",
    ]
    assert ExperimentSet.objects.get().name == "uops.info, Skylake, measured"
    with pytest.raises(CommandError, match="there is no microarchitecture 'P4'"):
        call_command("import", packed, "--microarchitecture", "ICL", "P4")
    assert PortMapping.objects.count() == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<root><instruction></root>", "line 1, column 21: this is not well-formed XML"),
        (b"<root><instruction string='A'/></root>", "is XML with 1 instructions, none of them with an arch"),
        (b'<!DOCTYPE r [<!ENTITY a "aa">]><r>&a;</r>', "has a DTD or entities"),
        (b'<!DOCTYPE r SYSTEM "file:///etc/passwd"><r/>', "has a DTD or entities"),
        (b"\x1f\x8bnothing", "cannot be decompressed"),
        (b"<root a='" + b"x" * (2 << 20), "an element has more than 1 MiB"),
    ],
)
def test_what_is_no_table_is_refused_with_the_reason(content: bytes, told: str) -> None:
    with pytest.raises(ExchangeError, match="a") as refusal:
        condense(io.BytesIO(content), "a.xml")
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("<instruction>" + "<operand/>" * 65, "a.xml, instruction 1 has more than 64 elements <operand>"),
        (
            f"<instruction>{'<architecture/>' * 101}",
            "instruction 1 has more than 100 elements <architecture>",
        ),
        (
            f"<instruction/><instruction><architecture name='X'>{'<measurement/>' * 1001}",
            "instruction 2 has more than 1,000 elements <measurement>",
        ),
        (f"<instruction><operand>{'AX,' * 90_000}", "instruction 1 has more than 256 KiB of operands"),
        (f"<instruction string='{'A' * 300_000}'>", "instruction 1 has more than 256 KiB of operands"),
        ("<a><b/>" * 33, "<b> is inside of 32 other elements"),
        ("".join(f"<a{number}/>" for number in range(2001)), "more than 2,000 different names"),
        ("".join(f"<a b{number}=''/>" for number in range(2001)), "more than 2,000 different names"),
    ],
)
def test_what_would_have_to_be_kept_of_one_instruction_has_an_end(content: str, told: str) -> None:
    with pytest.raises(ExchangeError) as refusal:
        with_xml(content)
    assert told in str(refusal.value)


def test_so_has_what_is_kept_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uops_info_xml, "SIZE_LIMIT", 1 << 20)
    measured = '<architecture name="X"><measurement ports="1*p0"/></architecture>'
    with pytest.raises(ExchangeError, match=r"a\.xml: what matters of it has more than 1 MiB"):
        with_xml(f'<instruction asm="NOP" string="NOP">{measured}</instruction>' * 30_000)


def test_a_wrong_port_usage_is_told_with_its_row() -> None:
    measured = '<architecture name="X"><measurement ports="p0156"/></architecture>'
    found = parse(with_xml(f'<instruction asm="NOP" string="NOP">{measured}</instruction>'), "a", AnyNames())
    assert found.lines()[0].startswith("a, row 1, column X: 'p0156' is no port usage")


class Stream(io.RawIOBase):
    """A file that is never there as a whole: so many instructions, made as they are read.

    `blocks` are the pieces of memory that Python has in use whenever some are read.
    """

    def __init__(self, instructions: int) -> None:
        self._parts = self._made(instructions)
        self._ahead = b""
        self.blocks: list[int] = []

    def _made(self, instructions: int) -> Iterator[bytes]:
        yield b"<root>"
        measured = '<architecture name="SKL"><measurement ports="1*p5" TP_loop="1.0"/></architecture>'
        for number in range(instructions):
            text = f'<instruction asm="I{number}" string="I{number} (R64)">{measured}</instruction>'
            yield text.encode()
        yield b"</root>"

    def read(self, size: int = -1) -> bytes:
        self.blocks.append(sys.getallocatedblocks())
        parts = [self._ahead]
        length = len(self._ahead)
        while length < size and (part := next(self._parts, b"")):
            parts.append(part)
            length += len(part)
        whole = b"".join(parts)
        given, self._ahead = whole[:size], whole[size:]
        if size == 2:  # looked at to see whether it is compressed; see `seek`
            self._ahead = whole
        return given

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset


def test_a_hundred_thousand_instructions_stream_through_bounded_memory() -> None:
    stream = Stream(100_000)
    digest = condense(stream, "large.xml")
    assert digest.count(b"\n[") == 100_000
    assert len(stream.blocks) > 200
    assert max(stream.blocks[20:]) - stream.blocks[10] < 20_000  # far less than one piece per instruction
