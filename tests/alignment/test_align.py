"""Entity alignment: answer ranks in both directions, and the study of test set sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.alignment.align import align, alignment_collection
from kgtrec.alignment.by_size import study_alignment
from kgtrec.data.alignments import Alignments, EntityVectors
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.alignment import read_alignment_system
from kgtrec.report.show import shown

THREE = np.array([[0.9, 0.8, 0.1], [0.7, 0.8, 0.8], [0.2, 0.3, 0.4]])
ONE_TO_ONE = Alignments.by_row(3, 3)


def labelled(ranks):
    """(question, answer) -> (above, tied, n_other)."""
    pairs = zip(
        ranks.questions.decode(ranks.question).to_pylist(), ranks.entities.decode(ranks.entity).to_pylist(), strict=True
    )
    counts = zip(ranks.above.tolist(), ranks.tied.tolist(), ranks.n_other.tolist(), strict=True)
    return dict(zip(pairs, counts, strict=True))


def by_entities(collection, ranks):
    """(direction, left row, right row) -> (above, tied, n_other)."""
    anchors = dict(zip(collection.questions.ids, collection.questions.anchor.tolist(), strict=True))
    found = {}
    for (question, answer), counts in labelled(ranks).items():
        anchor = collection.entities[anchors[question]]
        left, right = (answer, anchor) if question.startswith("head") else (anchor, answer)
        found[question[:4], int(left.removeprefix("left")), int(right.removeprefix("right"))] = counts
    return found


def test_three_by_three_by_hand():
    """Left to right: ranks 1, 1.5 (tied with right2) and 1; right to left: 1, 1.5 (tied with left0) and 2."""
    ranks = align(THREE, ONE_TO_ONE, name="toy")
    assert labelled(ranks) == {
        ("tail0", "right0"): (0, 0, 2),
        ("tail1", "right1"): (0, 1, 2),
        ("tail2", "right2"): (0, 0, 2),
        ("head0", "left0"): (0, 0, 2),
        ("head1", "left1"): (0, 1, 2),
        ("head2", "left2"): (1, 0, 2),
    }
    collection = alignment_collection(ONE_TO_ONE)
    assert (ranks.name, ranks.collection) == ("toy", collection.stamp)
    scores = evaluate(collection, ranks, ["micro.MR", "micro.Hits@1"])
    assert scores.value("toy", "micro.MR") == pytest.approx((1 + 1.5 + 1 + 1 + 1.5 + 2) / 6)
    assert scores.value("toy", "micro.Hits@1") == pytest.approx(3 / 6)


def test_each_direction_is_a_side():
    """per="side": tail is left to right, head right to left."""
    ranks = align(THREE, ONE_TO_ONE)
    scores = evaluate(alignment_collection(ONE_TO_ONE), ranks, "micro.MR", per="side")
    sides = dict(zip(scores.items["side"].to_pylist(), scores.values[0, 0], strict=True))
    assert sides == {"head": pytest.approx(4.5 / 3), "tail": pytest.approx(3.5 / 3)}


def test_candidates_are_the_test_entities_or_all():
    """One of three alignments is a test alignment: alone, or among all three."""
    alignments = Alignments.of([(1, 1)], [(0, 0), (2, 2)])
    assert labelled(align(THREE, alignments)) == {("head0", "left1"): (0, 0, 0), ("tail0", "right1"): (0, 0, 0)}
    assert labelled(align(THREE, alignments, candidates="all")) == {
        ("head0", "left1"): (0, 1, 2),
        ("tail0", "right1"): (0, 1, 2),
    }


def test_an_entity_with_two_partners_is_one_question_with_two_answers():
    """Micro leaves the other answer out; macro sees the better of the two. right1 is 2nd of left0's non-answers."""
    alignments = Alignments.of([(0, 0), (0, 2), (1, 1)], n_left=3, n_right=3)
    collection, ranks = alignment_collection(alignments), align(THREE, alignments)
    found = labelled(ranks)
    assert found["tail0", "right0"] == (0, 0, 1)
    assert found["tail0", "right2"] == (1, 0, 1)
    scores = evaluate(collection, ranks, ["macro.MRR", "micro.MRR"], per="side")
    tail = scores.items["side"].to_pylist().index("tail")
    assert scores.values[0, 0, tail] == pytest.approx((1 + (1 + 1 / 2) / 2) / 2)  # in expectation over the tie
    assert scores.values[0, 1, tail] == pytest.approx((1 + 1 / 2 + 1 / 1.5) / 3)


def test_repeated_alignments_count_once():
    """The same pair twice changes nothing."""
    again = Alignments.of([(0, 0), (1, 1), (2, 2), (1, 1)])
    assert labelled(align(THREE, again)) == labelled(align(THREE, ONE_TO_ONE))
    assert alignment_collection(again).report["repeated"]["test"] == 1


@st.composite
def tasks(draw):
    """Similarities with many ties, many-to-many test and train alignments, any protocol and block."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    similarities = rng.choice(np.array([-np.inf, -1, 0.0, 0.5, 2])[: draw(st.integers(1, 5))], shape)
    pairs = rng.permutation(np.argwhere(np.ones(shape)))
    n_test, n_train = draw(st.integers(1, len(pairs))), draw(st.integers(0, 4))
    train = rng.permutation(pairs)[:n_train]  # may repeat a test alignment
    alignments = Alignments.of(pairs[:n_test], train, n_left=shape[0], n_right=shape[1])
    return similarities.astype(np.float32), alignments, draw(st.none() | st.integers(1, 8)), rng


def obvious(similarities, test, train, candidates):
    """(direction, left, right) -> (above, tied, n_other), pair by pair."""
    found = {}
    for direction, column, scores in (("tail", 1, similarities), ("head", 0, similarities.T)):
        for pair in test:
            anchor, answer = pair[1 - column], pair[column]
            right = {p[column] for p in [*test, *train] if p[1 - column] == anchor}
            among = {p[column] for p in test} if candidates == "test" else range(scores.shape[1])
            others = [c for c in among if c not in right]
            above = sum(scores[anchor, c] > scores[anchor, answer] for c in others)
            tied = sum(scores[anchor, c] == scores[anchor, answer] for c in others)
            found[direction, pair[0], pair[1]] = (above, tied, len(others))
    return found


@given(tasks(), st.sampled_from(["test", "all"]))
def test_ranks_equal_the_obvious_loop(task, candidates):
    """Any ties, several partners on either side, train alignments and blocks."""
    similarities, alignments, block, _ = task
    test, train = ([tuple(pair) for pair in pairs.tolist()] for pairs in (alignments.test, alignments.train))
    collection = alignment_collection(alignments, candidates=candidates)
    ranks = align(similarities, alignments, candidates=candidates, block=block)
    assert by_entities(collection, ranks) == obvious(similarities, test, train, candidates)


@given(tasks(), st.sampled_from(["micro.MR", "micro.MRR", "macro.MRR", "macro.Hits@1", "AP@3"]))
def test_a_study_equals_aligning_each_drawn_set_by_itself(task, measure):
    """A set's values are those of a task of its own, in which the rest of the test alignments are known."""
    similarities, alignments, block, rng = task
    pairs = np.unique(alignments.test, axis=0)  # in the order in which sets are drawn
    n = len(pairs)
    sizes = sorted({int(size) for size in rng.integers(1, n + 1, 2)})
    study = study_alignment(similarities, alignments, sizes, repeats=2, seed=3, measures=measure, block=block)
    assert (study.size.tolist(), study.repeat.tolist()) == (sizes * 2, [0] * len(sizes) + [1] * len(sizes))
    for size, repeat, value in zip(study.size, study.repeat, study.values[:, 0], strict=True):
        order = np.random.default_rng([3, repeat]).permutation(n)
        drawn, rest = pairs[order[:size]], pairs[order[size:]]
        own = Alignments.of(
            drawn, np.concatenate([alignments.train, rest]), n_left=similarities.shape[0], n_right=similarities.shape[1]
        )
        expected = evaluate(alignment_collection(own), align(similarities, own, name="s"), measure)
        assert value == pytest.approx(expected.values[0, 0, 0])
    assert by_entities(alignment_collection(alignments), study.ranks) == by_entities(
        alignment_collection(alignments), align(similarities, alignments)
    )


def test_study_tables():
    """The long table has a row per set and measure; the summary's interval has no width at the full size."""
    rng = np.random.default_rng(9)
    similarities = rng.normal(size=(40, 40)) + 2 * np.eye(40)
    study = study_alignment(
        similarities, Alignments.by_row(40, 40), [0.25, 40], repeats=6, measures=["micro.MR", "micro.Hits@1"], name="s"
    )
    table, summary = study.to_table(), study.summary()
    assert table.column_names == ["system", "size", "repeat", "measure", "value"]
    assert table.num_rows == 12 * 2
    rows = {(row["measure"], row["size"]): row for row in study.summary().to_pylist()}
    assert list(rows) == [("micro.MR", 10), ("micro.MR", 40), ("micro.Hits@1", 10), ("micro.Hits@1", 40)]
    full, small = rows["micro.MR", 40], rows["micro.MR", 10]
    assert full["low"] == full["mean"] == full["high"]
    assert small["low"] < small["mean"] < small["high"] < full["mean"]
    assert summary.num_rows == 4
    again = study_alignment(similarities, Alignments.by_row(40, 40), [10], repeats=2, measures="micro.MR")
    both = study.to_table().to_pylist()
    assert again.values[:, 0].tolist() == [
        row["value"] for row in both if row["size"] == 10 and row["measure"] == "micro.MR" and row["repeat"] < 2
    ], "a set does not depend on the other sizes and repeats"


def test_vectors_and_their_matrix_agree():
    """The same ranks from vectors as from the matrix of their similarities, in blocks of any size."""
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 3, (2, 9, 4)).astype(np.float16)
    matrix = -np.abs(left[:, None].astype(float) - right[None]).sum(axis=2)
    expected = labelled(align(matrix, Alignments.by_row(9, 9)))
    for block in (1, 4, None):
        vectors = EntityVectors(left, right)
        assert labelled(align(vectors, Alignments.by_row(9, 9), similarity="neg-l1", block=block)) == expected


@pytest.mark.slow
def test_dbp15k(data):
    """The GCN trained on 30% of the alignments: the numbers that stand beside the data, from left to right."""
    system = read_alignment_system(data / "systems" / "dbp15k-zh_en" / "gcn-30.npz")
    alignments = Alignments.by_row(*system.shape, system.is_test)
    study = study_alignment(
        system.scores, alignments, [0.1, 0.5], repeats=3, measures=["micro.MR", "micro.Hits@1"], similarity="neg-l1"
    )
    collection, ranks = alignment_collection(alignments), study.ranks
    scores = evaluate(collection, ranks, ["micro.MR", "micro.Hits@1", "micro.MRR"], per="side")
    tail = scores.values[0, :, scores.items["side"].to_pylist().index("tail")]
    assert [round(v, p) for v, p in zip(tail, (1, 4, 4), strict=True)] == [492.0, 0.3376, 0.4480]
    assert set(ranks.n_other.tolist()) == {10_499}
    assert round(1 - (tail[0] - 1) / ((10_500 + 1) / 2 - 1), 4) == 0.9065  # AMRI
    rows = {(row["measure"], row["size"]): row["mean"] for row in study.summary().to_pylist()}
    ratio = rows["micro.MR", 5250] / rows["micro.MR", 1050]
    assert 4.3 < ratio < 5.3, "the mean rank grows with the size of the test set"
    assert rows["micro.Hits@1", 1050] > rows["micro.Hits@1", 5250] + 0.1
    adjusted = [1 - (rows["micro.MR", n] - 1) / ((n - 1) / 2) for n in (1050, 5250)]
    assert abs(adjusted[0] - adjusted[1]) < 0.02, "AMRI stays"


@pytest.mark.slow
def test_the_table_of_the_page_is_what_the_command_gives(data):
    """docs/alignment.md: three sizes of the test set, means of 20 draws."""
    page = (Path(__file__).parents[2] / "docs" / "alignment.md").read_text()
    system = read_alignment_system(data / "systems" / "dbp15k-zh_en" / "gcn-30.npz")
    alignments = Alignments.by_row(*system.shape, system.is_test)
    measures = ["micro.MR", "micro.Hits@1", "micro.MRR", "micro.AMRI"]
    sizes = [0.05, 0.2, 1.0]
    study = study_alignment(system.scores, alignments, sizes, repeats=20, measures=measures, similarity="neg-l1")
    mean = {(row["size"], row["measure"]): row["mean"] for row in study.summary().to_pylist()}
    for size in (525, 2_100, 10_500):
        rank, *shares = (mean[size, name] for name in measures)
        assert f"| {size:,} | {rank:.1f} | " + " | ".join(f"{share:.3f}"[1:] for share in shares) + " |" in page


VECTORS = EntityVectors(np.ones((3, 2)), np.ones((3, 2)))
WRONG = {
    "no test": (lambda: align(THREE, Alignments.of([], n_left=3, n_right=3)), "at least one test alignment, found"),
    "candidates": (lambda: align(THREE, ONE_TO_ONE, candidates="al"), "candidates to be one of test, all, found 'al'"),
    "similarity": (lambda: align(VECTORS, ONE_TO_ONE, similarity="neg-l3"), "found 'neg-l3'"),
    "sizes": (lambda: align(THREE, Alignments.by_row(4, 4)), "found 3 and 3"),
    "list": (lambda: align([[1.0]], ONE_TO_ONE), "found list"),
    "one axis": (lambda: align(np.ones(3), ONE_TO_ONE), "found an array of shape (3,)"),
    "block": (lambda: align(THREE, ONE_TO_ONE, block=0), "block"),
    "nan": (
        lambda: align(np.where(THREE == 0.1, np.nan, THREE), ONE_TO_ONE),
        "found NaN for question 'head2', entity 'left0'",
    ),
    "nan vectors": (lambda: EntityVectors(np.array([[1.0], [np.nan]]), np.ones((1, 1))), "found nan in row"),
    "dimensions": (lambda: EntityVectors(np.ones((2, 3)), np.ones((2, 4))), "of one length, found 3 and 4 numbers"),
    "text": (lambda: EntityVectors(np.array([["a"]]), np.ones((1, 1))), "left vectors as a matrix of real numbers"),
    "shared label": (
        lambda: alignment_collection(
            Alignments.of([(0, 0)], left=Vocabulary.of(["paris"]), right=Vocabulary.of(["paris"]))
        ),
        "found 'paris' on both",
    ),
    "white space": (lambda: alignment_collection(Alignments.of([(0, 0)], left=Vocabulary.of(["a b"]))), "found 'a b'"),
    "range": (lambda: Alignments.of([(0, 3)], n_right=3), "alignments"),
    "negative": (lambda: Alignments.of([(0, -1)]), "alignments"),
    "triples": (lambda: Alignments.of([(0, 1, 2)]), "found int64 of shape"),
    "by row": (lambda: Alignments.by_row(3, 4), "found 3 and 4"),
    "flags": (lambda: Alignments.by_row(3, 3, np.ones(3)), "3 flags as is_test, one per row, found float64"),
    "size": (lambda: study_alignment(THREE, ONE_TO_ONE, [4]), "sizes of 1 to 3 test alignments, or of a share"),
    "fraction": (lambda: study_alignment(THREE, ONE_TO_ONE, [1.5]), "found 1.5"),
    "no sizes": (lambda: study_alignment(THREE, ONE_TO_ONE, []), "expected at least one size"),
    "repeats": (lambda: study_alignment(THREE, ONE_TO_ONE, [1], repeats=0), "expected repeats to be a whole number"),
    "measure": (lambda: study_alignment(THREE, ONE_TO_ONE, [1], measures="micro.MRRR"), "micro.MRR"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told(case):
    """One error, with what was expected and what was found."""
    call, message = WRONG[case]
    with pytest.raises(KgtrecError) as raised:
        call()
    assert message in str(raised.value)


def test_a_study_of_single_alignments_tells_what_has_no_value():
    """One candidate leaves chance no room: AMRI is undefined at size 1, which the warning names, and shown as -."""
    similarities = np.random.default_rng(0).random((6, 6))
    with pytest.warns(KgtrecWarning, match="undefined"):
        study = study_alignment(
            similarities, Alignments.by_row(6, 6), [1, 6], repeats=2, name="gcn", measures="micro.MR micro.AMRI"
        )
    assert [line.split()[2:] for line in shown(study, "table", ["summary"]).splitlines()[1:4:2]] == [
        ["1", "2", "1.0000", "1.0000", "1.0000"],
        ["1", "2", "-", "-", "-"],
    ]
