"""Whatever is uploaded: a parser answers with values or with problems, never with an exception."""

import json
import math
from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, Measured, Unit
from inference.core.mapping import PortMapping, uops_of
from inference.core.metrics import convert
from inference.core.resources import ResourceMapping
from inference.formats.experiment_csv import write_experiment_csv
from inference.formats.import_formats import name_list_of
from inference.formats.mapping_json import write_mapping_json, write_resource_json
from inference.formats.parsing import AnyNames, Parsed, parse
from inference.formats.pmevo_json import write_mapping3
from inference.formats.problems import MAX_LISTED, ExchangeError
from inference.formats.quoting import csv_text
from inference.formats.rejects_json import rejection_of
from inference.isa.names import SchemeNames
from tests.drawn import examples

GOLDEN = Path(__file__).parents[1] / "formats" / "golden"
FUZZ = examples(60)
ROUND_TRIP = examples(30)

KEYS = [
    *["kind", "arch", "ports", "exps", "iseq", "result", "cycles", "other_results", "id", "assignment"],
    *["format", "version", "usage", "r_max", "count", "a"],
    *["resources", "loads", "instr_to_class", "class_to_resources", "resource_use"],
    *["peakipc", "data", "portusage", "itp", "numuops", "num_uops", "measurements"],
]
cells = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "a", "2*a; b", "0*a", ";", '"', "nan", "-1", "1e999", "1.5", "ipc", "\0", "\ud7ff", ","]
    ),
)
tables = st.lists(st.lists(cells, max_size=6), max_size=8)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(
            ["ExperimentList", "Mapping3", "pmweb-port-mapping", "pmweb-resource-mapping", 1, [[0]], ["a"]]
        ),
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)
PRINTABLE = "".join(sign for sign in map(chr, range(33, 256)) if sign.isprintable() and sign not in ";*")
names = st.text(PRINTABLE, min_size=1, max_size=12)
schemes = st.one_of(names, st.builds("{} {}, {}".format, names, names, names))


def is_one_or_the_other(parsed: Parsed) -> None:
    assert len(parsed.problems) == min(parsed.problem_count, MAX_LISTED)
    assert all(line.startswith("upload") for line in parsed.lines())
    if parsed.problem_count:
        assert parsed.measured == ()
        assert parsed.mapping is None
        assert parsed.resources is None
        assert not parsed.latencies
    else:
        made = (parsed.measured, parsed.latencies)
        brought = [*map(bool, made), parsed.mapping is not None, parsed.resources is not None]
        assert brought.count(True) == 1
        assert all(math.isfinite(result.cycles) and result.cycles > 0 for result in parsed.measured)
    json.dumps(dict(parsed.facts)).encode()


@FUZZ
@given(st.binary(max_size=300))
def test_any_bytes_are_values_or_problems(content: bytes) -> None:
    is_one_or_the_other(parse(content, "upload", AnyNames()))


@FUZZ
@given(tables, st.sampled_from(list(Unit)), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_any_table_below_any_header_is_values_or_problems(
    rows: list[list[str]], unit: Unit, separator: str, good_header: bool
) -> None:
    lines = [separator.join(row) for row in rows]
    header = ["experiment,cycles,unit"] if good_header else []
    content = "\n".join([*header, *lines]).encode("utf-8", "surrogatepass")
    is_one_or_the_other(parse(content, "upload.csv", AnyNames(), unit))


@FUZZ
@given(json_values)
def test_any_json_is_values_or_problems(value: object) -> None:
    is_one_or_the_other(parse(json.dumps(value).encode(), "upload.json", AnyNames()))


@FUZZ
@given(st.sampled_from(["ExperimentList", "Mapping3"]), json_values, json_values)
def test_any_content_of_a_pmevo_document_is_values_or_problems(
    kind: str, first: object, second: object
) -> None:
    experiment = {"iseq": ["a"], "result": {"cycles": 1}, "other_results": first}
    document = {
        "kind": kind,
        "arch": second,
        "exps": [experiment, {"iseq": first, "result": second}, second],
        "assignment": {"a": first, "b": [second]},
    }
    is_one_or_the_other(parse(json.dumps(document).encode(), "upload.json", AnyNames()))


@FUZZ
@given(json_values, json_values, json_values)
def test_any_content_of_explained_results_is_values_or_problems(
    ports: object, uops: object, number: object
) -> None:
    entry = {"portusage": uops, "itp": number, "numuops": number}
    document = {
        "peakipc": 5,
        "ports": [0, 1],
        "data": {"a": entry, "b": {"portusage": [[ports, 1]]}, "c": uops},
    }
    is_one_or_the_other(parse(json.dumps(document).encode(), "upload.json", AnyNames()))
    is_one_or_the_other(
        parse(json.dumps({**document, "peakipc": number}).encode(), "upload.json", AnyNames())
    )


@FUZZ
@given(json_values, json_values)
def test_any_content_of_a_table_of_microarchitectures_is_values_or_problems(
    entry: object, usage: object
) -> None:
    document = {
        "a": [{"measurements": {"SKL": "1*p01"}}],
        "b": [{"measurements": {"SKL": usage}}],
        "c": entry,
    }
    is_one_or_the_other(parse(json.dumps(document).encode(), "upload.json", AnyNames()))


@FUZZ
@given(st.text(max_size=30))
def test_any_sentence_on_a_rejected_scheme_is_understood_or_repeated(why: str) -> None:
    for text in (why, f"number of surplus uops (1.5):\n [{why}]", f"['a', {why!r}]"):
        assert rejection_of("a", text, {why: "b", "c": "c"}).text is not None


@FUZZ
@given(json_values, json_values, json_values)
def test_any_content_of_an_own_mapping_is_values_or_problems(
    ports: object, r_max: object, uops: object
) -> None:
    document = {
        "format": "pmweb-port-mapping",
        "version": 1,
        "ports": ports,
        "r_max": r_max,
        "usage": {"a": uops, "b": [{"ports": ports, "count": r_max}]},
    }
    is_one_or_the_other(parse(json.dumps(document).encode(), "upload.json", AnyNames()))


@FUZZ
@given(json_values, json_values, json_values)
def test_any_content_of_an_own_resource_mapping_is_values_or_problems(
    resources: object, loads: object, cycles: object
) -> None:
    document = {
        "format": "pmweb-resource-mapping",
        "version": 1,
        "resources": ["a", resources] if isinstance(resources, str) else resources,
        "loads": {"a": loads, "b": {"a": cycles}},
    }
    is_one_or_the_other(parse(json.dumps(document).encode(), "upload.json", AnyNames()))


@FUZZ
@given(json_values, json_values, json_values)
def test_any_content_of_a_palmed_document_is_values_or_problems(
    instructions: object, uses: object, cycles: object
) -> None:
    classes = {"a": {"resource_use": [[1.0, "a"], uses]}, "b": {"resource_use": [[cycles, "a"]]}, "c": uses}
    for told in (instructions, {"x": "a", "y": instructions}):
        document = {"instr_to_class": told, "class_to_resources": classes}
        is_one_or_the_other(parse(json.dumps(document).encode(), "upload.json", AnyNames()))


@FUZZ
@given(json_values | st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=5), max_size=2)))
def test_any_name_list_is_names_or_an_error(value: object) -> None:
    with suppress(ExchangeError):
        names = name_list_of(json.dumps(value).encode(), "upload.json")
        assert all(isinstance(name, str) for pair in names.items() for name in pair)


measurements = st.lists(
    st.builds(
        Measured,
        experiment=st.dictionaries(schemes, st.integers(1, 9), min_size=1, max_size=4).map(Experiment.of),
        cycles=st.floats(1e-3, 1e5),
        note=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
        annotations=st.dictionaries(names, st.floats(0, 1e5), max_size=2),
    ),
    min_size=1,
    max_size=5,
)


@ROUND_TRIP
@given(measurements)
def test_experiments_written_as_csv_read_back_the_same(measured: list[Measured]) -> None:
    parsed = parse(write_experiment_csv(measured).encode(), "upload.csv", AnyNames())
    assert parsed.lines() == []
    assert list(parsed.measured) == measured


@ROUND_TRIP
@given(measurements, st.sampled_from([Unit.CPI, Unit.IPC]))
def test_experiments_written_in_another_unit_mean_the_same_cycles(
    measured: list[Measured], unit: Unit
) -> None:
    cycles, lengths = ([r.cycles for r in measured], [r.experiment.length for r in measured])
    numbers = zip(measured, convert(cycles, lengths, unit).tolist(), strict=True)
    rows = [[str(result.experiment), number, unit.value] for result, number in numbers]
    parsed = parse(csv_text(("experiment", "cycles", "unit"), rows).encode(), "upload.csv", AnyNames())
    assert [result.experiment for result in parsed.measured] == [result.experiment for result in measured]
    for back, result in zip(parsed.measured, measured, strict=True):
        assert math.isclose(back.cycles, result.cycles, rel_tol=1e-12)


@st.composite
def mappings(draw: st.DrawFn) -> PortMapping:
    ports = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    uop = st.tuples(st.integers(1, 2 ** len(ports) - 1), st.integers(1, 3))
    usage = draw(st.dictionaries(schemes, st.lists(uop, max_size=3).map(uops_of), min_size=1, max_size=5))
    rate = st.none() | st.floats(0.5, 8)
    slots = draw(st.dictionaries(st.sampled_from(sorted(usage)), st.integers(1, 9)))
    return PortMapping(tuple(ports), usage, draw(rate), draw(rate), slots)


@ROUND_TRIP
@given(mappings())
def test_a_mapping_written_as_own_json_reads_back_the_same(mapping: PortMapping) -> None:
    document = write_mapping_json(mapping, name="m", isa="x86-64")
    parsed = parse(json.dumps(document).encode(), "upload.json", AnyNames())
    assert parsed.mapping == mapping


@ROUND_TRIP
@given(mappings())
def test_a_mapping_written_as_mapping3_reads_back_the_same_but_for_its_limits(mapping: PortMapping) -> None:
    parsed = parse(json.dumps(write_mapping3("m", mapping)).encode(), "upload.json", AnyNames())
    assert parsed.mapping == PortMapping(mapping.ports, mapping.usage)


@st.composite
def resource_mappings(draw: st.DrawFn) -> ResourceMapping:
    resources = draw(st.lists(names, max_size=5, unique=True))
    row = st.just({})
    if resources:
        row = st.dictionaries(st.integers(0, len(resources) - 1), st.floats(1e-6, 1e6))
    loads = row.map(lambda each: tuple(sorted(each.items())))
    return ResourceMapping(tuple(resources), draw(st.dictionaries(schemes, loads, min_size=1, max_size=5)))


@ROUND_TRIP
@given(resource_mappings())
def test_a_resource_mapping_written_as_own_json_reads_back_the_same(mapping: ResourceMapping) -> None:
    document = write_resource_json(mapping, name="m", isa="x86-64")
    parsed = parse(json.dumps(document).encode(), "upload.json", AnyNames())
    assert parsed.resources == mapping


@FUZZ
@given(
    st.sampled_from(sorted(GOLDEN.iterdir())),
    st.integers(0, 2000),
    st.integers(0, 40),
    st.binary(max_size=6) | st.sampled_from([b'"', b"{", b"]", b"NaN", b"1e999", b"-", b"\0", b"\xff\xfe"]),
)
def test_a_damaged_file_is_values_or_problems(path: Path, start: int, length: int, damage: bytes) -> None:
    content = path.read_bytes()
    start %= len(content)
    is_one_or_the_other(parse(content[:start] + damage + content[start + length :], "upload", AnyNames()))


@FUZZ
@given(
    st.lists(
        st.text(max_size=30) | st.sampled_from(["ADD_((REG", "add RW:GPR:64, ", "add [", ":,:"]), min_size=1
    )
)
def test_any_names_are_known_or_listed_as_unknown(words: list[str]) -> None:
    names = SchemeNames(["add GPR[64]:RW, GPR[64]:R", "vaddpd XMM:W, XMM:R, MEM[128]:R", "nop"])
    experiments = [{"iseq": [word, "nop"], "result": {"cycles": 1}} for word in words]
    content = json.dumps({"kind": "ExperimentList", "exps": experiments}).encode()
    is_one_or_the_other(parse(content, "upload.json", names))
