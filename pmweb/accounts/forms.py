"""The forms of accounts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from pmweb.accounts import api_tokens, throttle
from pmweb.models import Role, Scope

NAME_LIMIT = 150
"""Characters of a user name, as Django's column has it."""

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "a year", "": "no end"}
USUAL_LIFETIME = "90"


class PasswordLoginForm(forms.Form):
    """Name and password; after a few wrong ones it asks for patience.

    Where there is one account alone (`sole`), its name is not asked for.
    """

    username = forms.CharField(
        label="Name",
        max_length=NAME_LIMIT,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, address: str, sole: User | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address
        self.user: User | None = None
        self.sole = sole
        if sole is not None:
            del self.fields["username"]
            self.fields["password"].widget.attrs["autofocus"] = True

    def clean(self) -> dict[str, Any]:
        """Check the password, unless this address or this name has to wait."""
        cleaned = super().clean() or {}
        name = cleaned.get("username", "") if self.sole is None else self.sole.get_username()
        password = cleaned.get("password")
        if not (name and password):
            return cleaned
        _begin_attempt(self.address, name)
        self.user = authenticate(username=name, password=password)  # type: ignore[assignment]
        if self.user is None:
            raise ValidationError(
                "This is not the password." if self.sole else "Name and password do not match."
            )
        throttle.forget(self.address, name)
        return cleaned


class ChangePasswordForm(PasswordChangeForm):
    """The old password and a new one; wrong old ones count as failures to log in do."""

    def __init__(self, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address

    def clean_old_password(self) -> str:
        """Check it, unless this address or this name has to wait."""
        name = self.user.get_username()
        _begin_attempt(self.address, name)
        old: str = super().clean_old_password()
        throttle.forget(self.address, name)
        return old


def _begin_attempt(address: str, name: str) -> None:
    """Raises `ValidationError` where one has to wait first."""
    wait = throttle.begin(address, name)
    if wait:
        minutes = max(1, round(wait.total_seconds() / 60))
        raise ValidationError(
            f"Too many wrong passwords from this address or for this name. Try again in {minutes} min, "
            "or log in with a link: an administrator can make one."
        )


class InviteForm(forms.Form):
    """Who is invited, and what they may do."""

    username = forms.CharField(
        label="Name",
        max_length=NAME_LIMIT,
        validators=[UnicodeUsernameValidator()],
        help_text="What they log in with. Letters, digits and @ . + - _",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.OPERATOR, widget=forms.RadioSelect)

    def clean_username(self) -> str:
        """Refuse a name that is taken, however it is written."""
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(f"There is an account {name!r} already: choose another name.")
        return name


class RoleForm(forms.Form):
    """Another role."""

    role = forms.ChoiceField(choices=Role.choices)


class ApiTokenForm(forms.Form):
    """What a token is for, what it may do, and for how long."""

    name = forms.CharField(
        label="What for",
        max_length=100,
        help_text="So that you know later which one to revoke: “nightly script on lab-3”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(label="It may", choices=())
    days = forms.ChoiceField(
        label="Valid for", choices=tuple(LIFETIMES.items()), initial=USUAL_LIFETIME, required=False
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = api_tokens.most_scope(user)
        allowed = [(each.value, SCOPES[each]) for each in Scope if api_tokens.allows(most, each)]
        self.fields["scope"].choices = allowed  # type: ignore[attr-defined]

    def lifetime(self) -> timedelta | None:
        """How long it is valid; None: until it is revoked."""
        days = self.cleaned_data["days"]
        return timedelta(days=int(days)) if days else None


SCOPES = {
    Scope.READ: "read",
    Scope.OPERATE: "read, start, change and delete",
    Scope.ADMINISTER: "all that, accounts and the audit log",
}
"""What a token of each scope may do, in words."""
