"""Who uses the site, how they get in, and what they have done.

| file | concern |
|---|---|
| `people` | inviting, roles, deactivating; the account that the shell can always let in |
| `roles` | what a role may do |
| `backend` | the user of a session, with the role |
| `links`, `throttle`, `forms` | ways in: one-time links, passwords, and the brake on guessing |
| `api_tokens` | programs that act for a person |
| `session_store` | sessions are kept under hashes of their keys |
| `sessions` | the sessions of a person, and how they end |
| `watching` | connections end with the session that they belong to |
| `telling`, `audit`, `noting` | on whose behalf something is done, and the log of it |
| `pages`, `administration` | the pages of an account, and those of administrators |
"""
