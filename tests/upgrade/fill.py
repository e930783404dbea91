"""Fills a site of an older release, by that release's own code: run by `make`, in the tree of the release.

A toy instruction set with a mapping, measurements, an evaluation; PMEvo runs that are done, interrupted and
paused with a checkpoint, waiting, cancelled; an exact inference; where the release has them, a campaign
with its discovery.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import django

django.setup()

from inference.core.experiment import Experiment  # noqa: E402
from inference.core.mapping import PortMapping as Mapping  # noqa: E402
from inference.core.sampling import random_mixes  # noqa: E402
from inference.measuring.simulated import SimulatedProcessor  # noqa: E402
from inference.models import ExperimentSet, PortMapping, Run  # noqa: E402
from inference.runs import fork_server as execution  # noqa: E402
from inference.runs import leases, lifecycle  # noqa: E402
from inference.runs.fork_server import STOP, StopRequests, execute  # noqa: E402
from inference.runs.reporter import JournalReporter  # noqa: E402
from inference.storage.instruction_sets import new_isa  # noqa: E402
from inference.storage.mappings import store_mapping  # noqa: E402
from inference.storage.rows import store_measurements  # noqa: E402
from pmweb.accounts.people import ensure_administrator  # noqa: E402

TRUTH = Mapping(("0", "1", "2"), {"a": ((1, 1),), "b": ((3, 1),), "c": ((4, 1),), "d": ((7, 1),)})
QUICK = {"search": "evolution", "population": 30, "max_generations": 3, "threads": 1}


class Interrupting(StopRequests):
    """Interrupts a run in its second generation: it has a checkpoint then."""

    wish = STOP

    def __call__(self) -> str:
        return self.wish if Listening.generations > 1 else ""


class Listening(JournalReporter):
    """Counts the generations of the run that is worked on, and asks at each whether it is to go on."""

    generations = 0

    def emit(self, event: Any) -> None:
        Listening.generations += event.kind == "generation"
        super().emit(event)
        if event.kind == "generation":
            self.pulse()


class Pausing(Interrupting):
    """Pauses it there."""

    wish = "pause"


def main() -> None:
    """Fill the database that the settings name."""
    execution.JournalReporter = Listening  # type: ignore[misc]
    user = ensure_administrator()
    isa = new_isa("toy", TRUTH.usage, "made up")
    truth = store_mapping("truth", isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    recorded = ExperimentSet.objects.create(name="recorded", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    asked = [Experiment.of([scheme]) for scheme in TRUTH.usage] + random_mixes(sorted(TRUTH.usage), 30, 1)
    store_measurements(recorded, SimulatedProcessor(TRUTH, noise=0.01, seed=5).measure(asked))

    def submit(kind: str, config: dict, name: str) -> Run:
        return lifecycle.submit(kind, config, name, user)

    def work(wishes: type[StopRequests] = StopRequests) -> None:
        Listening.generations = 0
        lease = leases.claim("old worker")
        assert lease is not None
        execute(lease, wishes(lease))

    learning = {"algorithm": "pmevo", "ports": 3, "source": {"datasets": [recorded.pk]}}
    submit("infer", {**learning, "settings": QUICK}, "evolved")
    work()
    submit("evaluate", {"mapping": truth.pk, "experiment_set": recorded.pk}, "judged")
    work()
    simulated = {"simulate": truth.pk}
    submit("infer", {"algorithm": "cegar", "ports": 3, "source": simulated}, "exact")
    work()
    longer = {**QUICK, "max_generations": 300, "convergence": 0.0}
    submit("infer", {**learning, "settings": longer}, "paused")
    work(Pausing)
    submit("infer", {**learning, "settings": longer}, "interrupted")
    work(Interrupting)
    submit("infer", {**learning, "settings": QUICK}, "waiting")
    lifecycle.cancel(submit("infer", {**learning, "settings": QUICK}, "cancelled"))
    if find_spec("anica_app") is not None and find_spec("anica_app.formats") is not None:
        from anica_app.formats import campaign_zip
        from tests.anica.formats.published import write_directory

        with tempfile.TemporaryDirectory() as directory:
            tree = campaign_zip.tree_of_path(write_directory(Path(directory) / "small"))
            if find_spec("anica_app.storage") and find_spec("anica_app.storage.campaigns"):
                from anica_app.storage.campaigns import store_campaign

                store_campaign(campaign_zip.read_part(tree), "small campaign")
            else:  # up to 0.8
                campaign_zip.read_rows(tree).store("small campaign")
    for run in Run.objects.order_by("pk"):
        sys.stdout.write(f"{run.name}: {run.state} {run.error}\n")


main()
