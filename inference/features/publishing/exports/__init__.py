"""Exports of everything that has a file format."""
