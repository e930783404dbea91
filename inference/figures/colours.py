"""The colours of the ports: one port, one colour everywhere, safe for colour-blind eyes.

Okabe and Ito's seven, then five of Paul Tol's; each with a lighter twin for dark pages. The style sheet
`static/css/tokens.css` says the same to the browser. A colour never stands alone: the port's number is
printed with it.
"""

from __future__ import annotations

LIGHT = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7",
    "#f0e442", "#332288", "#999933", "#882255", "#44aa99", "#661100",
)  # fmt: skip

DARK = (
    "#4ba6de", "#f2b84b", "#3cc79c", "#f08a45", "#8ccdf2", "#e3a3c6",
    "#f5ee85", "#8c7fe0", "#c2c261", "#cf6b9f", "#7acfc0", "#c4694f",
)  # fmt: skip
