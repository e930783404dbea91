"""Durable background work: the run row is the truth, whoever holds its lease may write.

| file | concern |
|---|---|
| `lifecycle` | what a user does to a run: submit, pause, resume, cancel |
| `leases` | what a worker does to it: claim, heartbeat, finish, fail, give back; whose lease has ended |
| `journal` | numbered events, written with progress and checkpoint in one fenced transaction |
| `reporter` | the listener of a search: coalesces its events into the journal |
| `measurements` | what a run measured, remembered in its own experiment set |
| `kinds` | what a kind of run must be able to do, and which there are; each feature has its own in `job` |
| `stages` | the stages of a run that measures |
| `queue` | lanes of long and short runs, who waits for whom, and how much a user may have at a time |
| `execute` | does one claimed run in this process |
| `supervisor`, `child` | keep one run's child process: heartbeat, pause, cancel, death |
| `chores`, `warming` | what a worker does beside runs, such as pruning; compiling what runs compute with |
| `lifeline` | ends a process with its parent |
| `worker` | claims runs and supervises them, once the database is prepared; a Channels worker |
| `machines/` | agents' connections, and the batches that runs have measured by them |
| `watcher` | tells the consumers of one web process which runs have news |
| `wakeups` | messages that only make the above quicker: in one host, between hosts |
| `webhooks`, `webhook_address` | who is told that a run has ended, where, when and how |
"""
