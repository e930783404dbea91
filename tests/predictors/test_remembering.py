"""A predictor that is never asked the same twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.predictors.panel import CachedPredictor
from inference.predictors.protocol import Answer, Failure


class Counting:
    """Answers with the length of a block, and counts what it is asked."""

    name = "counting"
    identity = {"kind": "counting"}

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.is_open = True

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        self.asked += blocks
        return [
            Answer(cycles=float(len(block))) if block else Answer(failure=Failure.CRASH) for block in blocks
        ]

    def close(self) -> None:
        self.is_open = False


class Shelf:
    """A store in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[bytes, Answer] = {}
        self.flushed = 0

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]:
        return {block: self.kept[block] for block in blocks if block in self.kept}

    def remember(self, answers: Mapping[bytes, Answer]) -> None:
        self.kept.update(answers)

    def flush(self) -> None:
        self.flushed += 1


def test_a_block_is_asked_once_even_within_a_question():
    inner = Counting()
    predictor = CachedPredictor(inner)
    assert [answer.cycles for answer in predictor.predict([b"ab", b"c", b"ab"])] == [2.0, 1.0, 2.0]
    assert predictor.predict([b"c", b"", b"c"])[1].failure == Failure.CRASH
    assert inner.asked == [b"ab", b"c", b""]


def test_what_the_store_has_is_not_asked():
    shelf, first, second = Shelf(), Counting(), Counting()
    CachedPredictor(first, shelf).predict([b"ab", b"c"])
    answers = CachedPredictor(second, shelf).predict([b"c", b"def", b"ab"])
    assert [answer.cycles for answer in answers] == [1.0, 3.0, 2.0]
    assert second.asked == [b"def"]


def test_memory_is_bounded_and_the_oldest_give_way():
    inner = Counting()
    predictor = CachedPredictor(inner, max_answers=10)
    for number in range(40):
        predictor.predict([bytes([number])])
    assert len(predictor._memory) <= 10
    inner.asked.clear()
    predictor.predict([bytes([39]), bytes([0])])
    assert inner.asked == [bytes([0])]


def test_closing_keeps_what_the_store_has_heard():
    shelf, inner = Shelf(), Counting()
    CachedPredictor(inner, shelf).close()
    assert not inner.is_open
    assert shelf.flushed == 1


def test_it_is_called_as_what_it_remembers_for():
    predictor = CachedPredictor(Counting())
    assert (predictor.name, predictor.identity) == ("counting", {"kind": "counting"})
