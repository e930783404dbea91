"""The tree of a generalisation as data for its picture."""

from __future__ import annotations

from typing import Any

from anica_app.models import Generalisation, GeneralisationStep
from anica_app.queries.generalisations import Tree
from anica_app.queries.saying import decision, label, reason
from inference.core.protocols import Json


def picture(tree: Tree) -> Json:
    """What `generalisation-tree.js` draws: a node per decision, in order.

    Of each its number, `kind`, whether `taken`, `label` and `words`, `reason`, and how many of `n` blocks are
    `interesting`; `result` marks the one that has become the discovery.
    """
    taken = [node.number for node in tree.nodes if node.taken]
    is_result = tree.generalisation.became == Generalisation.Became.DISCOVERY
    nodes: list[dict[str, Any]] = [
        {
            "number": node.number,
            "kind": node.kind,
            "taken": node.taken,
            "label": label(node).replace("`", ""),
            "words": decision(node).replace("`", ""),
            "reason": reason(node),
            "n": node.n,
            "interesting": node.interesting,
            "result": is_result and taken[-1:] == [node.number],
        }
        for node in tree.nodes
        if node.kind != GeneralisationStep.Kind.END
    ]
    return {"nodes": nodes}
