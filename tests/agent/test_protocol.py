"""Messages: what is written is read again, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.agent.protocol import (
    MAX_ITEMS,
    MAX_MESSAGE_BYTES,
    Batch,
    BatchItem,
    Beat,
    Frame,
    Result,
    Settings,
    decode,
    encode,
    int_field,
)
from inference.agent.reading import ProtocolError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
WHOLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
items = st.builds(
    lambda key, code, copies, instructions, terms: BatchItem(
        key, code, copies, len(code), copies, instructions, tuple(terms)
    ),
    st.text(WHOLE, max_size=10),
    st.binary(min_size=1, max_size=50),
    st.integers(1, 100),
    st.integers(1, 30),
    st.lists(st.tuples(st.text(WHOLE, max_size=20), st.integers(1, 9)), max_size=3),
)
pairs = st.tuples(items, items).filter(lambda pair: pair[0].id != pair[1].id)
batches = st.builds(Batch, st.just(Frame(registers={"rax": 5})), st.just(Settings()), pairs)


@given(batches)
def test_a_batch_survives_the_way_as_text(batch: Batch):
    message = decode(encode("batch", batch=1, fence=2, content=batch.as_json()))
    assert message["type"] == "batch"
    assert int_field(message, "fence") == 2
    assert Batch.read(message["content"]) == batch


@given(st.sampled_from([Batch, Beat, Frame, BatchItem, Result, Settings]), json_values)
def test_whatever_else_is_sent_is_a_protocol_error_and_nothing_worse(kind: type, given: object):
    try:
        kind.read(given)
    except ProtocolError:
        return
    assert isinstance(given, dict)


@given(st.text() | st.binary())
def test_a_frame_of_anything_is_a_message_or_a_protocol_error(text: str | bytes):
    try:
        message = decode(text)
    except ProtocolError:
        return
    assert isinstance(message["type"], str)


def test_a_message_that_is_too_long_is_not_even_parsed():
    with pytest.raises(ProtocolError, match="at most"):
        decode(" " * (MAX_MESSAGE_BYTES + 1))


@pytest.mark.parametrize("text", ["\0", "\ud800", "a\udfff"])
def test_texts_that_no_database_holds_are_refused(text: str):
    told = {"id": text, "state": "settled", "cycles": 1.0}
    with pytest.raises(ProtocolError, match="whole characters without NUL") as refused:
        Result.read(told)
    assert str(refused.value).isascii()


@pytest.mark.parametrize("text", ["[]", "{}", '{"type": 1}', "nonsense", "[" * 100_000])
def test_what_is_no_message_is_refused(text: str):
    with pytest.raises(ProtocolError):
        decode(text)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"state": "perfect"}, "unknown state"),
        ({"cycles": None}, "settled with cycles None"),
        ({"state": "failed"}, "failed with cycles 1.5"),
        ({"cycles": -1.0}, "> 0"),
        ({"cycles": float("inf")}, "finite"),
        ({"cycles": True}, "finite number"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"id": 5}, "must be text"),
    ],
)
def test_a_result_that_makes_no_sense_says_so(changes: dict[str, object], complaint: str):
    good = Result("a", "settled", 1.5, 0.1, 2).as_json()
    assert Result.read(json.loads(json.dumps(good))).cycles == 1.5
    with pytest.raises(ProtocolError, match=complaint):
        Result.read({**good, **changes})


def test_a_missing_field_is_named():
    with pytest.raises(ProtocolError, match="state"):
        Result.read({"id": "a"})


def test_the_shorter_loop_must_lie_within_the_code():
    good = BatchItem("a", b"\x90" * 4, 4, 2, 2, 1).as_json()
    with pytest.raises(ProtocolError, match="shorter loop"):
        BatchItem.read({**good, "half_bytes": 5})
    for code in ("%%%", "kJCQkA=Ω", "kJCQkA"):
        with pytest.raises(ProtocolError, match="code"):
            BatchItem.read({**good, "code": code})


def test_agents_from_before_are_sent_what_they_know():
    item = BatchItem("a", b"\x90" * 4, 4, 2, 2, 1)
    assert "latency_bound" not in item.as_json()
    bound = replace(item, latency_bound=True)
    assert BatchItem.read(bound.as_json()) == bound


def test_a_batch_has_a_limited_number_of_experiments():
    one = BatchItem("a", b"\x90", 1, 1, 1, 1).as_json()
    content = {**Batch(Frame(), Settings(), ()).as_json(), "items": [one] * (MAX_ITEMS + 1)}
    with pytest.raises(ProtocolError, match=str(MAX_ITEMS)):
        Batch.read(content)


def test_numbers_that_json_cannot_say_are_never_sent():
    with pytest.raises(ValueError, match="JSON"):
        encode("beat", noise=float("nan"))
