"""The colours of the ports, distinguishable for colour-blind readers; a port has the same one everywhere.

Okabe and Ito's seven, then five of Paul Tol's, each with a lighter version for dark pages. The style sheet
`static/css/tokens.css` has the same colours. Figures also print the port's number, so that colour is not
needed.
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
