"""The ASGI application: pages over HTTP, live runs over WebSockets to this site's own pages, and agents."""

from __future__ import annotations

import os

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
django.setup(set_prefix=False)  # whatever touches models is imported after it

from inference.consumers import agent_urlpatterns, websocket_urlpatterns  # noqa: E402
from pmweb.handler import Pages  # noqa: E402
from pmweb.permissions.sockets import guarded  # noqa: E402
from pmweb.timing import timed  # noqa: E402

browsers = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(guarded(websocket_urlpatterns))))
application = ProtocolTypeRouter(
    {"http": timed(Pages()), "websocket": URLRouter([*agent_urlpatterns, re_path("", browsers)])}
)
