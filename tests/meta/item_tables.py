"""Scores of items that are made up, in the shape of real ones."""

from __future__ import annotations

import numpy as np

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.evaluation.item_scores import ItemScores


def answer_scores(seed=0, systems=4, n_questions=40, measure="micro.MRR", aggregate="mean", ranks=False) -> ItemScores:
    """Systems of different quality on questions with one to five answers; the answers of a question are alike."""
    rng = np.random.default_rng(seed)
    question = np.repeat(np.arange(n_questions), rng.integers(1, 6, n_questions)).astype(np.int32)
    hardness = rng.gamma(1.5, 1.0, n_questions)[question]
    rank = np.ceil(np.exp(hardness + rng.normal(0, 0.4, (systems, len(question))) + 0.1 * np.arange(systems)[:, None]))
    entities = Vocabulary.of([f"e{place}" for place in range(len(question))])
    return ItemScores(
        measure,
        "answers",
        not ranks,
        aggregate,
        tuple(f"s{place}" for place in range(systems)),
        rank if ranks else 1 / rank,
        question,
        Vocabulary.of([f"q{place}" for place in range(n_questions)]),
        np.arange(len(question), dtype=np.int32),
        entities,
    )


def question_scores(value, measure="macro.MRR", systems=None, *, higher=True, aggregate="mean") -> ItemScores:
    """One value per system and question."""
    value = np.asarray(value, float)
    n_systems, n = value.shape
    questions = Vocabulary.of([f"q{place}" for place in range(n)])
    names = systems or tuple(f"s{place}" for place in range(n_systems))
    return ItemScores(measure, "questions", higher, aggregate, names, value, np.arange(n, dtype=np.int32), questions)
