"""Readers and writers of campaign directories and archives: files to values and back, without a database."""
