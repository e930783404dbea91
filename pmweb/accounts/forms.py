"""Forms of log-in, passwords, accounts and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from inference.web.request_fields import StrictForm
from pmweb.accounts import api_tokens
from pmweb.accounts.attempts import attempt
from pmweb.models import Role, Scope

NAME_LIMIT = 150
"""Characters of a user name; the width of Django's column."""

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "a year", "": "no expiry"}
DEFAULT_LIFETIME = "90"


SCOPES = {
    Scope.READ: "read",
    Scope.OPERATE: "read, start, change and delete",
    Scope.ADMINISTER: "all that, accounts and the audit log",
}
"""{scope: permissions of a token}, as labels."""


class PasswordLoginForm(StrictForm):
    """Name and password, with throttling. Without a name field if there is only one account (`sole`)."""

    extra_fields = frozenset({"next"})

    username = forms.CharField(
        label="Name",
        max_length=NAME_LIMIT,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, sole: User | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.user: User | None = None
        self.sole = sole
        if sole is not None:
            del self.fields["username"]
            self.fields["password"].widget.attrs["autofocus"] = True

    def clean(self) -> dict[str, Any]:
        """Check the password, unless attempts are throttled."""
        cleaned = super().clean() or {}
        name = cleaned.get("username", "") if self.sole is None else self.sole.get_username()
        password = cleaned.get("password")
        if not (name and password):
            return cleaned
        with attempt(self.request, name) as outcome:
            self.user = authenticate(username=name, password=password)
            if self.user is None:
                raise ValidationError(
                    "The password is wrong." if self.sole else "Name and password do not match."
                )
            outcome.succeeded = True
        return cleaned


class ConfirmForm(StrictForm):
    """The password of the logged-in user; wrong ones count as failed log-ins."""

    extra_fields = frozenset({"next", "username"})
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )

    def __init__(self, user: User, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.request = user, request

    def clean_password(self) -> str:
        """Check it, unless one has to wait first."""
        password: str = self.cleaned_data["password"]
        with attempt(self.request, self.user.get_username()) as outcome:
            outcome.succeeded = self.user.check_password(password)
        if not outcome.succeeded:
            raise ValidationError("This is not your password.")
        return password


class _NewPasswordForm(StrictForm):
    """What a new password ends besides the other sessions."""

    extra_fields = frozenset({"username"})
    end_links = forms.BooleanField(label="Unused log-in links", required=False, initial=True)
    end_tokens = forms.BooleanField(
        label="All my API tokens; programs that use them stop working", required=False
    )


class FirstPasswordForm(_NewPasswordForm, SetPasswordForm):  # type: ignore[type-arg]  # not generic as it runs
    """A password for a user without one, or just after a log-in by link."""


class ChangePasswordForm(_NewPasswordForm, PasswordChangeForm):
    """The old password and a new one; wrong old ones count as failed log-ins."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        """Check it, unless one has to wait first."""
        with attempt(self.request, self.user.get_username()) as outcome:
            old: str = super().clean_old_password()
            outcome.succeeded = True
        return old


class InviteForm(StrictForm):
    username = forms.CharField(
        label="Name",
        max_length=NAME_LIMIT,
        validators=[UnicodeUsernameValidator()],
        help_text="What they log in with. Letters, digits and @ . + - _",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.OPERATOR, widget=forms.RadioSelect)

    def clean_username(self) -> str:
        """Names are unique regardless of case."""
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(f"There is an account {name!r} already: choose another name.")
        return name


class RoleForm(StrictForm):
    role = forms.ChoiceField(
        choices=Role.choices,
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), f"A role is one of {', '.join(Role.values)}."
        ),
    )


class ApiTokenForm(StrictForm):
    """Purpose, scope and lifetime of a token."""

    name = forms.CharField(
        label="Purpose",
        max_length=100,
        help_text="So that you know later which one to revoke: “nightly script on lab-3”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(label="Permissions", choices=())
    days = forms.ChoiceField(
        label="Valid for", choices=tuple(LIFETIMES.items()), initial=DEFAULT_LIFETIME, required=False
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        highest = api_tokens.highest_scope(user)
        allowed = [(scope.value, SCOPES[scope]) for scope in Scope if api_tokens.allows(highest, scope)]
        self.fields["scope"].choices = allowed  # type: ignore[attr-defined]

    def lifetime(self) -> timedelta | None:
        """Lifetime of the token; None: no expiry."""
        days = self.cleaned_data["days"]
        return timedelta(days=int(days)) if days else None
