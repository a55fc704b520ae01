"""Ranks of a study on samples of the test triples, and given ranks."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgtrec
from kgtrec.data.collection import Collection
from kgtrec.data.identity import question_places
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import SPLITS, Triples
from kgtrec.errors import CollectionError, KgtrecWarning
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.ranking.rank import rank_scores
from kgtrec.study import Study, run_study
from kgtrec.study.ranks import ranks_on_sample
from kgtrec.study.report import study_report
from kgtrec.systems.baselines import baseline_blocks
from tests.studies import sample as sample_labels
from tests.studies import study_toml

CITIES = Path(__file__).parents[2] / "examples" / "cities"
ENTITIES = [f"e{n}" for n in range(6)]
TRAIN = Triples.of([(entity, relation, ENTITIES[0]) for entity in ENTITIES for relation in ("r", "s")])
TESTABLE = [(head, relation, tail) for head in ENTITIES[:3] for relation in ("r", "s") for tail in ENTITIES[3:]]


def judged(collection: Collection, pairs: list[tuple[int, int]]) -> Qrels:
    """Qrels of pairs of rows."""
    question, entity = (np.array(column, np.int32) for column in zip(*sorted(set(pairs)), strict=True))
    grade = np.ones(len(question), np.int32)
    return Qrels.of(question, entity, grade, collection.questions.ids, collection.entities)


@given(draw=st.data())
def test_ranks_on_a_sample_are_those_that_ranking_on_the_sample_gives(draw: st.DataObject):
    """Every column, with ties, and with judged pairs that are filtered, or answers that the sample leaves out."""
    test = draw.draw(st.lists(st.sampled_from(TESTABLE), min_size=1, max_size=12, unique=True))
    kept = draw.draw(st.lists(st.sampled_from(test), min_size=1, unique=True))
    valid = Triples.of([])
    whole = kgtrec.build_questions(TRAIN, valid, Triples.of(test))
    sample = kgtrec.build_questions(TRAIN, valid, Triples.of(test), sample=Triples.of(kept))
    scores = np.array(
        draw.draw(
            st.lists(
                st.lists(st.integers(0, 3), min_size=len(whole.entities), max_size=len(whole.entities)),
                min_size=len(whole.questions),
                max_size=len(whole.questions),
            )
        ),
        float,
    )
    place = question_places(sample, whole).place
    pairs = draw.draw(
        st.lists(
            st.tuples(st.integers(0, len(sample.questions) - 1), st.integers(0, len(sample.entities) - 1)), min_size=1
        )
    )
    assert list(whole.entities) == list(sample.entities)
    on_whole = rank_scores(
        whole,
        scores,
        questions=whole,
        entities=whole,
        judged=judged(whole, [(int(place[row]), entity) for row, entity in pairs]),
    ).answer_ranks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)  # the sample leaves out questions
        expected = rank_scores(
            sample, scores, questions=whole, entities=whole, judged=judged(sample, pairs)
        ).answer_ranks
    question, entity = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    found = ranks_on_sample(on_whole, whole, sample, [(question, entity)])
    for name in ("question", "entity", "answer", "above", "tied", "n_other", "score"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert (found.collection, found.filtered_by) == (sample.stamp, expected.filtered_by)


CONFIG = study_toml(
    "Given ranks",
    data={"folder": "cities"},
    systems={"ranks": ["ranks"]},
    labels=sample_labels(0.75),
    measures={"names": ["micro.MRR", "macro.MRR", "AP@20"], "resamples": 20},
    stability={"sizes": [0.5], "repeats": 3},
    report={"formats": ["csv"]},
)


def write_study(folder: Path, systems: Mapping[str, str], filtered_by: Sequence[str] = SPLITS) -> Path:
    """A study of answer ranks: the baseline of each system."""
    shutil.copytree(CITIES, folder / "cities")
    (folder / "ranks").mkdir()
    cities = kgtrec.build_questions(*(kgtrec.read_triples(CITIES / f"{split}.tsv") for split in SPLITS))
    for name, made_by in systems.items():
        blocks = baseline_blocks(made_by, cities)
        ranked = rank_scores(cities, blocks, questions=cities, entities=cities, name=name, filtered_by=filtered_by)
        write_answer_ranks(folder / "ranks" / f"{name}.ranks.parquet", ranked.answer_ranks)
    (folder / "study.toml").write_text(CONFIG)
    return folder / "study.toml"


def told(study: Study) -> list[str]:
    """The sentences of the summary."""
    blocks = study_report(study).sections[0].blocks
    return [text for block in blocks for text in getattr(block, "paragraphs", getattr(block, "points", ()))]


@pytest.mark.slow
def test_given_ranks_have_the_scores_that_the_study_gives_systems_that_it_ranks(tmp_path: Path):
    """On a sample of the test triples too."""
    names = ("inverse", "popularity", "rules")
    given_ranks = run_study(write_study(tmp_path, {name: name for name in names}))
    own = CONFIG.replace('ranks = ["ranks"]', f"baselines = {list(names)}")
    (tmp_path / "own.toml").write_text(own)
    ranked = run_study(tmp_path / "own.toml")
    assert given_ranks.tables.keys() == ranked.tables.keys()
    assert {name: str(table.to_pylist()) for name, table in given_ranks.tables.items()} == {
        name: str(table.to_pylist()) for name, table in ranked.tables.items()
    }
    assert {name for name in given_ranks.tables if name.startswith("scores/")} == {"scores/all", "scores/some"}


def test_of_identical_systems_no_order_is_told(tmp_path: Path):
    """Nor that a measure distinguishes them, nor a correlation, which they have none of."""
    study = run_study(write_study(tmp_path, dict.fromkeys(("a", "b", "c"), "rules")))
    sentences = [re.sub(r"\d\.\d{4}", "#", text) for text in told(study)]
    rivals = "a (#) is not distinguishable from b (no p-value) and c (no p-value)."
    assert sentences[:-1] == [
        f"By micro.MRR, no system is significantly the best on all: {rivals}",
        f"By micro.MRR, no system is significantly the best on some: {rivals}",
        "By micro.MRR, no pair of systems is significantly in opposite order on all and some.",
        "At no size that was tried, the middle 95% of 3 random samples of all have a Kendall's tau-b of at least 0.9 "
        "with all of all.",
    ]
    assert "ties" in sentences[-1]


@pytest.mark.parametrize("filtered_by", [(), ("train", "valid")])
def test_a_sample_needs_ranks_filtered_by_test(tmp_path: Path, filtered_by: tuple[str, ...]):
    """What the sample leaves out is filtered, and would be a candidate."""
    config = write_study(tmp_path, {"a": "rules", "b": "popularity"}, filtered_by)
    found = ", ".join(filtered_by) or "nothing"
    with pytest.raises(CollectionError, match=f"the sample some, .* found a filtered by {found}"):
        run_study(config)
