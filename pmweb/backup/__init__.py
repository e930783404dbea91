"""Back-ups: a snapshot of the database in one file with a manifest.

| file | concern |
|---|---|
| `archive` | the file: a zip with a manifest, the dump, and the secret key; revocation of credentials |
| `sqlite`, `postgresql` | dumping each database while the site runs, and restoring its rows |
"""
