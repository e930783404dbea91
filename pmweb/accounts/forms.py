"""The log-in form: one account, so it only asks for the password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from pmweb.accounts import throttle
from pmweb.accounts.administrator import ADMINISTRATOR


class PasswordLoginForm(forms.Form):
    """The administrator's password; after a few wrong ones from `address` it asks for patience."""

    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )

    def __init__(self, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address
        self.user: User | None = None

    def clean(self) -> dict[str, Any]:
        """Check the password, unless this address has to wait."""
        cleaned = super().clean()
        wait = throttle.wait_before_next(self.address)
        if wait:
            minutes = max(1, round(wait.total_seconds() / 60))
            raise ValidationError(
                f"Too many wrong passwords from this address. Try again in {minutes} min, "
                "or log in with a link from `.venv/bin/python manage.py login-link`."
            )
        password = cleaned.get("password")
        if password:
            self.user = authenticate(username=ADMINISTRATOR, password=password)
            if self.user is None:
                throttle.record_failure(self.address)
                raise ValidationError("This is not the password.")
            throttle.forget(self.address)
        return cleaned
