"""The house's own tables, one aggregate per file: people, ways in, sessions, tokens, audit log, prunings."""

from pmweb.models.account import (
    Account,
    ApiToken,
    BrowserSession,
    FailedLogins,
    KnownNetwork,
    LoginLink,
    Role,
    Scope,
)
from pmweb.models.audit import AuditEntry
from pmweb.models.pruning import Pruning
from pmweb.models.sharing import SharedLink

__all__ = [
    "Account",
    "ApiToken",
    "AuditEntry",
    "BrowserSession",
    "FailedLogins",
    "KnownNetwork",
    "LoginLink",
    "Pruning",
    "Role",
    "Scope",
    "SharedLink",
]
