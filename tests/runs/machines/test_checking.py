"""Whatever an agent says is either refused in words or safe to store."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.agent.protocol import Result
from inference.agent.reading import ProtocolError
from inference.runs.machines.checking import (
    MAX_FACTS_BYTES,
    OtherProtocolError,
    clean_facts,
    clean_text,
    read_beat,
    read_hello,
    read_results,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
GOOD = {"type": "hello", "protocol": 1, "version": "1", "instance": "i", "facts": {}, "holds": [3, 4]}


def test_a_greeting_is_understood():
    hello = read_hello(GOOD)
    assert (hello.instance, hello.facts, hello.holds) == ("i", {"version": "1"}, (3, 4))


def test_another_protocol_is_told_before_anything_else():
    with pytest.raises(OtherProtocolError, match="this agent speaks protocol 2, the server 1"):
        read_hello({"protocol": 2})


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), VALUES, max_size=3))
def test_any_greeting_is_read_or_refused_in_words(changes):
    try:
        hello = read_hello(GOOD | changes)
    except ProtocolError:
        return
    json.dumps(hello.facts, allow_nan=False).encode()


@given(VALUES)
def test_any_results_are_read_or_refused_in_words(value):
    with pytest.raises(ProtocolError):
        read_results({"items": [{"id": "a"}]}, value)


def test_a_sound_result_is_kept_whole_with_what_was_counted():
    result = Result("a", "settled", 1.5, 0.01, 7, "a note", {"uops": 2.0, "port 0": 0.5}).as_json()
    assert read_results({"items": [{"id": "a"}]}, [result]) == [result]


def test_counted_events_have_short_names_and_numbers_that_can_be():
    counted = {"u" * 100: 1.0, "uops\x07": 2.0, "many": 1e300}
    given = Result("a", "settled", 1.5, counters=counted).as_json()
    (read,) = read_results({"items": [{"id": "a"}]}, [given])
    assert read["counters"] == {"u" * 60: 1.0, "uops": 2.0}


@given(st.text(st.characters()), st.integers(1, 20))
def test_texts_can_be_stored_anywhere(text, limit):
    cleaned = clean_text(text, limit)
    cleaned.encode()
    assert len(cleaned) <= limit
    assert cleaned.isprintable()


def test_facts_keep_what_is_sound_and_are_bounded():
    deep = {"a": {"b": {"c": {"d": 1}}}}
    odd = {"nan": float("nan"), "huge": 10**30, "yes": True, "flags": ["avx2", "a\0b"], "deep": deep}
    assert clean_facts(odd) == {
        "nan": None,
        "huge": None,
        "yes": True,
        "flags": ["avx2", "a b"],
        "deep": {"a": {"b": None}},
    }
    with pytest.raises(ProtocolError, match=f"at most {MAX_FACTS_BYTES} bytes"):
        clean_facts({"flags": ["x" * 100] * 1000})


def test_facts_of_another_kind_than_pages_expect_count_as_unknown():
    named = ("cores", "load", "family", "governor", "virtual", "flags", "cpuid", "smt", "confinement")
    hostile = {
        **{name: [{}] for name in named},
        "cpu": "<script>alert(1)</script>",
        "core": True,
        "kernel": None,
        "model": 10**400,
    }
    assert clean_facts(hostile) == {"cpu": "<script>alert(1)</script>", "kernel": None, "model": None}


def test_numbers_that_cannot_be_are_left_out_of_a_beat():
    beat = read_beat({"type": "beat", "state": "idle", "noise": -1, "ghz": 1e300, "rate": 1e-300})
    assert (beat.noise, beat.ghz, beat.rate) == (None, None, None)
    assert read_beat({"type": "beat", "state": "idle", "noise": 0, "ghz": 3.1}).ghz == 3.1
    with pytest.raises(ProtocolError, match="noise must be a finite number"):
        read_beat({"type": "beat", "state": "idle", "noise": 10**400})
