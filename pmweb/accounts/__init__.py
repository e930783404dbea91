"""Who uses the site, how they get in, and what they have done.

| file | concern |
|---|---|
| `administrator` | the account that the shell can always let in |
| `people` | inviting, roles, deactivating |
| `roles` | what a role may do |
| `backend` | the user of a session, with the role |
| `links`, `throttle`, `forms` | ways in: one-time links, passwords, and the brake on guessing |
| `api_tokens` | programs that act for a person |
| `session_store` | sessions are kept under hashes of their keys |
| `sessions` | all sessions of a person end together |
| `watching` | connections end with the session that they belong to |
| `acting`, `audit`, `noting` | on whose behalf something is done, and the log of it |
| `views/` | the pages |
"""
