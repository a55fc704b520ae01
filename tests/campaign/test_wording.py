from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.tasks import draft_template, readable
from kgtrec.data.templates import check_template

LABEL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.lists(LABEL | st.text("/#._{}\n aB", min_size=1), max_size=5))
def test_every_draft_is_a_template(labels: list[str]):
    """Whatever a relation is called: braces and control characters in its name do no harm."""
    for template in map(draft_template, labels):
        check_template(template)


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        ("bornIn", "born in"),
        ("isCitizenOf", "is citizen of"),
        ("/location/country/capital", "capital"),
        ("http://www.w3.org/2000/01/rdf-schema#subClassOf", "sub class of"),
        ("http://example.org/partOf/", "part of"),
        ("_has_part", "has part"),
        ("US state", "US state"),
        ("/film/film/runtime./film/film_cut/runtime", "runtime, runtime"),
        ("///", "///"),
        ("{}", "related to"),
    ],
)
def test_names_of_common_kgs_become_words(relation: str, words: str):
    assert readable(relation) == words
