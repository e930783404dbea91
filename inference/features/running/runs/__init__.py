"""Runs as users see them: list, page, archive, sockets; the engine is `inference.runs`."""
