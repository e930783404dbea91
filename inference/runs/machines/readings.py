"""How a machine was doing, kept for weeks in a bounded number of rows: the older, the sparser.

Of neighbours that are too close for their age the worst stays, so that no disturbance disappears.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from inference.agent.protocol import Beat
from inference.models import Machine, MachineReading

EVERY = timedelta(seconds=10)
SPARSER = (
    (timedelta(hours=6), timedelta(minutes=2)),
    (timedelta(days=2), timedelta(minutes=10)),
    (timedelta(days=14), None),
)
"""(age from which, distance of two readings); None: none are kept. At most some 5,300 rows per machine."""

_THIN_EVERY = timedelta(hours=1)
_BATCH = 500
_WORST_FIRST = (Machine.State.UNFIT, Machine.State.CONTENDED, Machine.State.MEASURING)


def keep_reading(machine_id: int, beat: Beat, now: datetime) -> bool:
    """Keep a reading unless there is one of just now; whether it was kept."""
    readings = MachineReading.objects.filter(machine=machine_id)
    newest = readings.order_by("-at").values_list("at", flat=True).first()
    if newest is not None and newest > now - EVERY:
        return False
    readings.create(
        machine_id=machine_id, at=now, state=beat.state, noise=beat.noise, ghz=beat.ghz, rate=beat.rate
    )
    if newest is None or _hour(newest) != _hour(now):
        thin(machine_id, now)
    return True


def thin(machine_id: int, now: datetime) -> None:
    """Remove the readings that are too close to others for their age."""
    gone: list[int] = []
    ends = [*(age for age, _ in SPARSER[1:]), None]
    for (age, distance), end in zip(SPARSER, ends, strict=True):
        rows = MachineReading.objects.filter(machine=machine_id, at__lte=now - age)
        if end is not None:
            rows = rows.filter(at__gt=now - end)
        gone += _too_close(rows.order_by("at").values_list("id", "at", "state"), distance)
    for start in range(0, len(gone), _BATCH):
        MachineReading.objects.filter(id__in=gone[start : start + _BATCH]).delete()


def _too_close(rows: Iterable[tuple[int, datetime, str]], distance: timedelta | None) -> list[int]:
    """All but the worst, then oldest, row of each stretch of `distance`."""
    if distance is None:
        return [row for row, _, _ in rows]
    kept: dict[int, tuple[int, int]] = {}
    gone: list[int] = []
    for row, at, state in rows:
        stretch = int(at.timestamp() // distance.total_seconds())
        goodness = _WORST_FIRST.index(state) if state in _WORST_FIRST else len(_WORST_FIRST)
        before = kept.get(stretch)
        if before is None:
            kept[stretch] = goodness, row
        elif goodness < before[0]:
            gone.append(before[1])
            kept[stretch] = goodness, row
        else:
            gone.append(row)
    return gone


def _hour(at: datetime) -> int:
    return int(at.timestamp() // _THIN_EVERY.total_seconds())
