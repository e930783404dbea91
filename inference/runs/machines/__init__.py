"""Machines with agents: who may speak for one, what it is given to measure, and what comes back.

| file | concern |
|---|---|
| `tokens` | machines are added; their agents' tokens are issued, recognised and revoked |
| `sessions` | the connections of agents: one per machine speaks, the newest; how a machine is doing |
| `checking` | what agents say, made safe or refused |
| `board` | where a run posts its batches, which are leased, given back, done or given up |
| `drift` | what drift checks show, and why a run waits for a machine |
| `measurer` | a machine of any kind as a measurer, and which schemes can be measured there |
| `facts` | what can be said of a machine before anything is measured |
"""
