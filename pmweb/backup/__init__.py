"""Back-ups: the whole database as it was at one moment, in one file that says what is in it.

| file | concern |
|---|---|
| `archive` | the file: a zip with a manifest, the dump, and the secret key |
| `sqlite`, `postgresql` | how each database is dumped while the site runs, and its rows are put back |
| `dump_text` | the rows in a dump of PostgreSQL |
| `ways_in` | sessions, links, passwords and tokens end when a back-up is put back |
| `errors` | why one cannot be made or put back |
"""
