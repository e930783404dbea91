"""The house's own tables, one aggregate per file: people, ways in, sessions, tokens, audit log, prunings."""

from pmweb.models.account import Account, Role
from pmweb.models.api_token import ApiToken, Scope
from pmweb.models.audit import AuditEntry
from pmweb.models.browser_session import BrowserSession
from pmweb.models.pruning import Pruning
from pmweb.models.ways_in import FailedLogins, KnownNetwork, LoginLink

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
]
