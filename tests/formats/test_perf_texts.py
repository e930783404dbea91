"""Texts of perf: which samples they have, and where these are in a program."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.perf_places import PlacedSamples, place_samples
from inference.formats.perf_texts import PerfSamples, read_samples
from inference.formats.problems import ExchangeError
from inference.isa.blocks import object_file
from inference.isa.code.binaries.program import CompiledProgram, read_program
from tests.compiled import compiled

ONE_LINE = """\
               a 13866  1651.673199:     200000 cycles:u:      7f86dbb239eb tunables_init+0x7b (/lib/ld.so)
               a 13866  1651.673795:     200000 cycles:u:      55cb66be521c count+0x1c (/tmp/a.out)
               a 13866  1651.673796:     200000 cycles:u:      55cb66be521c count+0x1c (/tmp/a.out)
               a 13866  1651.673797:     200000 cycles:u:      55cb66be51d0 [unknown] (/tmp/a.out)
"""
CHAINS = """\
a 138  1650.219488: PERF_RECORD_MMAP2 138/138: [0x55b349cdf000(0x1000) @ 0x1000 fe:00 2 3]: r-xp /tmp/a.out
a 13858  1650.219632:     200000 cycles:u:
\t           148c8 get_common_indices.constprop.0+0xc8 (/usr/lib/ld.so)
\t               0 [unknown] ([unknown])

a 13858  1650.225668:     200000 cycles:u:
\t            121c count+0x1c (/tmp/a.out)
\t            1098 main+0x48 (/tmp/a.out)

"""
FIELDS = """\
     7f86dbb239eb tunables_init+0x7b (/lib/ld.so)
     55cb66be521c count+0x1c (/tmp/a.out)
     55cb66be5220 std::vector<int, std::allocator<int> >::push_back(int&&)+0x20 (/tmp/a (1).out)
"""
ANNOTATED = """\
 Percent |\tSource code & Disassembly of a.out for cycles:u (52 samples, percent: local period)
--------------------------------------------------------------------------------------------------
         :
         : 3    Disassembly of section .text:
         :
         : 5    0000000000001200 <count>:
         : 6    count():
    0.00 :   1200:   movzbl (%rdi),%eax
    3.85 :   1212:   sete   %al
   96.15 :   1215:   add    $0x1,%rdi
"""


def read(text: str) -> PerfSamples:
    return read_samples(text.encode(), "perf.txt")


def found(samples: PerfSamples) -> list[tuple[int | None, str, int | None, str, float]]:
    (event,) = samples.events
    return [(one.address, one.symbol, one.offset, one.file, n) for one, n in samples.counts[event].items()]


def test_a_line_for_each_sample_is_read() -> None:
    samples = read(ONE_LINE)
    assert samples.events == ["cycles:u"]
    assert found(samples) == [
        (0x7F86DBB239EB, "tunables_init", 0x7B, "/lib/ld.so", 1),
        (0x55CB66BE521C, "count", 0x1C, "/tmp/a.out", 2),
        (0x55CB66BE51D0, "", None, "/tmp/a.out", 1),
    ]
    assert samples.unread == 0


def test_of_call_chains_the_first_counts() -> None:
    samples = read(CHAINS)
    assert [(address, symbol) for address, symbol, *_ in found(samples)] == [
        (0x148C8, "get_common_indices.constprop.0"),
        (0x121C, "count"),
    ]
    (mapped,) = samples.regions
    assert (mapped.begin, mapped.end, mapped.offset, mapped.file) == (
        0x55B349CDF000,
        0x55B349CE0000,
        0x1000,
        "/tmp/a.out",
    )


def test_addresses_with_symbols_and_files_alone_are_read() -> None:
    rows = found(read(FIELDS))
    assert rows[1] == (0x55CB66BE521C, "count", 0x1C, "/tmp/a.out", 1)
    assert rows[2][1:4] == (
        "std::vector<int, std::allocator<int> >::push_back(int&&)",
        0x20,
        "/tmp/a (1).out",
    )


def test_annotations_are_samples_of_addresses_of_the_file() -> None:
    assert found(read(ANNOTATED)) == [
        (0x1212, "count", None, "a.out", pytest.approx(2.002)),
        (0x1215, "count", None, "a.out", pytest.approx(49.998)),
    ]
    counted = ANNOTATED.replace("Percent", "Samples").replace("96.15", "   50").replace(" 3.85", "    2")
    assert [row[4] for row in found(read(counted))] == [2.0, 50.0]
    shares = read(ANNOTATED.replace("local period", "global period"))
    assert shares.percent


def test_of_several_events_that_with_the_most_samples_is_taken() -> None:
    text = ONE_LINE.replace("cycles:u", "instructions:u", 1)
    assert read(text).events == ["cycles:u", "instructions:u"]


@pytest.mark.parametrize("text", ["", "hello\n", "bb,mca\n4801d8,1.0\n", "add rax, rbx\n"])
def test_what_is_no_text_of_perf_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ExchangeError, match="`perf script` or `perf annotate --stdio` prints is expected"):
        read(text)


def test_the_texts_are_recognised_by_their_beginnings() -> None:
    for text in (ONE_LINE, CHAINS, FIELDS, "     55cb66be521c\n     55cb66be5220\n"):
        assert block_file_of(text.encode()) is BlockFileSort.SAMPLES, text
    assert block_file_of(ANNOTATED.encode()) is BlockFileSort.LISTING
    assert block_file_of(b"\n/tmp/a:     file format elf64-x86-64\n\n") is BlockFileSort.LISTING
    assert block_file_of(object_file(b"\xc3")) is BlockFileSort.PROGRAM


@pytest.mark.parametrize(
    "line",
    [
        " " * 40_000,
        "a" * 40_000,
        "a " * 20_000,
        ": " * 20_000,
        "(" * 20_000 + ")" * 20_000,
        "1 " * 20_000 + ":",
        " 55cb66be521c x+0x1 (/a) " + "0x1/0x2" * 5000 + "/P/-/-/0",
        "0 : " * 10_000,
        "+0x" * 10_000,
        "PERF_RECORD_MMAP2 1/1: [" * 1000,
    ],
)
def test_no_line_takes_longer_than_it_is_long(line: str) -> None:
    began = time.process_time()
    read(ONE_LINE + f"{line}\n" * 20)
    read(ANNOTATED + f"{line}\n" * 20)
    assert time.process_time() - began < 5


@pytest.fixture
def program(tmp_path: Path) -> CompiledProgram:
    return read_program(compiled(tmp_path, "-pie", "-fPIE").read_bytes())


def at(program: CompiledProgram, text: str, wanted: str = "") -> PlacedSamples:
    return place_samples(read(text), program, "a.out", wanted)


def test_symbols_place_samples_wherever_the_program_was_loaded(program: CompiledProgram) -> None:
    (count,) = program.addresses_of("count")
    where = at(program, ONE_LINE.replace("55cb66be51d0 [unknown]", "55cb66be5204 count+0x4"))
    assert where.counts == {count + 0x1C: 2, count + 4: 1}
    assert where.elsewhere == {"ld.so": 1}
    assert not where.lost
    assert where.total == 4


def test_samples_without_a_symbol_are_moved_like_the_others(program: CompiledProgram) -> None:
    (count,) = program.addresses_of("count")
    moved = 0x55CB66BE521C - 0x1C - count
    where = at(program, ONE_LINE.replace("55cb66be51d0", f"{moved + count + 4:x}"))
    assert where.counts == {count + 0x1C: 2, count + 4: 1}


def test_what_was_mapped_places_bare_addresses(program: CompiledProgram) -> None:
    (count,) = program.addresses_of("count")
    segment = next(one for one in program.headers.segments if one.executable)
    base = 0x55B349CDF000
    maps = (
        f"a 7 1.0: PERF_RECORD_MMAP2 7/7: [{base:#x}(0x1000) @ {segment.offset:#x} 0:0 2 3]: r-xp a.out\n"
        f"a 8 1.0: PERF_RECORD_MMAP2 8/8: [{base:#x}(0x1000) @ 0 fe:00 2 3]: r-xp /lib/other.so\n"
    )
    sample = f"               a 7/7  1.1:  cycles:u:  {base + count - segment.address + 4:17x}\n"
    assert at(program, maps + sample).counts == {count + 4: 1}


def test_addresses_of_the_processor_are_file_addresses_where_nothing_moves(tmp_path: Path) -> None:
    program = read_program(compiled(tmp_path, "-no-pie").read_bytes())
    (count,) = program.addresses_of("count")
    assert at(program, f"{count + 4:17x}\n").counts == {count + 4: 1}


def test_what_has_no_place_is_counted_with_the_reason(program: CompiledProgram) -> None:
    where = at(
        program, FIELDS.replace("/tmp/a (1).out", "/tmp/a.out") + "     55cb66be5220 gone+0x1 (/tmp/a.out)\n"
    )
    assert sum(where.lost.values()) + sum(where.counts.values()) == 3
    with pytest.raises(ExchangeError, match="print symbols with offsets"):
        at(program, "     7f86dbb239eb\n     7f86dbb239ec\n")


def test_the_program_is_known_by_its_name_or_its_symbols(program: CompiledProgram) -> None:
    renamed = ONE_LINE.replace("/tmp/a.out", "/opt/tool")
    assert at(program, renamed).file == "tool"
    assert at(program, renamed, "tool").file == "tool"
    with pytest.raises(ExchangeError, match=r"no sample is in 'other'; they are in: tool, ld\.so"):
        at(program, renamed, "other")
    with pytest.raises(ExchangeError, match=r"they are in: ld\.so"):
        at(program, ONE_LINE.splitlines()[0] + "\n")


def test_annotations_place_themselves(program: CompiledProgram) -> None:
    (count,) = program.addresses_of("count")
    text = ANNOTATED.replace("1212", f"{count + 4:x}").replace("1215", "ffff00")
    where = at(program, text)
    assert where.counts == {count + 4: pytest.approx(2.002)}
    assert where.lost == {"outside of its code": pytest.approx(49.998)}
