"""Exports in the shell, and the API for publishing."""
