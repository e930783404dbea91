"""The ASGI application: pages over HTTP, live runs over WebSockets to this site's own pages, and agents."""

from __future__ import annotations

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
pages = get_asgi_application()  # sets Django up: whatever touches models is imported after it

from inference.consumers import agent_urlpatterns, websocket_urlpatterns  # noqa: E402
from pmweb.permissions.sockets import guarded  # noqa: E402
from pmweb.timing import timed  # noqa: E402

browsers = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(guarded(websocket_urlpatterns))))
application = ProtocolTypeRouter(
    {"http": timed(pages), "websocket": URLRouter([*agent_urlpatterns, re_path("", browsers)])}
)
