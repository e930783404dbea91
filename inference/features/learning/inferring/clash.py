"""Going on after a clash: what can be left out, and the same inference without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.cegar.clashing import mnemonic
from inference.core.cegar.events import ClashFound
from inference.core.protocols import Json
from inference.features.learning.inferring.search_record import SearchRecord
from inference.models import ISA, Run

SCHEME, MNEMONIC, ALWAYS = "scheme", "mnemonic", "always"
"""What to leave out: the scheme, all with its mnemonic, or whatever clashes from now on."""


@dataclass(frozen=True)
class LeaveOutChoice:
    """A scheme that could be left out because of a clash, and how many schemes share its mnemonic."""

    scheme: str
    mnemonic: str
    alike: int


def drop_choices(search: SearchRecord) -> list[LeaveOutChoice]:
    """The schemes of the last clash, those first that most of its experiments have in common."""
    if not search.clashes:
        return []
    clash = search.clashes[-1]
    left = [scheme for scheme in search.schemes if not _was_dropped(scheme, search.clashes)]
    counted = {
        alone.scheme: sum(_mentions(clashing.experiment, alone.scheme) for clashing in clash.experiments)
        for alone in clash.alone
        if alone.scheme in left
    }
    ordered = sorted(counted, key=lambda scheme: (-counted[scheme], scheme))
    return [
        LeaveOutChoice(scheme, mnemonic(scheme), sum(mnemonic(other) == mnemonic(scheme) for other in left))
        for scheme in ordered
        if len(left) > 1
    ]


def _was_dropped(scheme: str, clashes: Sequence[ClashFound]) -> bool:
    return any(scheme in clash.dropped for clash in clashes)


def _mentions(experiment: str, scheme: str) -> bool:
    return any(term.partition("*")[2] == scheme or term == scheme for term in experiment.split("; "))


def config_without(run: Run, search: SearchRecord, what: str, scheme: str) -> Json:
    """The run's description with what shall be left out taken out."""
    config: Json = run.config
    if what == ALWAYS:
        return config | {"settings": config["settings"] | {"on_clash": "drop-scheme"}}
    dropped = {scheme}
    if what == MNEMONIC:
        dropped = {other for other in search.schemes if mnemonic(other) == mnemonic(scheme)}
    kept = [other for other in search.schemes if other not in dropped]
    rows = ISA.objects.get(name=config["isa"]).schemes.filter(text__in=kept)
    known = {
        name: [each for each in facts if each not in dropped]
        if isinstance(facts, list)
        else {each: value for each, value in facts.items() if each not in dropped}
        for name, facts in run.config.get("known", {}).items()
    }
    return config | {
        "schemes": list(rows.order_by("id").values_list("pk", flat=True)),
        "scheme_filter": "",
        "known": known,
    }


def name_without(run: Run, what: str, scheme: str) -> str:
    """What the new run is called, unless that name is taken."""
    return run.name if what == ALWAYS else f"{run.name} without {mnemonic(scheme)}"[:190]
