"""Who may use which address: one table for the whole site, enforced before any view is reached.

| file | concern |
|---|---|
| `table` | what a rule says (levels to read and to change, what is noted), and the rules by address |
| `middleware` | requests of browsers |
| `sockets` | WebSockets of browsers, also after they were opened |

An address without a rule is open to nobody. Views say nothing about who may use them.
"""
