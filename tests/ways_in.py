"""All that lets somebody in, and which of it does."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from inference.models import AgentToken, Machine
from inference.runs.machines import sessions as machine_tokens
from inference.storage.instruction_sets import new_isa
from pmweb.accounts import api_tokens, people
from pmweb.accounts.sessions import SessionStore
from pmweb.models import ApiToken, LoginLink

TOKEN = "pmwebapi_of-a-program"
LINK = "of-a-link"


def make_ways_in() -> str:
    """Give the database a session, a link, and tokens of a program and of an agent; the session's key."""
    user = User.objects.create_user("ada")
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session.save()
    week = timezone.now() + timedelta(days=7)
    LoginLink.objects.create(user=user, token_hash=hashlib.sha256(LINK.encode()).hexdigest(), expires=week)
    ApiToken.objects.create(user=user, name="a program", digest=api_tokens.digest_of(TOKEN))
    isa = new_isa("toy", ["add R, R"], "by hand")
    machine = Machine.objects.create(name="lab", kind=Machine.Kind.AGENT, isa=isa)
    AgentToken.objects.create(machine=machine, digest=hashlib.sha256(TOKEN.encode()).hexdigest())
    return session.session_key


def lets_in(session: str) -> set[str]:
    """What of that lets somebody in now."""
    found = {
        "session": SESSION_KEY in SessionStore(session),
        "link": people.link_user(LINK) is not None,
        "token": api_tokens.bearer_of(TOKEN) is not None,
        "agent": machine_tokens.machine_of(TOKEN) is not None,
    }
    connections.close_all()
    return {name for name, works in found.items() if works}
