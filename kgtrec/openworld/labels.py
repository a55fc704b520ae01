"""Sparse labels of a closed world: a part of the true facts, at random or correlated with the facts a system finds.

The collection has all true answers; the labels of some of their facts are hidden. The assumptions are:

- systems are trained on train only, so they do not depend on the labels;
- train and valid facts are never candidates, since the filter removes them;
- a labelled fact is an answer of both of its questions; the filter removes it when other answers of these questions
  are ranked;
- a missing fact is true but not known: it stays in the lists as an unjudged candidate, and labelled answers below it
  have a worse rank. A question whose answers are all missing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection, why_another
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import Triples, triple_keys
from kgtrec.errors import CollectionError, KgtrecError, whole_number
from kgtrec.evaluation.matching import ranked_again
from kgtrec.kernels.sampling.label_draws import (
    correlation_ends,
    correlation_of,
    missing_at_random,
    missing_in_correlation,
    whole_share,
)
from kgtrec.openworld.theory import require_number

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TrueFacts:
    """The facts behind a collection's answers, each once."""

    collection: Collection
    facts: Triples  # sorted by their keys
    fact: NDArray[np.intp]  # (answers,) row of the fact behind each relevant row of the qrels
    row: NDArray[np.intp]  # (answers,) row in the qrels

    @classmethod
    def of(cls, collection: Collection) -> TrueFacts:
        """Return all facts that the questions and answers of the collection give.

        Raises
        ------
        KgtrecError
            If there are no answers, or the collection is an entity alignment.

        Examples
        --------
        >>> from kgtrec.collection.questions import build_questions
        >>> test = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
        >>> true = TrueFacts.of(build_questions(Triples.of([]), Triples.of([]), test))
        >>> len(true.facts), true.fact.tolist()
        (2, [0, 1, 0, 1])
        """
        if collection.is_alignment:
            raise KgtrecError("expected a collection of triple questions, found a collection of an entity alignment")
        qrels, questions = collection.qrels, collection.questions
        row = np.flatnonzero(qrels.grade >= 1)
        if len(row) == 0:
            raise KgtrecError("expected a collection with at least one answer, found none")
        every = questions.triples(qrels.question[row], qrels.entity[row])
        _, first, fact = np.unique(every.keys(), return_index=True, return_inverse=True)
        return cls(collection, every.take(first), fact, row)

    def __len__(self) -> int:
        return len(self.facts)

    def answers_per_fact(self, counted: Mask | None = None) -> NDArray[np.int64]:
        """Count, (facts,), how many answers each fact has, or how many of the ``counted`` ones."""
        of = self.fact if counted is None else self.fact[counted]
        return np.bincount(of, minlength=len(self.facts))


@dataclass(frozen=True, slots=True, eq=False)
class SparseLabels:
    """The facts of a closed world, some labelled and some missing."""

    true: TrueFacts
    labelled: Mask  # (facts,)
    correlation: float  # over answers, between missing and found by the given system; NaN: no system, or undefined

    @property
    def density(self) -> float:
        """The share of the facts that are labelled."""
        return float(self.labelled.mean())

    def qrels(self) -> Qrels:
        """Return the labelled answers, of the questions that have any."""
        return self.true.collection.qrels.with_rows(self.true.row[self.labelled[self.true.fact]])

    def ranks(self, complete: AnswerRanks) -> AnswerRanks:
        """Return the answer ranks of a system under these labels only, from its answer ranks under the complete labels.

        Raises
        ------
        CollectionError
            If the ranks do not belong to the answers of the complete collection.

        Examples
        --------
        >>> from kgtrec.collection.questions import build_questions
        >>> from kgtrec.ranking.rank import rank_scores
        >>> test = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "pie")])
        >>> collection = build_questions(Triples.of([]), Triples.of([]), test)
        >>> scores = np.array([[3.0, 0, 0], [3.0, 0, 0], [0, 1.0, 2.0]])  # pie is above tea
        >>> ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
        >>> sparse = hide_labels(TrueFacts.of(collection), 0.5)
        >>> [sparse.true.facts.entities[e] for e in sparse.qrels().entity], sparse.ranks(ranks).above.tolist()
        (['ann', 'tea'], [0, 1])
        """
        row = rows_of(self.true, complete)
        is_answer = complete.answer.copy()
        is_answer[row] = self.labelled[self.true.fact]
        kept = np.sort(row[is_answer[row]])
        above, tied, n_other = (counts[kept].astype(np.int32) for counts in ranked_again(complete, is_answer))
        return replace(complete.take(kept), above=above, tied=tied, n_other=n_other)


def hide_labels(
    true: TrueFacts,
    density: float,
    *,
    found: Mask | None = None,
    correlation: float = 0.0,
    seed: int = 0,
    draw: int = 0,
) -> SparseLabels:
    """Hide the labels of a part of the facts.

    Parameters
    ----------
    true : TrueFacts
    density : float
        The share of the facts that keep their labels, in (0, 1].
    found : (answers,) bool array, optional
        Which answers a system finds, see :func:`found_answers`.
    correlation : float
        Correlation of two events: the label of an answer is missing, and the answer is found. 0: facts are missing at
        random. The possible range depends on the density and on the share of answers that are found.
    seed, draw : int
        The random draw depends on these and on the names of the facts only. With correlation 0, the labels of a lower
        density are a subset of those of a higher density.

    Returns
    -------
    SparseLabels
        Its correlation is the achieved one. It differs a little from the requested one, as facts are hidden as a whole.

    Raises
    ------
    KgtrecError
        If the density is out of range, or the correlation is not possible; the message then gives the possible range.

    References
    ----------
    Yang et al. (2022), NeurIPS: density as the share of the full test set, and correlated missing facts.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> test = Triples.of([(f"h{place}", "likes", "tea") for place in range(10)])
    >>> true = TrueFacts.of(build_questions(Triples.of([]), Triples.of([]), test))
    >>> sparse = hide_labels(true, 0.4, found=true.fact < 5, correlation=0.5)  # of the 6 missing, 4 or 5 are found
    >>> int(sparse.labelled.sum()), round(sparse.correlation, 3)
    (4, 0.408)
    """
    n_missing = _n_missing(true, density)
    require_number("a correlation from -1 to 1", correlation, lambda rho: -1 <= rho <= 1)
    key = triple_keys(true.facts, whole_number("seed", seed), whole_number("draw", draw))
    if found is None:
        if correlation != 0:
            raise KgtrecError(
                "expected the answers that a system finds, for labels whose absence is correlated with them, found "
                "none; give found="
            )
        return SparseLabels(true, ~missing_at_random(key, n_missing), float("nan"))
    answers, known = true.answers_per_fact(), true.answers_per_fact(found)
    if correlation == 0:
        missing = missing_at_random(key, n_missing)
    else:
        _require_possible(true, found, density, correlation)
        missing = missing_in_correlation(key, answers, known, n_missing, correlation)
    return SparseLabels(true, ~missing, correlation_of(missing, answers, known))


def possible_correlations(true: TrueFacts, found: Mask, density: float) -> tuple[float, float]:
    """Return the least and greatest correlation between missing and found at a density; NaN if one is constant.

    Parameters
    ----------
    true : TrueFacts
    found : (answers,) bool array
        Which answers a system finds, see :func:`found_answers`.
    density : float
        The share of the facts that keep their labels, in (0, 1].

    Returns
    -------
    low, high : float

    Raises
    ------
    KgtrecError
        If the density is out of range.

    References
    ----------
    Fréchet (1951), on the bounds of a joint distribution with given margins.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> test = Triples.of([(f"h{place}", "likes", "tea") for place in range(10)])
    >>> true = TrueFacts.of(build_questions(Triples.of([]), Triples.of([]), test))
    >>> [round(end, 4) for end in possible_correlations(true, true.fact < 7, 0.8)]
    [-0.7638, 0.3273]
    """
    return correlation_ends(true.answers_per_fact(), true.answers_per_fact(found), _n_missing(true, density))


def _n_missing(true: TrueFacts, density: float) -> int:
    """How many facts lack their labels; at least one fact keeps its label."""
    require_number("a density above 0 and at most 1", density, lambda share: 0 < share <= 1)
    return len(true) - max(1, whole_share(float(density), len(true)))


def found_answers(true: TrueFacts, ranks: AnswerRanks, *, at: int = 1) -> Mask:
    """Return which answers a system finds: those whose rank among false candidates only is ``at`` or better.

    Rank 1 is above every false candidate. A false candidate with the same score counts as above the answer.

    Parameters
    ----------
    true : TrueFacts
    ranks : AnswerRanks
        Ranked for the complete collection.
    at : int
        1-based rank.

    Returns
    -------
    (answers,) bool array

    Raises
    ------
    KgtrecError
        If ``at`` is not a whole number of at least 1.
    CollectionError
        If the ranks do not belong to the answers of the complete collection.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.ranking.rank import rank_scores
    >>> test = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "pie")])
    >>> collection = build_questions(Triples.of([]), Triples.of([]), test)
    >>> scores = np.array([[3.0, 0, 0], [3.0, 0, 0], [1.0, 0, 2.0]])  # ann herself is above tea
    >>> ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    >>> true = TrueFacts.of(collection)
    >>> found_answers(true, ranks).tolist(), found_answers(true, ranks, at=2).tolist()
    ([True, True, False, True], [True, True, True, True])
    """
    at = whole_number("the rank at which an answer is found", at, 1)
    row = rows_of(true, ranks)
    return ranks.above[row].astype(np.int64) + ranks.tied[row] < at


def rows_of(true: TrueFacts, ranks: AnswerRanks) -> NDArray[np.intp]:
    """Return (answers,) row of each answer in the ranks.

    Raises
    ------
    CollectionError
        If the ranks belong to another collection, or were made without knowing all of its answers.
    """
    collection = true.collection
    if ranks.collection and ranks.collection != collection.stamp:
        raise CollectionError(
            f"{ranks.name}: expected answer ranks of the complete collection ({collection.stamp}), found those "
            f"of another collection ({ranks.collection}), {why_another(ranks.collection, collection.stamp, 'RANKS')}"
            "rank its scores for the complete collection"
        )
    width = np.int64(len(collection.entities))
    qrels = collection.qrels
    question = qrels.questions.codes_of(ranks.questions)[ranks.question]
    entity = qrels.entities.codes_of(ranks.entities)[ranks.entity]
    own = np.where((question >= 0) & (entity >= 0), question * width + entity, -1)
    order = np.argsort(own, kind="stable")  # a file may number labels in another order
    asked = qrels.question[true.row] * width + qrels.entity[true.row]
    place = order[np.minimum(np.searchsorted(own, asked, sorter=order), len(own) - 1)] if len(own) else order
    if not (np.array_equal(own[place], asked) and ranks.answer[place].all()):
        raise CollectionError(
            f"{ranks.name}: expected answer ranks made with all answers of the complete collection known, found "
            "others; rank its scores for the complete collection"
        )
    return place


def _require_possible(true: TrueFacts, found: Mask, density: float, correlation: float) -> None:
    low, high = possible_correlations(true, found, density)
    at = f"at a density of {density:g} and a system that finds {found.mean():.4g} of the answers"
    if np.isnan(low):
        raise KgtrecError(
            f"expected a correlation of 0 {at}, found {correlation:g}: if all answers or none are missing, or found, "
            "there is no correlation"
        )
    low_text, high_text = f"{low:.4g}", f"{high:.4g}"  # if these are rounded outwards, the printed ends are accepted
    if not min(low, float(low_text)) <= correlation <= max(high, float(high_text)):
        raise KgtrecError(f"expected a correlation from {low_text} to {high_text} {at}, found {correlation:g}")
