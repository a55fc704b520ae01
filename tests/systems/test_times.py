"""Systems that know times: every kind of source gives the same ranks, and one without times says so."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import BETWEEN, Triples
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.trec.runs import write_run
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_model, rank_system
from kgtrec.systems import read_system

RANDOM = np.random.default_rng(5)
QUADS = sorted({tuple(map(str, row)) for row in RANDOM.integers(0, (7, 2, 7, 5), (80, 4)).tolist()})
RANDOM.shuffle(QUADS)
COLLECTION = build_questions(*(Triples.of(list(map(tuple, part))) for part in (QUADS[:30], QUADS[30:40], QUADS[40:])))
N_RELATIONS, N_TIMES = 2, 5
#: of (anchor, relation or relation + N_RELATIONS, time), as frameworks that ask for tails only score
TABLE = RANDOM.normal(size=(7, 2 * N_RELATIONS, N_TIMES, 7))


def model():
    """Two functions of the numbers of anchors and of (relation, time), which ask for tails only."""
    own = [f"{relation}{BETWEEN}{time}" for relation in range(N_RELATIONS) for time in range(N_TIMES)]

    def score(anchor, relation, inverse):
        return TABLE[anchor, relation // N_TIMES + inverse * N_RELATIONS, relation % N_TIMES]

    return {
        "score_tails": lambda heads, relations: score(heads, relations, 0),
        "score_heads": lambda tails, relations: score(tails, relations, 1),
        "entities": [str(entity) for entity in range(7)],
        "relations": own,
    }


def matrix():
    """Scores of the questions, by hand."""
    frame = COLLECTION.questions.to_frame()
    rows = []
    for row in frame.itertuples():
        relation, _, time = row.relation.partition(BETWEEN)
        scores = TABLE[int(row.anchor), int(relation) + (row.side == "head") * N_RELATIONS, int(time)]
        rows.append(scores[[int(label) for label in COLLECTION.entities]])
    return np.array(rows)


EXPECTED = rank_scores(COLLECTION, matrix(), questions=COLLECTION, entities=COLLECTION, depth=7)


def test_a_model_of_times_has_relations_with_them():
    """Inverse relations, which frameworks number from the number of relations on, answer head questions."""
    ranks = rank_model(COLLECTION, **model(), depth=0).answer_ranks
    assert ranks.above.tolist() == EXPECTED.answer_ranks.above.tolist()


def test_a_model_without_times_is_asked_the_same_at_all_times():
    """Its relations have none."""
    scores = TABLE[:, :, 0]
    ranked = rank_model(
        COLLECTION,
        lambda heads, relations: scores[heads, relations],
        lambda tails, relations: scores[tails, relations + N_RELATIONS],
        entities=[str(entity) for entity in range(7)],
        relations=["0", "1"],
    )
    assert len(ranked.answer_ranks) == len(EXPECTED.answer_ranks)


def test_json_lists_with_times_give_the_ranks_of_scores(tmp_path):
    """As text and as numbers."""
    for kind in (str, int):
        lines = []
        for row, scores in zip(COLLECTION.questions.to_frame().itertuples(), matrix(), strict=True):
            relation, _, time = row.relation.partition(BETWEEN)
            order = np.argsort(-scores)
            listed = [[COLLECTION.entities[code], scores[code]] for code in order]
            value = {"head": row.anchor, "relation": relation, "tail": None, "time": kind(time), "candidates": listed}
            lines.append(value | ({"head": None, "tail": row.anchor} if row.side == "head" else {}))
        path = tmp_path / "mine.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        ranks = rank_system(COLLECTION, read_system(path)).answer_ranks
        assert ranks.above.tolist() == EXPECTED.answer_ranks.above.tolist()
    path.write_text(json.dumps(lines[0] | {"time": 1.5}) + "\n")
    with pytest.raises(KgtrecError, match="expected a text or a whole number as time, or null"):
        read_system(path)
    for nothing in (None, ""):
        path.write_text("".join(json.dumps({**line, "time": nothing}) + "\n" for line in lines))
        with pytest.raises(KgtrecError, match="a question of one time, while these are of none"):
            rank_system(COLLECTION, read_system(path))


def test_own_ranks_with_times_give_the_ranks_of_scores(tmp_path):
    """A column time; without it an error says why there are no such questions."""
    ranks = EXPECTED.answer_ranks
    rows = []
    for question, entity, above in zip(ranks.question, ranks.entity, ranks.above, strict=True):
        head, relation, tail = COLLECTION.questions.triples(np.array([question]), np.array([entity])).labels_at(0)
        side = "head" if COLLECTION.questions.is_head[question] else "tail"
        relation, _, time = relation.partition(BETWEEN)
        rows.append({"head": head, "relation": relation, "tail": tail, "time": time, "side": side, "rank": above + 1})
    frame = pd.DataFrame(rows)
    path = tmp_path / "mine.ranks.csv"
    frame.to_csv(path, index=False)
    found = rank_system(COLLECTION, read_system(path))
    assert found.answer_ranks.above.tolist() == ranks.above.tolist()
    measured = [evaluate(COLLECTION, each, "micro.MRR").values.tolist() for each in (found.answer_ranks, ranks)]
    assert measured[0] == measured[1]
    frame.drop(columns="time").to_csv(path, index=False)
    with pytest.raises(KgtrecError, match="a question of one time, while these are of none"):
        rank_system(COLLECTION, read_system(path))


def test_runs_and_matrices_name_questions_by_their_ids(tmp_path):
    """So they need no time."""
    write_run(tmp_path / "mine.run", EXPECTED.run)
    listed = rank_system(COLLECTION, read_system(tmp_path / "mine.run"))
    assert listed.answer_ranks.above.tolist() == EXPECTED.answer_ranks.above.tolist()
