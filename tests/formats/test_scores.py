"""Score files, factorised and whole: alignment to a collection, bounded blocks, and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.collections import write_collection
from kgtrec.formats.score_matrix import read_score_matrix, stamp_score_matrix, write_score_matrix
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import read_system

TRAIN = [("ann", "likes", "tea"), ("bob", "likes", "jam"), ("cid", "knows", "ann")]
TEST = [("ann", "likes", "jam"), ("bob", "knows", "cid"), ("cid", "likes", "tea")]


@pytest.fixture(params=[False, True], ids=["labels", "ids"])
def collection(request):
    """Five entities, six questions; with entities by label or by id."""
    return build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST), ids=request.param)


def labels_of(collection):
    return list(collection.labels or collection.entities)


def write_factorised(folder, collection, *, dtype="f4", extra=0, bias=True, **changes):
    """An archive of small whole numbers in an order of its own, and the matrix that it should come to."""
    rng = np.random.default_rng(5)
    labels = labels_of(collection)
    entities = [*rng.permutation(labels).tolist(), *(f"other{i}" for i in range(extra))]
    relations = ["unused", "knows", "likes"]
    questions = collection.questions
    asked = [
        (int(h), relations.index(questions.relations[r]), entities.index(labels[a]))
        for h, r, a in zip(questions.is_head, questions.relation, questions.anchor, strict=True)
    ]
    asked += [(0, 0, 0)] * bool(extra)
    order = rng.permutation(len(asked))
    E = rng.integers(-4, 5, (len(entities), 3)).astype(dtype)
    Q = rng.integers(-4, 5, (len(asked), 3)).astype(dtype)
    b = rng.integers(-4, 5, len(entities)).astype(dtype)
    arrays = {"E": E, "Q": Q[order], "b": b, "questions": np.array(asked, np.int32)[order]} | changes
    if not bias:
        del arrays["b"]
    np.savez(folder / "s.npz", **{name: array for name, array in arrays.items() if array is not None})
    (folder / "entities.txt").write_text("".join(f"{label}\n" for label in entities))
    (folder / "relations.txt").write_text("".join(f"{label}\n" for label in relations))
    place = [entities.index(label) for label in labels]
    whole = Q[: len(questions)].astype(float) @ E.T.astype(float) + (b if bias else 0)
    return folder / "s.npz", whole[:, place]


def columns(ranked):
    """All numbers of answer ranks and run."""
    ranks, run = ranked.answer_ranks, ranked.run
    return [getattr(ranks, name).tolist() for name in ("question", "entity", "above", "tied", "n_other", "score")] + [
        getattr(run, name).tolist() for name in ("question", "entity", "score")
    ]


def of_matrix(collection, scores):
    """The same of a whole matrix."""
    return columns(rank_scores(collection, scores, questions=collection, entities=collection))


def joined(blocks):
    rows, scores = zip(*blocks, strict=True)
    return np.concatenate(rows).tolist(), np.concatenate(scores)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("block", [None, 1, 4])
def test_factorised_scores_are_aligned_by_label(tmp_path, collection, dtype, bias, block):
    """Entities, relations and questions in any order come out in the collection's, for any block size."""
    path, whole = write_factorised(tmp_path, collection, dtype=dtype, bias=bias)
    assert columns(rank_system(collection, read_system(path), block=block)) == of_matrix(collection, whole)


def test_what_the_collection_lacks_is_left_out_with_a_warning(tmp_path, collection):
    """Further entities and questions of a system do not disturb it."""
    path, whole = write_factorised(tmp_path, collection, extra=2)
    with pytest.warns(KgtrecWarning) as caught:
        found = rank_system(collection, read_system(path))
    assert [str(warning.message) for warning in caught] == [
        f"{path}: left out 1 questions that are not in the collection",
        "s: 2 of its entities are not in the collection and are no candidates",
    ]
    assert columns(found) == of_matrix(collection, whole)


def test_label_files_may_lie_elsewhere(tmp_path, collection):
    """Named files count, and a missing one is asked for."""
    path, whole = write_factorised(tmp_path, collection)
    moved = tmp_path / "e.txt"
    (tmp_path / "entities.txt").rename(moved)
    with pytest.raises(FormatError, match=r"entities in .* --entities"):
        read_system(path)
    found = rank_system(collection, read_system(path, entities=moved))
    assert columns(found) == of_matrix(collection, whole)


WRONG_ARCHIVES = {
    "no Q": ({"Q": None}, r"expected the arrays E, Q and questions \(and b, if there is one\), found E, b, questions"),
    "widths": ({"E": np.zeros((5, 2))}, r"expected one row of 2 numbers for each question in Q, found shape \(6, 3\)"),
    "bias": ({"b": np.zeros(4)}, r"expected one number for each entity in b, 5, found shape \(4,\)"),
    "floats": ({"questions": np.zeros((6, 3))}, "expected whole numbers in questions, found float64"),
    "text": ({"E": np.full((5, 3), "a")}, "expected numbers in E, found <U1"),
    "rows": ({"E": np.zeros((4, 3)), "b": np.zeros(4)}, r"each entity in E, 5, found shape \(4, 3\)"),
    "relation": ({"questions": np.full((6, 3), 3, np.int32)}, "0 to 1 in column 0 .*found 3 in row 0"),
    "missing": ({"questions": np.ones((6, 3), np.int32)}, r"all 6 .*no \(\?, likes, jam\), .* \(6 are missing\); 6 o"),
    "objects": ({"E": np.array([None])}, "E: Object arrays cannot be loaded"),
}


@pytest.mark.parametrize("case", WRONG_ARCHIVES)
def test_wrong_archives_are_refused(tmp_path, collection, case):
    """At once, before any block, with the file's name."""
    changes, message = WRONG_ARCHIVES[case]
    path, _ = write_factorised(tmp_path, collection, **changes)
    with pytest.raises(KgtrecError, match=message) as caught:
        rank_system(collection, read_system(path))
    assert str(caught.value).startswith(f"{path}: ")


def test_an_entity_that_the_system_lacks_is_named(tmp_path, collection):
    """A label file without one of the collection's entities."""
    path, _ = write_factorised(tmp_path, collection)
    lines = (tmp_path / "entities.txt").read_text().replace("jam\n", "ham\n")
    (tmp_path / "entities.txt").write_text(lines)
    message = r"s.npz: expected all 6 questions of the collection, found no \(.*jam.*\); .* such as \(.*ham.*\)"
    with pytest.raises(CollectionError, match=message):
        rank_system(collection, read_system(path))
    ids = tmp_path / "entities.tsv"  # whatever its ids, entities are known by their labels
    ids.write_text("".join(f"e{number}\t{label}\n" for number, label in enumerate(lines.split())))
    with pytest.raises(CollectionError, match=message):
        rank_system(collection, read_system(path, entities=ids))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 half", None])
def test_damaged_archives(tmp_path, collection, content):
    """Empty, foreign and cut-off files."""
    path, _ = write_factorised(tmp_path, collection)
    path.write_bytes(path.read_bytes()[:-300] if content is None else content)
    with pytest.raises(FormatError, match=r"expected a whole .npz archive of numbers, found other or damaged data"):
        read_system(path)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i4"])
@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("block", [None, 1, 4])
def test_matrix_blocks_are_views_of_the_file(tmp_path, collection, dtype, fortran, block):
    """Rows as topics, columns as entities; nothing is loaded that is not asked for."""
    shape = len(collection.questions), len(collection.entities)
    whole = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    np.save(tmp_path / "s.npy", np.asfortranarray(whole) if fortran else whole)
    stamp_score_matrix(tmp_path / "s.npy", collection)
    blocks = list(read_score_matrix(tmp_path / "s.npy", collection, block=block))
    assert all(isinstance(scores, np.memmap) for _, scores in blocks)
    rows, scores = joined(blocks)
    assert rows == list(range(shape[0]))
    assert np.array_equal(scores, whole)
    with pytest.raises(KgtrecError, match="expected block to be a whole number"):
        read_score_matrix(tmp_path / "s.npy", collection, block=0)


def test_matrix_in_another_order(tmp_path, collection):
    """--topics and --entities tell the order of rows and columns, with further ones among them."""
    rng = np.random.default_rng(6)
    labels, questions = labels_of(collection), collection.questions
    rows = [
        ("head" if is_head else "tail", labels[anchor], questions.relations[relation])
        for is_head, anchor, relation in zip(questions.is_head, questions.anchor, questions.relation, strict=True)
    ]
    topics = [tuple(row) for row in rng.permutation([*rows, ("tail", "ann", "hates")]).tolist()]
    entities = rng.permutation([*labels_of(collection), "zoe"]).tolist()
    matrix = rng.random((len(topics), len(entities)))
    np.save(tmp_path / "s.npy", matrix)
    (tmp_path / "t.tsv").write_text("".join(f"{side}{n}\t{a}\t{r}\n" for n, (side, a, r) in enumerate(topics)))
    (tmp_path / "e.txt").write_text("".join(f"{entity}\n" for entity in entities))
    named = {"topics": tmp_path / "t.tsv", "entities": tmp_path / "e.txt"}
    with pytest.warns(KgtrecWarning, match=r"left out 1 (questions|entities) that are not in the collection"):
        blocks = read_score_matrix(tmp_path / "s.npy", collection, **named, block=2)
    expected = matrix[[topics.index(row) for row in rows]]
    expected = expected[:, [entities.index(label) for label in labels_of(collection)]]
    assert np.array_equal(joined(blocks)[1], expected)


def test_a_collection_s_own_files_tell_its_order(tmp_path, collection):
    """topics.tsv and entities.txt (or entities.tsv) of the collection itself change nothing."""
    write_collection(tmp_path / "C", collection)
    matrix = np.random.default_rng(7).random((len(collection.questions), len(collection.entities)))
    np.save(tmp_path / "s.npy", matrix)
    entities = tmp_path / "C" / ("entities.txt" if collection.labels is None else "entities.tsv")
    blocks = read_score_matrix(tmp_path / "s.npy", collection, topics=tmp_path / "C" / "topics.tsv", entities=entities)
    assert np.array_equal(joined(blocks)[1], matrix)


def test_nothing_tells_the_order_but_what_stands_beside(tmp_path, collection):
    """The right shape is no reason; a note beside the matrix is, for that matrix and that collection."""
    path, scores = tmp_path / "s.npy", np.random.default_rng(7).random((6, 5))
    np.save(path, scores)
    with pytest.raises(FormatError, match=r"question each row .*entity each column"):
        read_score_matrix(path, collection)
    path.unlink()
    write_score_matrix(path, scores, collection)
    assert np.array_equal(joined(read_score_matrix(path, collection))[1], scores)
    other = build_questions(
        Triples.of(TRAIN[::-1]), Triples.of([]), Triples.of(TEST), ids=collection.labels is not None
    )
    with pytest.raises(FormatError, match=rf"expected scores of collection {other.matrix_stamp}, found those of"):
        read_score_matrix(path, other)
    own = joined(read_score_matrix(path, other, made_for=collection))[1]
    place = [labels_of(collection).index(label) for label in labels_of(other)]
    assert np.array_equal(own, scores[:, place])
    path.unlink()
    np.save(path, scores + 1)
    with pytest.raises(FormatError, match=r"s.npy.json: expected the origin of s.npy, found that of another file"):
        read_score_matrix(path, collection)


def test_a_sample_takes_its_rows_by_what_they_ask(tmp_path, collection):
    """Its questions have ids of their own, which stand for others in the whole."""
    whole = np.random.default_rng(9).random((6, 5))
    write_score_matrix(tmp_path / "s.npy", whole, collection)
    part = build_questions(
        Triples.of(TRAIN),
        Triples.of([]),
        Triples.of(TEST),
        sample=Triples.of(TEST[1:]),
        ids=collection.labels is not None,
    )
    with pytest.warns(KgtrecWarning, match="left out 2 questions that are not in the collection"):
        scores = joined(read_score_matrix(tmp_path / "s.npy", part, made_for=collection))[1]
    rows = collection.questions.rows(part.questions.is_head, part.questions.relation, part.questions.anchor)
    assert part.questions.ids[0] == collection.questions.ids[0]
    assert rows[0] != 0
    assert np.array_equal(scores, whole[rows])


def test_only_whole_matrices_are_written(tmp_path, collection):
    """Of the collection's shape, under a name that tells the form."""
    with pytest.raises(FormatError, match="expected a matrix of 6 questions x 5 entities, found 5 x 6"):
        write_score_matrix(tmp_path / "s.npy", np.zeros((5, 6)), collection)
    with pytest.raises(KgtrecError, match=r"s.txt: expected a name that ends in .npy"):
        write_score_matrix(tmp_path / "s.txt", np.zeros((6, 5)), collection)
    assert not list(tmp_path.iterdir())


def test_wrong_matrices_are_refused(tmp_path, collection):
    """Another shape, another kind of file, a cut-off file, no file."""
    path = tmp_path / "s.npy"
    np.save(path, np.zeros((3, 4)))
    with pytest.raises(FormatError, match=r"s.npy: expected a matrix of 6 questions x 5 entities, found 3 x 4"):
        stamp_score_matrix(path, collection)
    write_collection(tmp_path / "C", collection)
    for name in ("topics.tsv", "entities.txt" if collection.labels is None else "entities.tsv"):
        (tmp_path / name).write_bytes((tmp_path / "C" / name).read_bytes())
    with pytest.raises(FormatError, match=r"s.npy: expected a matrix of 6 questions x 5 entities, as in the files"):
        read_score_matrix(path, collection)
    np.save(path, np.zeros((6, 5)))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(FormatError, match=r"expected a whole .npy matrix of numbers, found other or cut-off data"):
        read_score_matrix(path, collection)
    path.write_text("0.1 0.2")
    with pytest.raises(FormatError, match=r"expected a whole .npy matrix of numbers"):
        read_score_matrix(path, collection)
    with path.open("wb") as stream:
        np.savez(stream, a=np.zeros(3))
    with pytest.raises(FormatError, match=r"expected a .npy matrix, found an .npz archive"):
        read_score_matrix(path, collection)
    with pytest.raises(FormatError, match="no such file"):
        read_score_matrix(tmp_path / "none.npy", collection)


def test_a_label_file_with_a_repeated_or_unreadable_line(tmp_path, collection):
    """The line is named."""
    write_score_matrix(tmp_path / "s.npy", np.zeros((6, 5)), collection)
    names = tmp_path / "e.txt"
    names.write_text("ann\ntea\nann\n")
    with pytest.raises(FormatError, match=r"e.txt:3: expected each label once, found 'ann' here and on line 1"):
        read_score_matrix(tmp_path / "s.npy", collection, entities=names)
    names.write_bytes(b"ann\n\xff\n")
    with pytest.raises(FormatError, match=r"e.txt:2: expected UTF-8 text"):
        read_score_matrix(tmp_path / "s.npy", collection, entities=names)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_scores_of_an_archive_are_the_same_in_blocks_of_any_size(tmp_path, collection, dtype):
    """To the last bit, though sums of other numbers of products are taken by other kernels."""
    rng = np.random.default_rng(4)
    changes = {"E": rng.normal(size=(5, 200)).astype(dtype), "Q": rng.normal(size=(6, 200)).astype(dtype)}
    path, _ = write_factorised(tmp_path, collection, dtype=dtype, **changes)
    whole = columns(rank_system(collection, read_system(path)))
    for block in range(1, 6):
        assert columns(rank_system(collection, read_system(path), block=block)) == whole


@pytest.mark.parametrize("value", [1e300, np.nan, np.inf])
def test_numbers_beyond_float32_are_no_noise(tmp_path, collection, value):
    """They are infinity or NaN, which is refused; nothing is warned of."""
    changes = {"E": np.full((5, 3), value), "Q": np.full((6, 3), value)}
    path, _ = write_factorised(tmp_path, collection, dtype="f8", **changes)
    with pytest.raises(KgtrecError, match=r"expected numbers as scores, found (NaN|\+inf) for question"):
        rank_system(collection, read_system(path))


@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        (lambda E, b: {"E": E, "b": b}, False),
        (lambda E, b: {"E": E, "b": b + 1e9}, True),
        (lambda E, b: {"E": E * 1e-60, "b": b * 1e-60}, True),
        (lambda E, b: {"E": np.ones_like(E), "b": np.full_like(b, 1e9)}, False),
        (lambda E, b: {"E": E.astype("f4"), "b": (b + 1e9).astype("f4")}, False),
    ],
)
def test_what_rounding_takes_from_an_archive_in_float64_is_an_error(tmp_path, collection, changes, is_refused, extra):
    """In float32 nothing is taken."""
    rng = np.random.default_rng(5)
    E, b, Q = rng.normal(size=(5 + extra, 3)), rng.normal(size=5 + extra), rng.normal(size=(6 + bool(extra), 3))
    arrays = changes(E, b)
    path, _ = write_factorised(tmp_path, collection, extra=extra, Q=Q.astype(arrays["E"].dtype), **arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        if not is_refused:
            rank_system(collection, read_system(path))
            return
        with pytest.raises(KgtrecError, match="expected scores that differ in float32 where they"):
            rank_system(collection, read_system(path))
