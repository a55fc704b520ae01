"""The collection that several golden tests share."""

from __future__ import annotations

import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.formats.triples import read_triples


@pytest.fixture(scope="session")
def fb15k_237(data) -> Collection:
    """The collection of the whole test set."""
    return build_questions(
        *(read_triples(data / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test"))
    )
