"""The worker: claims runs and gives each a supervised child process.

It looks for work twice a second, and at once when it is woken. A worker of Channels, so that
`manage.py work` takes the options of `runworker` and the layer that the settings name.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from channels.db import database_sync_to_async
from channels.worker import Worker
from django.db import OperationalError

from inference.runs import chores, leases, wakeups
from inference.runs.child import RunProcesses
from inference.runs.journal import Lease
from inference.runs.kinds import Queue, held_up, queues
from inference.runs.leases import LeaseMonitor
from inference.runs.lifeline import HEARTBEAT_INTERVAL, Heartbeat
from inference.runs.supervisor import RunSupervisor
from inference.runs.warming import warm
from inference.runs.webhooks import deliver_for_ever

logger = logging.getLogger(__name__)

POLL_EVERY = 0.5


async def _beat_for_ever(heartbeat: Heartbeat) -> None:
    while True:
        heartbeat.beat()
        await asyncio.sleep(HEARTBEAT_INTERVAL)


def worker_name() -> str:
    """Host and process, to say who holds a lease."""
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass
class _Lane:
    """A lane of the queue, with the tasks that supervise its runs."""

    queue: Queue
    supervised: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def is_free(self) -> bool:
        return len(self.supervised) < self.queue.slots


class RunWorker(Worker):
    """Works up to `jobs` inferences at a time until SIGTERM or SIGINT, then puts them back into the queue.

    Runs of the other lanes have slots of their own beside them (`queues`).
    """

    def __init__(self, *args: Any, jobs: int = 1, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.jobs = jobs
        self._lanes = [_Lane(lane) for lane in queues(jobs)]
        self._watch = LeaseMonitor()
        self._processes = RunProcesses()

    async def handle(self) -> None:
        """Claim and supervise until asked to stop."""
        self._stopping = asyncio.Event()
        self._wakeup = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        beside = (
            asyncio.create_task(wakeups.listen(wakeups.WORK, self._wakeup)),
            asyncio.create_task(warm()),
            asyncio.create_task(deliver_for_ever()),
            asyncio.create_task(chores.do_for_ever()),
            asyncio.create_task(_beat_for_ever(Heartbeat())),
        )
        logger.info("worker %s is ready for %d inference(s) at a time", worker_name(), self.jobs)
        with self._processes:
            await self._work_until_stopped(beside)
        logger.info("worker %s has stopped", worker_name())

    async def _work_until_stopped(self, beside: Sequence[asyncio.Task[None]]) -> None:
        try:
            while not self._stopping.is_set():
                await self._start_what_fits()
                await self._rest()
        finally:
            for task in beside:
                task.cancel()
            self._stopping.set()  # after a fault too: the other runs go back into the queue
            await asyncio.gather(*beside, return_exceptions=True)
            await asyncio.gather(*self._supervised)

    async def _start_what_fits(self) -> None:
        while not self._stopping.is_set():
            claimed = await self._claim([lane for lane in self._lanes if lane.is_free])
            if claimed is None:
                return
            lane, lease = claimed
            logger.info("run %s claimed", lease.run_id)
            supervisor = RunSupervisor(lease, self._stopping, self._processes)
            lane.supervised.add(asyncio.create_task(supervisor.run()))

    @property
    def _supervised(self) -> set[asyncio.Task[None]]:
        return set().union(*(lane.supervised for lane in self._lanes))

    async def _claim(self, lanes: Sequence[_Lane]) -> tuple[_Lane, Lease] | None:
        try:
            claimed: tuple[_Lane, Lease] | None = await database_sync_to_async(_claim)(lanes, self._watch)
            return claimed
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
            return None

    async def _rest(self) -> None:
        """Until a run ends, it is woken, the worker shall stop, or it is time to look."""
        self._wakeup.clear()
        signals = {asyncio.create_task(event.wait()) for event in (self._wakeup, self._stopping)}
        done, _ = await asyncio.wait(
            signals | self._supervised, timeout=POLL_EVERY, return_when=asyncio.FIRST_COMPLETED
        )
        for waiting in signals:
            waiting.cancel()
        for lane in self._lanes:
            lane.supervised -= done
        ended: set[asyncio.Task[Any]] = done - signals
        for task in ended:
            task.result()  # a fault of the supervisor itself ends this worker; its leases run out


def _claim(lanes: Sequence[_Lane], watch: LeaseMonitor) -> tuple[_Lane, Lease] | None:
    """A run for one of the lanes; all in one go, since every call from async code opens a connection."""
    if not leases.anything_waits(set().union(*(lane.queue.kinds for lane in lanes))):
        return None
    besides = held_up()
    for lane in lanes:
        lease = leases.claim(worker_name(), kinds=lane.queue.kinds, besides=besides, watch=watch)
        if lease is not None:
            return lane, lease
    return None
