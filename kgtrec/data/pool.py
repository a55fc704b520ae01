"""The triples that people are asked to judge, and why each is among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.frames import Frame, frame_of
from kgtrec.data.lazy import imported
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, nearest, require

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Pool:
    """Triples to be judged, and which run contributed each, for which question and at which rank.

    A triple can be pooled for both its questions and from many runs; each combination is a contribution. Triples are
    distinct and sorted by (relation, head, tail), contributions by (triple, question, run). Answers that are already in
    the qrels are not in the pool.
    """

    triples: Triples  # (n,) under the vocabularies of the questions
    probability: NDArray[np.float64]  # (n,) of being in the pool: 1, or the sampled share of its stratum
    triple: NDArray[np.int32]  # (c,) row in triples
    question: NDArray[np.int32]  # (c,) row in questions
    run: NDArray[np.int32]  # (c,) index in runs
    rank: NDArray[np.int32]  # (c,) from 1, among the candidates of the question
    runs: tuple[str, ...]  # all that were pooled, in byte order of their names; a run may have no contribution
    questions: Questions  # all that were pooled for, including those without a triple in the pool
    strata: tuple[int, ...] = ()  # last ranks of the strata, where each was sampled question by question

    @classmethod
    def of(
        cls,
        triples: Triples,
        triple: NDArray[np.int32],
        question: NDArray[np.int32],
        run: NDArray[np.int32],
        rank: NDArray[np.int32],
        runs: Iterable[str],
        questions: Questions,
        probability: NDArray[np.float64] | None = None,
        strata: tuple[int, ...] = (),
    ) -> Pool:
        """Make a pool of triples and contributions in any order; runs are put into byte order.

        Raises
        ------
        KgtrecError
            If a triple or a run's name is repeated, or a triple has no contribution.
        """
        names = tuple(runs)
        ordered = tuple(sorted(names, key=str.encode))
        if twice := [name for name, following in pairwise(ordered) if name == following]:
            raise KgtrecError(f"expected runs of different names, found {twice[0]!r} more than once; rename one")
        run = np.array([ordered.index(name) for name in names], np.int32)[run]
        if np.any(np.diff(np.sort(triples.keys())) == 0):
            raise KgtrecError("expected each triple of a pool once")
        if np.any(np.bincount(triple, minlength=len(triples)) == 0):
            raise KgtrecError("expected each triple of a pool to come from a run")
        order = np.lexsort((triples.tail, triples.head, triples.relation))
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        triple = place[triple]
        by = np.lexsort((run, question, triple))
        columns = triple[by], question[by], run[by], rank[by].astype(np.int32)
        chance = np.ones(len(order)) if probability is None else probability[order]
        return cls(triples.take(order), chance, *columns, ordered, questions, strata)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, questions: Questions) -> Pool:
        """Make a pool of a data frame with a row per contribution.

        Parameters
        ----------
        frame : DataFrame
            Columns ``head, relation, tail, question, run, rank``, and ``probability`` for triples that were sampled.
        questions : Questions
            All that were pooled for; they contain the labels of the frame.

        Raises
        ------
        KgtrecError
            If a column or a label is missing, a triple does not answer its question, a triple has two probabilities, or
            a rank is not a whole number from 1 on.

        Examples
        --------
        >>> import pandas as pd
        >>> from kgtrec.data.vocabulary import Vocabulary
        >>> questions = Questions.from_frame(pd.DataFrame({
        ...     "question": ["q1"], "side": ["tail"], "relation": ["likes"], "anchor": ["ann"]
        ... }), entities=Vocabulary.of(["ann", "tea", "rye"]))
        >>> Pool.from_frame(pd.DataFrame({
        ...     "head": ["ann", "ann", "ann"], "relation": ["likes"] * 3, "tail": ["tea", "rye", "tea"],
        ...     "question": ["q1"] * 3, "run": ["a", "a", "b"], "rank": [1, 2, 1],
        ... }), questions)
        <Pool: 2 triples for 1 questions out of 2 runs>
        """
        columns = Frame(frame)
        head, tail = (columns.codes(name, questions.entities)[1] for name in ("head", "tail"))
        relation = columns.codes("relation", questions.relations)[1]
        question = columns.codes("question", questions.ids)[1]
        runs, run = columns.codes("run")
        rank = columns.values("rank")
        if np.any((rank < 1) | (rank != np.trunc(rank)) | (rank > np.iinfo(np.int32).max)):
            raise KgtrecError("expected whole numbers from 1 on in column 'rank'")
        anchor = np.where(questions.is_head[question], tail, head)
        require(
            (relation == questions.relation[question]) & (anchor == questions.anchor[question]),
            lambda row: KgtrecError(
                f"expected triples that answer their questions, found another in row {row}, for "
                f"{questions.ids[question[row]]!r}"
            ),
        )
        whole = Triples(head, relation, tail, questions.entities, questions.relations)
        _, first, triple = np.unique(whole.keys(), return_index=True, return_inverse=True)
        probability = columns.values("probability") if "probability" in columns.names else np.ones(len(rank))
        if np.any(probability != probability[first][triple]):
            raise KgtrecError("expected one probability for each triple, found several for one triple")
        rows = triple.astype(np.int32), question, run, rank.astype(np.int32)
        return cls.of(whole.take(first), *rows, runs.labels.to_pylist(), questions, probability[first])

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per contribution: head, relation, tail, question, run, rank, probability."""
        triples = self.triples.take(self.triple.astype(np.intp))
        return frame_of(
            **{name: triples.decoded(name) for name in ("head", "relation", "tail")},
            question=self.questions.ids.decode(self.question),
            run=np.array(self.runs, object)[self.run],
            rank=self.rank,
            probability=self.probability[self.triple],
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables of :func:`kgtrec.pooling.summarise_pool`."""
        return imported("report.show", "result_html")(imported("pooling.summary", "summarise_pool")(self))

    def __repr__(self) -> str:
        return f"<Pool: {len(self):,} triples for {len(self.questions):,} questions out of {len(self.runs)} runs>"

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def entity(self) -> NDArray[np.int32]:
        """(c,) the candidate of each contribution, row in the questions' entities."""
        triples = self.triples.take(self.triple)
        return np.where(self.questions.is_head[self.question], triples.head, triples.tail)

    @property
    def depth(self) -> NDArray[np.int32]:
        """(n,) best (lowest) rank of each triple over runs and over both its questions.

        References
        ----------
        Zhou et al. (2022), SIGIR, section 4.
        """
        least = np.full(len(self), np.iinfo(np.int32).max, np.int32)
        np.minimum.at(least, self.triple, self.rank)
        return least

    @property
    def home(self) -> NDArray[np.int32]:
        """(n,) the question for which each triple has its best rank, row in questions; the head question if equal."""
        return home_questions(self.triple, self.question, self.rank, self.questions)

    @property
    def is_from(self) -> NDArray[np.bool_]:
        """(runs, n) whether a run contributed a triple, for either of its questions."""
        is_from = np.zeros((len(self.runs), len(self)), np.bool_)
        is_from[self.run, self.triple] = True
        return is_from

    def place(self, run: str) -> int:
        """Return the run's index in ``runs``.

        Raises
        ------
        KgtrecError
            If the pool has no such run.
        """
        if run not in self.runs:
            raise KgtrecError(f"expected one of the pool's {len(self.runs)} runs, got {run!r}{nearest(run, self.runs)}")
        return self.runs.index(run)

    def rows(self, head: NDArray[np.int32], relation: NDArray[np.int32], tail: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the (m,) row in ``triples`` of each triple, -1 where there is none; the code -1 means no label."""
        if len(self) == 0:
            return np.full(len(head), -1, np.intp)
        n = max(len(self.triples.entities), 1)
        key = (relation.astype(np.int64) * n + head) * n + tail
        place = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
        return np.where((self._keys[place] == key) & (head >= 0) & (relation >= 0) & (tail >= 0), place, -1)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """(n,) in the order of the rows, so that they need not be sorted again."""
        own = self.triples
        n = max(len(own.entities), 1)
        if max(len(own.relations), 1) * n**2 > np.iinfo(np.int64).max:
            raise KgtrecError(f"too many labels for 64-bit triple keys: {n} entities, {len(own.relations)} relations")
        return (own.relation.astype(np.int64) * n + own.head) * n + own.tail

    def where(self, kept: NDArray[np.bool_]) -> Pool:
        """Return the pool of some contributions, (c,) mask, and their triples; runs and questions are kept."""
        rows, triple = np.unique(self.triple[kept], return_inverse=True)
        columns = {name: getattr(self, name)[kept] for name in ("question", "run", "rank")}
        columns |= {"triple": triple.astype(np.int32), "probability": self.probability[rows]}
        return replace(self, triples=self.triples.take(rows), **columns)

    def without(self, runs: Iterable[str]) -> Pool:
        """Return the pool without the contributions of these runs, which are kept in ``runs``."""
        return self.where(~np.isin(self.run, [self.place(name) for name in runs]))


def home_questions(
    triple: NDArray[Any], question: NDArray[np.int32], rank: NDArray[np.int32], questions: Questions
) -> NDArray[np.int32]:
    """Return the (n,) question of the best-ranked contribution of each triple; for equal ranks, the head question.

    A triple is sampled once, with the candidates of this question.
    """
    order = np.lexsort((~questions.is_head[question], rank, triple))
    _, first = np.unique(triple[order], return_index=True)
    return question[order[first]]
