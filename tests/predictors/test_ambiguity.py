"""Patterns that take longer than their text is are told from those that do not."""

from __future__ import annotations

import re
import time

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from inference.core.errors import InvalidInputError
from inference.predictors.ambiguity import Growth, ambiguity_of
from inference.predictors.cycles_pattern import MAX_AMBIGUOUS_TEXT, CyclesPattern
from inference.predictors.pattern_automaton import PatternUse
from inference.web.api.site import resolver

BYTES_ONCE = r"(?:0x|\\x)?(?:[0-9a-f]{2})+(?:[\s_]*(?:0x|\\x)?(?:[0-9a-f]{2})+)*"
"""How machine code in cells was recognised: 58 characters took minutes."""

EXPONENTIAL = (
    (BYTES_ONCE, PatternUse.FULL_MATCH),
    (r"(a+)+$", PatternUse.MATCH),
    (r"(a*)*b", PatternUse.MATCH),
    (r"(a|a)*b", PatternUse.MATCH),
    (r"(a|b|ab)*c", PatternUse.SEARCH),
    (r"(a?b?)*c", PatternUse.MATCH),
    (r"(\w+\s?)*x", PatternUse.FULL_MATCH),
    (r"(?i)(?:ab|AB)*x", PatternUse.MATCH),
    (rb"(?:\d+,?)*;", PatternUse.FULL_MATCH),
)
POLYNOMIAL = (
    (r"\s+$", PatternUse.SEARCH),
    (r"(\d+) cycles", PatternUse.SEARCH),
    (r"\s*\w*\s*x", PatternUse.MATCH),
    (r"v\w*_\w*_\w*$", PatternUse.MATCH),
    (r"(?m)^\s*x", PatternUse.SEARCH),
    (r",(?![^\[]*\])", PatternUse.SEARCH),
    (r"word[a-z]*_", PatternUse.SEARCH),
)
LINEAR = (
    (r"\s+", PatternUse.SEARCH),
    (r"\s+$", PatternUse.MATCH),
    (r"\b(\d+) cycles", PatternUse.SEARCH),
    (r"(?<!\d)(\d+) cycles", PatternUse.SEARCH),
    (r"\s*+\w*\s*+x", PatternUse.MATCH),
    (r"(?m)^[ \t]*x", PatternUse.SEARCH),
    (r"\bword[a-z]*_", PatternUse.SEARCH),
    (r'"(?:[^"\\]++|\\.)*+"?', PatternUse.SEARCH),
    (r"(?s)\s*(.*)", PatternUse.FULL_MATCH),
    (r"(?:0x|\\x)?[0-9a-f]{2}(?:[\s_]*(?:0x|\\x)?[0-9a-f]{2})*", PatternUse.FULL_MATCH),
    (r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", PatternUse.FULL_MATCH),
)


@pytest.mark.parametrize(("pattern", "use"), EXPONENTIAL)
def test_exponential_ambiguity_is_found_with_a_text_that_shows_it(
    pattern: str | bytes, use: PatternUse
) -> None:
    ambiguity = ambiguity_of(pattern, 0, use)
    assert ambiguity is not None
    assert ambiguity.growth is Growth.EXPONENTIAL
    begin = "f" if pattern == BYTES_ONCE else ""
    once, often = (_seconds(pattern, use, begin + ambiguity.text * n) for n in (1, 21 // len(ambiguity.text)))
    assert often > 20 * once


@pytest.mark.parametrize(("pattern", "use"), POLYNOMIAL)
def test_polynomial_ambiguity_is_found_with_a_text_that_shows_it(pattern: str, use: PatternUse) -> None:
    ambiguity = ambiguity_of(pattern, 0, use)
    assert ambiguity is not None
    assert ambiguity.growth is Growth.POLYNOMIAL
    begin = "v_" if pattern.startswith("v") else ""
    spent = [_seconds(pattern, use, begin + ambiguity.text * n) for n in (50, 500)]
    assert spent[1] > 25 * spent[0]  # ten times as long: a hundred times as much work


@pytest.mark.parametrize(("pattern", "use"), LINEAR)
def test_a_pattern_that_reads_a_text_in_one_way_is_none(pattern: str, use: PatternUse) -> None:
    assert ambiguity_of(pattern, 0, use) is None


def test_addresses_of_the_site_are_read_in_one_way() -> None:
    def patterns(resolver: URLResolver) -> list[re.Pattern[str]]:
        inner = [p for p in resolver.url_patterns if isinstance(p, URLResolver)]
        own = [p.pattern.regex for p in resolver.url_patterns if isinstance(p, URLPattern)]
        return [*own, *(pattern for other in inner for pattern in patterns(other))]

    regexes = {pattern.pattern for pattern in patterns(get_resolver())}
    regexes |= {address.pattern.regex.pattern for address in resolver().url_patterns}
    assert len(regexes) > 300
    assert {text for text in regexes if ambiguity_of(text, 0, PatternUse.SEARCH)} == set()


def test_a_pattern_of_a_user_that_could_search_without_end_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"could search without end.*'0'"):
        CyclesPattern(r"((?:\d+ ?)*) cycles")
    with pytest.raises(InvalidInputError, match="unknown could search"):
        CyclesPattern(r"(\d+) cycles", unknown=r"(a+)+b")
    with pytest.raises(InvalidInputError, match="cannot be checked"):
        CyclesPattern(r"((((((a{9}){9}){9}){9}){9}))")


def test_an_ambiguous_pattern_of_a_user_searches_the_beginning_of_an_output() -> None:
    pattern = CyclesPattern(r"(\d+) cycles")
    began = time.process_time()
    assert pattern.of_text("0" * 5_000_000).cycles is None
    assert time.process_time() - began < 20
    assert pattern.of_text(" " * (MAX_AMBIGUOUS_TEXT - 20) + "12 cycles").cycles == 12
    assert CyclesPattern(r"\b(\d+) cycles").of_text(" " * 5_000_000 + "12 cycles").cycles == 12


def _seconds(pattern: str | bytes, use: PatternUse, text: str) -> float:
    """Of a match that fails: the character at the end is none that the pattern takes there."""
    compiled = re.compile(pattern)
    ended = text + "!"
    subject = ended.encode() if isinstance(pattern, bytes) else ended
    least = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        getattr(compiled, "findall" if use is PatternUse.SEARCH else use)(subject)
        least = min(least, time.perf_counter() - began)
    return least
