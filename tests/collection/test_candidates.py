"""Questions with their own candidates: which entities a side of a relation takes, from train and from files."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import SPLITS, Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, FormatError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.chance import candidate_counts
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import read_collection, report_text, write_collection
from kgtrec.meta.candidate_lists import candidate_lists
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import TripleRanks
from tests.formats.trec_files import written

TRAIN = [("ann", "likes", "tea"), ("bob", "likes", "jam"), ("ann", "knows", "bob"), ("bob", "knows", "eve")]
TEST = [("ann", "likes", "jam"), ("bob", "likes", "tea"), ("eve", "likes", "tea")]


def built(candidates=None, train=TRAIN, test=TEST, valid=(), **options):
    return build_questions(*map(Triples.of, (train, list(valid), test)), candidates=candidates, **options)


def taken(collection):
    """Each place as (relation, side), and its entities by name."""
    found = {}
    for place, entity in zip(collection.candidates.place.tolist(), collection.candidates.entity.tolist(), strict=True):
        key = collection.relations[place // 2], "head" if place % 2 else "tail"
        found.setdefault(key, set()).add(collection.entities[entity])
    return found


SEEN = {
    ("likes", "head"): {"ann", "bob"},
    ("likes", "tail"): {"tea", "jam"},
    ("knows", "head"): {"ann", "bob"},
    ("knows", "tail"): {"bob", "eve"},
}


def test_by_hand():
    """Who likes tea? eve is one only since she is an answer; who likes jam? ann and bob, who is filtered."""
    collection = built("train")
    assert taken(collection) == SEEN
    assert list(collection.questions.ids) == ["head0", "head1", "tail0", "tail1", "tail2"]
    assert collection.sizes.tolist() == [2, 3, 2, 2, 2]
    assert [values.tolist() for values in candidate_counts(collection)] == [[1, 2, 1, 1, 2], [1, 2, 1, 1, 1]]
    assert collection.report["candidates"] == {"mean": 2.2, "answers_only": 1}
    lines = report_text(collection.report).splitlines()
    assert "candidates of a question by train: 2.2 in the mean" in lines
    assert "answers that are candidates only as answers: 1 of 6" in lines
    scores = np.zeros((5, len(collection.entities)))
    ranked = rank_scores(collection, scores, questions=collection, entities=collection)
    assert ranked.answer_ranks.n_other.tolist() == [0, 0, 0, 0, 0, 1]
    listed = {
        (ranked.run.questions[q], ranked.run.entities[e])
        for q, e in zip(ranked.run.question, ranked.run.entity, strict=True)
    }
    assert {entity for question, entity in listed if question == "head1"} == {"bob", "eve"}


def test_raw_ranks_are_among_the_candidates_too():
    """Candidates are no filter: without any, ann likes tea is a candidate, and ann likes eve is none."""
    collection = built("train")
    ranks = rank_scores(
        collection, np.zeros((5, 5)), questions=collection, entities=collection, filtered_by=()
    ).answer_ranks
    assert ranks.n_other[ranks.question == 2].tolist() == [1]
    assert ranks.filtered_by == ()


def test_a_side_that_train_lacks_takes_all():
    """Nothing is known of it."""
    collection = built("train", test=[("ann", "hates", "jam")])
    assert collection.sizes.tolist() == [5, 5]


def test_other_candidates_are_another_collection(tmp_path):
    """The same triples with other candidates have another stamp; order of lines and --ids do not matter."""
    every, one = built(), built("train")
    path = written(tmp_path, "some.tsv", "likes\ttail\tjam\nlikes\ttail\teve\n")
    stamps = {collection.fingerprint for collection in (every, one, built(path))}
    assert len(stamps) == 3
    assert built("train", train=TRAIN[::-1]).fingerprint == one.fingerprint
    assert built("train", ids=True).fingerprint == one.fingerprint
    ranks = rank_scores(every, np.zeros((5, 5)), questions=every, entities=every).answer_ranks
    with pytest.raises(CollectionError, match="ranked on collection"):
        evaluate(one, ranks, "micro.MRR")


@pytest.mark.parametrize("options", [{}, {"ids": True}])
def test_a_folder_keeps_candidates(tmp_path, options):
    """What is written is read."""
    collection = built("train", **options)
    write_collection(tmp_path / "C", collection)
    again = read_collection(tmp_path / "C")
    assert again.stamp == collection.stamp
    assert again.candidates.place.tolist() == collection.candidates.place.tolist()
    assert again.candidates.entity.tolist() == collection.candidates.entity.tolist()
    assert "candidates.parquet" not in [path.name for path in write(tmp_path / "D", built()).iterdir()]


def test_a_manifest_without_the_candidates_that_it_counts_is_refused(tmp_path):
    """So that nobody ranks among all entities under the same stamp."""
    write_collection(tmp_path / "C", built("train"))
    manifest = json.loads((tmp_path / "C" / "manifest.json").read_text())
    del manifest["files"]["candidates.parquet"]
    (tmp_path / "C" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FormatError, match=r"expected candidates\.parquet among its files, found none"):
        read_collection(tmp_path / "C")


def write(folder, collection):
    write_collection(folder, collection)
    return folder


quads = st.lists(st.tuples(*map(st.sampled_from, ("abcd", "rs", "abcd", ("1", "2")))), min_size=1, max_size=12)


@given(quads, quads, st.sets(st.sampled_from(SPLITS)), st.randoms(use_true_random=False))
def test_facts_with_a_time_have_the_candidates_of_their_relation(train, test, filtered_by, random):
    """Brute force over facts: who train has there at any time is a candidate; MRR is that of TGB's evaluator."""
    collection = built("train", train, test)
    scores = np.array([[random.randint(0, 3) for _ in collection.entities] for _ in collection.questions.ids], float)
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, filtered_by=filtered_by)
    facts = {"train": train, "valid": [], "test": test}
    expected = []
    for row, asked in enumerate(collection.questions.to_frame().itertuples()):
        relation, _, time = asked.relation.partition(" @ ")
        end, other = (0, 2) if asked.side == "head" else (2, 0)

        def known(split, relation=relation, time=time, end=end, other=other, anchor=asked.anchor):
            return {f[end] for f in facts[split] if f[1] == relation and f[3] == time and f[other] == anchor}

        answers = known("test")
        seen = {fact[end] for fact in train if fact[1] == relation} or set(collection.entities)
        left = seen - answers - set().union(*map(known, filtered_by))
        own = dict(zip(collection.entities, scores[row].tolist(), strict=True))
        for answer in sorted(answers, key=list(collection.entities).index):
            above, tied = (sum(is_so(own[e], own[answer]) for e in left) for is_so in (float.__gt__, float.__eq__))
            expected.append((above, tied, len(left)))
    found = ranks.answer_ranks
    assert list(zip(found.above.tolist(), found.tied.tolist(), found.n_other.tolist(), strict=True)) == expected
    if "test" in filtered_by:
        # as TGB ranks an answer among given negatives: halfway between the best and the worst place
        mrr = np.mean([1 / ((above + above + tied) / 2 + 1) for above, tied, _ in expected])
        assert evaluate(collection, found, "micro.MRR", ties="realistic").values.item() == pytest.approx(mrr, rel=1e-12)


TYPES = {"ann": "1", "bob": "1", "eve": "1", "tea": "2", "jam": "2"}


def test_types_are_read_as_tgb_writes_them(tmp_path):
    """A side takes all nodes of the types that train has there: eve is a person."""
    rows = [f"{node},{kind}" for node, kind in TYPES.items()]
    collection = built(written(tmp_path, "thgl-x_nodetype.csv", "\n".join(["node_id,type", *rows])))
    people, things = {"ann", "bob", "eve"}, {"tea", "jam"}
    assert taken(collection) == {**dict.fromkeys(SEEN, people), ("likes", "tail"): things}
    packed = tmp_path / "nodetype.csv.gz"
    packed.write_bytes(gzip.compress("\n".join(["node_id,type", *rows]).encode()))
    assert taken(built(packed)) == taken(collection)
    lines = [f"{node}\t{kind}\n" for node, kind in TYPES.items() if node != "jam"]
    tabs = written(tmp_path, "types.tsv", "\n" + "".join(lines))
    assert taken(built(tabs)) == taken(collection), "an entity without a type is one where train has it"


@given(st.lists(st.tuples(st.sampled_from(sorted(TYPES)), st.sampled_from("123")), min_size=1))
def test_several_types_equal_loops(tmp_path_factory, pairs):
    """An entity shares a type with one that train has there, or is itself one of them."""
    path = written(tmp_path_factory.mktemp("types"), "types.tsv", "".join(f"{e}\t{kind}\n" for e, kind in pairs))
    expected = {
        place: own | {e for e, kind in pairs if any((other, kind) in pairs for other in own)}
        for place, own in SEEN.items()
    }
    assert taken(built(path)) == expected


def test_a_type_of_nobody_here_is_reported(tmp_path):
    """Rows of other entities are left out; a file of others alone is another's."""
    path = written(tmp_path, "types.tsv", "ann\t1\nzoe\t1\n")
    with pytest.warns(KgtrecWarning, match="left out 1 of 2 rows, of entities or relations that the collection lacks"):
        assert taken(built(path)) == SEEN
    with pytest.raises(FormatError, match=r"types\.tsv: expected entities and relations of the collection, found none"):
        built(written(tmp_path, "types.tsv", "zoe\t1\n"))


OPENKE = {"entity2id.txt": "3\ntea\t0\nann\t1\njam\t2\n", "relation2id.txt": "1\nlikes\t0\n"}


def test_type_constraints_are_read_as_openke_writes_them(tmp_path):
    """Two lines for each relation, heads before tails."""
    for name, text in OPENKE.items():
        written(tmp_path, name, text)
    path = written(tmp_path, "type_constrain.txt", "1\n0\t1\t1\n0\t2\t2\t0\n")
    assert taken(built(path)) == {("likes", "head"): {"ann"}, ("likes", "tail"): {"tea", "jam"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n0\t1\t1\n", "expected 2 lines, two for each relation, as the first line says, found 1;"),
        ("1\n0\t1\t1\n0\t2\t2\n", ":3: expected the number of a relation, how many entities follow, and their numbers"),
        ("1\n0\t1\t3\n0\t0\n", ":2: expected the number of a relation"),
        ("1\n1\t0\n0\t0\n", ":2: expected the number of a relation"),
        ("1\n0\t1\tann\n0\t0\n", ":2: expected the number of a relation"),
    ],
)
def test_a_cut_file_of_type_constraints_is_an_error(tmp_path, text, message):
    """With its line."""
    for name, own in OPENKE.items():
        written(tmp_path, name, own)
    with pytest.raises(FormatError, match=message):
        built(written(tmp_path, "type_constrain.txt", text))


def test_a_third_side_is_an_error(tmp_path):
    """Such as the types of relations, which have three columns too."""
    path = written(tmp_path, "c.tsv", "likes\ttail\ttea\nlikes\tperson\tfood\n")
    with pytest.raises(FormatError, match=r"c\.tsv:2: expected head or tail in the second column, found 'person'"):
        built(path)


def ranks_of(collection, candidates):
    none = np.zeros(6, np.int32)
    code, relation = collection.entities, collection.relations
    h, r, t = zip(*(TEST * 2), strict=True)
    return TripleRanks(
        "theirs", Vocabulary.of(list(code)), Vocabulary.of(list(relation)), np.arange(6) < 3,
        code.encode(list(h)), relation.encode(list(r)), code.encode(list(t)), none, none, candidates,
    )  # fmt: skip


def test_ranks_of_another_program_need_their_numbers_of_candidates():
    """A rank among all entities looks like any other one."""
    collection = built("train")
    with pytest.raises(CollectionError, match="found ranks without numbers of candidates"):
        rank_system(collection, ranks_of(collection, None))
    with pytest.raises(CollectionError, match="to be ranked among 1 candidates"):
        rank_system(collection, ranks_of(collection, np.full(6, 4)))
    counts = np.array([1, 1, 1, 1, 1, 2])
    assert len(rank_system(collection, ranks_of(collection, counts)).answer_ranks) == 6


def test_lists_for_judges_have_candidates_alone():
    """Two for each question that has as many."""
    collection = built("train", [*TRAIN, ("joe", "likes", "pie"), ("moe", "likes", "rum")], [("ann", "likes", "jam")])
    found = candidate_lists(collection, 2)
    assert collection.takes(np.repeat([0, 1], 2), found.ravel()).all()
    with pytest.raises(KgtrecError, match="expected 3 candidates for each question, found 2 for tail0"):
        candidate_lists(collection, 3)


def test_a_run_is_compared_with_chance_among_its_candidates():
    """Three at random of the eight that a question takes are more than three at random of all forty entities."""
    people, things = [f"p{n}" for n in range(32)], [f"t{n}" for n in range(8)]
    train = [(person, "likes", things[n % 8]) for n, person in enumerate(people)]
    test = [(person, "likes", things[(n + 1) % 8]) for n, person in enumerate(people)]
    collection = built("train", train, test, sides=["tail"])
    anchors = collection.entities.decode(collection.questions.anchor).to_pylist()
    rng = np.random.default_rng(0)
    runs = {"good": {}, "bad": {}}
    for question, anchor in zip(collection.questions.ids, anchors, strict=True):
        runs["good"][question] = {things[(people.index(anchor) + 1) % 8]: 1.0}
        runs["bad"][question] = {thing: 1 / (1 + place) for place, thing in enumerate(rng.permutation(things)[:3])}
    with pytest.warns(KgtrecWarning, match="bad ranks the answers no better than chance would"):
        evaluate(collection, runs, "RR")
