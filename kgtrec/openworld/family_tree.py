"""A closed-world knowledge graph: invented families, with all true facts of 23 kinship relations.

A fact ``(x, father_of, y)`` reads "x is the father of y". The table uses parent, spouse and sibling; a sibling is
another person with the same father and the same mother. The fact ``(x, relation, y)`` is true exactly if x is

======================================  =====================================================================
relation                                x
======================================  =====================================================================
father_of, mother_of                    a male, female parent of y
son_of, daughter_of                     a male, female child of y
husband_of, wife_of                     the male, female spouse of y
brother_of, sister_of                   a male, female sibling of y
grandfather_of, grandmother_of          a male, female parent of a parent of y
grandson_of, granddaughter_of           a male, female child of a child of y
uncle_of, aunt_of                       a male, female sibling of a parent of y, or the spouse of such a sibling
nephew_of, niece_of                     a male, female child of a sibling of y or of a sibling of y's spouse
cousin_of                               a child of a sibling of a parent of y (symmetric, either sex)
father_in_law_of, mother_in_law_of      the male, female parent of y's spouse
son_in_law_of, daughter_in_law_of       the male, female spouse of a child of y
brother_in_law_of, sister_in_law_of     a male, female sibling of y's spouse, or spouse of a sibling of y
======================================  =====================================================================

Uncles and aunts by marriage count. Spouses of a spouse's siblings do not count. Cousins are first cousins. Everybody
marries at most once, within a generation, and does not marry a person with a common grandparent. Children are born to
couples. So every person has both parents in the graph, or none: founders, and people who married in, have none.

References
----------
Yang, Lin, Zhang. Rethinking Knowledge Graph Evaluation Under the Open-World Assumption. NeurIPS 2022: a closed-world
family tree with 6,004 entities and 192,532 facts over 23 relations, made by another generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.collection.questions import build_questions
from kgtrec.data.arrow import long_table
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.triples import Splits, Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, between_0_and_1, whole_number
from kgtrec.kernels.integer_keys import distinct
from kgtrec.kernels.sampling.label_draws import whole_share
from kgtrec.openworld.labels import TrueFacts, found_answers
from kgtrec.openworld.theory import require_number
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.baselines import baseline_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIN = (
    "father mother son daughter husband wife brother sister grandfather grandmother grandson granddaughter uncle aunt "
    "nephew niece cousin father_in_law mother_in_law son_in_law daughter_in_law brother_in_law sister_in_law"
)
KINSHIP = tuple(f"{kin}_of" for kin in _KIN.split())

# the number of children of a couple is drawn from this list; with the two rates below, 6,004 people have about as many
# facts as in Yang et al. (2022)
_CHILDREN = (0, 1, 2, 2, 2, 3, 3, 3, 4, 5)
_MARRY_WITHIN = (7, 10)  # share of the children of a generation who look for a spouse among each other
_MARRY_IN = (1, 2)  # share of the others who marry a person from outside, who has no parents in the graph
_PEOPLE_PER_FOUNDER = 12
_MOST_PEOPLE = 1_000_000  # about 33 million facts
_MEN = ("adan", "belo", "corin", "davo", "elmar", "fenno", "goran", "hiro", "ivo", "jarel", "kolm", "lando", "miro")
_WOMEN = ("abela", "brisa", "celma", "dorit", "enna", "fiora", "gilda", "hania", "ilva", "jorun", "kaya", "lumi", "mo")


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTree:
    """People in order of generation, and all their kinship facts.

    A fact that is not in ``facts`` is false: the world is closed.
    """

    facts: Triples  # sorted by (relation, head, tail); entities are the people, relations are KINSHIP
    generation: NDArray[np.int32]  # (people,) 0 = founders; people who marry in have the generation of their spouse
    is_male: NDArray[np.bool_]  # (people,)
    father: NDArray[np.int32]  # (people,) row of the father, -1 if unknown
    mother: NDArray[np.int32]  # (people,) row of the mother, -1 if unknown
    spouse: NDArray[np.int32]  # (people,) row of the spouse, -1 for the unmarried

    def __len__(self) -> int:
        return len(self.generation)


@dataclass(frozen=True, slots=True, eq=False)
class HiddenFacts:
    """The facts that systems may see, the facts that sparse labels contain, and all true hidden facts."""

    splits: Splits  # systems may see train and valid; test is the labelled part of the hidden facts
    complete: Triples  # all hidden facts, labelled or not, in the order of the facts

    @property
    def density(self) -> float:
        """The share of the hidden facts that are labelled, |test| / |complete|."""
        return len(self.splits.test) / max(len(self.complete), 1)


def family_tree(people: int = 200, seed: int = 0) -> FamilyTree:
    """Make a seeded family tree of exactly ``people`` people with all their kinship facts.

    Parameters
    ----------
    people : int
        Number of entities, from 2 to a million. 200 people have about 5,000 facts, 6,004 about 192,000.
    seed : int
        The same seed gives the same tree on any machine: only whole numbers are drawn and compared.

    Returns
    -------
    FamilyTree

    Raises
    ------
    KgtrecError
        If there are fewer than two people, or more than a million, or the seed is negative or not whole.

    References
    ----------
    Yang et al. (2022), NeurIPS, for the idea of a closed-world family tree.

    Examples
    --------
    >>> tree = family_tree(20, seed=1)
    >>> len(tree), len(tree.facts.relations)
    (20, 23)
    """
    people, seed = whole_number("people", people, 2, _MOST_PEOPLE), whole_number("seed", seed)
    grown = _Population(people, np.random.Generator(np.random.PCG64(seed)))
    grown.grow()
    father, mother, spouse, generation = (
        np.array(column, np.int32) for column in (grown.father, grown.mother, grown.spouse, grown.generation)
    )
    is_male = np.array(grown.is_male, np.bool_)
    head, relation, tail = kinship_facts(father, mother, spouse, is_male)
    facts = Triples(head, relation, tail, Vocabulary.of(_labels(is_male)), Vocabulary.of(KINSHIP))
    return FamilyTree(facts, generation, is_male, father, mother, spouse)


def kinship_facts(
    father: NDArray[np.int32], mother: NDArray[np.int32], spouse: NDArray[np.int32], is_male: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Compute all true facts of the 23 relations as (head, relation, tail), by products of sparse matrices.

    Parameters
    ----------
    father, mother, spouse : (people,) int array
        Row of each person's father, mother and spouse, -1 where there is none.
    is_male : (people,) bool array

    Returns
    -------
    three (facts,) int arrays, sorted by (relation, head, tail); relations are rows of ``KINSHIP``

    Examples
    --------
    >>> none = np.array([-1, -1, -1], np.int32)
    >>> head, relation, tail = kinship_facts(
    ...     np.array([-1, -1, 0], np.int32), np.array([-1, -1, 1], np.int32), np.array([1, 0, -1], np.int32),
    ...     np.array([True, False, False]))
    >>> [(int(h), KINSHIP[r], int(t)) for h, r, t in zip(head, relation, tail, strict=True)]
    [(0, 'father_of', 2), (1, 'mother_of', 2), (2, 'daughter_of', 0), (2, 'daughter_of', 1),
     (0, 'husband_of', 1), (1, 'wife_of', 0)]
    """
    from scipy.sparse import csr_array

    n = len(is_male)

    def matrix(head: NDArray[Any], tail: NDArray[Any]) -> csr_array:
        return csr_array((np.ones(len(head), np.int32), (head, tail)), shape=(n, n))

    child, wed = np.flatnonzero(father >= 0), np.flatnonzero(spouse >= 0)
    # parent[x, y] is 1 where x is a parent of y; the product of two matrices joins their relations through a person
    parent = matrix(np.concatenate([father[child], mother[child]]), np.concatenate([child, child]))
    married = matrix(wed, spouse[wed])
    shared = (parent.T @ parent).tocoo()
    both = (shared.data == 2) & (shared.row != shared.col)
    sibling = matrix(shared.row[both], shared.col[both])
    parent_sibling, grandparent, parent_in_law = sibling @ parent, parent @ parent, parent @ married
    uncle_or_aunt = parent_sibling + married @ parent_sibling
    cousin = parent.T @ parent_sibling
    relatives = (parent, parent.T, married, sibling, grandparent, grandparent.T, uncle_or_aunt, uncle_or_aunt.T, cousin)
    in_laws = parent_in_law, parent_in_law.T, married @ sibling + sibling @ married
    heads, tails = [], []
    for pairs in (*relatives, *in_laws):
        head, tail = pairs.nonzero()
        order = np.lexsort((tail, head))
        for chosen in (order,) if pairs is cousin else (order[is_male[head[order]]], order[~is_male[head[order]]]):
            heads.append(head[chosen].astype(np.int32))
            tails.append(tail[chosen].astype(np.int32))
    relation = np.repeat(np.arange(len(heads), dtype=np.int32), list(map(len, heads)))
    return np.concatenate(heads), relation, np.concatenate(tails)


def hide_facts(
    facts: Triples,
    *,
    hidden: float = 0.3,
    density: float = 0.25,
    valid: float = 0.05,
    labels_from: str | None = None,
    seed: int = 0,
) -> HiddenFacts:
    r"""Hide a seeded random part of the true facts, and label only some of the hidden facts.

    Every entity and every relation keeps at least one fact in train. Rows keep the order that they have in ``facts``.

    Parameters
    ----------
    facts : Triples
        All true facts, each once.
    hidden : float
        The share of the facts that systems never see, in (0, 1).
    density : float
        The share of the hidden facts that become sparse test labels, in (0, 1]; the rest is true but unlabelled.
    valid : float
        The share of the facts in valid, in [0, 1).
    labels_from : str, optional
        Name of a baseline. The labels are then facts that it finds, as if a system of that kind had collected them: it
        learns from train and ranks the fact's head and tail above every false candidate. If these are too few, the
        others follow. Which labels are missing is then correlated with what this system finds, as far as it can be.
        Default: the labels are a random sample of the hidden facts.
    seed : int
        The same seed gives the same split.

    Returns
    -------
    HiddenFacts

    Raises
    ------
    KgtrecError
        If a share is out of range, the seed is negative, a fact is repeated, an entity or a relation would have no
        fact left in train, or there is no such baseline.

    References
    ----------
    Yang et al. (2022), NeurIPS, for the density of the test set, d = \|test\| / \|full\|, and for labels that are
    missing in correlation with what a system finds.

    Examples
    --------
    >>> world = family_tree(50)
    >>> split = hide_facts(world.facts, hidden=0.4, density=0.5)
    >>> len(split.splits.train) + len(split.splits.valid) + len(split.complete) == len(world.facts)
    True
    >>> round(split.density, 2)
    0.5
    """
    _check_shares(facts, hidden, density, valid)
    seed, n = whole_number("seed", seed), len(facts)
    n_hidden, n_valid = max(1, whole_share(hidden, n)), whole_share(valid, n)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(n)
    free = order[~_needed(facts, order)[order]]
    if len(free) < n_hidden + n_valid:
        raise KgtrecError(
            f"expected at most {len(free):,} of {n:,} facts in hidden and valid, found {n_hidden + n_valid:,}: every "
            "entity and relation must keep a fact in train; lower the share of hidden or of valid facts, or use more "
            "facts"
        )
    away, aside = np.sort(free[:n_hidden]), np.sort(free[n_hidden : n_hidden + n_valid])
    left = np.ones(n, np.bool_)
    left[away] = left[aside] = False
    train, valid_facts, complete = facts.take(left), facts.take(aside), facts.take(away)
    candidates = free[:n_hidden]  # in random order already, so the first part is a random sample
    if labels_from is not None:
        found = np.isin(candidates, away[_found(labels_from, train, valid_facts, complete, seed)])
        candidates = np.concatenate([candidates[found], candidates[~found]])
    labelled = np.sort(candidates[: max(1, whole_share(density, n_hidden))])
    return HiddenFacts(Splits(train, valid_facts, facts.take(labelled)), complete)


def _found(system: str, train: Triples, valid: Triples, complete: Triples, seed: int) -> NDArray[np.bool_]:
    """(facts,) bool: whether a baseline finds both answers of a hidden fact."""
    collection = build_questions(train, valid, complete)
    scores = baseline_blocks(system, collection, seed=seed)
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, name=system, depth=0)
    true = TrueFacts.of(collection)
    found = true.answers_per_fact(found_answers(true, ranks.answer_ranks)) == true.answers_per_fact()
    keys = true.facts.take(found).recoded(entities=complete.entities, relations=complete.relations).keys()
    return np.isin(complete.keys(), keys)


@dataclass(frozen=True, slots=True, eq=False)
class FamilyStatistics(Result):
    """Number of facts of a family tree, and number of answers of the questions that all its facts give."""

    relations: Table  # facts and questions of each relation
    answers: Table  # questions by number of answers

    def tables(self) -> tuple[Table, ...]:
        """Return ``relations`` and ``answers``."""
        return self.relations, self.answers


def family_statistics(tree: FamilyTree) -> FamilyStatistics:
    """Count facts per relation and answers per question of a family tree, with all its facts as answers.

    Examples
    --------
    >>> found = family_statistics(family_tree(20, seed=1))
    >>> sum(found.relations.data["facts"].to_pylist()) == len(family_tree(20, seed=1).facts)
    True
    """
    facts, n = tree.facts, len(tree.facts.relations)
    data: dict[str, Any] = {"relation": (0, facts.relations.labels), "facts": np.bincount(facts.relation, minlength=n)}
    columns = [Column("relation"), Column("facts")]
    lists = []
    for side, anchor in (("head", facts.tail), ("tail", facts.head)):
        question, size = np.unique(facts.relation.astype(np.int64) * len(tree) + anchor, return_counts=True)
        relation = question // len(tree)
        questions = np.bincount(relation, minlength=n)
        mean = np.bincount(relation, size, n) / np.where(questions > 0, questions, np.nan)
        most = np.zeros(n, np.int64)
        np.maximum.at(most, relation, size)
        lists.append(size)
        for name, label, column, digits in (
            ("questions", f"{side} questions", questions, 4),
            ("answers", "answers each", mean, 2),
            ("most", "most", most, 4),
        ):
            data[f"{side}_{name}"] = column
            columns.append(Column(f"{side}_{name}", label, digits))
    number, questions = np.unique(np.concatenate(lists), return_counts=True)
    lengths = pa.table({"answers": number, "questions": questions, "share": questions / questions.sum()})
    caption = f"{len(tree):,} people in {tree.generation.max() + 1} generations, {len(facts):,} facts of {n} relations"
    share = Column("share", form="share", digits=2)
    return FamilyStatistics(
        Table("relations", "", caption, long_table((n,), data), tuple(columns)),
        Table("answers", "", "", lengths, (Column("answers"), Column("questions"), share)),
    )


def _check_shares(facts: Triples, hidden: float, density: float, valid: float) -> None:
    between_0_and_1("a share of hidden facts", hidden)
    require_number("a density above 0 and at most 1", density, lambda share: 0 < share <= 1)
    below = f"below {1 - hidden:g} (1 less the hidden share)"
    require_number(f"a share of valid facts of at least 0 and {below}", valid, lambda share: 0 <= share < 1 - hidden)
    repeated = len(facts) - len(distinct(facts.keys()))
    if repeated:
        raise KgtrecError(f"expected each fact once, found {repeated:,} repeated; remove the repeated ones first")


def _needed(facts: Triples, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(facts,) bool: whether a fact is the first in ``order`` of an entity or a relation; train keeps these."""
    needed = np.zeros(len(facts), np.bool_)
    both = np.stack([facts.head[order], facts.tail[order]], axis=1).ravel()
    needed[order[np.unique(both, return_index=True)[1] // 2]] = True
    needed[order[np.unique(facts.relation[order], return_index=True)[1]]] = True
    return needed


def _labels(is_male: NDArray[np.bool_]) -> list[str]:
    """Invented first names with the number of the person, which makes them unique."""
    width = max(4, len(str(len(is_male) - 1)))
    return [
        f"{(_MEN if male else _WOMEN)[number % len(_MEN)]}_{number:0{width}d}" for number, male in enumerate(is_male)
    ]


class _Population:
    """A population that grows by marriages and children, generation by generation, up to a number of people."""

    def __init__(self, people: int, rng: np.random.Generator) -> None:
        self.people = people
        self.rng = rng
        self.father: list[int] = []
        self.mother: list[int] = []
        self.spouse: list[int] = []
        self.generation: list[int] = []
        self.is_male: list[bool] = []

    def grow(self) -> None:
        couples = [self._founding_couple(0) for _ in range(max(1, self.people // (2 * _PEOPLE_PER_FOUNDER)))]
        generation = 0
        while len(self.father) < self.people:
            generation += 1
            couples = self._marriages(self._births(couples, generation), generation)
            if len(self.father) < self.people and not couples:
                couples = [self._founding_couple(generation)]  # the families died out: new founders

    def _add(self, is_male: bool, generation: int, father: int = -1, mother: int = -1) -> int:
        self.father.append(father)
        self.mother.append(mother)
        self.spouse.append(-1)
        self.generation.append(generation)
        self.is_male.append(is_male)
        return len(self.father) - 1

    def _founding_couple(self, generation: int) -> tuple[int, int]:
        if len(self.father) + 1 == self.people:  # only one person is left to add: a child of the first couple
            self._add(bool(self.rng.integers(2)), 1, 0, self.spouse[0])
            return 0, self.spouse[0]
        husband, wife = self._add(True, generation), self._add(False, generation)
        self._marry(husband, wife)
        return husband, wife

    def _marry(self, husband: int, wife: int) -> None:
        self.spouse[husband], self.spouse[wife] = wife, husband

    def _births(self, couples: list[tuple[int, int]], generation: int) -> list[int]:
        numbers = np.array(_CHILDREN)[self.rng.integers(len(_CHILDREN), size=len(couples))]
        sexes = self.rng.integers(2, size=int(numbers.sum()))
        parents = [couple for couple, number in zip(couples, numbers, strict=True) for _ in range(number)]
        places = self.people - len(self.father)
        return [self._add(bool(sex), generation, *couple) for couple, sex in zip(parents[:places], sexes, strict=False)]

    def _marriages(self, born: list[int], generation: int) -> list[tuple[int, int]]:
        shuffled = [born[place] for place in self.rng.permutation(len(born))]
        cut = len(born) * _MARRY_WITHIN[0] // _MARRY_WITHIN[1]
        men = [person for person in shuffled[:cut] if self.is_male[person]]
        women = [person for person in shuffled[:cut] if not self.is_male[person]]
        couples = list(self._matches(men, women))
        alone = [person for person in shuffled if self.spouse[person] < 0]
        for person in alone[: len(alone) * _MARRY_IN[0] // _MARRY_IN[1]]:
            if len(self.father) == self.people:
                break
            newcomer = self._add(not self.is_male[person], generation)
            couples.append((person, newcomer) if self.is_male[person] else (newcomer, person))
            self._marry(*couples[-1])
        return couples

    def _matches(self, men: list[int], women: list[int]) -> Iterator[tuple[int, int]]:
        """Each man with the first unmarried woman who shares no parent and no grandparent with him."""
        for man in men:
            forebears = self._forebears(man)
            found = next((w for w in women if forebears.isdisjoint(self._forebears(w))), None)
            if found is not None:
                women.remove(found)
                self._marry(man, found)
                yield man, found

    def _forebears(self, person: int) -> set[int]:
        parents = {self.father[person], self.mother[person]} - {-1}
        return (parents | {old for parent in parents for old in (self.father[parent], self.mother[parent])}) - {-1}
