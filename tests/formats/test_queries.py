"""Complex queries in BetaE's pickles, without running any code, and in JSON Lines."""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgtrec.data.queries import Queries, last_links, read_label
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.queries import numbered, query_files, read_queries, write_queries
from kgtrec.kernels.triples.queries import STRUCTURES, letters
from tests.queries_by_hand import nested, write_betae


def rows_of(queries: Queries) -> list[dict]:
    return [row | {"easy": sorted(row["easy"]), "hard": sorted(row["hard"])} for row in queries.rows()]


def test_pickles_of_betae_give_every_query_and_answer(tmp_path):
    """Each query under its structure, with the names of its numbers, its easy and its hard answers."""
    found = write_betae(tmp_path / "betae")
    queries = read_queries(tmp_path / "betae" / "test-queries.pkl")
    assert len(queries.entities) == 7
    assert list(queries.relations) == ["+/rel/0", "-/rel/0", "+/rel/1", "-/rel/1"]
    names = {name for name, *_ in found.values()}
    assert {*queries.codes} == names
    assert len(names) == 14
    expected = {}
    for query, (name, easy, hard) in found.items():
        flat = iter([number for number in flattened(query) if number >= 0])
        labels = [
            f"/m/{next(flat)}" if kind == "e" else list(queries.relations)[next(flat)]
            for kind in letters(STRUCTURES[name])
        ]
        expected[name, tuple(labels)] = sorted(f"/m/{x}" for x in easy), sorted(f"/m/{x}" for x in hard)
    own = {}
    for row, label in zip(rows_of(queries), queries.labels().to_pylist(), strict=True):
        name, labels = read_label(label)
        own[name, tuple(labels)] = row["easy"], row["hard"]
    assert own == expected


def flattened(query) -> list[int]:
    return [query] if isinstance(query, int) else [number for part in query for number in flattened(part)]


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_of_pickles_is_read(tmp_path, protocol):
    """Sets and defaultdicts of all six protocols, whose names of modules differ."""
    write_betae(tmp_path, each=2)
    expected = rows_of(read_queries(tmp_path / "test-queries.pkl"))
    for file in tmp_path.glob("*.pkl"):
        content = pickle.loads(file.read_bytes())  # noqa: S301  # written above
        file.write_bytes(pickle.dumps(content, protocol))
    assert rows_of(read_queries(tmp_path / "test-queries.pkl")) == expected


@pytest.mark.parametrize("thing", [print, Fraction(1, 2), OrderedDict(), defaultdict(list), eval, bytearray(2)])
def test_anything_else_in_a_pickle_is_refused_and_not_run(tmp_path, thing):
    """One error with the file and the name; no --trust would be of use."""
    write_betae(tmp_path, each=1)
    (tmp_path / "test-queries.pkl").write_bytes(pickle.dumps({("e", ("r",)): {(1, (0,))}, "more": thing}))
    with pytest.raises(FormatError, match=r"test-queries.pkl: expected sets, tuples, dicts, lists, texts and numbers"):
        read_queries(tmp_path / "test-queries.pkl")


@example(b"\x00\x06", 6, 0)  # a frame of more bytes than any memory has
@given(st.binary(max_size=40), st.integers(0, 300), st.integers(0, 300))
def test_a_damaged_pickle_is_one_error(tmp_path_factory, noise, first, size):
    """Bytes replaced or cut anywhere: queries, or an error about one of the files."""
    folder = tmp_path_factory.mktemp("betae")
    write_betae(folder, each=1, size=6)
    file = folder / "test-queries.pkl"
    data = file.read_bytes()
    file.write_bytes(data[:first] + noise + data[first + size :])
    with suppress(FormatError):
        read_queries(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test-queries", {("e", ("r", "x")): {(1, (0, 0))}}, "expected BetaE's structures 1p, 2p, 3p"),
        ("test-queries", {("e", ("r",)): {(1, (0, 1))}}, r"expected queries nested like \[r\], found another"),
        ("test-queries", {("e", ("r", "n")): {(1, (0, 1))}}, "expected BetaE's structures"),
        ("test-queries", {STRUCTURES["2in"]: {((1, (0,)), (2, (0, -1)))}}, "expected -2 where a query is marked n"),
        ("test-queries", {("e", ("r",)): {(7, (0,))}}, "expected numbers from 0 to 6, which have names, found 7"),
        ("test-queries", {("e", ("r",)): {(-7, (0,))}}, "found -7"),
        ("test-queries", {("e", ("r",)): {(10**30, (0,))}}, "expected numbers from 0 to 6"),
        ("test-queries", {("e", ("r",)): {("a", (0,))}}, "expected numbers from 0 to 6, which have names, found 'a'"),
        ("test-queries", {("e", ("r",)): [[1, [0]]]}, "expected queries of nested tuples"),
        ("test-queries", {}, "expected at least one query, found none"),
        ("test-queries", [], "expected a dict, found list"),
        ("id2ent", {1: "a"}, "expected a text for each number from 0 to 0"),
    ],
)  # fmt: skip
def test_wrong_contents_of_pickles(tmp_path, name, content, message):
    """Each is an error that names the file."""
    write_betae(tmp_path, each=1)
    (tmp_path / f"{name}.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(FormatError, match=message) as caught:
        read_queries(tmp_path / "test-queries.pkl")
    assert f"{name}.pkl" in str(caught.value)


def test_answers_that_are_no_sets_are_refused(tmp_path):
    """One number in place of a set of numbers is an error of the file."""
    write_betae(tmp_path, each=1)
    listed = pickle.loads((tmp_path / "test-hard-answers.pkl").read_bytes())  # noqa: S301  # written above
    (tmp_path / "test-hard-answers.pkl").write_bytes(pickle.dumps(dict.fromkeys(listed, 3)))
    with pytest.raises(FormatError, match=r"test-queries.pkl: expected sets of answers, found int"):
        read_queries(tmp_path / "test-queries.pkl")


def test_names_are_found_in_folders_above(tmp_path):
    """Strata of queries are in folders below that of the names; without names there is an error."""
    write_betae(tmp_path / "betae", each=1)
    below = tmp_path / "betae" / "reduction" / "2i"
    below.mkdir(parents=True)
    for file in query_files(tmp_path / "betae" / "test-queries.pkl"):
        file.rename(below / file.name)
    assert read_queries(below / "test-queries.pkl").entities[0] == "/m/0"
    (tmp_path / "betae" / "id2ent.pkl").unlink()
    with pytest.raises(FormatError, match=r"id2ent\.pkl"):
        read_queries(below / "test-queries.pkl")


def test_unions_by_de_morgan_count_once(tmp_path):
    """The other shape of 2u is dropped where 2u is there, and read as 2u where it is not."""
    write_betae(tmp_path, each=1)
    without = (((5, (0, -2)), (6, (1, -2))), (-2,))
    union = nested(STRUCTURES["2u"], iter([5, 0, 6, 1]))
    shape = ((("e", ("r", "n")), ("e", ("r", "n"))), ("n",))
    for queries in ({shape: {without}, STRUCTURES["2u"]: {union}}, {shape: {without}}):
        (tmp_path / "test-queries.pkl").write_bytes(pickle.dumps(queries))
        for kind in ("easy", "hard"):
            (tmp_path / f"test-{kind}-answers.pkl").write_bytes(pickle.dumps({without: {1}, union: {1}}))
        assert rows_of(read_queries(tmp_path / "test-queries.pkl")) == [
            {"structure": "2u", "query": [["/m/5", ["+/rel/0"]], ["/m/6", ["-/rel/0"]], ["u"]], "easy": ["/m/1"],
             "hard": []}
        ]  # fmt: skip


def filled(shape, labels):
    """A query as JSON has it, of its labels from left to right."""
    if isinstance(shape, str):
        return shape if shape in "nu" else next(labels)
    return [filled(part, labels) for part in shape]


LABELS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@st.composite
def all_kinds(draw) -> list[dict]:
    """Some queries of labels, as JSON Lines have them."""
    rows = []
    for name in draw(st.lists(st.sampled_from(list(STRUCTURES)), min_size=1, max_size=4)):
        labels = iter([draw(LABELS) for _ in letters(STRUCTURES[name])])
        easy = draw(st.lists(LABELS, max_size=3, unique=True))
        hard = [label for label in draw(st.lists(LABELS, max_size=3, unique=True)) if label not in easy]
        rows.append(
            {"structure": name, "query": filled(STRUCTURES[name], labels), "easy": sorted(easy), "hard": sorted(hard)}
        )
    return sorted(rows, key=lambda row: list(STRUCTURES).index(row["structure"]))


@given(all_kinds())
def test_json_lines_read_back(tmp_path_factory, rows):
    """What is written is read: every structure, any labels."""
    path = tmp_path_factory.mktemp("queries") / "queries.jsonl.gz"
    queries = Queries.of(rows)
    write_queries(path, queries)
    assert rows_of(read_queries(path)) == rows_of(queries) == rows


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "expected an object with structure and query"),
        ('{"structure": "1p"}', "expected an object with structure and query"),
        ('{"structure": "1p", "query": ["a", ["r"]], "answers": []}', "expected an object"),
        ('{"structure": "1p", "query": ["a", ["r"]], "hard": "b"}', "expected lists of easy and hard answers"),
        ('{"structure": "1p", "query": ["a", ["r"]], "hard": [["b"]]}', "expected texts as entities and relations"),
        ('{"structure": "2q", "query": ["a", ["r"]]}', "expected a structure of 1p, 2p"),
        ('{"structure": ["2p"], "query": ["a", ["r"]]}', "expected a structure of 1p, 2p"),
        ('{"structure": "2p", "query": ["a", ["r"]]}', r"expected queries nested like \[r, r\]"),
        ('{"structure": "2p", "query": "abc"}', r"expected queries nested like \[e, \[r, r\]\]"),
        (
            '{"structure": "2in", "query": [["a", ["r"]], ["b", ["r", ["n"]]]]}',
            "expected 'n' where a query is marked n",
        ),
        ('{"structure": "1p", "query": [1, ["r"]]}', "expected texts"),
        ("{", "expected JSON"),
    ],
)
def test_wrong_lines(tmp_path, line, message):
    """One error with the line."""
    path = tmp_path / "queries.jsonl"
    path.write_text('{"structure": "1p", "query": ["ann", ["likes"]]}\n\n' + line + "\n")
    with pytest.raises(FormatError, match=rf"queries.jsonl:3: {message}"):
        read_queries(path)


def test_an_empty_file(tmp_path):
    """No query is an error."""
    (tmp_path / "queries.jsonl").write_text("\n")
    with pytest.raises(FormatError, match="expected at least one query, found none"):
        read_queries(tmp_path / "queries.jsonl")


def test_numbers_of_triples_get_names_and_names_stay():
    """Triples of numbers are named by their rows; a number without a name is an error."""
    queries = Queries.of([{"structure": "1p", "query": ["ann", ["likes"]], "hard": ["tea"]}])
    named = Triples.of([("ann", "0", "tea")])
    assert numbered(named, queries) is named
    with pytest.raises(KgtrecError, match="expected triples of numbers below 2, 1 and 2, which have names, found"):
        numbered(Triples.of([("1", "0", "1"), ("2", "0", "1")]), queries)


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_last_link_of_each_structure_is_not_negated(name):
    """Of a path its last link; of an intersection or union that of its last positive branch."""
    shape = STRUCTURES[name]
    query = filled(shape, iter([f"{letter}{place}" for place, letter in enumerate(letters(shape))]))
    labels = Queries.of([{"structure": name, "query": query}]).labels().to_pylist()
    _, parts = read_label(labels[0])
    relations = Vocabulary.of([*(part for part in parts if part[0] == "r"), *labels])
    code, is_backwards = last_links(relations)
    flat = _leaves(query)
    positive = [place for place, leaf in enumerate(flat) if leaf[0] == "r" and flat[place + 1 : place + 2] != ["n"]]
    assert relations[code[-1]] == flat[positive[-1]]
    assert not is_backwards.any()


def _leaves(query):
    return [query] if isinstance(query, str) else [leaf for part in query for leaf in _leaves(part)]
