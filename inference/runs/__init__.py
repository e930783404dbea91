"""Durable background work: the run row is the truth, whoever holds its lease may write.

| file | concern |
|---|---|
| `lifecycle` | what a user does to a run: submit, pause, resume, cancel |
| `leases`, `lease_monitor` | what a worker does to it: claim, heartbeat, finish, give back; who is gone |
| `versions` | the software that does it |
| `journal` | numbered events, written with progress and checkpoint in one fenced transaction |
| `reporter` | the listener of a search: coalesces its events into the journal |
| `measurements` | what a run measured, remembered in its own experiment set |
| `kinds` | what a kind of run must be able to do, and which there are; each feature has its own in `job` |
| `stages` | the stages of a run that measures |
| `queue`, `limits` | lanes of long and short runs, who waits for whom; how much a user may have at a time |
| `execute`, `executors` | does one claimed run in this process; where its pieces are computed |
| `supervisor`, `child` | keep one run's child process: heartbeat, pause, cancel, death |
| `chores`, `warming` | what a worker does beside runs, such as pruning; compiling what runs compute with |
| `lifeline` | ends a process with its parent |
| `worker`, `database_wait` | claims runs and supervises them, once the database is prepared |
| `machines/` | agents' connections, and the batches that runs have measured by them |
| `watcher` | tells the consumers of one web process which runs have news |
| `wakeups` | messages that only make the above quicker |
| `local_wakeups`, `layer_relay` | how they come to listeners of one host, and to other hosts |
| `webhooks`, `webhook_address` | who is told that a run has ended, and where |
| `webhook_delivery`, `webhook_posting` | the attempts to tell them, and one message |
"""
