"""Discoveries, the trees of their generalisation, and reports about them."""
