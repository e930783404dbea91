"""Computers that measure: how they join, and what is measured on them."""
