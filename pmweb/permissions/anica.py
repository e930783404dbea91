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

BLOCKS = {
    "blocks": page_with_buttons(),
    "asked-blocks": page_with_buttons(),
    "asked-blocks-csv": export("inference.Run"),
}

BLOCK_SET = "anica_app.BasicBlockSet"

BLOCK_SETS = {
    "block-sets": page(),
    "block-set": page(),
    "block-set-upload": form(),
    "block-set-paste": button(),
    "block-set-ask": form(),
    "block-set-compare": button(),
    "block-set-accuracy-csv": export(BLOCK_SET),
    "block-set-cover": button(),
    "block-set-explain": button(),
    "block-set-uncovered-csv": export(BLOCK_SET),
    "block-set-csv": export(BLOCK_SET),
    "block-set-edit": edit(BLOCK_SET),
    "block-set-delete": form(),
    "block-column-delete": button(records=Action.CHANGED, of=BLOCK_SET),
}

COMPARISON = "inference.Run"

COMPARISONS = {
    "comparisons": page(),
    "comparison": page(),
    "comparison-new": form(),
    "comparison-scores-csv": export(COMPARISON),
    "comparison-schemes-csv": export(COMPARISON),
    "comparison-answers-csv": export(COMPARISON),
}

RULES = {
    **BLOCKS,
    **BLOCK_SETS,
    **CAMPAIGNS,
    **COMPARISONS,
    **DISCOVERIES,
    "anica-import": form(),
    "anica-loops": form(),
    "mapping-llvm": page_with_buttons(),
    "mapping-llvm-report": export(MAPPING),
    "predictors": page(),
    "predictor-add": form(Level.ADMIN),  # which programs are run on this computer
    "predictor-remove": button(Level.ADMIN),
}
