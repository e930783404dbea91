"""The site: settings, routing, launcher, accounts and the start page."""

from inference import __version__ as __version__
