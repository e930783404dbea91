"""The site: settings, routing, launcher, accounts and the start page."""

__version__ = "0.1.0"
