"""Real systems on FB15k-237 against the scores published beside them.

Producer: ``data/systems/fb15k-237/reference.tsv``, filtered micro measures of the arrays as stored, realistic ranks.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

from kgtrec.data.identity import entity_places, question_places
from kgtrec.formats.factor_folders import numbered_questions, read_factor_archive
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import read_system

SYSTEMS = ("complex", "conve", "cp", "distmult", "rescal", "rotate", "transe", "tucker")


@pytest.mark.parametrize(
    "system", [SYSTEMS[0], *(pytest.param(system, marks=pytest.mark.slow) for system in SYSTEMS[1:])]
)
def test_a_system_gives_its_published_scores(data, fb15k_237, system):
    """Hits@10 to 1e-6, MR to 1e-6 relative; MRR to 5e-6: they were computed in 32 bits, where one near tie is a tie."""
    folder = data / "systems" / "fb15k-237"
    with (folder / "reference.tsv").open() as lines:
        published = {row["system"]: row for row in csv.DictReader(lines, delimiter="\t")}[system]
    ranks = rank_system(fb15k_237, read_system(folder / f"{system}.npz"), depth=0).answer_ranks
    realistic = ranks.above + 1 + ranks.tied / 2
    assert len(ranks) == 40_932
    assert np.mean(1 / realistic) == pytest.approx(float(published["micro.MRR"]), abs=5e-6)
    assert np.mean(realistic <= 10) == pytest.approx(float(published["micro.Hits@10"]), abs=1e-6)
    assert np.mean(realistic) == pytest.approx(float(published["micro.MR"]), rel=1e-6)


@pytest.mark.long
def test_a_real_run_is_the_list_that_a_full_sort_gives(data, fb15k_237):
    """200 questions of one system: the run cut at 100 equals a stable sort of all candidates by score and label."""
    arrays = read_factor_archive(data / "systems" / "fb15k-237" / "rotate.npz")
    asked = numbered_questions("rotate", arrays.questions, arrays.entities, arrays.relations)
    rows, place = np.arange(200), question_places(fb15k_237, asked).place
    column = entity_places(fb15k_237, arrays.entities).place
    scores = arrays.Q[place[rows]].astype("f4") @ arrays.E[column].astype("f4").T + arrays.b[column]
    blank = np.zeros((len(fb15k_237.questions) - len(rows), scores.shape[1]), np.float32)
    run = rank_scores(
        fb15k_237,
        [(rows, scores), (np.arange(len(rows), len(blank) + len(rows)), blank)],
        questions=fb15k_237,
        entities=fb15k_237,
        depth=100,
    ).run
    filtered, place = fb15k_237.filtered, fb15k_237.entities.byte_order
    for question in rows.tolist():
        row = scores[question].astype(float)
        row[filtered.entity[filtered.question == question]] = np.nan
        order = np.lexsort((-place, -row))[:100]
        assert run.entity[run.question == question].tolist() == order.tolist()
