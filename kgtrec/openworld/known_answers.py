"""The answers of the questions by labels, judgements and the truth, and their ranks in the systems' lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import why_another
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, unwarned
from kgtrec.evaluation.belonging import different_systems
from kgtrec.evaluation.given import each_system
from kgtrec.evaluation.matching import match
from kgtrec.kernels.integer_keys import begins
from kgtrec.kernels.openworld.moments import Weights
from kgtrec.kernels.ranking.positions import higher_and_equal

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class KnownAnswers:
    """The labels, judgements and true answers of the questions that have a label, in byte order."""

    qrels: Qrels  # grade 1: true by a label, a judgement or the truth
    labelled: Mask  # (n,)
    judged: Mask  # (n,) labelled, judged, or known from another source
    known: Mask  # (n,) judged and true
    weight: Floats  # (n,) how many answers each represents; 1 except where only a sample was judged
    true: Mask | None  # (n,) None: the truth was not given

    @classmethod
    def of(
        cls, labels: Qrels, judged: Qrels, weight: Floats | None, known: Qrels | None, truth: Qrels | None
    ) -> KnownAnswers:
        """Return the arguments of :func:`kgtrec.openworld.estimate_missing` combined, with the errors listed there."""
        row = np.flatnonzero(labels.grade >= 1)
        if len(row) == 0:
            raise KgtrecError("expected labels with at least one answer, found none")
        parts = {"labels": labels, "judged": judged, "known": known, "truth": truth}
        qrels_of_kind = {name: part for name, part in parts.items() if part is not None}
        collection = _collection_of(qrels_of_kind)
        asked = _sorted(Vocabulary(labels.questions.decode(np.unique(labels.question[row]))))
        everything = pa.concat_arrays([part.entities.labels for part in qrels_of_kind.values()])
        entities = _sorted(Vocabulary.encoding(everything)[0])
        keys = {name: _keys(part, asked, entities) for name, part in qrels_of_kind.items()}
        pairs = np.unique(np.concatenate(list(keys.values())))
        pairs = pairs[pairs >= 0]

        def among(name: str, *, true: bool = True) -> Mask:
            return np.isin(pairs, keys[name][(qrels_of_kind[name].grade >= 1) == true])

        labelled = among("labels")
        if (both := labelled & among("judged", true=False)).any():
            raise KgtrecError(f"expected labels that are not judged wrong, found {_pair(asked, entities, pairs[both])}")
        if known is None and not np.isin(pairs, keys["judged"][keys["judged"] >= 0])[~labelled].any():
            raise KgtrecError(
                "expected judgements of candidates that have no label, found none for the questions of the labels; "
                "judge some first, or check that labels and judgements are not exchanged"
            )
        is_whole = labelled if known is None else labelled | among("known")
        is_known = is_whole | among("judged")
        is_judged = np.isin(pairs, np.concatenate([key for name, key in keys.items() if name != "truth"]))
        true = None if truth is None else among("truth")
        if true is not None and (labelled & ~true).any():
            raise KgtrecError(
                f"expected every label to be in the truth, found {_pair(asked, entities, pairs[labelled & ~true])} in "
                "the labels only"
            )
        stands = np.ones(len(pairs))
        if weight is not None:
            if len(weight) != len(judged):
                raise KgtrecError(f"expected a weight for each of {len(judged):,} judgements, found {len(weight):,}")
            there = keys["judged"] >= 0
            stands[np.searchsorted(pairs, keys["judged"][there])] = weight[there]
            stands[is_whole] = 1.0  # all of these are known, so a sampled one represents itself only
        question, entity = np.divmod(pairs, len(entities))
        grade = is_known if true is None else is_known | true
        qrels = Qrels(
            question.astype(np.int32), entity.astype(np.int32), grade.astype(np.int32), asked, entities, collection
        )
        return cls(qrels, labelled, is_judged, is_known, stands, true)


@dataclass(frozen=True, slots=True, eq=False)
class Placings:
    """The ranks of true and judged answers in the systems' unfiltered lists."""

    systems: tuple[str, ...]
    rank: Floats  # (s, n) infinite where the system does not list the answer
    key: Floats  # (s, n) sort key of the list: equal for tied answers
    found: Mask  # (s, n) listed within the depth in every order of tied candidates
    # (s,) share of the candidates so listed that are judged; NaN for answer ranks, and if no grade is 0
    judged: Floats

    @classmethod
    def of(cls, answers: KnownAnswers, systems: Any, depth: int, *, mixed: bool = False) -> Placings:
        """Rank every system; CollectionError if one has none of the questions, or belongs to another collection."""
        qrels = answers.qrels
        rows = []
        knows_wrong = bool((answers.judged & ~answers.known).any())
        for system in different_systems(each_system(systems), None, qrels=qrels, mixed=mixed):
            with unwarned():  # warnings about non-answers without a rank, and about questions without a label
                seen = match(system, qrels)
            places = seen.places
            rank, key = np.full((2, len(qrels)), np.inf)
            if seen.ties == "trec":
                rank[places.judged] = key[places.judged] = places.position
            else:
                rank[places.judged], key[places.judged] = places.first + (places.size - 1) / 2, places.first
            within = np.zeros(len(qrels), np.bool_)
            within[places.judged] = places.first + places.size - 1 <= depth
            listed = 0
            if knows_wrong and not isinstance(system, AnswerRanks):
                listed = sum(_listed(part, qrels, depth) for part in system.parts())
            covered = answers.weight[within & answers.judged].sum()
            rows.append((seen.name, rank, key, within, min(covered / listed, 1.0) if listed else np.nan))
        names, *columns = zip(*rows, strict=True)
        return cls(tuple(names), *map(np.array, columns))

    def worth(self, weights: Mapping[str, Weights], question: NDArray[np.int32], used: Mask) -> Floats:
        """Return (m, s, u): the value of each used answer under each measure, with the others removed from the lists.

        Tied candidates of runs are ordered by label, as in TREC; answer ranks are realistic. An answer that a system
        does not list has value 0.
        """
        worth = np.zeros((len(weights), len(self.systems), int(used.sum())))
        for place, (rank, key) in enumerate(zip(self.rank, self.key, strict=True)):
            higher, equal = higher_and_equal(question, -key, used)
            listed = np.isfinite(rank)[used]
            filtered = (rank - higher - equal / 2)[used][listed]
            for measure, own in enumerate(weights.values()):
                worth[measure, place, listed] = own(filtered)
        return worth


def _collection_of(parts: Mapping[str, Qrels]) -> str:
    """The stamp that all have, "" if none has one; CollectionError if two have different ones."""
    known = {name: part.collection for name, part in parts.items() if part.collection}
    first = next(iter(known), "")
    for name, found in known.items():
        if found != known[first]:
            raise CollectionError(
                f"expected qrels of one collection, found {first} of collection {known[first]} and {name} of "
                f"collection {found}, {why_another(found, known[first], 'QRELS')}if the ids mean the same questions, "
                "use --mixed (in Python: dataclasses.replace(qrels, collection=''))"
            )
    return known.get(first, "")


def _sorted(labels: Vocabulary) -> Vocabulary:
    """Labels in byte order, so that random draws and the last bits of sums do not depend on the order of lines."""
    return Vocabulary(labels.decode(np.argsort(labels.byte_order)))


def _keys(part: Qrels, asked: Vocabulary, entities: Vocabulary) -> NDArray[np.int64]:
    """(n,) one integer per question and entity; -1 where the question has no label, or the grade is below 0."""
    own = part.recoded(questions=asked, entities=entities)
    return np.where((own.question >= 0) & (own.grade >= 0), own.question * np.int64(len(entities)) + own.entity, -1)


def _pair(questions: Vocabulary, entities: Vocabulary, pairs: NDArray[np.int64]) -> str:
    question, entity = divmod(int(pairs[0]), len(entities))
    return f"({questions[question]}, {entities[entity]})"


def _listed(run: Run, qrels: Qrels, depth: int) -> int:
    """How many candidates of the questions a run lists within the depth in every order of tied candidates."""
    new = begins(run.question)
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(run)))
    asked = qrels.questions.encode(run.questions.labels)[run.question[starts]] >= 0
    starts, lengths, depth = starts[asked], lengths[asked], min(depth, len(run))
    cut = starts[lengths > depth]
    first_of_tied = np.flatnonzero(begins(run.question, run.score))
    # candidates that tie across the cut are left out
    ends = first_of_tied[np.searchsorted(first_of_tied, cut + depth, side="right") - 1]
    return int(lengths[lengths <= depth].sum() + (ends - cut).sum())
