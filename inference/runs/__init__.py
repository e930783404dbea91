"""Durable background work: the run row is the truth, whoever holds its lease may write.

| file | concern |
|---|---|
| `lifecycle` | what a user does to a run: submit, pause, resume, cancel |
| `limits` | how much a user may have here at a time |
| `lease`, `leases` | what a worker does to it: claim, heartbeat, finish, fail, give back |
| `journal` | numbered events, written with progress and checkpoint in one fenced transaction |
| `reporter` | the listener of a search: coalesces its events into the journal |
| `measurements` | what a run measured, remembered in its own experiment set |
| `registry`, `jobs/` | the kinds of runs and how each is done |
| `queue` | lanes of long and short runs, and who waits for whom |
| `execute` | does one claimed run in this process |
| `supervisor`, `child` | keep one run's child process: heartbeat, pause, cancel, death |
| `lifeline` | ends a process with its parent |
| `chores` | what a worker does beside runs, such as pruning |
| `warming` | compiles what runs compute with, beside the worker |
| `worker` | claims runs and supervises them; a Channels worker |
| `machines/` | agents' connections, and the batches that runs have measured by them |
| `watcher` | tells the consumers of one web process which runs have news |
| `doorbell`, `bells`, `switchboard` | messages that only make the above quicker: in one host, between hosts |
| `webhooks`, `webhook_address` | who is told that a run has ended, and where |
| `webhook_delivery`, `webhook_posting` | when, and how |
| `readiness` | a worker waits for a database that is prepared |
"""
