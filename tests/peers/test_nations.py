"""PyKEEN's Nations and its own files: the same triples in other orders, under other numbers."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.formats.triples import find_splits, read_splits

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyKEEN and what it imports are not ours
    pytest.importorskip("torch")
    datasets = pytest.importorskip("pykeen.datasets")

FILES = Path(os.environ.get("KGTREC_DATA", ""), "small", "nations")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not FILES.is_dir(), reason="needs the data folder")
def test_nations_of_pykeen_and_of_files_have_one_fingerprint():
    """PyKEEN numbers entities by label, and its lines stand in another order; so the ids of questions are others."""
    of_files = build_questions(*read_splits(*find_splits(FILES)))
    data = datasets.Nations()
    factories = data.training, data.validation, data.testing
    of_pykeen = build_questions(*(Triples.of(map(tuple, each.triples.tolist())) for each in factories))
    assert of_pykeen.fingerprint == of_files.fingerprint
    assert of_pykeen.numbering != of_files.numbering
