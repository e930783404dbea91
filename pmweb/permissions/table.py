"""The rules of all addresses, from public ones to those of administrators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel

READING = frozenset(("GET", "HEAD", "OPTIONS"))
CHANGING = frozenset(("POST",))


SHOWS = "it shows something and changes nothing"
NOTES = "what is done there is noted where it is done, with what became of whom"
SHUTS_OUT = f"it lets nobody in: who has to shut somebody out is not kept from it; {NOTES}"
"""Reasons of addresses of administrators without a confirmed identity or without an audit entry."""

MACHINE, RUN, SET = "inference.Machine", "inference.Run", "inference.ExperimentSet"
MAPPING, RESOURCES = "inference.PortMapping", "inference.ResourceMapping"
CORE_MODEL, BLOCK_SET = "inference.StoredCoreModel", "inference.BasicBlockSet"
CAMPAIGN, DISCOVERY, FAMILY = "anica_app.Campaign", "anica_app.Discovery", "anica_app.Family"


@dataclass(frozen=True)
class Rule:
    """Permissions and audit of an address.

    Attributes:
        read: Level for GET, HEAD and OPTIONS; None: not allowed.
        change: Level for POST; None: not allowed.
        records: Audit action of successful requests; new runs, uploads and deletions are recorded elsewhere
            (`pmweb.accounts.audit`).
        of: Model, "app.Model", of the address's `pk`; subject of the audit entry.
        guards_itself: The view authenticates by a token; all methods reach it.
        recent: The user's identity must be confirmed first, unless it was lately.
        because: Why an address of administrators is not `recent`, or has no `records`.
    """

    read: AccessLevel | None
    change: AccessLevel | None
    records: Action | None = None
    of: str = ""
    guards_itself: bool = False
    recent: bool = False
    because: str = ""

    @property
    def methods(self) -> frozenset[str]:
        """Methods that some level may use."""
        return (READING if self.read is not None else frozenset()) | (
            CHANGING if self.change is not None else frozenset()
        )

    def needed(self, method: str) -> AccessLevel | None:
        """Required level of a method; None: not allowed."""
        if method in READING:
            return self.read
        return self.change if method in CHANGING else None


def page(level: AccessLevel = AccessLevel.READER, *, because: str = "") -> Rule:
    """A page or picture that changes nothing."""
    return Rule(level, None, because=because)


def form(
    level: AccessLevel = AccessLevel.OPERATOR,
    *,
    records: Action | None = None,
    of: str = "",
    recent: bool = False,
    because: str = "",
) -> Rule:
    """A page whose only purpose is its form."""
    return Rule(level, level, records, of, recent=recent, because=because)


def button(level: AccessLevel = AccessLevel.OPERATOR, **facts: Any) -> Rule:
    """A POST without a page of its own; arguments as of `form`."""
    return replace(form(level, **facts), read=None)


def export(of: str = "") -> Rule:
    """A file with content that readers can see; recorded in the audit log."""
    return Rule(AccessLevel.READER, None, Action.EXPORTED, of)


def edit(of: str) -> Rule:
    """A form that changes a row, such as its name and note."""
    return form(records=Action.CHANGED, of=of)


ANYBODY = Rule(AccessLevel.ANYONE, None)
"""Open to all visitors."""

BY_TOKEN = Rule(AccessLevel.ANYONE, AccessLevel.ANYONE, guards_itself=True)
"""For programs with a token: the view authenticates them."""

PAGE_WITH_BUTTONS = Rule(AccessLevel.READER, AccessLevel.OPERATOR)
"""A page for readers with a form for operators."""


RULES: tuple[tuple[Rule, str], ...] = (
    (ANYBODY, "health agent-download"),
    (ANYBODY, "shared shared-file"),  # whoever has the link: it shows one thing
    (BY_TOKEN, "metrics api-v1 ws-agent"),
    (Rule(AccessLevel.ANYONE, AccessLevel.ANYONE), "login login-link"),
    (button(AccessLevel.ANYONE), "logout"),
    # what everybody with an account has
    (page(AccessLevel.MEMBER), "about account sessions"),
    (form(AccessLevel.MEMBER), "confirm"),
    (form(AccessLevel.MEMBER, records=Action.ACCOUNTS), "password"),
    (form(AccessLevel.MEMBER, recent=True), "api-token-make"),
    (button(AccessLevel.MEMBER), "session-end sessions-end-others api-token-revoke"),
    # what readers see
    (
        page(),
        "start help help-page glossary tour search search-suggestions publish api api-client predictors",
    ),
    (page(), "ws-runs ws-run ws-nothing"),
    (page(), "isas isa scheme experiments experiment experiment-snippet"),
    (page(), "sets set set-conflicts sets-compare"),
    (page(), "machines machines-arm machine machine-state machine-noise machine-trust"),
    (page(), "mappings mapping scheme-proof resource-mappings resource-mapping"),
    (page(), "latencies latencies-compare latency-set latency-memory latency-bypasses latency-scheme"),
    (page(), "core-models core-model core-model-compare gallery recorded-core recorded-core-compare"),
    (page(), "front-ends front-end runs run run-heat-map"),
    (page(), "accuracy-checks accuracy-check comparisons comparison block-sets block-set"),
    (page(), "campaigns campaign campaign-compare campaign-round family matrices matrix matrix-cell"),
    (page(), "discovery discovery-schemes discovery-reproduce"),
    (page(), "loop loop-evidence"),
    (page(), "loop-measured loop-missing loop-tools loop-alignment"),
    (form(AccessLevel.READER), "loop-answer loop-timeline"),  # POST for long code: it changes nothing
    (PAGE_WITH_BUTTONS, "instruction blocks asked-blocks mapping-llvm"),
    # what readers take away
    (export(), "sets-compare-csv latencies-compare-csv publish-zip"),
    (export("inference.InstructionScheme"), "scheme-csv"),
    (export("inference.ISA"), "isa-csv"),
    (export(SET), "set-conflicts-csv set-export"),
    (export(MAPPING), "mapping-compare-csv mapping-doubts-csv mapping-export mapping-llvm-report"),
    (export(RESOURCES), "resource-mapping-export"),
    (export("inference.LatencySet"), "latency-set-export"),
    (export(CORE_MODEL), "core-model-export"),
    (export(RUN), "run-schemes-csv run-mixes-csv run-orders-csv run-archive accuracy-check-csv"),
    (export(RUN), "asked-blocks-csv matrix-csv comparison-scores-csv comparison-schemes-csv"),
    (export(RUN), "comparison-answers-csv comparison-view-csv"),
    (export(BLOCK_SET), "block-set-accuracy-csv block-set-baseline block-set-uncovered-csv block-set-csv"),
    (export(CAMPAIGN), "campaign-export campaign-csv campaign-file"),
    (export(FAMILY), "family-report family-test family-snippet"),
    (export(DISCOVERY), "discovery-tree discovery-blocks discovery-report discovery-session"),
    # what operators do
    (page(AccessLevel.OPERATOR), "shares"),
    (button(recent=True), "share-make"),
    (button(), "share-revoke example set-learn sets-compare-start"),
    (button(), "upload-discard upload-import-all upload-read measure-this-computer find-ports"),
    (button(), "mapping-classes-measure mapping-doubts-measure mapping-evaluate scheme-again"),
    (button(), "latency-set-again front-end-measure resource-mapping-evaluate"),
    (
        button(),
        "run-action run-without front-pick loop-measure loop-alignment-measure loop-complete loop-tools-ask",
    ),
    (button(), "block-set-paste block-set-compare block-set-cover block-set-explain"),
    (button(), "campaign-overlap campaign-coverage campaign-families family-measure discovery-again"),
    (form(), "upload upload-preview upload-run upload-core-model anica-import anica-loops block-set-upload"),
    (form(), "sets-merge mapping-convert core-model-new infer know check-model latencies-measure"),
    (form(), "machine-arrival machine-measure block-set-ask block-set-gate discovery-ask"),
    (form(), "campaign-new matrix-new comparison-new accuracy-check-new"),
    (button(), "gallery-open core-model-measure core-model-check program-judge"),
    (form(), "core-model-edit front-end-edit latency-set-edit"),
    (form(), "set-delete machine-delete mapping-delete resource-mapping-delete run-delete"),
    (form(), "core-model-delete front-end-delete latency-set-delete block-set-delete campaign-delete"),
    # what is noted of them
    (form(records=Action.UPLOADED), "isa-load"),
    (form(records=Action.TOKENS), "machine-add"),
    (button(records=Action.TOKENS, of=MACHINE), "machine-token machine-token-revoke"),
    (edit(SET), "set-edit"),
    (edit(MACHINE), "machine-edit"),
    (edit(MAPPING), "mapping-edit"),
    (edit(RESOURCES), "resource-mapping-edit"),
    (edit(CORE_MODEL), "core-model-ports"),
    (edit(RUN), "run-edit"),
    (edit(BLOCK_SET), "block-set-edit"),
    (edit(CAMPAIGN), "campaign-edit"),
    (button(records=Action.CHANGED, of=RUN), "run-webhook"),
    (button(records=Action.CHANGED, of=BLOCK_SET), "block-column-delete"),
    (button(records=Action.CHANGED, of=FAMILY), "family-edit"),
    (button(records=Action.CHANGED, of=DISCOVERY), "discovery-edit"),
    # what administrators do
    (page(AccessLevel.ADMIN, because=SHOWS), "accounts account-of storage audit"),
    (Rule(AccessLevel.ADMIN, None, Action.EXPORTED, because=SHOWS), "audit-csv"),
    (form(AccessLevel.ADMIN, recent=True, because=NOTES), "account-invite"),
    (button(AccessLevel.ADMIN, recent=True, because=NOTES), "account-role account-link account-reactivate"),
    (button(AccessLevel.ADMIN, because=SHUTS_OUT), "account-log-out account-deactivate"),
    (button(AccessLevel.ADMIN, records=Action.DELETED, recent=True), "storage-prune"),
    (form(AccessLevel.ADMIN, recent=True, because=NOTES), "predictor-add"),  # which programs are run here
    (button(AccessLevel.ADMIN, recent=True, because=NOTES), "predictor-remove"),
)
"""(rule, URL names separated by spaces)."""

TABLE = {name: rule for rule, names in RULES for name in names.split()}


def rule_of(view_name: str | None) -> Rule | None:
    """The rule of an address by its URL name, with namespace; None without one."""
    return TABLE.get(view_name or "")
