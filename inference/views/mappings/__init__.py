"""Port mappings: the list, a mapping's page with its views, and what a user does with it."""

from inference.views.mappings.actions import urlpatterns as action_urls
from inference.views.mappings.compare import urlpatterns as compare_urls
from inference.views.mappings.doubts import urlpatterns as doubt_urls
from inference.views.mappings.list import urlpatterns as list_urls
from inference.views.mappings.page import urlpatterns as page_urls
from inference.views.mappings.proof import urlpatterns as proof_urls

urlpatterns = [*list_urls, *page_urls, *action_urls, *compare_urls, *doubt_urls, *proof_urls]
