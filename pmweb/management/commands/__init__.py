"""Commands of the house: `up` and `login-link`."""
