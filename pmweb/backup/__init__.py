"""Back-ups: the whole database as it was at one moment, in one file that says what is in it.

| file | concern |
|---|---|
| `archive` | the file: a zip with a manifest, the dump, and the secret key; which ways in end with it |
| `sqlite`, `postgresql` | how each database is dumped while the site runs, and its rows are put back |
"""
