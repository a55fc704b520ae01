"""Inputs that may be right but are probably mistakes: filtered answers in runs, systems like chance, swapped files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_names
from kgtrec.data.pair_set import PairSet
from kgtrec.data.run import AnyRun
from kgtrec.data.triples import SPLITS, Triples, plain, qualifiers_of, steps_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import counted
from kgtrec.evaluation.matching import MatchedSystem
from kgtrec.kernels.integer_keys import begins, distinct, is_among_sorted
from kgtrec.kernels.ranking.rank_column import OffPlace, off_place

_ROWS_AT_A_TIME = 1 << 20
_CHANCE = 1.96  # standard deviations: the 95% interval of chance
_FAR_ABOVE, _SURELY_ABOVE = 0.5, 10.0  # index and standard deviations of a system that others are compared with
_MOST_LISTED = 0.5  # share of the candidates; the lists of a run with more show nothing
_MANY_RELATIONS = 1000
_MANY_ENDS, _SWAPPED = 20, 10  # informative ends of triples, and how many times more of them are swapped than not
_LISTED = 1 << 18  # of a run, at most about so many rows are compared with lists of other questions
_TOP = 5  # entities at the beginning of a list, by pairs of which it is compared with others
_FEW_ANSWERS = 20  # fewer say nothing
_SOME_FILTERED, _SURE_FILTERED = 3, 5.0  # listed ones that are no accident; so many by chance that some would be listed


def read_ranks(labels: list[str], codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return (n,) ranks as numbers, NaN where one is not a number.

    Examples
    --------
    >>> read_ranks(["1", "2.0", "x"], np.array([1, 0, 2], np.int32))
    array([ 2.,  1., nan])
    """
    ranks = np.full(len(labels), np.nan)
    for row, label in enumerate(labels):
        with suppress(ValueError):
            ranks[row] = float(label)
    return np.where(np.isfinite(ranks), ranks, np.nan)[codes]


def ranks_off(question: NDArray[np.int32], rank: NDArray[np.float64], score: NDArray[np.float64]) -> OffPlace:
    """Return the rows of a run whose rank contradicts their score, among those that have a rank."""
    rows = np.flatnonzero(~np.isnan(rank))
    off = off_place(question[rows], rank[rows], score[rows])
    return OffPlace(rows[off.row], off.by_rank, off.by_score)


def questions_of_one_score(run: AnyRun) -> tuple[NDArray[np.int32], int]:
    """Return the questions that list several candidates, all with one score, and how many list several.

    Examples
    --------
    >>> import pandas as pd
    >>> from kgtrec.data.run import Run
    >>> rows = {"query_id": list("aabbc"), "doc_id": list("xyxyx"), "score": [1.0, 1.0, 2.0, 1.0, 0.0]}
    >>> run = Run.from_frame(pd.DataFrame(rows))
    >>> flat, several = questions_of_one_score(run)
    >>> [run.questions[code] for code in flat], several
    (['a'], 2)
    """
    questions, n_several = [np.zeros(0, np.int32)], 0
    for part in run.parts():
        first = np.flatnonzero(begins(part.question))
        last = np.r_[first[1:], len(part)][: len(first)] - 1
        several = last > first
        questions.append(part.question[first[several & (part.score[first] == part.score[last])]])
        n_several += int(several.sum())
    return np.sort(np.concatenate(questions)), n_several


@dataclass(frozen=True, slots=True)
class FilteredListed:
    """Filtered answers in the lists of a run."""

    by_split: Mapping[str, int]  # of train, valid, test (left out of the questions): number of rows, if any
    rows: int
    questions: int
    example: tuple[str, str]  # question and entity


def filtered_listed(run: AnyRun, collection: Collection) -> FilteredListed | None:
    """Return the filtered answers that a run lists; None if it lists none."""
    filtered, n_entities = collection.filtered, len(collection.entities)
    question_of = collection.questions.ids.encode(run.questions.labels)
    entity_of = collection.entities.encode(run.entities.labels)
    pairs = PairSet(filtered.question, filtered.entity, n_entities)
    pair = filtered.question.astype(np.int64) * n_entities + filtered.entity
    keys = {split: pair[filtered.split == code] for code, split in enumerate(SPLITS)}
    counts, n_rows = dict.fromkeys(SPLITS, 0), 0
    is_among = np.zeros(len(run.questions), np.bool_)
    example: tuple[int, int] | None = None  # of the first question in the order of a run
    for part in run.parts():
        for start in range(0, len(part), _ROWS_AT_A_TIME):
            rows = slice(start, start + _ROWS_AT_A_TIME)
            own, listed = part.question[rows], part.entity[rows]
            question, entity = question_of[own], entity_of[listed]
            there = np.flatnonzero((question >= 0) & (entity >= 0))
            filtered_rows = there[pairs.holds(question[there], entity[there])]
            if len(filtered_rows) == 0:
                continue
            key = question[filtered_rows].astype(np.int64) * n_entities + entity[filtered_rows]
            for split in SPLITS:
                counts[split] += int(is_among_sorted(key, keys[split]).sum())
            n_rows += len(filtered_rows)
            is_among[own[filtered_rows]] = True
            if example is None or own[filtered_rows[0]] < example[0]:
                example = int(own[filtered_rows[0]]), int(listed[filtered_rows[0]])
    if example is None:
        return None
    named = run.questions[example[0]], run.entities[example[1]]
    return FilteredListed({split: n for split, n in counts.items() if n}, n_rows, int(is_among.sum()), named)


@dataclass(frozen=True, slots=True)
class OtherQuestions:
    """A run whose lists are no more about their own questions than about others."""

    is_certain: bool  # it lists filtered answers as lists of other questions do, so that it was not made for these
    message: str


def of_other_questions(run: AnyRun, collection: Collection) -> OtherQuestions | None:
    """Check whether a run that does not name its collection was made for other questions under the same ids.

    Questions are numbered by the order of the test triples, so that ids mean other questions in a collection whose test
    triples are in another order. Each list then holds as many answers of its question as lists of other questions
    do, and as many filtered answers, which lists of its own question have either not at all (filtered) or more often
    than others (raw). A system that is bad, and honest, may find no more answers than others either; but a filtered
    list of it has no filtered answers, and one list for all questions, or random ones, show nothing.

    Parameters
    ----------
    run : Run or StreamedRun
        Of which some lists are looked at, of a streamed one some of its first part.
    collection : Collection

    Returns
    -------
    OtherQuestions or None
        None if nothing speaks for it, or the run names its collection.
    """
    part = next(iter(run.parts()), None)
    if run.collection or part is None or len(part) == 0:
        return None
    width, asked = len(collection.entities), collection.questions.ids.encode(run.questions.labels)
    first = np.flatnonzero(begins(part.question))
    length = np.diff(np.r_[first, len(part)])
    first, length = (column[asked[part.question[first]] >= 0] for column in (first, length))
    if len(first) == 0:
        return None
    some = np.linspace(0, len(first) - 1, int(min(len(first), _LISTED / length.mean() + 1))).astype(np.intp)
    first, length = first[some], length[some]
    question = asked[part.question[first]]
    of_list = np.repeat(np.arange(len(first)), length)
    position = np.arange(len(of_list)) - np.repeat(np.cumsum(length) - length, length)
    entity = collection.entities.encode(run.entities.labels)[part.entity[first[of_list] + position]].astype(np.int64)
    of_list, position, entity = (column[entity >= 0] for column in (of_list, position, entity))
    is_head = collection.questions.is_head[question]
    n_lists = np.maximum(np.bincount(is_head, minlength=2) - 1, 1)  # others of the same side

    row = np.full(len(collection.questions), -1)
    row[question] = np.arange(len(question))
    holding = np.bincount(is_head[of_list] * width + entity, minlength=2 * width)  # lists of each side with an entity

    def counts_of(asked: NDArray[np.int32], wanted: NDArray[np.int32]) -> tuple[int, int, float]:
        """How many pairs there are, how many their own lists hold, and how many another list of the side would."""
        kept = row[asked] >= 0
        keys = distinct(row[asked[kept]] * np.int64(width) + wanted[kept])
        own, other = np.divmod(keys, width)
        is_listed = is_among_sorted(keys, np.sort(of_list * np.int64(width) + entity))
        return (
            len(keys),
            int(is_listed.sum()),
            float(((holding[is_head[own] * width + other] - is_listed) / n_lists[is_head[own].astype(np.intp)]).sum()),
        )

    is_answer = collection.qrels.grade >= 1
    n, listed, others = counts_of(collection.qrels.question[is_answer], collection.qrels.entity[is_answer])
    shows_nothing = n < _FEW_ANSWERS or _by_chance(others) > n / 4 or listed > _by_chance(others)
    if shows_nothing or not _have_topics(is_head[of_list], of_list, entity, position):
        return None
    n_filtered, filtered, filtered_others = counts_of(collection.filtered.question, collection.filtered.entity)
    if filtered > _by_chance(filtered_others) or (filtered == 0 and filtered_others >= _SURE_FILTERED):
        return None
    return OtherQuestions(
        filtered >= _SOME_FILTERED,
        f"expected lists for the questions of the collection, found {listed:,} of {n:,} answers and {filtered:,} of "
        f"{n_filtered:,} filtered answers in {counted(len(first), 'list')}, as many as lists of other questions hold "
        f"({others:,.0f} and {filtered_others:,.0f}): are its question ids those of other test triples, or of the same "
        "in another order? Rank its scores on this collection, or put back its record (NAME.json), which names its own",
    )


def _have_topics(
    is_head: NDArray[np.bool_], of_list: NDArray[np.intp], entity: NDArray[np.int64], place: NDArray[np.intp]
) -> bool:
    """Whether lists that begin with one entity in common have more of them: not in random lists, nor in equal ones."""
    top = entity[place < _TOP], of_list[place < _TOP], is_head[place < _TOP]
    whole = np.flatnonzero(np.bincount(top[1])[top[1]] == _TOP)
    best, side = top[0][whole].reshape(-1, _TOP), top[2][whole][::_TOP]
    width, n_pairs = int(entity.max(initial=0)) + 1, 0.0
    times = [0.0, 0.0]  # that two lists of one side share an entity, and a pair of entities
    first, second = np.triu_indices(_TOP, 1)
    for tops in (np.sort(best[side]), np.sort(best[~side])):
        for number, keys in enumerate((tops, tops[:, first] * np.int64(width) + tops[:, second])):
            lists = np.unique(keys, return_counts=True)[1].astype(np.float64)
            times[number] += float((lists * (lists - 1)).sum())
        n_pairs += len(tops) * (len(tops) - 1.0)
    # where two lists share s entities on average, by chance, they share s^2 / 2 pairs of them
    return n_pairs > 0 and times[1] > _by_chance(times[0] ** 2 / n_pairs / 2)


def _by_chance(expected: float) -> float:
    """Up to how many are no more than expected."""
    return 1.5 * expected + 3 * float(np.sqrt(expected))


@dataclass(frozen=True, slots=True)
class AgainstChance:
    """How much better than chance a system ranks its answers."""

    name: str
    index: float  # 0 = chance, 1 = best: AMRI of answer ranks, the same for the share of answers that a run lists
    z: float  # standard deviations better than chance


def against_chance(matched: MatchedSystem, n_candidates: int | NDArray[np.int64]) -> AgainstChance | None:
    """Compare a system with chance: exact ranks by their mean, a cut run by how many answers it lists.

    Parameters
    ----------
    matched : MatchedSystem
    n_candidates : int, or (n_questions of the qrels,) int array
        How many candidates a question has before the filter, of which a run lists some.

    Returns
    -------
    AgainstChance or None
        None if there is no information: no answers, or lists of most candidates.
    """
    if matched.answers is not None:
        n = matched.answers.candidates.astype(np.float64)
        expected, spread = (n + 1).sum() / 2, np.sqrt(((n**2 - 1) / 12).sum())
        room, better = expected - len(n), expected - matched.answers.rank.sum()
    else:
        ranking = matched.ranking
        relevant = ranking.judged_grade >= 1
        of_question = np.minimum(ranking.num_retrieved / np.maximum(n_candidates, 1), 1.0)
        share = of_question[ranking.judged_question[relevant]]
        if len(share) == 0 or share.mean() > _MOST_LISTED:
            return None  # nearly all candidates are listed, in whatever order
        expected, spread = share.sum(), np.sqrt((share * (1 - share)).sum())
        room, better = relevant.sum() - expected, np.count_nonzero(ranking.grade >= 1) - expected
    if not (room > 0 and spread > 0):
        return None
    return AgainstChance(matched.name, float(better / room), float(better / spread))


def no_better_than_chance(systems: Sequence[AgainstChance]) -> list[tuple[str, str]]:
    """Find systems no better than chance, while another of the same call is far better: name and message of each.

    Examples
    --------
    >>> found = no_better_than_chance([AgainstChance("transe", 0.93, 120.0), AgainstChance("rescal", -0.01, -0.4)])
    >>> found[0][1][:92]
    'rescal ranks the answers no better than chance would (0.4 standard deviations below it), and'
    """
    best = max(systems, key=lambda system: system.index, default=None)
    if best is None or best.index < _FAR_ABOVE or best.z < _SURELY_ABOVE:
        return []
    return [
        (
            system.name,
            f"{system.name} ranks the answers no better than chance would ({abs(system.z):.1f} standard deviations "
            f"{'above' if system.z > 0 else 'below'} it), and {best.name} far better (index {best.index:.2f}, where 1 "
            "is best): is the order of its entities right?",
        )
        for system in systems
        if system.z <= _CHANCE
    ]


def doubtful_triples(collection: Collection) -> list[str]:
    """Find signs of mistaken files or columns in a collection's triples: messages that say what to check."""
    train, qrels = plain(collection.train), collection.qrels
    asked = (qrels.grade >= 1) & ~collection.questions.is_head[qrels.question]  # each test triple is asked for twice
    test = plain(collection.questions.triples(qrels.question[asked], qrels.entity[asked]))
    doubts = _early(collection)
    if len(test) > len(train) > 0:
        doubts.append(
            f"test has {len(test):,} triples and train {len(train):,}: are the files in the order train, valid, test?"
        )
    if collection.training is not None:
        in_graph = np.isin(np.arange(len(train.entities)), np.r_[train.head, train.tail])
        in_training = collection.training.entities.encode(test.entities.labels) >= 0
        own, other = (int((ends[test.head] & ends[test.tail]).sum()) for ends in (in_graph, in_training))
        if other > own:
            doubts.append(
                f"{other:,} test triples have both entities in the training graph, {own:,} in the inference graph: are "
                "--train and --inference swapped?"
            )
    n_relations, n_entities = len(train.relations), len(train.entities)
    if n_relations > max(n_entities, _MANY_RELATIONS):
        doubts.append(
            f"there are more relations ({n_relations:,}) than entities ({n_entities:,}): is the relation in the second "
            "column (--columns)?"
        )
    own, other = _ends_seen(train, test)
    if own + other >= _MANY_ENDS and other > _SWAPPED * own:
        doubts.append(
            f"{other:,} ends of test triples are at the other end of their relation in train, and {own:,} at the "
            "same: are head and tail swapped in one of the files (--columns)?"
        )
    doubts += _unlike_forms(entity_names(collection), "entities") + _unlike_forms(train.relations, "relations")
    return doubts


def _early(collection: Collection) -> list[str]:
    """What to say of questions whose time is not after all times of train."""
    step, (_, _, qualifiers, own) = steps_of(collection.relations), qualifiers_of(collection.relations)
    train = step[collection.train.relation]
    asked = collection.questions.relation
    if len(train) and (train < 0).all() and (step >= 0).any() and collection.missing_links is None:
        return ["test facts have a time and train facts have none: is it missing in the file of train (--columns)?"]
    early = (step[asked] >= 0) & (step[asked] < train.max(initial=-1))
    if not early.any():
        return []
    latest = collection.train.relation[np.argmax(train)]
    return [
        f"{early.sum():,} of {len(asked):,} questions are of a time before the last of train, such as "
        f"{qualifiers[own[asked[np.argmax(early)]]]} before {qualifiers[own[latest]]}: systems that learn from later "
        "facts complete known times rather than forecast; is that meant?"
    ]


def _unlike_forms(labels: Vocabulary, what: str) -> list[str]:
    """What to say of labels that are one text in different normal forms of Unicode."""
    others = labels.labels.filter(pc.invert(pc.string_is_ascii(labels.labels)))
    normal, code = Vocabulary.encoding(pc.utf8_normalize(others, "NFC"))
    several = np.flatnonzero(np.bincount(code, minlength=len(normal)) > 1)
    if len(several) == 0:
        return []
    first = ", ".join(ascii(others[int(row)].as_py()) for row in np.flatnonzero(code == several[0]))
    return [
        f"{np.isin(code, several).sum():,} labels stand for {len(several):,} {what}, in several normal forms of "
        f"Unicode (NFC, NFD), such as {first}: they count as different {what}; is that meant?"
    ]


def _ends_seen(train: Triples, test: Triples) -> tuple[int, int]:
    """How many ends of test triples train has only at the same end of the relation, and only at the other end."""
    n = np.int64(max(len(train.entities), 1))
    at_head, at_tail = (np.unique(train.relation * n + end) for end in (train.head, train.tail))
    same = opposite = 0
    for end, here, there in ((test.head, at_head, at_tail), (test.tail, at_tail, at_head)):
        key = test.relation * n + end
        is_here, is_there = is_among_sorted(key, here), is_among_sorted(key, there)
        same += int((is_here & ~is_there).sum())
        opposite += int((is_there & ~is_here).sum())
    return same, opposite
