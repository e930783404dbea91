"""A computer whose agent is connected."""

from __future__ import annotations

import pytest
from django.utils import timezone

from inference.models import ISA, Machine

FACTS = {
    "vendor": "AuthenticAMD",
    "family": 25,
    "model": 1,
    "stepping": 1,
    "cpu": "AMD EPYC",
    "flags": ["avx", "avx2"],
    "cores": 16,
    "core": 15,
    "virtual": False,
    "governor": "powersave",
    "kernel": "Linux 6.1",
    "python": "3.11.7",
    "counters": "none",
    "unfit": "",
    "load": 0.1,
}


@pytest.fixture
def machine(isa: ISA) -> Machine:
    """A computer whose agent is connected."""
    return Machine.objects.create(
        name="lab",
        kind="agent",
        isa=isa,
        cpu="AMD EPYC",
        facts=FACTS,
        state="idle",
        session=1,
        last_seen=timezone.now(),
        noise=0.004,
        ghz=3.1,
        rate=80,
    )
