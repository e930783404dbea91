"""Runs of every kind, small enough for many, large enough to be caught in the middle.

All are about one instruction set of a few dozen schemes of x86-64, a made-up processor that both machines
simulate, and two predictors that are port mappings: the true one and one that is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anica_app.core.families.grouping import FamilyIdentity
from anica_app.models import Campaign
from benchmarks._chaos.world import MACHINES, World, write_truth
from benchmarks._published_data import mapping_by_ports
from inference.core.experiment import Experiment
from inference.core.protocols import Json
from inference.core.sampling import random_mixes
from inference.features.asking.predictors.query import row_for
from inference.formats.mapping_json import write_mapping_json
from inference.isa.tables import table_of_module
from inference.isa.targets import X86
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ISA, ExperimentSet, PortMapping, Run, Upload
from inference.runs import lifecycle
from inference.runs.machines import sessions
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements

PORTS = "0123456"
_TABLES = table_of_module(__file__)
USAGE: Mapping[str, str] = _TABLES["usage"]
"""What the machines simulate; ports of each µop."""


R_MAX = 6.0
FIRST_KINDS = ("cegar", "pmevo", "explain", "campaign", "measure", "import")
"""Those that may cost hours or bring somebody's data, and so must survive before all."""

KINDS: Mapping[str, str] = _TABLES["kinds"]
"""What they are called here, and in `inference.runs.kinds`."""


WITHOUT = {kind: reason for reason, kinds in _TABLES["without"].items() for kind in kinds}
"""Registered kinds that are not disturbed, each with the reason."""


_EXACT = tuple(USAGE)[2:9:3]  # one µop each
_BLOCKS = ("4801d8", "480fafc3", "4801d8480fafc3", "488b07", "4803074801d8", "480fbcc3", "f3480fb8c3")
_SEARCHED = '"GPR[64]" -width:128 -width:256'
_HASTY = {"batch": 20, "samples": 20, "first_look": 10, "confirming": 20, "orders": 1, "longest": 3}
_ROWS = 3000  # measurements in the recorded set, and in the uploaded file


TRUTH = mapping_by_ports(PORTS, USAGE, R_MAX)
WRONG = mapping_by_ports(
    PORTS, {**USAGE, "bsf GPR[64]:RW, GPR[64]:R": "1 1 1", "mov GPR[64]:W, MEM[64]:R": "4 4"}, R_MAX
)


@dataclass(frozen=True)
class Kind:
    """`describe(number)`: the configuration of one more run, for the job that is `registered` so."""

    name: str
    registered: str
    describe: Callable[[int], Json]

    def submit(self, number: int) -> Run:
        return lifecycle.submit(self.registered, self.describe(number), f"{self.name} {number}")


class Questions:
    """The rows that runs of every kind need, made once, and the kinds over them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._isa = ISA.objects.get(name=X86)  # made when the site prepared its database
        rows = self._isa.schemes.filter(text__in=USAGE).values_list("text", "pk")
        self._schemes = dict(sorted(rows))
        self._all = list(self._schemes.values())
        assert len(self._schemes) == len(USAGE), USAGE.keys() - self._schemes.keys()
        self._mappings = [
            store_mapping(name, self._isa, mapping, origin=PortMapping.Origin.IMPORT)
            for name, mapping in (("true", TRUTH), ("wrong", WRONG))
        ]
        self._recorded = ExperimentSet.objects.create(
            name="recorded", isa=self._isa, origin=ExperimentSet.Origin.UPLOAD
        )
        store_measurements(self._recorded, SimulatedProcessor(TRUTH).measure(_mixes(_ROWS)))
        self._predictors = [row_for("mapping", {"mapping": row.name}).pk for row in self._mappings]
        self._earlier = _campaign_with_families(self._predictors)
        for name in MACHINES:
            sessions.add_machine(name, self._isa)
        self.truth = write_truth(world, write_mapping_json(TRUTH, name="true", isa=X86))

    def kinds(self) -> list[Kind]:
        """All of them, those of `FIRST_KINDS` first."""
        return [
            Kind(name, registered, getattr(self, f"_{name.replace('-', '_')}"))
            for name, registered in KINDS.items()
        ]

    def _machine(self, number: int) -> Json:
        """In turn, since on each one run measures at a time."""
        return {"machine": self._world.machine(MACHINES[number % len(MACHINES)]).pk}

    def _cegar(self, number: int) -> Json:
        schemes = [self._schemes[text] for text in _EXACT]
        settings = {"epsilon": 0.02, "most_ports": 4, "alternatives": 4}
        config = {"algorithm": "cegar", "schemes": schemes, "mixes": 40, "settings": settings}
        return {**config, "source": self._machine(number)}

    def _pmevo(self, number: int) -> Json:
        """An evolution on one of the machines, short enough to be repeated hundreds of times."""
        settings = {"search": "evolution", "population": 60, "max_generations": 8, "threads": 1}
        config = {
            "algorithm": "pmevo",
            "ports": 4,
            "schemes": self._all,
            "mixes": 60,
            "settings": settings,
        }
        return {**config, "source": self._machine(number + 2)}

    def _explain(self, number: int) -> Json:
        return {
            "algorithm": "explain",
            "schemes": self._all,
            "mixes": 60,
            "source": self._machine(number + 1),
        }

    def _campaign(self, number: int) -> Json:
        config = {"predictors": self._predictors, "scheme_filter": _SEARCHED, "settings": _HASTY}
        # Where none is named, it is the newest that has ended by then: how the others fared would decide.
        return {**config, "end": {"blocks": 80}, "against": self._earlier.pk}

    def _measure(self, number: int) -> Json:
        config = {"schemes": self._all, "plan": "mixes", "mixes": 240, "length": 7}
        return {**config, **self._machine(number + 2)}

    def _import(self, number: int) -> Json:
        lines = [f'"{mix}",{k % 7 + 1}.5' for k, mix in enumerate(_mixes(_ROWS))]
        content = "\n".join(["experiment,cycles", *lines])
        return {"upload": _uploaded("rows.csv", content), "isa": self._isa.name, "name": f"imported {number}"}

    def _check_model(self, number: int) -> Json:
        config = {"schemes": self._all, "mixes": 4, "sequences": 2, "permutations": 2}
        return {**config, **self._machine(number), "reference": self._mappings[0].pk}

    def _block(self, number: int) -> Json:
        blocks = [first + other for first in _BLOCKS for other in _BLOCKS[:3]]
        return {"blocks": blocks, **self._machine(number + 1)}

    def _evaluate(self, number: int) -> Json:
        return {"mapping": self._mappings[1].pk, "experiment_set": self._recorded.pk, "unit": "cycles"}

    def _import_anica(self, number: int) -> Json:
        codes = dict.fromkeys(
            first + other + last for first in _BLOCKS for other in _BLOCKS for last in _BLOCKS
        )
        lines = [f"{code},{k % 9 + 1}.0" for k, code in enumerate(codes)]
        content = "\n".join(["bb,mca", *lines])
        return {"upload": _uploaded("blocks.csv", content), "name": f"blocks {number}"}

    def _generalise(self, number: int) -> Json:
        block = "480fbcc34801d8"
        return {"predictors": self._predictors, "block": block, "settings": _HASTY}

    def _matrix(self, number: int) -> Json:
        return {"predictors": self._predictors, "blocks": 300, "length": 4}

    def _ask(self, number: int) -> Json:
        blocks = [first + other for first in _BLOCKS for other in _BLOCKS]
        return {"predictors": self._predictors, "blocks": blocks, "anew": True}


def _campaign_with_families(predictors: list[int]) -> Campaign:
    """What campaigns are held against: one of its families is found again, the other is gone."""
    row = Campaign.objects.create(name="earlier", origin=Campaign.Origin.IMPORT)
    for position, predictor in enumerate(predictors):
        row.seats.create(position=position, predictor_id=predictor)
    for number, (about, code) in enumerate({"bit scan": "480fbcc7", "multiplication": "480fafc3"}.items()):
        identity = FamilyIdentity("difference", 2, "ports", frozenset((about,)))
        witness = {"name": about, "code": bytes.fromhex(code), "bound": identity.bound}
        row.families.create(number=number, identity=identity.as_json(), **witness)
    return row


def _mixes(count: int) -> list[Experiment]:
    return list(dict.fromkeys(random_mixes(sorted(USAGE), count, 7)))


def _uploaded(name: str, content: str) -> int:
    """A file as the site has it between its preview and its import."""
    data = content.encode()
    return Upload.objects.create(file_name=name, beginning=data, sha256=hashlib.sha256(data).hexdigest()).pk
