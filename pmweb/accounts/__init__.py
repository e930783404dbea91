"""Accounts, authentication, sessions, tokens, and the audit log.

| file | concern |
|---|---|
| `people` | inviting, one-time links, deactivating; the administrator's account of the shell |
| `roles` | roles of users, access levels of visitors |
| `backend` | loads the user of a session, with the role |
| `attempts`, `forms` | passwords, and throttling of guesses |
| `api_tokens`, `api_access` | tokens of programs, and the API's access rules |
| `sessions` | sessions, stored under hashes of their keys |
| `watching` | closes open connections when their session or token ends |
| `audit` | the audit log, and the request on whose behalf something is done |
| `pages`, `administration` | the pages of one's own account, and those of administrators |
"""
