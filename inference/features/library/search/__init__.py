"""The search box: page, API and queries."""
