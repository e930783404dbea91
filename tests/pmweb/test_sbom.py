"""What a site consists of: the packages of the lock file, and every file that came from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

VENDOR = settings.BASE_DIR / "static/vendor"
FOREIGN = sorted(path for path in VENDOR.rglob("*") if path.is_file() and path.parent != VENDOR)
FILES = [path for path in FOREIGN if not path.name.startswith("LICENSE")]


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `make sbom` writes."""
    target = tmp_path_factory.mktemp("sbom") / "dist" / "sbom.cdx.json"
    subprocess.run([sys.executable, settings.BASE_DIR / ".ci/sbom", target], check=True)
    document: dict[str, Any] = json.loads(target.read_text())
    return document


def components_of(bill: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    place = {"name": "pmweb:file", "value": str(path.relative_to(settings.BASE_DIR))}
    return [component for component in bill["components"] if place in component.get("properties", ())]


def test_every_folder_of_vendored_files_occurs(bill: dict[str, Any]):
    folders = {path.name for path in VENDOR.iterdir() if path.is_dir()}
    places = [each["value"] for one in bill["components"] for each in one.get("properties", ())]
    assert folders == {Path(place).parent.name for place in places if place.startswith("static/vendor/")}
    assert len(folders) >= 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_packages_of_a_vendored_file_have_version_licence_and_hash(bill: dict[str, Any], path: Path):
    head = path.read_bytes()[:800].decode(errors="replace")
    components = components_of(bill, path)
    assert components
    for component in components:
        assert re.search(rf"v{re.escape(component['version'])}\b", head), "another version than in the table"
        assert component["hashes"] == [
            {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
        ]
        (licence,) = component["licenses"]
        assert licence["license"]["id"] in head or any(
            licence["license"]["id"] in text.read_text() for text in path.parent.glob("LICENSE*")
        )
        assert component["purl"].startswith("pkg:npm/")


def test_the_packages_of_the_lock_file_are_still_in_it(bill: dict[str, Any]):
    lock = (settings.BASE_DIR / "requirements-scale.lock").read_text()
    names = {name.lower() for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    assert names <= {component["name"].lower() for component in bill["components"]}


def test_it_is_valid_cyclonedx(bill: dict[str, Any]):
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    validator = validation.JsonStrictValidator(schema.SchemaVersion.from_version(bill["specVersion"]))
    assert validator.validate_str(json.dumps(bill)) is None
