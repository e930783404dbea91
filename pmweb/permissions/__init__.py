"""Who may use which address: one table for the whole site, enforced before any view is reached.

| file | concern |
|---|---|
| `rules` | what a rule says: the level to read, the level to change, what is noted in the audit log |
| `table` | the rules, a line per name of an address |
| `middleware` | requests of browsers |
| `sockets` | WebSockets of browsers, also after they were opened |
| `context` | what templates ask: `may_read`, `may_operate`, `may_administer` |

An address without a rule is open to nobody. Views say nothing about who may use them.
"""
