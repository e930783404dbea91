"""Two sets are compared like any sources: runs store the answers, and no report is kept beside them."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inference", "0030_comparisons_of_any_items")]

    operations = [migrations.DeleteModel("SetComparison")]
