"""Addresses of the accounts pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from pmweb.accounts import administration, audit_pages, login_pages, pages

urlpatterns = [
    path("login/", login_pages.login_page, name="login"),
    path("login/<str:token>/", login_pages.login_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", pages.account, name="account"),
    path("account/password/", pages.password, name="password"),
    path("account/confirm/", login_pages.confirm, name="confirm"),
    path("account/sessions/", pages.sessions_page, name="sessions"),
    path("account/sessions/others/end/", pages.session_end_others, name="sessions-end-others"),
    path("account/sessions/<int:pk>/end/", pages.session_end, name="session-end"),
    path("account/tokens/", pages.api_token_make, name="api-token-make"),
    path("account/tokens/<int:pk>/revoke/", pages.api_token_revoke, name="api-token-revoke"),
    path("accounts/", administration.accounts, name="accounts"),
    path("accounts/invite/", administration.invite_page, name="account-invite"),
    path("accounts/<int:pk>/", administration.account_of, name="account-of"),
    path("accounts/<int:pk>/role/", administration.account_role, name="account-role"),
    path("accounts/<int:pk>/link/", administration.account_link, name="account-link"),
    path("accounts/<int:pk>/log-out/", administration.account_log_out, name="account-log-out"),
    path("accounts/<int:pk>/deactivate/", administration.account_deactivate, name="account-deactivate"),
    path("accounts/<int:pk>/reactivate/", administration.account_reactivate, name="account-reactivate"),
    path("audit/", audit_pages.audit, name="audit"),
    path("audit.csv", audit_pages.audit_csv, name="audit-csv"),
]
