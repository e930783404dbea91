"""Rules of the house's own addresses."""

from __future__ import annotations

from pmweb.accounts.audit import Action
from pmweb.accounts.roles import Level
from pmweb.permissions.rules import ANYBODY, Rule, button, by_token, form, page

RULES = {
    "start": page(),
    "glossary": page(),
    "tour": page(),
    "about": page(Level.MEMBER),
    "health": ANYBODY,
    "metrics": by_token(),
    "login": Rule(Level.ANYONE, Level.ANYONE),
    "login-link": Rule(Level.ANYONE, Level.ANYONE),
    "logout": button(Level.ANYONE),
    "password": form(Level.MEMBER, records=Action.ACCOUNTS),
    "confirm": form(Level.MEMBER),
    "account": page(Level.MEMBER),
    "sessions": page(Level.MEMBER),
    "session-end": button(Level.MEMBER),
    "sessions-end-others": button(Level.MEMBER),
    "api-token-make": form(Level.MEMBER, recent=True),
    "api-token-revoke": button(Level.MEMBER),
    "accounts": page(Level.ADMIN),
    "account-invite": form(Level.ADMIN, recent=True),
    "account-of": page(Level.ADMIN),
    "account-role": button(Level.ADMIN, recent=True),
    "account-link": button(Level.ADMIN, recent=True),
    "account-log-out": button(Level.ADMIN),
    "account-deactivate": button(Level.ADMIN),
    "account-reactivate": button(Level.ADMIN, recent=True),
    "storage": page(Level.ADMIN),
    "storage-prune": button(Level.ADMIN, records=Action.DELETED),
    "audit": page(Level.ADMIN),
    "audit-csv": Rule(Level.ADMIN, None, Action.EXPORTED),
}
