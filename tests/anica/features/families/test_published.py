"""Families of the published campaign, by what is stored of its tools."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.management import call_command

from anica_app.features.families import command
from anica_app.formats.campaign_zip import read_part, tree_of_path
from anica_app.storage.campaigns import store_campaign
from inference.runs import leases
from inference.runs.fork_server import StopRequests, execute


@pytest.fixture
def at_once(monkeypatch):
    """Runs of the command are done in this process."""

    def do_run(self, submitted):
        run = submitted()
        lease = leases.claim("here", only=run.pk)
        execute(lease, StopRequests(lease))
        run.refresh_from_db()
        assert run.state == "done", run.error
        return run

    monkeypatch.setattr(command.Command, "do_run", do_run)


@pytest.mark.shared
@pytest.mark.django_db
def test_the_families_of_the_published_campaign_have_names_witnesses_and_cycles(at_once, capsys):
    top = settings.SHARED / "data" / "anica" / "campaign_mca13_vs_mca22_hsw"
    campaign = store_campaign(read_part(tree_of_path(top)), "published")
    call_command("families", "published")
    campaign.refresh_from_db()
    families = {one.name.partition(":")[0]: one for one in campaign.families.all()}
    assert set(families) == {"rcl, rcr", "adcx, adox with memory operand", "vroundsd", "bsf, bsr"}
    assert all(one.kind == "difference" and one.own for one in families.values())
    assert families["rcl, rcr"].discoveries.count() == 9
    scans = families["bsf, bsr"]
    (old, _), (new, _) = scans.predictions
    assert (round(old), round(new), scans.slower) == (1, 3, 2)
    assert campaign.facts["families"]["explained"] == campaign.facts["families"]["disagreements"] == 6
    said = capsys.readouterr().out
    assert "llvm-mca.13.hsw and llvm-mca.22.hsw differ on 1.6" in said
