"""Faults on purpose: a site with everything real, of which parts are killed while runs of every kind go on.

`python -m benchmarks._chaos --help` says how to use it, `docs/faults.md` what it proves.

| file | concern |
|---|---|
| `opening` | starts a site with what its database needs, and ends all of it |
| `world` | the site: web process, workers, simulated agents, each started again when it has died |
| `message_faults` | between agents and site: loses, doubles and swaps their messages |
| `scarce` | a small file system that can be filled, and a clock that can be set |
| `kinds` | runs of every kind, small and with a known outcome |
| `outcome` | what a run has left in the database, without what differs every time |
| `faults` | the faults, whom each hits, and a log of them |
| `chaos_run` | submits runs and disturbs them until each kind was hit often enough |
| `sampling` | looks at leases while all this goes on |
| `invariants` | what must hold, checked from the database |
"""
