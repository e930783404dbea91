"""Operations of the HTTP API about the site itself: accounts, the audit log, storage.

They call what the pages of the site call. Those for administrators ask for the scope `administer`.
"""
