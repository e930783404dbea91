"""What every executor has to do, and tasks to try it with."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from inference.core.errors import InterruptedRunError, InvalidInputError
from inference.core.pacing import Executor, PacedReporter, TaskContext
from tests.core.pmevo.small import Listener


def join(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    assert context.threads >= 1
    context.pulse()
    return common + piece


def backwards(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """The later the piece, the sooner the answer."""
    time.sleep((9 - int(piece)) * 0.02)  # any order will do, and this is the worst one
    return piece


def complain(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    raise InvalidInputError(f"piece {piece.decode()} is wrong")


def wait_for_withdrawal(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """Leaves a file `started` in the folder, and `withdrawn` when nobody wants the answer any more."""
    folder = Path(piece.decode())
    (folder / "started").touch()
    try:
        while True:
            time.sleep(0.02)
            context.pulse()
    except InterruptedRunError:
        (folder / "withdrawn").touch()
        raise


def die_once(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """Takes its process with it, unless it did so before."""
    try:
        Path(common.decode()).touch(exist_ok=False)
    except FileExistsError:
        return piece
    os._exit(1)


def wait_until_there(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.02)


class WorkshopContract:
    """Subclasses have a fixture `executor`."""

    def test_answers_come_in_the_order_of_the_pieces(self, executor: Executor) -> None:
        pieces = [str(k).encode() for k in range(10)]
        assert executor.carry_out(backwards, b"", pieces, PacedReporter(Listener())) == pieces
        assert executor.carry_out(join, b"a", [b"b", b"c"], PacedReporter(Listener())) == [b"ab", b"ac"]

    def test_no_pieces_have_no_answers(self, executor: Executor) -> None:
        assert executor.carry_out(join, b"a", [], PacedReporter(Listener())) == []

    def test_what_a_piece_raises_is_raised(self, executor: Executor) -> None:
        with pytest.raises(InvalidInputError, match="piece 7 is wrong"):
            executor.carry_out(complain, b"", [b"7", b"7"], PacedReporter(Listener()))

    def test_an_interruption_gets_through_and_withdraws_what_is_going_on(
        self, executor: Executor, tmp_path: Path
    ) -> None:
        folder = str(tmp_path).encode()
        impatient = Listener(lambda _: (tmp_path / "started").exists())
        with pytest.raises(InterruptedRunError, match="pause"):
            executor.carry_out(wait_for_withdrawal, b"", [folder, folder], PacedReporter(impatient))
        wait_until_there(tmp_path / "withdrawn")
