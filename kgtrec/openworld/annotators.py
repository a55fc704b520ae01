"""Simulated annotators of a closed world, who make errors; the result of a campaign can be compared with the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.judgements import NO, UNSURE, VERDICTS, YES, Tasks
from kgtrec.data.triples import Triples, label_hashes, triple_keys
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import whole_number
from kgtrec.kernels.integer_keys import is_among
from kgtrec.openworld.theory import require_number


def annotate(
    tasks: Tasks,
    truth: Triples,
    person: str,
    *,
    error: float = 0.0,
    unsure: float = 0.0,
    source: str = "",
    seed: int = 0,
) -> Tasks:
    """Fill in the verdicts of a person who knows the truth, errs at a given rate and is sometimes unsure.

    Errors depend only on the seed, the person and the triple. Two people err independently of each other. The verdicts
    of a person about a triple do not depend on the other tasks.

    Parameters
    ----------
    tasks : Tasks
        The tasks to fill in.
    truth : Triples
        All true triples; every other triple is false.
    person : str
        The annotator.
    error : float
        Probability of the wrong verdict, in [0, 1].
    unsure : float
        Probability of being unsure, in [0, 1].
    source : str
        The source given with every Y and N.
    seed : int
        Random seed of the errors.

    Returns
    -------
    Tasks
        The same tasks, with verdicts and sources.

    Raises
    ------
    KgtrecError
        If a probability is out of range, or the seed negative.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4.2, for annotation by two people and a third who decides where they disagree.

    Examples
    --------
    >>> from kgtrec.data.arrow import labels_of
    >>> def texts(*rows): return labels_of(list(rows))
    >>> empty = texts("", "")
    >>> asked = Tasks(np.array([1, 2]), (("ann",), ("ann",)), empty, texts("paris", "rome"), texts("in", "in"),
    ...               texts("france", "france"), empty, empty, empty, empty, empty, empty)
    >>> truth = Triples.of([("paris", "in", "france"), ("rome", "in", "italy")])
    >>> annotate(asked, truth, "ann").verdict.to_pylist()
    ['Y', 'N']
    >>> annotate(asked, truth, "ann", error=1).verdict.to_pylist()
    ['N', 'Y']
    """
    for name, share in (("error", error), ("unsure", unsure)):
        require_number(f"{name} to be a probability in [0, 1]", share, lambda part: 0 <= part <= 1)
    seed = whole_number("seed", seed)
    head, tail = (truth.entities.encode(labels) for labels in (tasks.head, tasks.tail))
    relation = truth.relations.encode(tasks.relation)
    asked = Triples(head, relation, tail, truth.entities, truth.relations)
    is_true = (head >= 0) & (relation >= 0) & (tail >= 0) & is_among(asked.keys(), truth.keys())
    errs, doubts = (_draws(tasks, person, seed, what) < share for what, share in ((0, error), (1, unsure)))
    verdict = np.where(doubts, UNSURE, np.where(is_true ^ errs, YES, NO))
    link = np.where(doubts, 0, 1)
    return replace(
        tasks, verdict=labels_of(VERDICTS).take(arrow_of(verdict)), source=labels_of(["", source]).take(arrow_of(link))
    )


def _draws(tasks: Tasks, person: str, seed: int, what: int) -> NDArray[np.float64]:
    """(n,) numbers in [0, 1), one per triple, that depend on seed, person and triple."""
    asked = Triples.of_columns(tasks.head, tasks.relation, tasks.tail)
    key = triple_keys(asked, seed, what, label_hashes(Vocabulary.of([person])))
    return (key >> np.uint64(11)).astype(np.float64) * 2.0**-53
