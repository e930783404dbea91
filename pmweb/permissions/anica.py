"""Rules of the addresses of AnICA."""

from __future__ import annotations

from pmweb.accounts.audit import Action
from pmweb.accounts.roles import Level
from pmweb.permissions.rules import button, edit, export, form, page, page_with_buttons

MAPPING = "inference.PortMapping"

DISCOVERY = "anica_app.Discovery"

DISCOVERIES = {
    "discovery": page(),
    "discovery-tree": export(DISCOVERY),
    "discovery-blocks": export(DISCOVERY),
    "discovery-ask": form(),
    "discovery-edit": button(records=Action.CHANGED, of=DISCOVERY),
    "discovery-reproduce": page(),
    "discovery-report": export(DISCOVERY),
    "discovery-session": export(DISCOVERY),
}

CAMPAIGN = "anica_app.Campaign"

CAMPAIGNS = {
    "campaigns": page(),
    "campaign": page(),
    "campaign-new": form(),
    "campaign-compare": page(),
    "campaign-overlap": button(),
    "campaign-coverage": button(),
    "campaign-round": page(),
    "campaign-export": export(CAMPAIGN),
    "campaign-csv": export(CAMPAIGN),
    "campaign-file": export(CAMPAIGN),
    "campaign-edit": edit(CAMPAIGN),
    "campaign-delete": form(),
    "matrices": page(),
    "matrix": page(),
    "matrix-new": form(),
    "matrix-cell": page(),
    "matrix-csv": export("inference.Run"),
}

RULES = {
    **CAMPAIGNS,
    **DISCOVERIES,
    "anica-import": form(),
    "mapping-llvm": page_with_buttons(),
    "mapping-llvm-report": export(MAPPING),
    "predictors": page_with_buttons(),
    "predictor-add": form(Level.ADMIN),  # which programs are run on this computer
    "predictor-remove": button(Level.ADMIN),
}
