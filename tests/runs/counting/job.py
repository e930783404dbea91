"""Counts to `steps`, checkpointing each step; its result depends on every step having been taken once."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from django.conf import settings

from inference.core.errors import InsufficientDataError
from inference.core.events import Event, Progress, ResultStored
from inference.core.protocols import Checkpoint
from inference.models import ISA
from inference.runs.kinds import Job, RunKind

DEFAULTS = {
    "steps": 5,
    "pause": 0.0,
    "die_at": None,  # kill the own process at this step, every time
    "die_once": "",  # … or only while this file does not exist
    "fail_at": None,
    "crash_at": None,
    "hoard_at": None,  # ask for more memory than any run may have
    "deaf": False,  # ignore SIGTERM and never look for wishes
}


@dataclass(frozen=True)
class Step(Event):
    kind = "step"
    counted_by = "number"
    number: int


class CountJob(Job):
    def check(self, config):
        return {**DEFAULTS, **config}

    def submitted(self, run):
        pass

    def work(self, task):
        config = task.run.config
        step, value = 0, np.uint64(7)
        if task.checkpoint is not None:
            step, value = task.checkpoint.meta["step"], task.checkpoint.arrays["value"][0]
        if config["deaf"]:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while step < config["steps"]:
            self._misbehave(config, step)
            step += 1
            value = np.uint64((int(value) * 6364136223846793005 + step) % 2**64)
            task.reporter.emit(Step(step))
            task.reporter.emit(Progress("count", step, config["steps"], 0.0, "steps", None))
            task.reporter.save(Checkpoint({"step": step}, {"value": np.array([value])}))
            time.sleep(config["pause"])
            if not config["deaf"]:
                task.reporter.pulse()

        def store():
            made = ISA.objects.create(name=f"counted by {task.run.name}")
            return {"value": int(value), "isa": made.pk}, [ResultStored({"value": int(value)})]

        return store

    def _misbehave(self, config, step):
        once = Path(config["die_once"]) if config["die_once"] else None
        if step == config["die_at"] and not (once and once.exists()):
            if once:
                once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if step == config["hoard_at"]:
            np.ones(settings.RUN_MEMORY_LIMIT_BYTES // 8)
        if step == config["fail_at"]:
            raise InsufficientDataError("nothing to count")
        if step == config["crash_at"]:
            raise RuntimeError("lost count")


COUNTING = RunKind("count", label="count", job=CountJob, summary="count", example={})


def counted(steps):
    """What a run of so many steps must come to."""
    value = 7
    for step in range(1, steps + 1):
        value = (value * 6364136223846793005 + step) % 2**64
    return value
