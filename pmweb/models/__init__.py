"""The house's own tables, one aggregate per file: people, ways in, tokens, the audit log, prunings."""

from pmweb.models.account import Account, Role
from pmweb.models.api_token import ApiToken, Scope
from pmweb.models.audit import AuditEntry
from pmweb.models.pruning import Pruning
from pmweb.models.ways_in import LoginFailure, LoginLink

__all__ = ["Account", "ApiToken", "AuditEntry", "LoginFailure", "LoginLink", "Pruning", "Role", "Scope"]
