"""Pages, one file per family; each exports its `urlpatterns`."""
