"""The worker: claims runs and starts a supervised process for each.

It polls for runs twice a second, and at once after a wake-up. It is a worker of Channels, so that
`manage.py work` has the options of `runworker` and uses the configured layer.
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
from inference.runs.kinds import Queue, blocked_run_ids, queues
from inference.runs.leases import LeaseMonitor
from inference.runs.lifeline import HEARTBEAT_INTERVAL, Heartbeat
from inference.runs.supervisor import RunSupervisor
from inference.runs.warming import warm
from inference.runs.webhooks import deliver_webhooks

logger = logging.getLogger(__name__)

POLL_INTERVAL = 0.5  # seconds


async def _send_heartbeats(heartbeat: Heartbeat) -> None:
    while True:
        heartbeat.beat()
        await asyncio.sleep(HEARTBEAT_INTERVAL)


def worker_name() -> str:
    """Host and process id; the name of this worker in leases."""
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass
class _Lane:
    """A queue, with the tasks that supervise its runs."""

    queue: Queue
    supervisors: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def has_free_slot(self) -> bool:
        return len(self.supervisors) < self.queue.slots


class RunWorker(Worker):
    """Executes up to `jobs` inferences at a time until SIGTERM or SIGINT, then requeues them.

    Other lanes have slots of their own (`queues`).
    """

    def __init__(self, *args: Any, jobs: int = 1, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.jobs = jobs
        self._lanes = [_Lane(lane) for lane in queues(jobs)]
        self._monitor = LeaseMonitor()
        self._processes = RunProcesses()

    async def handle(self) -> None:
        """Claim and supervise runs until a signal."""
        self._stopping = asyncio.Event()
        self._wakeup = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        background_tasks = (
            asyncio.create_task(wakeups.listen(wakeups.WORK, self._wakeup)),
            asyncio.create_task(warm()),
            asyncio.create_task(deliver_webhooks()),
            asyncio.create_task(chores.run_chores()),
            asyncio.create_task(_send_heartbeats(Heartbeat())),
        )
        logger.info("worker %s is ready for %d inference(s) at a time", worker_name(), self.jobs)
        with self._processes:
            await self._work_until_stopped(background_tasks)
        logger.info("worker %s has stopped", worker_name())

    async def _work_until_stopped(self, background_tasks: Sequence[asyncio.Task[None]]) -> None:
        try:
            while not self._stopping.is_set():
                await self._start_claimable_runs()
                await self._wait()
        finally:
            for task in background_tasks:
                task.cancel()
            self._stopping.set()  # also after an error: the other runs are requeued
            await asyncio.gather(*background_tasks, return_exceptions=True)
            await asyncio.gather(*self._supervisors)

    async def _start_claimable_runs(self) -> None:
        while not self._stopping.is_set():
            claimed = await self._claim([lane for lane in self._lanes if lane.has_free_slot])
            if claimed is None:
                return
            lane, lease = claimed
            logger.info("run %s claimed", lease.run_id)
            supervisor = RunSupervisor(lease, self._stopping, self._processes)
            lane.supervisors.add(asyncio.create_task(supervisor.run()))

    @property
    def _supervisors(self) -> set[asyncio.Task[None]]:
        return set().union(*(lane.supervisors for lane in self._lanes))

    async def _claim(self, lanes: Sequence[_Lane]) -> tuple[_Lane, Lease] | None:
        try:
            claimed: tuple[_Lane, Lease] | None = await database_sync_to_async(_claim)(lanes, self._monitor)
            return claimed
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
            return None

    async def _wait(self) -> None:
        """Wait for the end of a run, a wake-up, a signal, or the next poll."""
        self._wakeup.clear()
        signals = {asyncio.create_task(event.wait()) for event in (self._wakeup, self._stopping)}
        done, _ = await asyncio.wait(
            signals | self._supervisors, timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED
        )
        for waiting in signals:
            waiting.cancel()
        for lane in self._lanes:
            lane.supervisors -= done
        ended: set[asyncio.Task[Any]] = done - signals
        for task in ended:
            task.result()  # an error of the supervisor ends this worker; its leases expire


def _claim(lanes: Sequence[_Lane], monitor: LeaseMonitor) -> tuple[_Lane, Lease] | None:
    """Claim a run for one of the lanes, in one call: each call from async code opens a connection."""
    if not leases.has_claimable_run(set().union(*(lane.queue.kinds for lane in lanes))):
        return None
    excluded = blocked_run_ids()
    for lane in lanes:
        lease = leases.claim(worker_name(), kinds=lane.queue.kinds, excluded=excluded, monitor=monitor)
        if lease is not None:
            return lane, lease
    return None
