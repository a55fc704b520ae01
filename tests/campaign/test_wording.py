from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.queries import queries_of
from kgtrec.campaign.tasks import names_of, phrase_triples
from kgtrec.campaign.wording import JOINTED, draft_template, query_template, readable, relations_in, template_of
from kgtrec.collection import build_queries
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import template_parts
from kgtrec.data.queries import Queries, is_query
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.triples.queries import STRUCTURES, letters

LABEL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.lists(LABEL | st.text("/#._{}\n aB", min_size=1), max_size=5))
def test_every_draft_is_a_template(labels: list[str]):
    """Whatever a relation is called: braces and control characters in its name do no harm."""
    for template in map(draft_template, labels):
        template_parts(template)


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
        ("/film/film/runtime./film/film_cut/runtime", "runtime"),
        ("///", "///"),
        ("{}", "related to"),
    ],
)
def test_names_of_common_kgs_become_words(relation: str, words: str):
    assert readable(relation) == words


ENTITIES = [
    ("acquired_abnormality", "acquired abnormality"),
    ("Paris_(Texas)", "Paris (Texas)"),
    ("_member__of_", "member of"),
    ("Ada Lovelace", "Ada Lovelace"),
    ("newYorkCity", "new york city"),
    ("birthPlace", "birth place"),
    ("größe_Äußerung", "größe Äußerung"),
    ("東京_タワー", "東京 タワー"),
    ("route_66", "route 66"),
    ("2019_in_film", "2019 in film"),
    ("http://dbpedia.org/resource/AC/DC", "AC/DC"),
    ("http://dbpedia.org/resource/S%C3%A3o_Paulo", "São Paulo"),
    ("https://en.wikipedia.org/wiki/Paris#History", "Paris#History"),
    ("http://example.org/people#ada_lovelace", "ada lovelace"),
    ("http://www.wikidata.org/entity/Q42", "Q42"),
    ("<http://yago-knowledge.org/resource/Albert_Einstein>", "Albert Einstein"),
    ("<Albert_Einstein>", "Albert Einstein"),
    ("/people/person/place_of_birth", "place of birth"),
    ("a\tb_c", "a b c"),
]
AS_THEY_ARE = [
    *("Q42", "P22", "00260881", "/m/02_286", "/g/11b6z3_x", "m.02_286", "n01234567", "3.14", "-5", "C++"),
    *("AC/DC", "McDonald", "iPhone", "eBay", "macOS", "YouTube", "LaTeX", "sha256Sum", "R2-D2", "NaN"),
    *("http://example.org", "http://example.org/", "://", "___", "/", "///", "<3", "<>", "<script>alert(1)</script>"),
    *("concept:city:paris", "100% sure", "a  b", " ", "{tail}", "\u202egnp.exe", "e\u0301"),
]


@pytest.mark.parametrize(("label", "words"), ENTITIES)
def test_labels_of_entities_become_words(label: str, words: str):
    assert readable(label, is_entity=True) == words


@pytest.mark.parametrize("label", AS_THEY_ARE)
def test_what_may_be_spelled_so_stays(label: str):
    """Identifiers, numbers, names with capitals or slashes of their own, and labels that would leave nothing."""
    assert readable(label, is_entity=True) == label


def test_percent_signs_that_stand_for_no_text_stay():
    """Bytes that are not UTF-8, and control characters."""
    assert readable("http://example.org/a%FFb_c", is_entity=True) == "a%FFb c"
    assert readable("http://example.org/a%00b", is_entity=True) == "a%00b"


@given(LABEL | st.text("/#._%<>:{} \naBcD1", min_size=1))
def test_every_label_has_words(label: str):
    """And whose label the quick look passes over keeps it."""
    words = readable(label, is_entity=True)
    assert words
    if not pc.match_substring_regex(labels_of([label]), JOINTED)[0].as_py():
        assert words == label


@given(st.lists(LABEL | st.sampled_from([label for label, _ in ENTITIES]), min_size=1, unique=True), st.data())
def test_a_name_comes_before_the_words_of_the_label(labels: list[str], data: st.DataObject):
    """One by one: the name that is given to the letter, else the words, for entities in any order and repeated."""
    named = data.draw(st.dictionaries(st.sampled_from([*labels, "stranger"]), st.sampled_from(["new_York", "Ada"])))
    codes = data.draw(st.lists(st.integers(0, len(labels) - 1)))
    found = names_of(Vocabulary.of(labels), np.array(codes, np.int32), named).to_pylist()
    assert found == [named.get(labels[code], readable(labels[code], is_entity=True)) for code in codes]


def label_of(structure: str, query: object) -> str:
    return Queries.of([{"structure": structure, "query": query}]).labels()[0].as_py()


@pytest.mark.parametrize(
    ("structure", "query", "words"),
    [
        ("1p", ["a", ["r"]], ": “{head} r {tail}”"),
        ("3p", ["a", ["r", "s", "t"]], " for some X and Y: “{head} r X” and “X s Y” and “Y t {tail}”"),
        ("ip", [[["a", ["r"]], ["b", ["s"]]], ["t"]], " for some X: “{head} r X” and “b s X” and “X t {tail}”"),
        ("2in", [["a", ["r"]], ["b", ["s", "n"]]], ": “{head} r {tail}” and not “b s {tail}”"),
        (
            "inp",
            [[["a", ["r"]], ["b", ["s", "n"]]], ["t"]],
            " for some X: “{head} r X” and not “b s X” and “X t {tail}”",
        ),
        (
            "pni",
            [["a", ["r", "s", "n"]], ["b", ["t"]]],
            ": not (for some X: “{head} r X” and “X s {tail}”) and “b t {tail}”",
        ),
        ("2u", [["a", ["r"]], ["b", ["s"]], ["u"]], ": “{head} r {tail}” or “b s {tail}”"),
        ("up", [[["a", ["r"]], ["b", ["s"]], ["u"]], ["t"]], " for some X: (“{head} r X” or “b s X”) and “X t {tail}”"),
    ],
)
def test_queries_in_words(structure: str, query: object, words: str):
    """Each link by its template, a variable for every entity in between, a negated path with its own variable."""
    templates = {relation: f"{{head}} {relation} {{tail}}" for relation in "rst"}
    found = query_template(label_of(structure, query), templates, {})
    assert found == f"Is this true{words}?"
    template_parts(found)


def test_a_link_that_is_read_backwards_and_names_with_braces():
    """-R turns the template of R around, its own template does not; braces in a name do no harm."""
    label = label_of("2i", [["a", ["-r"]], ["b", ["+s"]]])
    templates = {"r": "{head} r {tail}", "s": "{head} s {tail}"}
    assert query_template(label, templates, {"b": "{head}"}) == "Is this true: “{tail} r {head}” and “ head  s {tail}”?"
    assert (
        query_template(label, templates | {"-r": "{head} by {tail}"}, {})
        == "Is this true: “{head} by {tail}” and “b s {tail}”?"
    )
    assert relations_in(label) == ["r", "s"]


def test_questions_of_a_query_have_the_names_of_all_anchors():
    """As texts for other systems: the first anchor, which the question has, and those inside the query."""
    queries = Queries.of([{"structure": "2i", "query": [["a", ["r"]], ["b", ["r"]]], "hard": ["c"]}])
    collection = build_queries(queries, [("a", "r", "c")], test=[("b", "r", "c")])
    said = queries_of(collection, {"r": "{head} likes {tail}"}, {"a": "Ann", "b": "Bob"})
    assert said == ["Is this true: “Ann likes what” and “Bob likes what”?"]


def test_triples_of_a_query_are_phrased_by_the_templates_of_its_relations():
    """Head and tail have their names; a template of the whole query goes first."""
    label = label_of("2p", ["Q1", ["knows", "likes"]])
    triples = Triples.of([("Q1", label, "Q2")])
    templates, names = {"knows": "Does {head} know {tail}?"}, {"Q1": "Ann", "Q2": "tea"}
    assert phrase_triples(triples, templates, names).to_pylist() == [
        "Is this true for some X: “Does Ann know X?” and “X: likes tea”?"
    ]
    assert phrase_triples(triples, {label: "{head}: {tail}?"}, names).to_pylist() == ["Ann: tea?"]
    assert readable(label) == "knows likes"


@given(st.sampled_from(list(STRUCTURES)), st.lists(LABEL, min_size=8, max_size=8))
def test_every_draft_of_a_query_is_a_template(name: str, labels: list[str]):
    """Whatever its anchors and relations are called."""
    own = iter(labels)

    def filled(shape):
        return (shape if shape in "nu" else next(own)) if isinstance(shape, str) else [filled(part) for part in shape]

    label = label_of(name, filled(STRUCTURES[name]))
    template_parts(draft_template(label))
    assert is_query(label)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_link_and_anchor_is_in_the_words(name: str):
    """Anchors and relations come in the order of the query, and the last positive link leads to the answer."""
    labels = [f"{kind}{place}" for place, kind in enumerate(letters(STRUCTURES[name]))]
    own = iter(labels)

    def filled(shape):
        return (shape if shape in "nu" else next(own)) if isinstance(shape, str) else [filled(part) for part in shape]

    text = query_template(label_of(name, filled(STRUCTURES[name])), {}, {})
    assert re.findall(r"[er]\d", text) == labels[1:]
    assert text.count("not ") == str(STRUCTURES[name]).count("'n'")


@given(LABEL, st.sampled_from(["Was {head} in {tail} in {time}?", "Is {head} in {tail}?"]))
def test_a_template_with_the_time_of_its_relation_is_a_template(time: str, template: str):
    """Whatever the time is called, its braces are no slots; it is in the text once."""
    filled = template_of({"in": template}, f"in @ {time}")
    slots = [part for part in re.split(r"(\{.*?\})", filled) if part.startswith("{")]
    assert slots == ["{head}", "{tail}"]
    assert len(filled) - len(time) == len(template.replace("{time}", "")) + 3 * ("{time}" not in template)


def test_a_template_for_one_time_goes_before_that_of_the_relation():
    """The plain relation's is for all other times, also where a template has no place for it."""
    templates = {"in": "{head} in {tail}", "in @ 2014": "{tail} had {head}"}
    assert [template_of(templates, relation) for relation in ("in @ 2014", "in @ 2015", "in")] == [
        "{tail} had {head}",
        "{head} in {tail} (2015)",
        "{head} in {tail}",
    ]
