"""JSON from outside is read by one function, which bounds values, keys and depth."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.agent.protocol import MAX_VALUES, ProtocolError, decode
from inference.agent.reading import has_more_values, read_json
from inference.formats.archived_parts import StrictJsonError, load
from tests.drawn import examples
from tests.syntax import trees_with

ROOT = Path(__file__).resolve().parents[2]
READERS = {"json.loads", "json.load", "json.JSONDecoder", "model_validate_json", "validate_json"}
OWN = {
    "inference/agent/reading.py": "the one function",
    "inference/formats/source.py": "uploads: lists and objects are counted, repeated keys are problems",
    "inference/web/paging.py": "a cursor of at most 2,000 characters",
    **dict.fromkeys(
        (
            "inference/predictors/samples.py",
            "inference/core/checkpoint.py",
            "inference/formats/import_formats.py",
        ),
        "written by this program, kept in its database",
    ),
    **dict.fromkeys(
        (
            "anica_app/features/campaigns/parts_api.py",
            "anica_app/storage/domains.py",
            "anica_app/features/families/job.py",
            "inference/features/judging/comparing/latencies.py",
            "inference/features/running/runs/record.py",
            "inference/runs/journal.py",
            "inference/storage/latencies.py",
            "inference/storage/rows.py",
            "inference/storage/streaming.py",
        ),
        "columns of the database, checked when they were stored",
    ),
    **dict.fromkeys(
        (
            "inference/predictors/llvm/core_tables.py",
            "inference/predictors/llvm/model.py",
            "inference/predictors/osaca/predictor.py",
            "inference/predictors/osaca/worker.py",
            "inference/predictors/panel.py",
            "inference/predictors/uica/analyser.py",
            "inference/agent/child.py",
            "inference/agent/process.py",
            "inference/containment/client.py",
            "inference/isa/llvm_tblgen.py",
            "inference/sandbox/starter.py",
        ),
        "programs that this one has started, with a limit of their output",
    ),
    **dict.fromkeys(
        (
            "inference/features/asking/block_files/query.py",
            "inference/features/library/uploads/recognition.py",
            "inference/web/code_reading.py",
            "inference/web/reading_process.py",
        ),
        "between the web process and the processes that read files for it",
    ),
    "inference/figures/plotly_json.py": "what plotly makes of figures of this program",
    **dict.fromkeys(
        (
            "inference/core/events.py",
            "inference/formats/archived_parts.py",
        ),
        "a value that was read, written again",
    ),
    "inference/web/api/client_frame.py": "the client: answers of the site",
    "inference/isa/encodings.py": "the program's own document of schemes, to write encodings into it",
    "pmweb/launcher/instance.py": "a file of this program",
    "pmweb/launcher/address.py": "at most 4 KiB",
}
"""{file that reads JSON in another way: whose JSON it is}."""


def test_every_reader_of_json_is_known() -> None:
    found = {
        str(file.relative_to(ROOT))
        for file, tree in trees_with(READERS, "pmweb", "inference", "anica_app")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (ast.unparse(node.func) in READERS or ast.unparse(node.func).rpartition(".")[2] in READERS)
    }
    assert found == set(OWN)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(['",:[{', "\\", '\\"']),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def count(value: Any) -> int:
    """Values and keys."""
    if isinstance(value, dict):
        return 1 + sum(1 + count(entry) for entry in value.values())
    return 1 + sum(map(count, value)) if isinstance(value, list) else 1


@examples(300)
@given(values, st.sampled_from([None, 1]))
def test_a_text_has_no_more_values_than_are_counted_before_it_is_parsed(
    value: Any, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    exact = count(value)
    assert not has_more_values(text, 2 * exact)
    assert exact == 1 or has_more_values(text, exact // 3)
    assert read_json(text, 2 * exact) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' more than once"),
        ("[NaN]", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("[1e999]", "a number beyond"),
        ("[" * 200 + "]" * 200, "nested in more than 100 levels"),
        ("9" * 5000, "no JSON"),
        ('["\\ud800"]', "half of a character"),
        ('["\\u0000"]', "a NUL"),
        ("[" + "0," * 1000 + "0]", "more than 1,000 values and keys"),
    ],
)
def test_what_no_database_could_hold_is_refused(text: str, why: str) -> None:
    with pytest.raises(StrictJsonError, match=why):
        load(text, "body", 1000)


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(StrictJsonError, match="no JSON"):
        load("[" * 100_000, "body", 1_000_000)


def test_json_is_in_utf_8() -> None:
    assert load('\ufeff{"ä": 1}'.encode(), "body", 10) == {"ä": 1}
    with pytest.raises(StrictJsonError, match="UTF-8"):
        load('{"a": 1}'.encode("utf-16"), "body", 10)


def test_a_message_of_an_agent_has_a_bounded_number_of_values() -> None:
    flood = ",".join(f'"k{number}":0' for number in range(MAX_VALUES))
    with pytest.raises(ProtocolError, match="more than 200,000 values and keys"):
        decode(f'{{"type":"results",{flood}}}')
    assert Counter(decode('{"type":"beat","note":"%s"}' % ("," * MAX_VALUES))["note"]) == {",": MAX_VALUES}
