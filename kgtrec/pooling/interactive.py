"""Pools that depend on the judgements so far: the strategy asks for one judgement at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.judgements import NO, UNSURE, VERDICTS, YES
from kgtrec.data.pool import Pool
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, one_of
from kgtrec.evaluation.given import Runs, judgements_of
from kgtrec.kernels.sampling.bandits import BANDITS, best_arm
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.pooling.pool_runs import Cut, pool_runs

TURNS = ("each", "best")
_UNASKED = -1


@dataclass(frozen=True, slots=True)
class Asked:
    """The triple to be judged next, and why it was chosen."""

    number: int  # 1-based position among the asked triples
    head: str
    relation: str
    tail: str
    question: str  # id of the question whose turn it is
    run: str  # that contributes it
    rank: int  # in that run, 1-based


class Asker:
    """Asks for one judgement at a time, and takes the next triple from the run with the best answers so far.

    Every question is a separate bandit, whose arms are the runs. Questions take turns, in a random order that depends
    on the seed and their ids, or the question of the best arm is next (``turns``). A run offers its best-ranked triple
    that has not been seen at this question. A triple that was judged already, at its other question, is not asked about
    again: its verdict counts for the run at once and costs nothing. A doubt ("unsure") counts neither for nor against
    the run. With "first-yes" a list is read down to its first answer, known before or judged Y, so that every run's
    best rank, and with it macro.MRR, is that of the whole pool.

    The next triple depends only on the seed, labels, ranks and verdicts. So an asker with the same arguments that is
    given the verdicts (``judged``) continues where the first one stopped.

    Parameters
    ----------
    pool : Pool
        All triples that may be asked about: a depth pool, as deep as the strategy may go.
    strategy : {"mtf", "max-mean", "thompson", "first-yes"}
        Which run is next: by Move-to-Front, the highest mean, Thompson sampling, or each in turn down to its first
        answer. Default: "max-mean".
    budget : int, optional
        Number of triples to ask about; default all.
    seed : int
        Random seed of the turns, and of equal runs.
    prior : two floats above 0
        Beta distribution of the probability that a run's next triple is an answer; not for Move-to-Front.
    decay : float in [0, 1]
        Weight of earlier verdicts after each verdict on a run's triple: 1 keeps all, 0 keeps only the last verdict;
        not for Move-to-Front.
    turns : {"each", "best"}
        "each": one triple of each question before the second of any. "best": the question whose best run has the
        highest value, for equal values the one that was asked least, so that questions with many answers get more of
        the budget than those with none.
    judged : Qrels, optional
        Recorded verdicts, which are used instead of asking. They count towards the budget.

    References
    ----------
    Cormack, Palmer, Clarke (1998), SIGIR; Losada, Parapar, Barreiro (2016), SAC, and (2017), IP&M 53.

    Examples
    --------
    See :func:`asking`.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        strategy: str = "max-mean",
        budget: int | None = None,
        seed: int = 0,
        prior: tuple[float, float] = (1.0, 1.0),
        decay: float = 1.0,
        turns: str = "each",
        judged: Any = None,
    ) -> None:
        _require_options(strategy, budget, prior, decay, turns)
        self._all, self._strategy, self._seed, self._prior = pool, BANDITS[strategy], seed, prior
        # priorities of Move-to-Front are counts; with anything else it would not be the strategy of the paper
        self._decay = 1.0 if strategy == "mtf" else decay
        self._budget = len(pool) if budget is None else min(budget, len(pool))
        n_questions, n_runs = len(pool.questions), len(pool.runs)
        # contributions by question, run and rank: each (question, run) is a stretch that is read from its beginning
        arm = pool.question.astype(np.int64) * n_runs + pool.run
        self._rows = np.lexsort((pool.rank, arm))
        bounds = np.append(0, np.cumsum(np.bincount(arm, minlength=n_questions * n_runs)))
        self._next, self._end = bounds[:-1].copy(), bounds[1:].copy()
        self._stops = strategy == "first-yes"
        if self._stops:  # where a rank is left out, an answer known before has it
            order = np.arange(len(self._rows)) - np.repeat(bounds[:-1], np.diff(bounds)) + 1
            follows = np.concatenate([[0], np.cumsum(pool.rank[self._rows] == order)])
            self._end = bounds[:-1] + np.diff(follows[bounds])
        self._hits, self._misses = np.zeros(len(self._next)), np.zeros(len(self._next))
        self._steps = np.zeros(n_questions, np.int64)
        self._seen = np.zeros((len(pool), 2), np.bool_)  # at the tail question, at the head question
        self._verdict = np.full(len(pool), _UNASKED, np.int8)
        self._recorded = _recorded(pool, judged)
        self._question_hash, self._run_hash = label_hashes(pool.questions.ids), label_hashes(Vocabulary.of(pool.runs))
        pooled = np.unique(pool.question)
        ordered = pooled[np.argsort(hashed(seed, self._question_hash[pooled]), kind="stable")].tolist()
        self._by_best = turns == "best"
        # the turns of questions, the lowest first: by value, then by steps so far, then by position in the order
        self._turns = [(self._worth(question), 0, place, question) for place, question in enumerate(ordered)]
        heapify(self._turns)
        self._pending: int | None = None  # the contribution that is asked about
        self._n_asked = 0

    def __len__(self) -> int:
        """How many triples have a verdict so far."""
        return self._n_asked

    def __repr__(self) -> str:
        return f"<Asker: {len(self):,} of {self._budget:,} triples judged>"

    def __iter__(self) -> Iterator[Asked]:
        """The triples one after the other; each must be answered before the next."""
        while (asked := self.next()) is not None:
            yield asked
            if self._pending is not None:
                raise KgtrecError(f"expected an answer to triple {asked.number} before the next one is asked about")

    def next(self) -> Asked | None:
        """Choose the triple to judge next, the same until it is answered; None if none is left, or the budget spent."""
        if self._pending is None:
            self._pending = self._find()
        if self._pending is None:
            return None
        pool, pending = self._all, self._pending
        labels, asked_for = (
            pool.triples.labels_at(int(pool.triple[pending])),
            pool.questions.ids[pool.question[pending]],
        )
        return Asked(self._n_asked + 1, *labels, asked_for, pool.runs[pool.run[pending]], int(pool.rank[pending]))

    def answer(self, verdict: str | bool) -> None:
        """Record the verdict on the triple that :meth:`next` gave last: "Y", "N", "unsure", or a truth value.

        Raises
        ------
        KgtrecError
            If it is anything else, or nothing was asked.
        """
        if isinstance(verdict, bool | np.bool_):
            verdict = VERDICTS[YES if verdict else NO]
        one_of("a verdict of", verdict, VERDICTS)
        if self._pending is None:
            raise KgtrecError("expected a triple to be asked about before it is answered; call next()")
        self._settle(self._pending, VERDICTS.index(verdict))
        self._pending = None

    @property
    def pool(self) -> Pool:
        """The triples that have a verdict, with all contributions of the runs to them."""
        return self._all.where(self._verdict[self._all.triple] != _UNASKED)

    @property
    def verdicts(self) -> NDArray[np.int8]:
        """(n,) per triple of :attr:`pool`: 0 = N, 1 = Y, 2 = unsure."""
        return self._verdict[self._verdict != _UNASKED]

    def _find(self) -> int | None:
        """The contribution to ask about next."""
        while self._turns and self._n_asked < self._budget:
            question = self._turns[0][3]
            best, _ = self._best(question)
            if best < 0:
                heappop(self._turns)
                continue
            contribution = int(self._rows[self._next[question * len(self._all.runs) + best]])
            triple = self._all.triple[contribution]
            if self._verdict[triple] != _UNASKED:
                self._credit(contribution, int(self._verdict[triple]))
            elif self._recorded[triple] != _UNASKED:
                self._settle(contribution, int(self._recorded[triple]))
            else:
                return contribution
        return None

    def _best(self, question: int) -> tuple[int, float]:
        """The best run for the question, and its value; -1 when all lists are exhausted."""
        n_runs = len(self._all.runs)
        arms = slice(question * n_runs, (question + 1) * n_runs)
        seen = self._seen[:, int(self._all.questions.is_head[question])]
        for arm in range(arms.start, arms.stop):
            while self._next[arm] < self._end[arm] and seen[triple := self._all.triple[self._rows[self._next[arm]]]]:
                self._next[arm] += 1
                if self._stops and self._verdict[triple] == YES:
                    self._end[arm] = self._next[arm]
        own = hashed(self._seed, int(self._question_hash[question]))
        keys, tie = (hashed(own, self._run_hash, step) for step in (int(self._steps[question]) + 1, 0))
        value = self._strategy(self._hits[arms], self._misses[arms], self._prior, keys)
        best = best_arm(value, self._next[arms] < self._end[arms], tie)
        return best, float(value[best])

    def _worth(self, question: int) -> float:
        """Minus the value of the question's best run, if turns depend on it."""
        return -self._best(question)[1] if self._by_best else 0.0

    def _settle(self, contribution: int, verdict: int) -> None:
        """Record a verdict on a triple that had none."""
        self._verdict[self._all.triple[contribution]] = verdict
        self._n_asked += 1
        self._credit(contribution, verdict, is_new=True)

    def _credit(self, contribution: int, verdict: int, *, is_new: bool = False) -> None:
        """Update the run that offered the triple with the verdict."""
        asked = self._all.question[contribution]
        self._seen[self._all.triple[contribution], int(self._all.questions.is_head[asked])] = True
        self._steps[asked] += 1
        if verdict != UNSURE:
            arm = int(asked) * len(self._all.runs) + self._all.run[contribution]
            self._hits[arm] = self._decay * self._hits[arm] + (verdict == YES)
            self._misses[arm] = self._decay * self._misses[arm] + (verdict == NO)
        if self._by_best or is_new:
            # a question's value changes only by its own steps, so those of the others are unchanged
            _, steps, place, question = self._turns[0]
            heapreplace(self._turns, (self._worth(question), steps + 1, place, question))


def asking(
    collection: Collection,
    runs: Runs,
    *,
    strategy: str = "max-mean",
    budget: int | None = None,
    depth: int = 100,
    cut: Cut = "filtered",
    seed: int = 0,
    prior: tuple[float, float] = (1.0, 1.0),
    decay: float = 1.0,
    turns: str = "each",
    questions: NDArray[np.int32] | None = None,
    known_answers: Any = None,
    judged: Any = None,
    progress: Callable[[int], None] | None = None,
) -> Asker:
    """Make an asker over the first ``depth`` candidates of each run, without filtered triples and answers.

    Parameters
    ----------
    collection : Collection
        The questions, their answers, and what is filtered.
    runs : iterable of Run
        With different names; their order does not matter.
    depth : int
        Last rank of a run that may be used.
    cut, questions, known_answers, progress
        As in :func:`kgtrec.pool_runs`.
    strategy, budget, seed, prior, decay, turns, judged
        As in :class:`Asker`.

    Raises
    ------
    KgtrecError
        If an option is out of range, or a run does not belong to the collection.

    See Also
    --------
    kgtrec.pool_runs : Choose all triples at once.

    Examples
    --------
    >>> from kgtrec.data.run import Run
    >>> import numpy as np
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> none, test = Triples.of([]), Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(Triples.of([("jam", "with", "pie")]), none, test)
    >>> tail0 = collection.questions.ids.encode(["tail0"])
    >>> listed = collection.entities.encode(["pie", "tea", "jam"])
    >>> score, zeros = np.array([3.0, 2.0, 1.0]), np.zeros(3, np.int32)
    >>> run = Run.of("mine", zeros, listed, score, Vocabulary.of(["tail0"]), collection.entities)
    >>> asker = asking(collection, [run], strategy="mtf", questions=tail0)
    >>> for asked in asker:
    ...     print(asked.head, asked.relation, asked.tail, asked.rank)
    ...     asker.answer("N")
    ann likes pie 1
    ann likes jam 3
    """
    _require_options(strategy, budget, prior, decay, turns)
    pool = pool_runs(
        collection,
        runs,
        depth=depth,
        cut=cut,
        questions=questions,
        known_answers=known_answers,
        seed=seed,
        progress=progress,
    )
    return Asker(
        pool, strategy=strategy, budget=budget, seed=seed, prior=prior, decay=decay, turns=turns, judged=judged
    )


def replay(collection: Collection, runs: Runs, judged: Any, **options: Any) -> Pool:
    """Make the pool that a strategy would have asked for by the verdicts in ``judged``; unjudged triples count as N.

    Parameters
    ----------
    judged : Qrels, or what :func:`kgtrec.evaluate` takes as qrels
        Grades of 1 and more are Y, 0 is N; a triple that is Y for either of its questions is Y.
    collection, runs, **options
        As in :func:`asking`: strategy, budget, depth, cut, seed, prior, decay, turns, questions, known_answers,
        progress.

    Returns
    -------
    Pool
        The triples asked about, with all contributions of the runs to them down to ``depth``.

    Raises
    ------
    KgtrecError
        As :func:`asking`.
    """
    asker = asking(collection, runs, judged=judged, **options)
    for _ in asker:
        asker.answer("N")
    return asker.pool


def _require_options(strategy: str, budget: int | None, prior: tuple[float, float], decay: float, turns: str) -> None:
    one_of("a strategy of", strategy, BANDITS)
    if budget is not None and budget < 1:
        raise KgtrecError(f"expected a budget of at least 1 triple, found {budget}")
    if len(prior) != 2 or not all(0 < value < np.inf for value in prior):
        raise KgtrecError(f"expected two numbers above 0 as prior, found {prior}")
    if not 0 <= decay <= 1:
        raise KgtrecError(f"expected a decay from 0 to 1, found {decay}")
    one_of("turns of", turns, TURNS)


def _recorded(pool: Pool, judged: Any) -> NDArray[np.int8]:
    """(n,) recorded verdict on each triple of the pool, -1 where there is none."""
    recorded = np.full(len(pool), _UNASKED, np.int8)
    if judged is not None:
        qrels = judgements_of(judged).recoded(questions=pool.questions.ids, entities=pool.triples.entities)
        qrels = qrels.take((qrels.question >= 0) & (qrels.entity >= 0) & (qrels.grade >= 0))
        triples = pool.questions.triples(qrels.question, qrels.entity)
        row = pool.rows(triples.head, triples.relation, triples.tail)
        np.maximum.at(recorded, row[row >= 0], (qrels.grade[row >= 0] >= 1).astype(np.int8))
    return recorded
