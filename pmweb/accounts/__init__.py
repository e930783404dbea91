"""Who may use the site: one administrator, who logs in by a one-time link or a password."""
