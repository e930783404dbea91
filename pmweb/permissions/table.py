"""All rules, by the names of addresses."""

from __future__ import annotations

from collections.abc import Mapping

from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel
from pmweb.permissions.rules import (
    ANYBODY,
    BY_TOKEN,
    PAGE_WITH_BUTTONS,
    Rule,
    button,
    edit,
    export,
    form,
    page,
)

SHOWS = "it shows something and changes nothing"
NOTES = "what is done there is noted where it is done, with what became of whom"
SHUTS_OUT = f"it lets nobody in: who has to shut somebody out is not kept from it; {NOTES}"
"""Why some addresses of administrators ask nobody who they are, or have no line in the audit log."""


HOUSE = {
    "start": page(),
    "glossary": page(),
    "tour": page(),
    "about": page(AccessLevel.MEMBER),
    "health": ANYBODY,
    "metrics": BY_TOKEN,
    "login": Rule(AccessLevel.ANYONE, AccessLevel.ANYONE),
    "login-link": Rule(AccessLevel.ANYONE, AccessLevel.ANYONE),
    "logout": button(AccessLevel.ANYONE),
    "password": form(AccessLevel.MEMBER, records=Action.ACCOUNTS),
    "confirm": form(AccessLevel.MEMBER),
    "account": page(AccessLevel.MEMBER),
    "sessions": page(AccessLevel.MEMBER),
    "session-end": button(AccessLevel.MEMBER),
    "sessions-end-others": button(AccessLevel.MEMBER),
    "api-token-make": form(AccessLevel.MEMBER, recent=True),
    "api-token-revoke": button(AccessLevel.MEMBER),
    "accounts": page(AccessLevel.ADMIN, because=SHOWS),
    "account-invite": form(AccessLevel.ADMIN, recent=True, because=NOTES),
    "account-of": page(AccessLevel.ADMIN, because=SHOWS),
    "account-role": button(AccessLevel.ADMIN, recent=True, because=NOTES),
    "account-link": button(AccessLevel.ADMIN, recent=True, because=NOTES),
    "account-log-out": button(AccessLevel.ADMIN, because=SHUTS_OUT),
    "account-deactivate": button(AccessLevel.ADMIN, because=SHUTS_OUT),
    "account-reactivate": button(AccessLevel.ADMIN, recent=True, because=NOTES),
    "shares": page(AccessLevel.OPERATOR),
    "share-make": button(recent=True),
    "share-revoke": button(),
    "shared": ANYBODY,  # whoever has the link: it shows one thing
    "shared-file": ANYBODY,
    "storage": page(AccessLevel.ADMIN, because=SHOWS),
    "storage-prune": button(AccessLevel.ADMIN, records=Action.DELETED, recent=True),
    "audit": page(AccessLevel.ADMIN, because=SHOWS),
    "audit-csv": Rule(AccessLevel.ADMIN, None, Action.EXPORTED, because=SHOWS),
}


MACHINE, RUN, SET = "inference.Machine", "inference.Run", "inference.ExperimentSet"
MAPPING, RESOURCES = "inference.PortMapping", "inference.ResourceMapping"
BLOCK_SET, COMPARISON = "inference.BasicBlockSet", "inference.Run"
CAMPAIGN, DISCOVERY, FAMILY = "anica_app.Campaign", "anica_app.Discovery", "anica_app.Family"

DISCOVERIES = {
    "discovery": page(),
    "discovery-tree": export(DISCOVERY),
    "discovery-blocks": export(DISCOVERY),
    "discovery-ask": form(),
    "discovery-again": button(),
    "discovery-schemes": page(),
    "discovery-edit": button(records=Action.CHANGED, of=DISCOVERY),
    "discovery-reproduce": page(),
    "discovery-report": export(DISCOVERY),
    "discovery-session": export(DISCOVERY),
}

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
    "campaign-families": button(),
    "campaign-edit": edit(CAMPAIGN),
    "campaign-delete": form(),
    "family": page(),
    "family-report": export(FAMILY),
    "family-test": export(FAMILY),
    "family-snippet": export(FAMILY),
    "family-edit": button(records=Action.CHANGED, of=FAMILY),
    "family-measure": button(),
    "matrices": page(),
    "matrix": page(),
    "matrix-new": form(),
    "matrix-cell": page(),
    "matrix-csv": export("inference.Run"),
}

BLOCKS = {
    "blocks": PAGE_WITH_BUTTONS,
    "asked-blocks": PAGE_WITH_BUTTONS,
    "asked-blocks-csv": export("inference.Run"),
}

BLOCK_SETS = {
    "block-sets": page(),
    "block-set": page(),
    "block-set-upload": form(),
    "block-set-paste": button(),
    "anica-import": form(),
    "anica-loops": form(),
    "block-set-ask": form(),
    "block-set-compare": button(),
    "block-set-accuracy-csv": export(BLOCK_SET),
    "block-set-baseline": export(BLOCK_SET),
    "block-set-gate": form(),
    "block-set-cover": button(),
    "block-set-explain": button(),
    "block-set-uncovered-csv": export(BLOCK_SET),
    "block-set-csv": export(BLOCK_SET),
    "block-set-edit": edit(BLOCK_SET),
    "block-set-delete": form(),
    "block-column-delete": button(records=Action.CHANGED, of=BLOCK_SET),
}

ACCURACY_CHECKS = {
    "accuracy-checks": page(),
    "accuracy-check": page(),
    "accuracy-check-new": form(),
    "accuracy-check-csv": export("inference.Run"),
}

COMPARISONS = {
    "comparisons": page(),
    "comparison": page(),
    "comparison-new": form(),
    "comparison-scores-csv": export(COMPARISON),
    "comparison-schemes-csv": export(COMPARISON),
    "comparison-answers-csv": export(COMPARISON),
    "comparison-view-csv": export(COMPARISON),
}

ANICA = {
    **ACCURACY_CHECKS,
    **BLOCKS,
    **BLOCK_SETS,
    **CAMPAIGNS,
    **COMPARISONS,
    **DISCOVERIES,
    "mapping-llvm": PAGE_WITH_BUTTONS,
    "mapping-llvm-report": export(MAPPING),
    "predictors": page(),
    "predictor-add": form(AccessLevel.ADMIN, recent=True, because=NOTES),  # which programs are run here
    "predictor-remove": button(AccessLevel.ADMIN, recent=True, because=NOTES),
}


INFERENCE = {
    "search": page(),
    # instruction sets, experiments
    "isas": page(),
    "isa": page(),
    "isa-load": form(records=Action.UPLOADED),
    "scheme": page(),
    "instruction": page(),
    "scheme-csv": export("inference.InstructionScheme"),
    "experiments": page(),
    "experiment": page(),
    "experiment-snippet": page(),
    # experiment sets and files
    "example": button(),
    "sets": page(),
    "set": page(),
    "set-conflicts": page(),
    "set-conflicts-csv": export(SET),
    "set-learn": button(),
    "set-edit": edit(SET),
    "set-export": export(SET),
    "sets-compare": page(),
    "sets-compare-start": button(),
    "sets-compare-csv": export(),
    "sets-merge": form(),
    "set-delete": form(),
    "upload": form(),
    "upload-preview": form(),
    "upload-discard": button(),
    "upload-import-all": button(),
    "upload-read": button(),
    # machines and their agents
    "machines": page(),
    "machines-arm": page(),
    "machine": page(),
    "machine-state": page(),
    "machine-noise": page(),
    "machine-trust": page(),
    "machine-add": form(records=Action.TOKENS),
    "machine-arrival": form(),
    "machine-edit": edit(MACHINE),
    "machine-delete": form(),
    "machine-measure": form(),
    "machine-token": button(records=Action.TOKENS, of=MACHINE),
    "machine-token-revoke": button(records=Action.TOKENS, of=MACHINE),
    "measure-this-computer": button(),
    "find-ports": button(),
    "check-model": form(),
    "agent-download": ANYBODY,
    # mappings
    "mappings": page(),
    "mapping": page(),
    "mapping-compare-csv": export(MAPPING),
    "mapping-convert": form(),
    "mapping-delete": form(),
    "mapping-classes-measure": button(),
    "mapping-doubts-csv": export(MAPPING),
    "mapping-doubts-measure": button(),
    "mapping-edit": edit(MAPPING),
    "mapping-evaluate": button(),
    "mapping-export": export(MAPPING),
    "scheme-proof": page(),
    "scheme-again": button(),
    "latencies": page(),
    "latencies-measure": form(),
    "latencies-compare": page(),
    "latencies-compare-csv": export(),
    "latency-set": page(),
    "latency-set-export": export("inference.LatencySet"),
    "latency-memory": page(),
    "latency-bypasses": page(),
    "latency-set-again": button(),
    "latency-scheme": page(),
    "know": form(),
    "core-models": page(),
    "core-model": page(),
    "core-model-new": form(),
    "core-model-export": export("inference.StoredCoreModel"),
    "core-model-ports": edit("inference.StoredCoreModel"),
    "core-model-edit": form(),
    "core-model-delete": form(),
    "front-ends": page(),
    "front-end": page(),
    "front-end-measure": button(),
    "front-end-edit": form(),
    "front-end-delete": form(),
    "latency-set-edit": form(),
    "latency-set-delete": form(),
    "resource-mappings": page(),
    "resource-mapping": page(),
    "resource-mapping-delete": form(),
    "resource-mapping-edit": edit(RESOURCES),
    "resource-mapping-evaluate": button(),
    "resource-mapping-export": export(RESOURCES),
    "publish": page(),
    "publish-zip": export(),
    # runs
    "infer": form(),
    "runs": page(),
    "run": page(),
    "run-action": button(),
    "run-delete": form(),
    "run-edit": edit(RUN),
    "run-heat-map": page(),
    "run-without": button(),
    "run-schemes-csv": export(RUN),
    "run-mixes-csv": export(RUN),
    "run-orders-csv": export(RUN),
    "front-pick": button(),
    "run-archive": export(RUN),
    "run-webhook": button(records=Action.CHANGED, of=RUN),
    "upload-run": form(),
    "upload-core-model": form(),
    # the HTTP API, and its reference
    "api": page(),
    "api-client": page(),
    "api-v1": BY_TOKEN,
    # WebSockets
    "ws-runs": page(),
    "ws-run": page(),
    "ws-nothing": page(),
    "ws-agent": BY_TOKEN,
}


def merged(*parts: Mapping[str, Rule]) -> dict[str, Rule]:
    """One table of several; raises `ValueError` where two of them claim a name."""
    rules: dict[str, Rule] = {}
    for part in parts:
        if twice := rules.keys() & part.keys():
            raise ValueError(f"two rules for {', '.join(sorted(twice))}")
        rules |= part
    return rules


TABLE = merged(HOUSE, INFERENCE, ANICA)


def rule_of(view_name: str | None) -> Rule | None:
    """The rule of an address by its name, with its name space; None where there is none."""
    return TABLE.get(view_name or "")
