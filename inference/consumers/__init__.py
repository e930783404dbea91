"""WebSockets: the site speaks to browsers, and listens to agents.

| file | concern |
|---|---|
| `runs` | journals and lists of runs, to logged-in browsers, which are only spoken to |
| `agents` | the protocol of `inference.agent.protocol`, with computers that show a token |
"""

from __future__ import annotations

from django.urls import path, re_path

from inference.consumers.agents import AgentConsumer
from inference.consumers.runs import NothingHereConsumer, RunConsumer, RunListConsumer

websocket_urlpatterns = [
    path("ws/runs/", RunListConsumer.as_asgi()),
    path("ws/runs/<int:run_id>/", RunConsumer.as_asgi()),
    re_path("", NothingHereConsumer.as_asgi()),
]
"""For browsers: behind the checks of origin and session."""

agent_urlpatterns = [path("ws/agent/", AgentConsumer.as_asgi())]
"""For agents: they are on other computers and have a token instead of a session."""
