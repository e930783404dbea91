"""Machines: the list, adding one, a machine's page, measuring on it, and the agent to download."""

from inference.views.machines.adding import urlpatterns as adding_urls
from inference.views.machines.arm import urlpatterns as arm_urls
from inference.views.machines.download import urlpatterns as download_urls
from inference.views.machines.list import urlpatterns as list_urls
from inference.views.machines.local import urlpatterns as local_urls
from inference.views.machines.measure import urlpatterns as measure_urls
from inference.views.machines.page import urlpatterns as page_urls
from inference.views.machines.ports import urlpatterns as ports_urls
from inference.views.machines.tokens import urlpatterns as token_urls
from inference.views.machines.trust import urlpatterns as trust_urls

urlpatterns = [
    *list_urls,
    *adding_urls,
    *arm_urls,
    *local_urls,
    *page_urls,
    *measure_urls,
    *ports_urls,
    *token_urls,
    *trust_urls,
    *download_urls,
]
