"""A port mapping as a graph in three columns: schemes, µops, ports (thesis Fig. 3.3).

Schemes with equal µops are folded into one group, so that thousands of schemes become a few dozen nodes.
Ports stay in their own order, where users look for them; µops and groups are placed at the barycentre of
what they are connected to, which keeps edges short and crossings few.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from inference.core.errors import UnknownSchemeError
from inference.core.mapping import PortMapping, Uops, ports_in
from inference.figures.plotly_json import Json
from inference.figures.uops import uop_json


def tripartite(mapping: PortMapping, schemes: Iterable[str] | None = None) -> Json:
    """Plain data, each list in its order from top to bottom:

    - `ports`: names;
    - `uops`: as `uop_json` tells them;
    - `groups`: {"schemes": texts, "uops": [{"uop": index into `uops`, "count"}], "usage": "2×[0,1] + 1×[5]"}.

    `schemes` restricts the graph to some of the mapping's schemes; `UnknownSchemeError` for others.
    """
    chosen = sorted(set(mapping.usage if schemes is None else schemes))
    unknown = [scheme for scheme in chosen if scheme not in mapping.usage]
    if unknown:
        raise UnknownSchemeError(unknown)
    folded: dict[Uops, list[str]] = {}
    for scheme in chosen:
        folded.setdefault(tuple(mapping.usage[scheme]), []).append(scheme)
    masks = sorted({mask for uops in folded for mask, _ in uops}, key=_barycentre_of_ports)
    position = {mask: k for k, mask in enumerate(masks)}

    def barycentre(uops: Uops) -> tuple[float, list[int]]:
        places = sorted(position[mask] for mask, _ in uops)
        return (fmean(places) if places else len(masks), places)  # schemes without ports come last

    groups = sorted(folded, key=lambda uops: (*barycentre(uops), folded[uops][0]))
    return {
        "ports": list(mapping.ports),
        "uops": [uop_json(mask, mapping.ports) for mask in masks],
        "groups": [
            {
                "schemes": folded[uops],
                "uops": sorted(
                    ({"uop": position[mask], "count": count} for mask, count in uops), key=lambda u: u["uop"]
                ),
                "usage": mapping.describe(folded[uops][0]),
            }
            for uops in groups
        ],
    }


def _barycentre_of_ports(mask: int) -> tuple[float, int, int]:
    return (fmean(ports_in(mask)), mask.bit_count(), mask)
