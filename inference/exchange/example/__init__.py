"""The recorded example: a simulated processor, what was measured on it, and its true port mapping.

`data/` holds the files, `recipe.py` says how they were made, `loading.py` puts them into the database.
"""
