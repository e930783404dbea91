"""Loops of compiled programs become weighted basic-block sets: by a run, and in the shell."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from inference.isa.blocks import object_file
from inference.isa.targets import AARCH64
from inference.models import BasicBlockSet, Run, Upload
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.block_sets import export
from inference.storage.instruction_sets import store_isa
from tests.compiled import compiled
from tests.work import work_off

pytestmark = pytest.mark.django_db

LOOP = bytes.fromhex("4801d8ffc975f9")  # add rax, rbx; dec ecx; jne
AFTER = bytes.fromhex("c3")
OTHER = bytes.fromhex("480fafc3ffc975f8c3")
PROGRAM = object_file(LOOP + AFTER + bytes(8) + OTHER, "work")


def uploaded(content: bytes, name: str) -> Upload:
    return Upload.objects.create(file_name=name, beginning=content, sha256="0" * 64)


def done(kind: str, **config: Any) -> Run:
    return work_off(lifecycle.submit(kind, config, f"{kind} {Run.objects.count()}"))


def test_a_program_becomes_a_set_of_its_loops_each_of_weight_one() -> None:
    run = done("import-anica", upload=uploaded(PROGRAM, "work.o").pk, name="mine", note="why")
    assert run.state == "done", run.error
    made = BasicBlockSet.objects.get()
    assert (made.name, made.note, made.size, made.run) == ("mine", "why", 2, run)
    assert made.source == "work.o, object file (ELF)"
    rows = [(bytes(row.code), row.weight, row.origin, row.length) for row in made.blocks.all()]
    assert rows == [(LOOP, 1.0, "work.o, work, 0x0", 3), (OTHER[:-1], 1.0, "work.o, work, 0x10", 3)]
    assert not Upload.objects.exists()
    assert 'bb,weight,origin\n4801d8ffc975f9,1.0,"work.o, work, 0x0"\n' in "".join(export(made))


def test_a_run_lists_the_loops_and_an_import_takes_the_chosen_ones() -> None:
    upload = uploaded(PROGRAM, "work.o")
    looked = done("loops", upload=upload.pk)
    assert looked.state == "done", looked.error
    assert not BasicBlockSet.objects.exists()
    listed = looked.result["loops"]
    assert [(one["function"], one["address"], one["code"]) for one in listed] == [
        ("work", 0, LOOP.hex()),
        ("work", 16, OTHER[:-1].hex()),
    ]
    run = done("import-anica", upload=upload.pk, loops=[listed[1]["key"]])
    assert [bytes(row.code) for row in BasicBlockSet.objects.get().blocks.all()] == [OTHER[:-1]], run.error


def test_samples_weigh_the_loops_of_a_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-no-pie")
    samples = "".join(f"  {0x401000:16x} dot+0x{offset:x} (/tmp/a.out)\n" for offset in (24, 24, 29))
    samples += "      7f86dbb239eb strlen+0x7b (/usr/lib/libc.so.6)\n"
    upload, beside = uploaded(program.read_bytes(), "a.out"), uploaded(samples.encode(), "perf.txt")
    looked = done("loops", upload=upload.pk, samples=beside.pk)
    assert looked.state == "done", looked.error
    (loop,) = looked.result["loops"]
    assert (loop["function"], loop["weight"], loop["percent"]) == ("dot", 3.0, 75.0)
    assert any("libc.so.6 (1)" in line for line in looked.result["lines"])
    run = done("import-anica", upload=upload.pk, samples=beside.pk, least=50.0)
    assert run.state == "done", run.error
    assert [row.weight for row in BasicBlockSet.objects.get().blocks.all()] == [3.0]
    assert Upload.objects.get() == beside, "another file of the same recording may follow"


def test_iterations_are_counted_by_branch_records(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-no-pie")
    upload = uploaded(program.read_bytes(), "a.out")
    (loop,) = done("loops", upload=upload.pk, functions="dot").result["loops"]
    begin, closing = (int(part, 16) for part in loop["key"].partition(":")[2].split("-"))
    jumps = f"0x{closing:x}/0x{begin:x}/P/-/-/3  0x{begin:x}/0x{closing:x}/P/-/-/3"
    line = f"  {begin:16x} dot (/tmp/a.out)  {jumps}\n"
    beside = uploaded((line * 7).encode(), "perf.txt")
    run = done("loops", upload=upload.pk, samples=beside.pk, weighing="iterations")
    assert run.state == "done", run.error
    (found,) = run.result["loops"]
    assert found["weight"] == 7.0
    without = uploaded(b"            401000 dot+0x1 (/tmp/a.out)\n", "perf.txt")
    refused = done("loops", upload=upload.pk, samples=without.pk, weighing="iterations")
    assert "no branch records" in refused.error


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"functions": 5}, "functions must be a text"),
        ({"weighing": "guess"}, "weighing must be one of samples, iterations"),
        ({"least": 101}, "least must be a number from 0 to 100"),
        ({"least": 1}, "name the upload that has them"),
        ({"samples": 99}, "samples: there is no uploaded file with the id 99"),
        ({"other": 1}, "no field 'other'"),
    ],
)
def test_a_description_that_cannot_be_followed_is_refused(config: dict[str, Any], says: str) -> None:
    upload = uploaded(PROGRAM, "work.o")
    with pytest.raises(ConfigError, match=says):
        lifecycle.submit("loops", {"upload": upload.pk, **config}, "loops")


def test_what_has_no_loops_of_ours_is_refused_with_its_reason() -> None:
    foreign = bytearray(PROGRAM)
    foreign[18] = 8  # EM_MIPS
    for content, name, says in (
        (bytes(foreign), "arm.o", "this is a MIPS R3000 file"),
        (b"            401000 dot+0x1 (/tmp/a.out)\n", "perf.txt", "has samples without the code"),
        (object_file(AFTER), "straight.o", "there is no loop"),
    ):
        run = done("import-anica", upload=uploaded(content, name).pk)
        assert run.state == "failed"
        assert says in run.error
    assert not BasicBlockSet.objects.exists()


def test_the_loops_of_an_aarch64_program_are_a_set_of_its_instruction_set() -> None:
    store_isa(AARCH64, [], "a test")
    code = bytes.fromhex("0104c13c 421000f1 c1ffff54 c0035fd6")  # ldr q1, [x0], #16; subs; b.ne; ret
    run = done("import-anica", upload=uploaded(object_file(code, "scan", AARCH64), "scan.o").pk)
    assert run.state == "done", run.error
    made = BasicBlockSet.objects.get()
    assert made.isa is not None
    assert (made.isa.name, [bytes(row.code) for row in made.blocks.all()]) == (AARCH64, [code[:-4]])


def test_the_shell_lists_and_imports_the_loops_of_a_program(tmp_path: Path) -> None:
    path = tmp_path / "work.o"
    path.write_bytes(PROGRAM)
    out = io.StringIO()
    call_command("import", str(path), "--list-loops", stdout=out)
    assert "0x10  work" in out.getvalue()
    assert not BasicBlockSet.objects.exists()
    call_command("import", str(path), "--name", "mine", "--functions", "wo*", stdout=out)
    assert BasicBlockSet.objects.get().size == 2
    with pytest.raises(CommandError, match="no function 'other'; it has, for example, work"):
        call_command("import", str(path), "--name", "theirs", "--functions", "other", stdout=out)
