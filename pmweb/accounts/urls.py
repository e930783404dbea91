"""Addresses of the accounts pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from pmweb.accounts import views

urlpatterns = [
    path("login/", views.login_page, name="login"),
    path("login/<str:token>/", views.login_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/password/", views.password, name="password"),
]
