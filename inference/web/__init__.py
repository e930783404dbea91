"""Shared code of the features' pages, API operations and commands."""
