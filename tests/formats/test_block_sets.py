"""Basic-block sets as CSV: what comes in, what is refused and where, and that a set goes out as it came."""

from __future__ import annotations

import io

import pytest
from django.conf import settings

from inference.formats.block_doubts import Bounds
from inference.formats.block_sets import BlockSetOptions, BlockSetSummary, summarise
from inference.formats.blocks_csv import BrokenRows, Scale, is_block_csv
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, Prediction
from inference.predictors.protocol import Answer, Failure
from inference.storage.block_sets import export, store
from inference.storage.errors import NameInUseError, RefusedError
from tests.heads import behind_head

SKIP = BlockSetOptions(BrokenRows.SKIP)
TITLED = "bb,mca,osaca\n4801d8,1.03,1.0\n4829d8,2.5,-1.0\n0fafc3,3.0,\n"


def seen(text: str, reading: BlockSetOptions = SKIP) -> BlockSetSummary:
    return summarise(io.BytesIO(text.encode()), "blocks.csv", reading)


def places(found: BlockSetSummary) -> list[tuple[int | None, str]]:
    return [(problem.row, problem.column) for problem in found.problems.listed]


@pytest.mark.django_db
def test_answers_failures_and_silence_are_stored_apart() -> None:
    made, _ = store(io.BytesIO(TITLED.encode()), "blocks.csv", "set", BlockSetOptions())
    assert (made.size, [column.name for column in made.columns.all()]) == (3, ["mca", "osaca"])
    rows = Prediction.objects.filter(column__name="osaca").order_by("block__position")
    assert [(row.cycles, row.failure) for row in rows] == [(1.0, ""), (None, "no number")]
    assert [bytes(block.code).hex() for block in made.blocks.all()] == ["4801d8", "4829d8", "0fafc3"]
    exported = "".join(export(made))
    assert behind_head(exported) == TITLED
    again, _ = store(io.BytesIO(exported.encode()), "again.csv", "again", BlockSetOptions())
    assert behind_head("".join(export(again))) == TITLED
    assert is_block_csv(exported.encode())


def test_behind_a_head_of_comments_lines_keep_their_numbers() -> None:
    found = seen('# a "head", of two\n# lines\nbb,mca\n4801d8,x\n')
    assert places(found) == [(4, "mca")]
    found = seen("# lines\nbb,mca,mca\n4801d8,1,1\n")
    assert [row for row, _ in places(found)] == [2, 2]
    assert not seen("# nothing but a head\n").acceptable


@pytest.mark.django_db
def test_assembly_is_assembled_and_its_text_is_kept() -> None:
    text = 'bb,mca\n"add rax, rbx\nimul rax, rcx",3.0\n"add rax, rbx; nop",1.0\n'
    made, found = store(io.BytesIO(text.encode()), "blocks.csv", "set", BlockSetOptions())
    assert found.instructions == 4
    blocks = list(made.blocks.all())
    assert blocks[0].text == "add rax, rbx\nimul rax, rcx"
    assert bytes(blocks[0].code).hex() == "4801d8480fafc1"


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("4801d", "two hexadecimal digits"),
        ("06", "no instruction"),
        ("frobnicate rax", "frobnicate"),
        ("\udcff rax", "UTF-8"),
    ],
)
def test_a_broken_block_is_told_by_row_and_column(cell: str, says: str) -> None:
    text = f"bb,mca\n4801d8,1.0\n{cell},1.0\n4829d8,1.0\n".encode("utf-8", "surrogateescape")
    found = summarise(io.BytesIO(text), "blocks.csv", SKIP)
    assert places(found) == [(3, "bb")]
    assert says in found.problems.listed[0].message
    assert (found.rows, found.left_out) == (2, 1)


@pytest.mark.parametrize("cell", ["fast", "1,5", "nan", "inf", "-2", "1e10", "0x10", "1_0"])
def test_a_broken_number_is_told_by_row_and_column(cell: str) -> None:
    found = seen(f'bb,mca,osaca\n4801d8,1.0,2.0\n4829d8,1.0,"{cell}"\n')
    assert places(found) == [(3, "osaca")]
    assert found.rows == 1


def test_rows_are_counted_by_lines_of_the_file() -> None:
    found = seen('bb,mca\n"add rax, rbx\nadd rax, rcx",1.0\n\n4801d,1.0\n4801d8,1.0,7\n')
    assert places(found) == [(5, "bb"), (6, "")]


def test_stopping_ends_at_the_first_broken_row_and_skipping_tells_all() -> None:
    text = "bb,mca\n" + "4801d8,1.0\nzz,1.0\n" * 3
    assert seen(text, BlockSetOptions(BrokenRows.STOP)).problems.count == 1
    assert not seen(text, BlockSetOptions(BrokenRows.STOP)).acceptable
    skipped = seen(text)
    assert (skipped.problems.count, skipped.rows, skipped.acceptable) == (3, 3, True)


@pytest.mark.django_db
def test_of_a_refused_file_nothing_is_stored() -> None:
    with pytest.raises(RefusedError, match="row 3, column mca"):
        store(io.BytesIO(b"bb,mca\n4801d8,1\n4801d8,x\n"), "b.csv", "set", BlockSetOptions())
    assert not BasicBlockSet.objects.exists()
    made, _ = store(io.BytesIO(b"bb,mca\n4801d8,1\n4801d8,x\n"), "b.csv", "set", SKIP)
    assert (made.size, made.report["left_out"], made.report["problems"][0]["row"]) == (1, 1, 3)
    with pytest.raises(NameInUseError):
        store(io.BytesIO(TITLED.encode()), "b.csv", "set", BlockSetOptions())


@pytest.mark.parametrize(
    ("title", "fault"),
    [
        ("bb,mca,mca", "occurs twice"),
        ("bb,", "is empty"),
        ("bb,=cmd()", "formula"),
        ("bb," + ",".join(f"t{n}" for n in range(101)), "100 are the most"),
    ],
)
def test_titles_that_cannot_be_used_are_refused(title: str, fault: str) -> None:
    found = seen(f"{title}\n4801d8,1,1\n")
    assert found.rows == 0
    assert fault in found.problems.listed[0].message


@pytest.mark.django_db
def test_cycles_of_a_hundred_executions_are_recognised_and_stored_per_execution() -> None:
    text = "4801d8,126.00\n4829d8,100.00\n0fafc3,300.00\n"
    _, found = store(io.BytesIO(text.encode()), "hsw.csv", "bhive", BlockSetOptions())
    assert [column.scale for column in found.columns] == [Scale.HUNDREDTHS]
    assert list(Prediction.objects.order_by("id").values_list("cycles", flat=True)) == [1.26, 1.0, 3.0]
    plain, _ = store(io.BytesIO(text.encode()), "hsw.csv", "told", BlockSetOptions(scales=(Scale.CYCLES,)))
    assert plain.blocks.first().predictions.get().cycles == 126.0


def test_cycles_and_weights_are_told_apart() -> None:
    cycles = "4801d8,1.26\n4829d8,1.00\n0fafc3,3.00\n"
    assert seen(cycles).columns[0].scale is Scale.CYCLES
    shares = "".join(f"4801d8,{0.001 * at:.4f}\n" for at in range(1, 40))
    assert seen(shares).columns[0].scale is Scale.WEIGHT
    named = seen("bb,weight,mca\n4801d8,7,1.0\n")
    assert [column.scale for column in named.columns] == [Scale.WEIGHT, Scale.CYCLES]


@pytest.mark.django_db
def test_weights_go_out_as_they_came_in() -> None:
    text = "bb,weight,mca\n4801d8,0.25,1.0\n4829d8,,2.0\n"
    made, _ = store(io.BytesIO(text.encode()), "w.csv", "weights", BlockSetOptions())
    assert [block.weight for block in made.blocks.all()] == [0.25, None]
    assert behind_head("".join(export(made))) == text


def test_answers_below_what_a_processor_can_do_are_pointed_at() -> None:
    class Ports:
        def predict(self, blocks: list[bytes]) -> list[Answer]:
            return [
                Answer(cycles=2.0) if block[0] == 0x0F else Answer(failure=Failure.CRASH) for block in blocks
            ]

    text = "bb,mca\n4801d84829d8,0.4\n4801d8,0.5\n0fafc3,1.0\n"
    found = seen(text, BlockSetOptions(bounds=Bounds(4.0, Ports())))  # type: ignore[arg-type]
    assert [(one.line, one.least) for one in found.doubts.listed] == [(2, 0.5), (4, 2.0)]
    assert found.doubts.counts == {"mca": 2}


@pytest.mark.parametrize(
    "text",
    [
        "4801d8\n4829d8\n",
        "0x4801d8\n0x4829d8\n",
        "48 01 d8\n48 29 D8\n",
        "0x48 0x01 0xd8\n\\x48\\x29\\xd8\n",
        "\n\n4801d8\n\n4829d8\n\n",
        "bb\n4801d8\n4829d8\n",
        "4801d8,\n4829d8,\n",
        "4801d8\t1.0\n4829d8\t2.0\n",
        "4801d8;1.0\n4829d8;2.0\n",
        "bb\tmca\n4801d8\t1.0\n4829d8\t1.0\n",
        "bb;mca\n4801d8;1.0\n'4829d8';1.0\n".replace("'", '"'),
        "4801d8,1.0\n,\n,3.0\n4829d8,2.0\n",
    ],
)
def test_blocks_are_read_as_people_write_them(text: str) -> None:
    found = seen(text, BlockSetOptions(BrokenRows.STOP))
    assert [row.code.hex() for row in found.first] == ["4801d8", "4829d8"], found.lines()
    assert is_block_csv(text.encode())


def test_rows_without_a_block_are_counted_not_refused() -> None:
    found = seen("bb,mca\n4801d8,1.0\n,2.0\n , \n", BlockSetOptions(BrokenRows.STOP))
    assert (found.rows, found.empty, found.left_out, found.acceptable) == (1, 1, 0, True)
    assert not seen("bb,mca\n,2.0\n").acceptable


@pytest.mark.django_db
def test_a_column_with_a_title_is_never_rescaled_by_itself() -> None:
    text = "bb,hsw\n4801d8,126.00\n4829d8,100.00\n0fafc3,300.00\n"
    _, found = store(io.BytesIO(text.encode()), "hsw.csv", "as it is", BlockSetOptions())
    assert [(one.scale, one.looks) for one in found.columns] == [(Scale.CYCLES, Scale.HUNDREDTHS)]
    assert list(Prediction.objects.order_by("id").values_list("cycles", flat=True)) == [126.0, 100.0, 300.0]
    assert BasicBlockSet.objects.get().report["looks"] == {"hsw": "hundredths"}
    chosen = seen(text, BlockSetOptions(scales=(Scale.HUNDREDTHS,)))
    assert chosen.columns[0].least == 1.0


@pytest.mark.django_db
def test_where_blocks_are_from_goes_out_as_it_came_in() -> None:
    text = 'bb,weight,origin,mca\n4801d8,7.0,"a.out, dot, 0x11c8",1.0\n4829d8,,,2.0\n0fafc3,1.0,\'-x,\n'
    made, _ = store(io.BytesIO(text.encode()), "w.csv", "origins", BlockSetOptions())
    assert [block.origin for block in made.blocks.all()] == ["a.out, dot, 0x11c8", "", "-x"]
    assert [column.name for column in made.columns.all()] == ["mca"]
    assert behind_head("".join(export(made))) == text
    broken = seen(f"bb,Origin\n4801d8,{'x' * 301}\n")
    assert places(broken) == [(2, "origin")]


def test_repeated_blocks_are_counted_with_their_rows() -> None:
    found = seen("bb,mca\n4801d8,1.0\n4829d8,1.0\n4801D8,1.5\n")
    assert (found.repeated.count, found.repeated.lines) == (1, [4])


def test_the_scales_must_be_as_many_as_the_columns() -> None:
    with pytest.raises(ExchangeError, match="2 columns"):
        seen(TITLED, BlockSetOptions(scales=(Scale.CYCLES,)))


@pytest.mark.parametrize("text", ["bb,mca\n", '"4801d8",126.00\n', ",0.5\n", "hex,cycles\n"])
def test_the_format_is_recognised(text: str) -> None:
    assert is_block_csv(text.encode())


@pytest.mark.parametrize("text", ["experiment,cycles\n", "{}", "", "<xml/>", "hello\n", "fadd\n", "48,abc\n"])
def test_other_formats_are_left_alone(text: str) -> None:
    assert not is_block_csv(text.encode())


@pytest.mark.django_db
@pytest.mark.shared
def test_the_published_sets_come_in_whole_and_go_out_as_they_were() -> None:
    path = settings.SHARED / "data" / "blocks" / "bbset_400_hsw.csv"
    with path.open("rb") as file:
        made, found = store(file, path.name, "set", BlockSetOptions())
    assert (made.size, found.problems.count) == (400, 0)
    assert behind_head("".join(export(made))) == path.read_text()
    source = settings.SHARED / "data" / "blocks" / "sqlite.csv"
    with source.open("rb") as file:
        weights = summarise(file, source.name, SKIP)
    assert weights.columns[0].scale is Scale.WEIGHT
    assert (weights.rows, weights.empty, places(weights)) == (8870, 1, [])  # its last row has no block
