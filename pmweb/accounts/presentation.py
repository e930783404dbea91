"""How a browser is called in words, for templates and programs."""

from __future__ import annotations

from django import template

register = template.Library()

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "headless Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("Python", "a Python program"),
)
"""The first that is found counts: browsers call themselves by the names of those before them."""
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_MOST = 60


@register.filter
def browser_name(user_agent: str) -> str:
    """Such as "Firefox on Linux"; what is unknown is shown as it calls itself."""
    browser = next((name for part, name in _BROWSERS if part in user_agent), "")
    system = next((name for part, name in _SYSTEMS if part in user_agent), "")
    if not browser:
        return user_agent[:_MOST] or "unknown browser"
    return f"{browser} on {system}" if system else browser
