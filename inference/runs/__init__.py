"""Durable background work: the run row is the truth, whoever holds its lease may write.

| file | concern |
|---|---|
| `request` | the description of a run, checked: fields, rows that it names, selections of schemes |
| `lifecycle` | what a user does to a run: submit, pause, resume, cancel |
| `leases` | what a worker does to it: claim, heartbeat, finish, give back; who is gone |
| `journal`, `events` | numbered events, written with progress and checkpoint in one fenced transaction |
| `reporter` | the listener of a search: coalesces its events into the journal |
| `measurements` | what a run measured, remembered in its own experiment set |
| `kinds` | what a kind of run must be able to do, and which there are; who waits for whom |
| `stages` | the stages of a run that measures |
| `fork_server` | does claimed runs, each in a process that it forks |
| `executors` | where the pieces of a run are computed |
| `supervisor`, `child` | keep one run's child process: heartbeat, pause, cancel, death |
| `parts` | runs that are parts of another one |
| `chores`, `warming` | what a worker does beside runs, such as pruning; compiling what runs compute with |
| `lifeline` | ends a process with its parent |
| `worker` | claims runs and supervises them |
| `machines/` | agents' connections, and the batches that runs have measured by them |
| `watcher` | tells the consumers of one web process which runs have news |
| `wakeups` | messages that only make the above quicker |
| `webhooks`, `webhook_address` | who is told that a run has ended, where, and the attempts to tell them |
"""
