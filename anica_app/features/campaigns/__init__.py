"""Campaigns: searches for what tools disagree about."""
