"""Stored data: instruction sets, experiments, mappings, uploaded files, and search in them."""
