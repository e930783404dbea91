"""Who uses the site, how they get in, and what they have done.

| file | concern |
|---|---|
| `people` | inviting, one-time links, deactivating; the account that the shell can always let in |
| `roles` | what a role may do, as views and templates ask for it |
| `backend` | the user of a session, with the role |
| `attempts`, `forms` | passwords, and the brake on guessing |
| `api_tokens`, `api_access` | programs that act for a person |
| `sessions` | the sessions of a person, kept under hashes of their keys |
| `watching` | connections end with the session that they belong to |
| `audit` | on whose behalf something is done, and the log of it |
| `pages`, `administration` | the pages of an account, and those of administrators |
"""
