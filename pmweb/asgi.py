"""The ASGI application: pages over HTTP, live runs over WebSockets to this site's own pages, and agents."""

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
django.setup(set_prefix=False)  # whatever touches models is imported after it

from inference.runs.data_directory import keep_private  # noqa: E402
from inference.runs.lifeline import HEARTBEAT_INTERVAL, Heartbeat  # noqa: E402
from inference.sockets import agent_urlpatterns, websocket_urlpatterns  # noqa: E402
from pmweb.environment import WEB_PROCESS  # noqa: E402
from pmweb.handler import Pages  # noqa: E402
from pmweb.logs import Logged  # noqa: E402
from pmweb.metrics import timed  # noqa: E402
from pmweb.origins import OwnCookies, OwnOriginAlone  # noqa: E402
from pmweb.permissions.sockets import guarded  # noqa: E402

keep_private()

browsers: Any = OwnOriginAlone(AuthMiddlewareStack(URLRouter(guarded(websocket_urlpatterns))))
application = Logged(
    OwnCookies(
        ProtocolTypeRouter(
            {"http": timed(Pages()), "websocket": URLRouter([*agent_urlpatterns, re_path("", browsers)])}
        )
    )
)

if WEB_PROCESS in os.environ:
    reverse("start")  # which loads every page
    LoopingCall(Heartbeat().beat).start(HEARTBEAT_INTERVAL)
    # All that it will ever need is there, and stays: garbage is looked for among what came afterwards, and
    # less often than suits a program of few objects. That is a sixth of the time of a page.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    # A thread that works gives way to one that waits after so long. The loop that takes connections waits for
    # it after every call of the system: with the usual 5 ms one long request makes all others late.
    sys.setswitchinterval(0.0001)
