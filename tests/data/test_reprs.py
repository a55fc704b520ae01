from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.scores import Scores
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError
from kgtrec.ranking.rank import rank_scores


def test_what_is_printed_fits_on_a_line():
    """A notebook shows what a thing is, not its arrays."""
    train = Triples.of([("a", "likes", "b"), ("b", "likes", "c")])
    built = build_questions(train, Triples.of([]), Triples.of([("a", "likes", "c")]))
    ranked = rank_scores(built, np.zeros((2, 3)), questions=built, entities=built, name="zero", depth=2)
    shown = {
        repr(thing)
        for thing in (train, built, built.questions, built.qrels, built.entities, *(ranked.answer_ranks, ranked.run))
    }
    assert shown == {
        "<Triples: 2 of 3 entities, 1 relations>",
        f"<Collection {built.fingerprint}: 2 questions, 2 judgements, 3 entities, 1 relations>",
        "<Questions: 2 (1 head, 1 tail)>",
        "<Qrels: 2 judgements, 2 questions>",
        "<Vocabulary: 3 labels>",
        "<AnswerRanks 'zero': 2 rows, filtered by train, valid, test>",
        "<Run 'zero': 4 rows, 2 questions>",
    }


def test_a_total_of_broken_down_scores_is_refused():
    """Which of the items would it be?"""
    scores = Scores(("s",), ("RR",), np.ones((1, 1, 2)), {"side": pa.array(["head", "tail"])})
    assert repr(scores) == "<Scores: 1 systems x 1 measures per side (2)>"
    with pytest.raises(KgtrecError, match="expected totals, found scores per side"):
        scores.value("s", "RR")


def test_a_total_is_found_under_any_name_of_its_measure():
    """And systems are sorted by it; another measure is not taken for it."""
    scores = Scores(("a", "b"), ("AP@20", "micro.MR"), np.array([[[0.1], [2.0]], [[0.3], [5.0]]]))
    assert (scores["b", "map_cut_20"], scores["b", "AP@20"]) == (0.3, 0.3)
    assert (scores.sorted_by("map_cut_20").systems, scores.sorted_by("micro.MR").systems) == (("b", "a"), ("a", "b"))
    with pytest.raises(KgtrecError, match="'AP'"):
        scores.value("a", "AP")
