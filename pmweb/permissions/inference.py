"""Rules of the addresses of inference, its WebSockets among them."""

from __future__ import annotations

from pmweb.accounts.audit import Action
from pmweb.permissions.rules import (
    ANYBODY,
    button,
    by_token,
    edit,
    export,
    form,
    page,
    page_with_buttons,
)

ISA, MACHINE, RUN, SET = "inference.ISA", "inference.Machine", "inference.Run", "inference.ExperimentSet"
MAPPING, RESOURCES = "inference.PortMapping", "inference.ResourceMapping"

RULES = {
    # instruction sets, experiments, blocks
    "isas": page(),
    "isa": page(),
    "isa-load": form(records=Action.UPLOADED),
    "scheme": page(),
    "experiments": page(),
    "experiment": page(),
    "experiment-snippet": page(),
    "blocks": page_with_buttons(),
    # experiment sets and files
    "example": button(),
    "sets": page(),
    "set": page(),
    "set-learn": button(),
    "set-edit": edit(SET),
    "set-delete": form(),
    "upload": form(),
    "upload-preview": form(),
    "upload-discard": button(),
    "upload-import-all": button(),
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
    "mapping-edit": edit(MAPPING),
    "mapping-evaluate": button(),
    "mapping-export": export(MAPPING),
    "scheme-proof": page(),
    "scheme-again": button(),
    "resource-mappings": page(),
    "resource-mapping": page(),
    "resource-mapping-delete": form(),
    "resource-mapping-edit": edit(RESOURCES),
    "resource-mapping-evaluate": button(),
    "resource-mapping-export": export(RESOURCES),
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
    # the HTTP API, and its reference
    "api": page(),
    "api-v1": by_token(),
    # WebSockets
    "ws-runs": page(),
    "ws-run": page(),
    "ws-nothing": page(),
    "ws-agent": by_token(),
}
