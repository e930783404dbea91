"""Campaigns between database and files; parts of campaigns and descriptions that several features use."""
