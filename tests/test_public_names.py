"""What `import kgtrec` and its subjects offer."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import kgtrec
from tests.stubs import stubs

SUBJECTS = (
    "alignment",
    "campaign",
    "collection",
    "data_sets",
    "evaluation",
    "meta",
    "openworld",
    "pooling",
    "ranking",
    "report",
    "study",
)


@pytest.mark.parametrize("name", ["kgtrec", *(f"kgtrec.{subject}" for subject in SUBJECTS)])
def test_every_public_name_can_be_had(name: str):
    """And is no module, also where a module has the same name."""
    package = import_module(name)
    for public in package.__all__:
        found = getattr(package, public)
        assert type(found).__name__ != "module" or public in SUBJECTS
        assert public in dir(package)


def test_the_top_level_is_the_main_job():
    """At most 60 names, the subjects among them."""
    assert len(kgtrec.__all__) <= 60
    assert set(SUBJECTS) <= set(kgtrec.__all__)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["import kgtrec.campaign.accept", "import kgtrec.campaign", "import kgtrec.campaign.store"]
)
def test_a_verb_is_not_hidden_by_its_module(first: str):
    """Whichever of the two was imported first."""
    code = f"{first}\nfrom kgtrec.campaign.accept import accept\nimport kgtrec\nassert kgtrec.campaign.accept is accept"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'kgtrec\.meta' has no attribute 'powr'"):
        kgtrec.meta.powr  # noqa: B018


@pytest.mark.parametrize("path", stubs(), ids=lambda path: path.parent.name)
def test_stubs_say_what_there_is(path):
    """After a change: python -m tests.stubs."""
    assert path.read_text() == stubs()[path]
