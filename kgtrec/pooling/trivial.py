"""Pooled triples that need no person: with wrong types, or second answers to questions with one answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.campaign import Automatic
from kgtrec.data.collection import CATEGORIES, Collection
from kgtrec.data.identity import entity_names
from kgtrec.data.pool import Pool
from kgtrec.data.table import Column, Table, TabledResult
from kgtrec.data.triples import EntityTypes, RelationTypes, Triples, plain
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, one_of, require, warn
from kgtrec.kernels.triples.types import UNFIT, UNKNOWN_ENTITY, UNKNOWN_SLOT, fits_observed, fits_types

WAYS = ("types", "category")
#: names of the rules in `automatic.tsv`, in the order in which they are tried: a triple has the first that applies
RULES = (
    "head type",
    "tail type",
    "observed head type",
    "observed tail type",
    "1-1 head question",
    "1-N head question",
    "1-1 tail question",
    "N-1 tail question",
)
_BY_FILES, _BY_TRAIN, _BY_CATEGORY = RULES[:2], RULES[2:4], RULES[4:]


def judge_trivial(
    pool: Pool,
    collection: Collection,
    *,
    by: Sequence[str] = ("types",),
    entity_types: EntityTypes | None = None,
    relation_types: RelationTypes | None = None,
    observed: bool = False,
    share: float = 0.0,
) -> Automatic:
    r"""Find the triples of a pool that are judged N without a person, and by which rule.

    ``head type``, ``tail type``
        The entity has known types, and this side of the relation takes none of them.
    ``observed head type``, ``observed tail type``
        The entity occurs in train, but shares no side of a relation with the entities at this side: with :math:`F(s)`
        the entities that train has at side s of a relation, there is no side a of any relation that the entity fills
        with :math:`|F(a) \cap F(s)| > \text{share} \cdot |F(s)|`.
    ``1-1 head question``, ``1-N head question``, ``1-1 tail question``, ``N-1 tail question``
        The triple would be a second answer to a question that has one answer by its relation's category. The question
        must be one that was pooled for, and have an answer already, judged or filtered. It does not matter for which of
        its two questions the triple was pooled.

    A triple to which several rules apply has the first of :data:`RULES`.

    Parameters
    ----------
    pool : Pool
        The triples to check.
    collection : Collection
        For which the pool was made.
    by : sequence of {"types", "category"}
        Which rules: the types of the entities, the category of the relation, or both. Default: types.
    entity_types, relation_types : EntityTypes, RelationTypes, optional
        For "types"; both or neither. Their entities are named as in the triples that the collection was made from.
    observed : bool
        For "types": use the types observed in train, in addition to those of files, if any.
    share : float, 0 <= share < 1
        For observed types: the share of the entities at this side of the relation that must also occur at a side of the
        entity. At 0 one entity is enough.

    Returns
    -------
    Automatic
        One rule, or none, per triple of the pool. An entity or a relation without types is never the reason; how many
        there are is warned of.

    Raises
    ------
    KgtrecError
        If a way is unknown, or types are needed and none are given.
    CollectionError
        If the pool is not from this collection, or the types have no entity, relation or type in common with it or
        with each other.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4, for rules by type and by category.

    Examples
    --------
    >>> import numpy as np
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("fr", "capital", "paris"), ("it", "capital", "rome"), ("ann", "likes", "tea")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("es", "capital", "madrid")]))
    >>> es = collection.entities.encode(["es", "es"])
    >>> pooled = Triples(
    ...     es, np.zeros(2, np.int32), collection.entities.encode(["tea", "rome"]),
    ...     collection.entities, collection.relations,
    ... )
    >>> two, none = np.arange(2), np.zeros(2, np.int32)
    >>> pool = Pool.of(pooled, two, none + 1, none, two + 1, ["mine"], collection.questions)
    >>> automatic = judge_trivial(pool, collection, by=["types", "category"], observed=True)
    >>> [automatic.rules[code] for code in automatic.rule]  # rome comes before tea: it has the smaller code
    ['1-1 tail question', 'observed tail type']
    """
    ways = checked_ways(by, observed=observed, given=(entity_types, relation_types))
    if not 0 <= share < 1:
        raise KgtrecError(f"expected a share from 0 to below 1, found {share}")
    triples = triples_under(collection, pool.triples)
    alone, train = plain(triples), plain(collection.train)
    rule = np.full(len(triples), -1, np.int8)

    def apply(names: Sequence[str], taken: NDArray[np.bool_]) -> None:
        """(len(names), n) the triples of each rule, without those of earlier rules."""
        for name, mask in zip(names, taken, strict=True):
            rule[mask & (rule < 0)] = RULES.index(name)

    if "types" in ways and entity_types is not None and relation_types is not None:
        fits = _fits_files(alone, collection, entity_types, relation_types)
        apply(_BY_FILES, fits == UNFIT)
        _warn_untyped(alone, fits, "known types")
    if observed:
        shape = len(train.entities), 2 * len(train.relations)
        fits = fits_observed(*_ends(alone), seen=_ends(train), shape=shape, share=share).reshape(2, -1)
        apply(_BY_TRAIN, fits == UNFIT)
        _warn_untyped(alone, fits, "observed types")
    if "category" in ways:
        apply(_BY_CATEGORY, _second_answers(triples, pool, collection))
    used = np.unique(rule[rule >= 0])
    by_place = np.where(rule < 0, -1, np.searchsorted(used, rule)).astype(np.int8)
    return Automatic(by_place, tuple(RULES[code] for code in used))


def trivial_counts(pool: Pool, automatic: Automatic) -> TabledResult:
    """Count the triples that each rule applies to, in all and of each relation: the result of a dry run.

    Returns
    -------
    TabledResult
        ``rules``, and ``relations`` if a rule applies to any triple: rule, relation, triples (of the rule), pooled (all
        of that relation), rules in their order, then most triples first, then by label.
    """
    triples = plain(pool.triples)
    relation = triples.relation
    pooled = np.bincount(relation, minlength=len(triples.relations))
    taken = automatic.is_automatic
    key = automatic.rule[taken].astype(np.int64) * len(pooled) + relation[taken]
    keys, count = np.unique(key, return_counts=True)
    rule, code = np.divmod(keys, len(pooled))
    order = np.lexsort((triples.relations.byte_order[code], -count, rule))
    n_taken = np.bincount(automatic.rule[taken], minlength=len(automatic.rules)).tolist()
    counted = [*n_taken, sum(n_taken), len(pool) - sum(n_taken)]
    names, share = [*automatic.rules, "all rules", "left to judge"], np.array(counted) / (len(pool) or np.nan)
    by_rule = (Column("rule"), Column("triples"), Column("share", form="share", digits=2))
    rules = Table("rules", "", "", pa.table({"rule": names, "triples": counted, "share": share}), by_rule)
    if not len(keys):
        return TabledResult((rules,))
    counts = pa.table(
        {
            "rule": pa.array([automatic.rules[place] for place in rule[order]], pa.string()),
            "relation": triples.relations.decode(code[order]),
            "triples": pa.array(count[order].tolist(), pa.int64()),
            "pooled": pa.array(pooled[code[order]].tolist(), pa.int64()),
        }
    )
    by_relation = (Column("rule"), Column("relation"), Column("triples"), Column("pooled", "of pooled"))
    return TabledResult((rules, Table("relations", "", "", counts, by_relation)))


def checked_ways(
    by: Sequence[str], *, observed: bool, given: tuple[EntityTypes | None, RelationTypes | None]
) -> tuple[str, ...]:
    """Check the ways to judge automatically; KgtrecError if one is unknown, or types are missing or have no use."""
    named = (by,) if isinstance(by, str) else tuple(by)
    for way in named:
        one_of("ways among", way, WAYS)
    some = [types is not None for types in given]
    if some[0] != some[1]:
        missing = "relations" if some[0] else "entities"
        raise KgtrecError(f"expected types of both entities and relations, found no types of {missing}; give both")
    if "types" in named and not some[0] and not observed:
        raise KgtrecError(
            "expected types of entities and relations, found none; give both (--entity-types and --relation-types), or "
            "take the types observed in train (--observed-types)"
        )
    if "types" not in named and (some[0] or observed):
        raise KgtrecError(
            f"expected types only where triples are judged by types, found them with {list(named)}; judge by types too "
            "(--trivial types), or leave them out"
        )
    return named


def triples_under(collection: Collection, triples: Triples) -> Triples:
    """Give triples the vocabularies of a collection; a CollectionError for a label that it lacks."""
    if triples.entities.same_as(collection.entities) and triples.relations.same_as(collection.relations):
        return triples
    recoded = triples.recoded(entities=collection.entities, relations=collection.relations)
    for column, what in {"head": "entity", "tail": "entity", "relation": "relation"}.items():
        require_labels(getattr(recoded, column), triples.decoded(column), what)
    return recoded


def require_labels(code: NDArray[np.int32], labels: pa.StringArray, what: str) -> None:
    """Raise CollectionError for the first label without a code in the collection."""
    message = "expected a pool of this collection, found the {} {!r}, which it lacks"
    require(code >= 0, lambda row: CollectionError(message.format(what, labels[row].as_py())))


def _ends(triples: Triples) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(2 n,) heads, then tails; and a number for the relation and the side of each."""
    slot = triples.relation.astype(np.int64) * 2
    return np.concatenate([triples.head, triples.tail]), np.concatenate([slot, slot + 1])


def _fits_files(
    triples: Triples, collection: Collection, entity_types: EntityTypes, relation_types: RelationTypes
) -> NDArray[np.int8]:
    """(2, n) whether head and tail fit by the types of files, in the codes of `kgtrec.kernels.triples.types`."""
    labels, relations = entity_names(collection), relation_types.relations
    entity = labels.encode(entity_types.entities.labels)[entity_types.entity]
    relation = triples.relations.encode(relations.labels)[relation_types.relation]
    kind = entity_types.types.encode(relation_types.types.labels)[relation_types.type]
    name, of_entities = "the types of relations", "the types of entities"
    _require_common(entity, "an entity", entity_types.entities, of_entities, "the collection", labels)
    _require_common(relation, "a relation", relations, name, "the collection", triples.relations)
    _require_common(kind, "a type", relation_types.types, name, of_entities, entity_types.types)
    slot = relation.astype(np.int64) * 2 + ~relation_types.is_head
    ours, wanted = entity >= 0, (relation >= 0) & (kind >= 0)
    shape = len(collection.entities), 2 * len(triples.relations), len(entity_types.types)
    own, by_slot = (entity[ours], entity_types.type[ours]), (slot[wanted], kind[wanted])
    fits = fits_types(*_ends(triples), types_of_entities=own, types_of_slots=by_slot, shape=shape)
    return fits.reshape(2, -1)


def _require_common(
    codes: NDArray[np.int32], what: str, theirs: Vocabulary, name: str, other: str, ours: Vocabulary
) -> None:
    if not np.any(codes >= 0) and len(theirs) and len(ours):
        raise CollectionError(
            f"expected {name} and {other} to have {what} in common, found {theirs[0]!r} in the one and {ours[0]!r} "
            "in the other"
        )


def _warn_untyped(triples: Triples, fits: NDArray[np.int8], types: str) -> None:
    """Warn if triples could not be checked, since types are missing; ``fits`` is (2, n), for head and tail."""
    if n := int(np.any(fits < 0, axis=0).sum()):
        entities = np.unique(np.array([triples.head, triples.tail])[fits == UNKNOWN_ENTITY])
        relations = np.unique(triples.relation[np.any(fits == UNKNOWN_SLOT, axis=0)])
        warn(
            f"{n:,} of {len(triples):,} triples could not be checked against {types} on both sides, which is not a "
            f"reason to judge them N: {len(entities):,} entities and {len(relations):,} relations have none"
        )


def _second_answers(triples: Triples, pool: Pool, collection: Collection) -> NDArray[np.bool_]:
    """(4, n) whether each triple is a second answer to a question with one, per rule of `_BY_CATEGORY`."""
    questions, answered = collection.questions, np.zeros(len(collection.questions), np.bool_)
    answered[collection.qrels.question[collection.qrels.grade >= 1]] = True
    answered[collection.filtered.question] = True
    category = collection.categories.category[triples.relation]
    taken = []
    for name in _BY_CATEGORY:
        kind, side, _ = name.split()
        is_head = np.full(len(triples), side == "head")
        anchor = triples.tail if side == "head" else triples.head
        own = pool.triples.tail if side == "head" else pool.triples.head
        was_asked = pool.questions.rows(is_head, pool.triples.relation, own) >= 0
        row = questions.rows(is_head, triples.relation, anchor)
        has_answer = np.append(answered, False)[row]  # -1 (no such question) is the last element
        taken.append((category == CATEGORIES.index(kind)) & was_asked & has_answer)
    return np.array(taken).reshape(len(_BY_CATEGORY), -1)
