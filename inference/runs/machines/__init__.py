"""Machines with agents: their connections, the batches they measure, and the results.

| file | concern |
|---|---|
| `sessions` | agents' tokens and connections (the newest per machine is valid), and readings of the machine |
| `checking` | validation of agents' messages |
| `batches` | leasing batches to connections, storing results, requeuing, failing |
| `board` | a run's side: posting batches, waiting for results, reporting why it waits |
| `measurer` | a machine of any kind as a measurer, measurable schemes, drift |
| `blocks` | measuring basic blocks on a machine |
| `facts` | capabilities and expected pace of a machine before anything is measured |
"""
