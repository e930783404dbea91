"""Runs: pages, API and shell; the engine is `inference.runs`."""
