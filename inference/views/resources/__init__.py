"""Resource mappings: the list, a mapping's page, what a user does with it, and making one."""

from inference.views.resources.actions import urlpatterns as action_urls
from inference.views.resources.converting import urlpatterns as converting_urls
from inference.views.resources.list import urlpatterns as list_urls
from inference.views.resources.page import urlpatterns as page_urls

urlpatterns = [*list_urls, *page_urls, *action_urls, *converting_urls]
