"""Making a resource mapping of a port mapping: a matter of seconds at most, so the page does it itself."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.errors import InvalidInputError
from inference.core.resources import MAX_RESOURCES, Conversion, TooManyResourcesError
from inference.exchange.errors import ExchangeError
from inference.exchange.names import NAME_LIMIT, free_name
from inference.exchange.resource_mappings import convert
from inference.models import PortMapping, ResourceMapping


class ConversionForm(forms.Form):
    """The name of the new resource mapping, and how large it may become."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="Commands and other pages find it by this name.",
        widget=forms.TextInput,
    )
    max_resources = forms.IntegerField(
        label="Most resources",
        min_value=1,
        max_value=MAX_RESOURCES,
        initial=Conversion.max_resources,
        help_text="One for each union of overlapping port sets: their number can double with every port.",
    )
    note = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))


def mapping_convert(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a name, and store the resource mapping that predicts the same as a port mapping."""
    row = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    suggested = free_name(ResourceMapping, f"{row.name} as resources")
    form = ConversionForm(request.POST if request.method == "POST" else None, initial={"name": suggested})
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            made = convert(row, data["name"], Conversion(data["max_resources"]), data["note"])
        except (TooManyResourcesError, InvalidInputError) as error:
            form.add_error("max_resources", str(error))
        except ExchangeError as error:
            form.add_error("name", str(error))
        else:
            messages.success(request, f"“{made.name}” predicts the same as “{row.name}”.")
            return redirect("resource-mapping", made.pk)
    context = {"mapping": row, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "inference/resources/convert.html", context, status=status)


urlpatterns = [path("mappings/<int:pk>/convert/", mapping_convert, name="mapping-convert")]
