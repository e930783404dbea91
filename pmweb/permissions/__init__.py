"""Permissions of addresses: one table for the site, enforced before the views.

| file | concern |
|---|---|
| `table` | rules (levels to read and to change, audit action), and the rule of each address |
| `middleware` | enforcement for requests |
| `sockets` | enforcement for WebSockets, also while they are open |

An address without a rule is refused to all. Views do not check permissions.
"""
