"""The measurements that contain a scheme as CSV, the shortest experiments first, in the format of uploads.

    experiment,cycles,note

The note says in which set and state a measurement is; failed ones have no cycles and are left out."""

from __future__ import annotations

from inference.exchange.csv_cells import written
from inference.exchange.provenance import head_of
from inference.exchange.stored import measurements_of
from inference.models import InstructionScheme, Measurement

HEADER = ("experiment", "cycles", "note")
MOST_ROWS = 20_000


def write_scheme_csv(scheme: InstructionScheme) -> str:
    """Up to `MOST_ROWS` of them."""
    rows = Measurement.objects.filter(experiment__terms__scheme=scheme, cycles__isnull=False)
    total = rows.count()
    shown = "all" if total <= MOST_ROWS else f"the {MOST_ROWS:,} shortest"
    told = f"# measured experiments with {scheme.text} ({scheme.isa.name}): {total:,}, here {shown} of them\n"
    rows = rows.order_by("experiment__length", "experiment_id", "id")[:MOST_ROWS]
    sets = dict(rows.values_list("id", "experiment_set__name"))
    cells = (
        (str(each.value.experiment), each.value.cycles, f"{sets.get(each.id, '')}, {each.value.state.value}")
        for each in measurements_of(rows)
    )
    return written(HEADER, cells, head_of() + told)
