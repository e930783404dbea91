"""Machines with agents: who may speak for one, what it is given to measure, and what comes back.

| file | concern |
|---|---|
| `tokens` | machines are added; their agents' tokens are issued, recognised and revoked |
| `sessions` | the connections of agents: one per machine speaks, the newest; how a machine is doing |
| `batches` | batches are leased to a connection, given back, done, or given up |
| `checking` | what agents say, made safe or refused |
| `board` | where a run posts its batches and waits for their results |
| `waiting` | why a run waits for a machine, in words |
"""
