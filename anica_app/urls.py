"""Every address of AnICA; each page family lists its own."""

urlpatterns: list = []
