"""Accessibility of a page by axe-core, which is unchanged in `vendor/` (Mozilla Public License 2.0)."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
TOLERATED = "Applying inline style violates"
"""axe styles the page while it measures, which the policy refuses: whoever uses it tolerates the message."""

ALIKE = "#operations > section ~ section, .api-groups > li ~ li"
"""What is written by the same lines as what stands before: of 229 operations the first group is enough."""

_RUN = f"""axe.run(
  {{exclude: [...document.querySelectorAll({json.dumps(ALIKE)})]}},
  {{preload: false, resultTypes: ["violations"], selectors: false}},
).then(told => JSON.stringify(told.violations.map(
  one => [one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200))])))"""


def violations(page: Page) -> list[list[object]]:
    """The rules that a page breaks, each with the first elements that do. It goes past the policy."""
    debugger = page.context.new_cdp_session(page)
    if page.evaluate("typeof axe") == "undefined":  # compiling it takes longer than many pages do
        debugger.send("Runtime.evaluate", {"expression": AXE})
    run = {"expression": _RUN, "awaitPromise": True, "returnByValue": True}
    told = debugger.send("Runtime.evaluate", run)
    debugger.detach()
    found: list[list[object]] = json.loads(told["result"]["value"])
    return found
