"""Campaigns between database and files; what several features read of them and of descriptions of runs."""
