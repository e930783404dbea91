"""Addresses of the accounts pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from pmweb.accounts.views import audit_log, confirming, own, own_sessions, people, ways_in

urlpatterns = [
    path("login/", ways_in.login_page, name="login"),
    path("login/<str:token>/", ways_in.login_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", own.account, name="account"),
    path("account/password/", own.password, name="password"),
    path("account/confirm/", confirming.confirm, name="confirm"),
    path("account/sessions/", own_sessions.sessions_page, name="sessions"),
    path("account/sessions/others/end/", own_sessions.session_end_others, name="sessions-end-others"),
    path("account/sessions/<int:pk>/end/", own_sessions.session_end, name="session-end"),
    path("account/tokens/", own.api_token_make, name="api-token-make"),
    path("account/tokens/<int:pk>/revoke/", own.api_token_revoke, name="api-token-revoke"),
    path("accounts/", people.accounts, name="accounts"),
    path("accounts/invite/", people.invite_page, name="account-invite"),
    path("accounts/<int:pk>/", people.account_of, name="account-of"),
    path("accounts/<int:pk>/role/", people.account_role, name="account-role"),
    path("accounts/<int:pk>/link/", people.account_link, name="account-link"),
    path("accounts/<int:pk>/log-out/", people.account_log_out, name="account-log-out"),
    path("accounts/<int:pk>/deactivate/", people.account_deactivate, name="account-deactivate"),
    path("accounts/<int:pk>/reactivate/", people.account_reactivate, name="account-reactivate"),
    path("audit/", audit_log.audit, name="audit"),
    path("audit.csv", audit_log.audit_csv, name="audit-csv"),
]
