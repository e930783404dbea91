"""Exports as files, and static sites."""
