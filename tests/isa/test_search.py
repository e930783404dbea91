from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.search import MAX_LENGTH, SearchError, SearchTerm, parse_search


def test_a_blank_search_has_no_terms():
    assert parse_search("") == ()
    assert parse_search(" \t ") == ()


def test_words_and_phrases_are_looked_for_in_the_text():
    assert parse_search('add "GPR[64]:RW, IMM" [8]') == (
        SearchTerm("text", "add"),
        SearchTerm("text", "GPR[64]:RW, IMM"),
        SearchTerm("text", "[8]"),
    )


@pytest.mark.parametrize(
    ("query", "term"),
    [
        ("mnemonic:add", SearchTerm("mnemonic", "add")),
        ("ext:AVX2", SearchTerm("ext", "AVX2")),
        ('ext:"SSE4.2"', SearchTerm("ext", "SSE4.2")),
        ("EXT:AVX", SearchTerm("ext", "AVX")),
        ("category:shift", SearchTerm("category", "shift")),
        ("memory:None", SearchTerm("memory", "none")),
        ("memory:rw", SearchTerm("memory", "RW")),
        ("width:0256", SearchTerm("width", "256")),
        ("is:Starter", SearchTerm("is", "starter")),
        ("-is:default", SearchTerm("is", "default", negated=True)),
        ('-"lock add"', SearchTerm("text", "lock add", negated=True)),
        ("-lock", SearchTerm("text", "lock", negated=True)),
    ],
)
def test_each_key_is_read(query, term):
    assert parse_search(f"  {query} ") == (term,)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("extension:AVX", "mnemonic:, ext:, category:, memory:, width:, is:"),
        ("GPR:64", "quotes around text that contains a colon"),
        ("memory:X", "memory:none, memory:R, memory:W, memory:RW"),
        ("is:fast", "is:starter, is:default, is:excluded, is:measurable, is:breakable, is:legacy-sse"),
        ("width:wide", "width:256"),
        ("width:99999999999999999999", "width:256"),
        ("width:²", "width:256"),
        ("ext:", "needs a value"),
        ('ext:" "', "needs a value"),
        ('""', "leave it out"),
        ('"add', "not closed"),
        ('add"b', "not closed"),
        ('"add"b', "blank between terms"),
        ("a " * 31, "at most 30"),
        ("a" * (MAX_LENGTH + 1), "at most 500"),
    ],
)
def test_a_search_that_makes_no_sense_says_what_would(query, hint):
    with pytest.raises(SearchError) as problem:
        parse_search(query)
    assert hint in str(problem.value)


@given(st.text(max_size=80))
def test_any_text_is_either_parsed_or_refused(query):
    try:
        terms = parse_search(query)
    except SearchError:
        return
    assert all(term.value for term in terms)
    assert bool(terms) == bool(query.strip())


words = st.text(alphabet="abcXYZ0123[]+*.", min_size=1, max_size=8)


@given(st.lists(st.tuples(st.booleans(), words), max_size=10))
def test_words_come_back_in_order_with_their_sign(pairs):
    query = " ".join(("-" if negated else "") + word for negated, word in pairs)
    assert parse_search(query) == tuple(SearchTerm("text", word, negated) for negated, word in pairs)
