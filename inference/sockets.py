"""WebSockets: the site speaks to browsers, and listens to agents."""

from __future__ import annotations

from django.urls import path, re_path

from inference.features.machines.machines.consumer import AgentConsumer
from inference.features.running.runs.consumer import UnknownAddressConsumer, RunConsumer, RunListConsumer

websocket_urlpatterns = [
    path("ws/runs/", RunListConsumer.as_asgi(), name="ws-runs"),
    path("ws/runs/<int:run_id>/", RunConsumer.as_asgi(), name="ws-run"),
    re_path("", UnknownAddressConsumer.as_asgi(), name="ws-nothing"),
]
"""For browsers: behind the checks of origin, session and rights, which are the site's."""

agent_urlpatterns = [path("ws/agent/", AgentConsumer.as_asgi(), name="ws-agent")]
"""For agents: they are on other computers and have a token instead of a session."""
