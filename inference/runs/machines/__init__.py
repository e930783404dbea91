"""Machines with agents: who may speak for one, what it is given to measure, and what comes back.

| file | concern |
|---|---|
| `tokens` | machines are added; their agents' tokens are issued, recognised and revoked |
| `sessions` | the connections of agents: one per machine speaks, the newest |
| `readings` | how a machine was doing |
| `checking` | what agents say, made safe or refused |
| `batches` | are leased to a connection, given back, done or given up |
| `board` | where a run posts its batches and waits for their results |
| `drift`, `wait_reasons` | what drift checks show; why a run waits for a machine |
| `measurer`, `simulated` | a machine of any kind as a measurer, and which schemes can be measured there |
| `facts` | what can be said of a machine before anything is measured |
"""
