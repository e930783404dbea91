"""Pages of accounts.

| file | concern |
|---|---|
| `ways_in` | log-in by password or link |
| `own` | everybody's own account: password, tokens |
| `people` | for administrators: who has an account, and what each may do |
| `audit_log` | for administrators: who did what |
"""
