"""Machines with agents: who may speak for one, what it is given to measure, and what comes back.

| file | concern |
|---|---|
| `sessions` | agents' tokens and connections: one per machine speaks, the newest; how the machine is doing |
| `checking` | what agents say, made safe or refused |
| `batches` | are leased to a connection, given back, done or given up |
| `board` | where a run posts its batches and waits for their results, and why it waits |
| `measurer` | a machine of any kind as a measurer, which schemes can be measured there, and drift |
| `blocks` | basic blocks measured on a machine |
| `facts` | what can be said of a machine before anything is measured |
"""
