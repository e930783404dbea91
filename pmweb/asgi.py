"""The ASGI application: pages over HTTP, WebSockets of this site's pages, and WebSockets of agents."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.urls import re_path, reverse
from twisted.internet.task import LoopingCall

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
django.setup(set_prefix=False)  # modules that use models must be imported after it

from inference.runs.data_directory import set_private_umask  # noqa: E402
from inference.runs.lifeline import HEARTBEAT_INTERVAL, Heartbeat  # noqa: E402
from inference.sockets import agent_urlpatterns, websocket_urlpatterns  # noqa: E402
from inference.web import code_reading  # noqa: E402
from pmweb.environment import WEB_PROCESS  # noqa: E402
from pmweb.handler import Pages  # noqa: E402
from pmweb.logs import AccessLog  # noqa: E402
from pmweb.metrics import timed  # noqa: E402
from pmweb.origins import PortCookies, SameOriginOnly  # noqa: E402
from pmweb.permissions.sockets import with_guards  # noqa: E402

set_private_umask()

browsers: Any = SameOriginOnly(AuthMiddlewareStack(URLRouter(with_guards(websocket_urlpatterns))))
application = AccessLog(
    PortCookies(
        ProtocolTypeRouter(
            {
                "http": timed(Pages()),
                "websocket": URLRouter([*agent_urlpatterns, re_path("", browsers)]),
            }
        )
    )
)

if WEB_PROCESS in os.environ:
    reverse("start")  # loads every page
    code_reading.start()
    LoopingCall(Heartbeat().beat).start(HEARTBEAT_INTERVAL)
    # All modules are loaded and stay: exclude their objects from garbage collection, and collect less often
    # than the default, which suits programs of few objects. This saves a sixth of the time of a page.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    # Seconds after which a busy thread releases the interpreter. The event loop needs it after every system
    # call: with the default of 5 ms one long request would delay all others.
    sys.setswitchinterval(0.0001)
