"""Rules of the addresses of AnICA."""

from __future__ import annotations

from pmweb.accounts.roles import Level
from pmweb.permissions.rules import button, export, form, page_with_buttons

MAPPING = "inference.PortMapping"

RULES = {
    "anica-import": form(),
    "mapping-llvm": page_with_buttons(),
    "mapping-llvm-report": export(MAPPING),
    "predictors": page_with_buttons(),
    "predictor-add": form(Level.ADMIN),  # which programs are run on this computer
    "predictor-remove": button(Level.ADMIN),
}
