"""Addresses of WebSockets of browsers and agents."""

from __future__ import annotations

from django.urls import path, re_path

from inference.features.machines.machines.consumer import AgentConsumer
from inference.features.running.runs.consumer import RunConsumer, RunListConsumer, UnknownAddressConsumer

websocket_urlpatterns = [
    path("ws/runs/", RunListConsumer.as_asgi(), name="ws-runs"),
    path("ws/runs/<int:run_id>/", RunConsumer.as_asgi(), name="ws-run"),
    re_path("", UnknownAddressConsumer.as_asgi(), name="ws-nothing"),
]
"""For browsers; the site checks origin, session and permissions."""

agent_urlpatterns = [path("ws/agent/", AgentConsumer.as_asgi(), name="ws-agent")]
"""For agents, which authenticate by a token instead of a session."""
