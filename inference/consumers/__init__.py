"""WebSockets: the site speaks to browsers, and listens to agents.

| file | concern |
|---|---|
| `runs` | journals and lists of runs, to browsers that the site lets in, which are only spoken to |
| `agents` | the protocol of `inference.agent.protocol`, with computers that show a token |
"""

from __future__ import annotations

from django.urls import path, re_path

from inference.consumers.agents import AgentConsumer
from inference.consumers.runs import NothingHereConsumer, RunConsumer, RunListConsumer

websocket_urlpatterns = [
    path("ws/runs/", RunListConsumer.as_asgi(), name="ws-runs"),
    path("ws/runs/<int:run_id>/", RunConsumer.as_asgi(), name="ws-run"),
    re_path("", NothingHereConsumer.as_asgi(), name="ws-nothing"),
]
"""For browsers: behind the checks of origin, session and rights, which are the site's."""

agent_urlpatterns = [path("ws/agent/", AgentConsumer.as_asgi(), name="ws-agent")]
"""For agents: they are on other computers and have a token instead of a session."""
