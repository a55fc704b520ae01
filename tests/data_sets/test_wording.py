"""The questions for the relations of data sets, which come with the package."""

from __future__ import annotations

import re

import pytest

from kgtrec.data.campaign import SLOTS
from kgtrec.data_sets.wording import FOLDER, shipped_templates
from kgtrec.formats.campaign.folder import read_templates
from kgtrec.formats.triples import read_triples

#: file -> how many relations, and where the data set lies among those at hand
DATA_SETS = {
    "fb15k-237": (237, "fb15k-237"),
    "wn18rr": (11, "wn18rr"),
    "nations": (55, "small/nations"),
    "kinships": (25, "small/kinships"),
    "umls": (46, "small/umls"),
    "family-tree": (23, None),
}
SHIPPED = {path.stem: read_templates(path) for path in FOLDER.iterdir()}


def test_each_data_set_has_its_templates():
    """As many as it has relations."""
    assert {name: len(templates) for name, templates in SHIPPED.items()} == {
        name: number for name, (number, _) in DATA_SETS.items()
    }


@pytest.mark.parametrize("name", DATA_SETS)
def test_templates_read_as_questions(name: str):
    """From a capital letter to the only question mark, with each slot in it; no two relations are asked alike."""
    questions = list(SHIPPED[name].values())
    assert len(set(questions)) == len(questions)
    for question in questions:
        assert re.fullmatch(r"[A-Z][^?|_/]*\?", question)
        assert all(slot in question for slot in SLOTS)
        assert "  " not in question


def test_no_relation_is_of_two_data_sets():
    labels = [label for templates in SHIPPED.values() for label in templates]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", [name for name, (_, where) in DATA_SETS.items() if where])
def test_templates_are_for_the_relations_in_the_files(data, name: str):
    """All of those in the triples, and no other."""
    where = data / str(DATA_SETS[name][1])
    found: set[str] = set()
    for split in ("train", "valid", "test"):
        (path,) = where.glob(f"{split}.tsv*")
        found |= set(read_triples(path).relations)
    assert set(SHIPPED[name]) == found


@pytest.mark.parametrize(
    ("relations", "name"),
    [
        ({"/film/film/genre"}, "fb15k-237"),
        ({"_has_part", "_hypernym"}, "wn18rr"),
        (set(SHIPPED["umls"]), "umls"),
        (set(list(SHIPPED["nations"])[:28]), "nations"),
        (set(list(SHIPPED["nations"])[:27]), ""),
        ({"causes", "treats", "isa"}, ""),
        ({"/film/film/genre", "/film/film/mine"}, ""),
        ({"/film/film/genre", "_hypernym"}, ""),
        ({*SHIPPED["umls"], "mine"}, ""),
        (set(), ""),
    ],
)
def test_a_data_set_is_known_by_its_relations(relations: set[str], name: str):
    """All must be of one data set; where others may use the names too, half of the data set's must be there."""
    assert shipped_templates(relations) == (name, SHIPPED.get(name, {}))
