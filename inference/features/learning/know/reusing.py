"""Earlier results that a profile takes instead of measuring anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from statistics import median

from django.utils import timezone

from inference.core.events import StateChanged
from inference.core.protocols import Json
from inference.features.learning.know.query import complete_config
from inference.features.learning.know.request import INFER, STAGES, KnowConfig, KnowStage
from inference.measuring.noise_advice import QUIET_NOISE
from inference.models import ExperimentSet, LatencySet, Machine, MeasuredFrontEnd, PortMapping, Run
from inference.runs.leases import MICROCODE, STOPPED, versions
from inference.runs.machines.measurer import identity_of

MAX_AGE_DAYS = 30
"""Age from which a result is measured again: kernels, firmware and hosts of virtual machines change."""

_READINGS = timedelta(seconds=30)
"""Time before and after a run whose readings of noise count: there is one every ten seconds."""
_CANDIDATES = 5
_PROGRAM = "pmweb"


def reusable_runs(machine: Machine, config: KnowConfig) -> dict[str, int]:
    """{stage: id of the finished run whose result a profile takes}, for stages that are not measured again.

    A result is taken if it has the same description and the same schemes, comes from the same CPU with the
    same microcode and agent and from the same version of this program, was measured at the same level of
    noise, is complete, and is at most `MAX_AGE_DAYS` old. Ports and µops rest on the newest latencies and
    front end of the machine: they are taken only if these are, and if none was measured since.
    """
    if machine.kind != Machine.Kind.AGENT or config.measure_again:
        return {}
    reused: dict[str, int] = {}
    for stage in STAGES:
        if stage.completes or (stage.kind == INFER and not _has_basis(reused)):
            continue
        run = next(
            filter(lambda run: _is_current(run, machine, stage), _candidates(machine, config, stage)), None
        )
        if run is not None:
            reused[stage.name] = run.pk
    return reused


def _has_basis(reused: Mapping[str, int]) -> bool:
    return all(stage.name in reused for stage in STAGES if stage.kind != INFER and not stage.completes)


def _candidates(machine: Machine, config: KnowConfig, stage: KnowStage) -> list[Run]:
    """The newest finished runs with the description that the stage's run would have."""
    description = complete_config(machine, config, stage)
    since = timezone.now() - timedelta(days=MAX_AGE_DAYS)
    rows = Run.objects.filter(kind=stage.kind, state=Run.State.DONE, started__gte=since, config=description)
    return list(rows.order_by("-pk")[:_CANDIDATES])


def _is_current(run: Run, machine: Machine, stage: KnowStage) -> bool:
    """Whether measuring again would measure the same thing in the same way."""
    identities = _identities(run)
    if not identities or run.result.get(STOPPED):
        return False
    present = identity_of(machine)
    if any(identity.get(name) != value for identity in identities for name, value in present.items()):
        return False
    if stage.kind == INFER and _is_outdated(run, machine):
        return False
    before = _versions_of(run)
    if before.get(_PROGRAM) != versions()[_PROGRAM] or before.get(MICROCODE) != machine.facts.get(MICROCODE):
        return False
    return _was_quiet(run, machine) is _is_quiet_now(machine)


def _identities(run: Run) -> list[Json]:
    """Identities of what the run measured; none where its result is deleted."""
    if run.kind == INFER and not PortMapping.objects.filter(run=run).exists():
        return []
    models = (ExperimentSet,) if run.kind == INFER else (LatencySet, MeasuredFrontEnd)
    return [
        identity
        for model in models
        for identity in model.objects.filter(run=run).values_list("identity", flat=True)
    ]


def _is_outdated(run: Run, machine: Machine) -> bool:
    """Whether latencies or a front end were measured since, on which the search would rest now."""
    return any(
        model.objects.filter(machine=machine, created__gt=run.started).exists()
        for model in (LatencySet, MeasuredFrontEnd)
    )


def _versions_of(run: Run) -> Json:
    """Versions that executed the run; {} if its journal does not say."""
    events = run.events.filter(kind=StateChanged.kind).order_by("-seq").values_list("payload", flat=True)
    changes = (StateChanged.read(payload).versions for payload in events)
    return next((dict(entry) for entry in changes if entry), {})


def _is_quiet_now(machine: Machine) -> bool:
    now = timezone.now()
    return bool(_is_quiet(machine, now - 4 * _READINGS, now))


def _was_quiet(run: Run, machine: Machine) -> bool | None:
    """Whether the machine was quiet while the run measured; None if no reading of its noise is left."""
    assert run.started is not None
    return _is_quiet(machine, run.started - _READINGS, (run.finished or run.started) + _READINGS)


def _is_quiet(machine: Machine, since: datetime, until: datetime) -> bool | None:
    readings = machine.readings.filter(at__gte=since, at__lte=until, noise__isnull=False)
    noise = [share for share in readings.values_list("noise", flat=True) if share is not None]
    return median(noise) <= QUIET_NOISE if noise else None
