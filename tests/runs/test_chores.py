"""What a worker does beside runs: looked for by a question, done by a command in a process of its own."""

from __future__ import annotations

import asyncio
import logging

import pytest
from asgiref.sync import async_to_sync

from inference.runs import chores
from pmweb.models import Pruning

ANSWERS: list[bool] = []


def due() -> bool:
    return ANSWERS.pop() if ANSWERS else False


@pytest.mark.django_db(transaction=True)
def test_a_chore_that_is_due_is_done_once_and_what_it_says_is_told(monkeypatch, caplog):
    chore = chores.Chore(due, ("prune", "--keep", "nonsense=1"))
    monkeypatch.setattr(chores, "CHORES", [chore])
    monkeypatch.setattr(chores, "POLL_INTERVAL", 0.05)
    ANSWERS[:] = [True]

    async def watch() -> None:
        doing = asyncio.create_task(chores.run_chores())
        while not any("has failed" in message for message in caplog.messages):
            await asyncio.sleep(0.05)
            assert not doing.done()
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)

    with caplog.at_level(logging.INFO, logger="inference"):
        async_to_sync(asyncio.wait_for)(watch(), 120)
    assert any("TRACE one of" in message for message in caplog.messages)
    assert sum("has failed with status" in message for message in caplog.messages) == 1


@pytest.mark.django_db
def test_pruning_is_a_chore_of_every_worker(settings):
    settings.PRUNE_NIGHTLY = False
    (pruning,) = (chore for chore in chores.CHORES if chore.command[0] == "prune")
    assert pruning.due() is False
    Pruning.objects.create()
    assert pruning.due() is True
