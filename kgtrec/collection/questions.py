"""Triples -> triple questions, their qrels, and the filtered answers: the test collection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.collection import CATEGORIES, Collection, FilteredAnswers, RelationCategories
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions, completed_rows, completions
from kgtrec.data.triples import (
    POLICIES,
    SPLITS,
    Splits,
    Triples,
    fingerprint_of,
    plain,
    qualifiers_of,
    steps_of,
    triple_keys,
)
from kgtrec.data.vocabulary import WHITE_SPACE, Vocabulary
from kgtrec.errors import KgtrecError, count_of, one_of, whole_number
from kgtrec.formats.files import PathLike
from kgtrec.formats.triples import find_splits, read_triples
from kgtrec.kernels.integer_keys import distinct, first_places, is_among
from kgtrec.kernels.statistics.divergence import kl_divergence
from kgtrec.kernels.triples.categories import relation_category, relation_fanout

_LINE_BREAK = r"[\x{00}\t\n\r]"

Report = dict[str, Any]


def build_questions(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    repeated: str = "drop",
    leaked: str = "keep",
    unseen_entities: str = "keep",
    unseen_relations: str = "keep",
    sample: int | float | Triples | PathLike | None = None,
    seed: int = 0,
    ids: bool = False,
    threshold: float = 1.5,
    categories_from: Sequence[str] = SPLITS,
) -> Collection:
    """Build the test collection of a link-prediction data set: its triple questions, answers and filtered answers.

    All test triples with the same (side, relation, anchor) make one question; ``head0, head1, ...`` are numbered by
    first appearance in the test triples, then ``tail0, ...`` likewise. The answers are the entities that complete the
    question to a test triple, grade 1. Filtered are those that complete it to a train or valid triple, or to a test
    triple that ``sample`` left out, and that are not answers.

    Parameters
    ----------
    train, valid, test : Triples or path, or what Triples.of takes
        With any vocabularies; the collection's has train's entities first, then valid's new ones, then test's. Without
        validation triples: ``build_questions(train, test=test)``. All three in one: a folder as ``train``, see
        :func:`kgtrec.read_triples` for its files, or a Dataset of PyKEEN.
    repeated : {"drop", "keep", "error"}
        Triples repeated within a split. "keep" leaves them in ``Collection.train``; an answer is judged once in any
        case.
    leaked : {"keep", "drop", "error"}
        Test triples that are also in train or valid. If kept, they are answers, not filtered answers.
    unseen_entities, unseen_relations : {"keep", "drop", "error"}
        Test triples with an entity (a relation) that no train triple has. "drop" removes these test triples, such
        valid triples, and all such entities from the candidates.
    sample : int, float, Triples or path, optional
        Build the questions of that many test triples, of that fraction of them (0 < f < 1), sampled without
        replacement, or of those given, with any vocabularies, or in a file, see :func:`kgtrec.read_triples`. The
        triples left out are filtered.
    seed : int
        Random seed of the sample. The order of the test triples does not matter.
    ids : bool
        Name the entities ``e0, e1, ...``, by the byte order of their labels, which may then contain white space.
    threshold : float
        A relation's side is N when the mean number of entities there is at least this.
    categories_from : sequence of {"train", "valid", "test"}
        The splits whose distinct triples decide the relation categories.

    Returns
    -------
    Collection
        ``report`` has the counts, the policies and the options.

    Raises
    ------
    KgtrecError
        If a split is none of these, there are no test triples, an option is out of range, a policy says "error", a
        label is empty, or an entity label contains white space and ``ids`` is not set.

    References
    ----------
    Zhou et al. (2022), Re-thinking knowledge graph completion evaluation from an information retrieval perspective.

    Examples
    --------
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> valid = Triples.of([("bob", "likes", "jam")])
    >>> test = Triples.of([("ann", "likes", "jam"), ("ann", "likes", "pie")])
    >>> collection = build_questions(train, valid, test)
    >>> list(collection.questions.ids)
    ['head0', 'head1', 'tail0']
    >>> collection.report["questions"]
    {'head': 2, 'tail': 1, 'all': 3}
    >>> len(collection.filtered)  # bob likes jam, ann likes tea
    2
    """
    policies = {
        "repeated": repeated,
        "leaked": leaked,
        "unseen_entities": unseen_entities,
        "unseen_relations": unseen_relations,
    }
    _require_options(policies, threshold, categories_from, seed)
    if valid is None and test is None:
        if isinstance(train, str | os.PathLike) and Path(train).is_dir():
            train, valid, test = find_splits(train)
        elif hasattr(train, "training"):
            train, valid, test = train.training, train.validation, train.testing
    splits = Splits.of(
        _triples("train", train), _triples("valid", [] if valid is None else valid), _triples("test", test)
    )
    if isinstance(sample, str | os.PathLike):
        sample = read_triples(sample)
    _require_labels(splits, ids)
    report: Report = {
        "options": policies
        | {
            "sample": len(sample) if isinstance(sample, Triples) else sample,
            "seed": seed,
            "ids": ids,
            "threshold": threshold,
            "categories_from": list(categories_from),
        },
        "triples_read": _lengths(splits),
    }
    splits, report["repeated"] = _without_repeated(splits, repeated)
    splits, report["leaked"] = _without_leaked(splits, leaked)
    splits, report["unseen_entities"] = _without_unseen(splits, "entities", unseen_entities)
    splits, report["unseen_relations"] = _without_unseen(splits, "relations", unseen_relations)
    if not len(splits.test):
        found = "none"
        if n := report["triples_read"]["test"]:
            found = (
                f"that all {n:,} were dropped as repeated, leaked or unseen; keep some with the options of these names"
            )
        raise KgtrecError(f"expected at least one test triple to make questions of, found {found}")
    categories = categorize(splits, threshold=threshold, categories_from=categories_from)
    full = splits.test.take(first_places(splits.test.keys()))
    chosen, report["sample"] = _sample(full, sample, seed)
    fingerprint = fingerprint_of(splits.train, splits.valid, full.take(chosen), full.take(~chosen))
    labels = splits.entities
    if ids:  # by the places of the labels in byte order, whatever that of the lines
        names = Vocabulary(pa.array([f"e{place}" for place in labels.byte_order.tolist()], pa.string()))
        splits, full = (
            Splits(*(replace(getattr(splits, name), entities=names) for name in SPLITS)),
            replace(full, entities=names),
        )
    test = full.take(chosen)
    questions = questions_of(test)
    question, entity = completions(questions, test)
    qrels = Qrels.of(question, entity, np.ones(len(question), np.int32), questions.ids, questions.entities)
    filtered = _filtered(questions, qrels, (splits.train, splits.valid, full.take(~chosen)))
    report |= _counts(splits, test, questions, qrels, categories)
    report["known"] = {name: int((filtered.split == code).sum()) for code, name in enumerate(SPLITS)}
    return Collection(
        questions, qrels, filtered, categories, splits.train, report, labels if ids else None, fingerprint,
        None if plain(questions) is questions else (splits.valid, full.take(~chosen)),
    )  # fmt: skip


def _triples(split: str, triples: Any) -> Triples:
    if isinstance(triples, str | os.PathLike):
        return read_triples(triples, may_be_empty=split == "valid")
    try:
        return Triples.of(triples)
    except KgtrecError as error:
        way_out = "; leave out valid, not test: build_questions(train, test=test)" if triples is None else ""
        raise KgtrecError(f"{split}: {error}{way_out}") from None


def questions_of(test: Triples) -> Questions:
    """Return the triple questions of test triples: head questions, then tail questions, each by first appearance.

    Examples
    --------
    >>> questions = questions_of(Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")]))
    >>> list(questions.ids), questions.is_head.tolist()
    (['head0', 'tail0', 'tail1'], [True, False, False])
    """
    heads = first_places(_pairs(test.relation, test.tail))
    tails = first_places(_pairs(test.relation, test.head))
    ids = [f"head{i}" for i in range(len(heads))] + [f"tail{i}" for i in range(len(tails))]
    return Questions(
        ids=Vocabulary(pa.array(ids, pa.string())),
        is_head=np.arange(len(ids)) < len(heads),
        relation=np.concatenate([test.relation[heads], test.relation[tails]]),
        anchor=np.concatenate([test.tail[heads], test.head[tails]]),
        entities=test.entities,
        relations=test.relations,
    )


def categorize(
    splits: Splits, *, threshold: float = 1.5, categories_from: Sequence[str] = SPLITS
) -> RelationCategories:
    """Return the category of every relation: 1-1, 1-N, N-1 or N-N; see :mod:`kgtrec.kernels.triples.categories`.

    Parameters
    ----------
    splits : Splits
    threshold : float
        A relation's side is N when the mean number of entities there is at least this.
    categories_from : sequence of {"train", "valid", "test"}
        The splits whose distinct triples count. Zhou et al.'s published lists for FB15k-237 use train only.

    Returns
    -------
    RelationCategories
        -1 and NaN for a relation without triples in these splits.

    Examples
    --------
    >>> train = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam")])
    >>> categorize(Splits.of(train, train, train)).tails_per_head
    array([2.])
    """
    first, *others = (getattr(splits, name) for name in categories_from)
    every = first.joined(*others)
    plain_relations, relation, _, time = qualifiers_of(splits.relations)
    # the heads of two times are two heads: what counts is how many tails complete a question
    width = time[every.relation].astype(np.int64) * len(splits.entities)
    head, tail = width + every.head, width + every.tail
    fanout = relation_fanout(head, relation[every.relation], tail, len(plain_relations))
    tails_per_head, heads_per_tail = (each[relation] for each in fanout)
    return RelationCategories(
        relation_category(tails_per_head, heads_per_tail, threshold), tails_per_head, heads_per_tail
    )


def _require_options(policies: dict[str, str], threshold: float, categories_from: Sequence[str], seed: int) -> None:
    for name, policy in policies.items():
        one_of(f"{name} to be one of", policy, POLICIES)
    whole_number("seed", seed)
    if not 1 < threshold < np.inf:
        raise KgtrecError(f"expected a threshold above 1 (no mean is below 1), found {threshold}")
    if not categories_from or not set(categories_from) <= set(SPLITS):
        raise KgtrecError(
            f"expected categories_from to name splits among {', '.join(SPLITS)}, found {list(categories_from)!r}"
        )


def _require_labels(splits: Splits, ids: bool) -> None:
    for kind, vocabulary in (("entity", splits.entities), ("relation", splits.relations)):
        if pc.index(vocabulary.labels, "").as_py() >= 0:
            raise KgtrecError(f"expected a label for every {kind}, found an empty one among the triples")
    if not ids:
        way_out = "name entities e0, e1, ... with --ids (in Python ids=True)"
        expected = "entity labels without white space, since TREC files are split there"
        _refuse(splits.entities, WHITE_SPACE, expected, way_out)
    way_out = "replace them in the triples"
    for vocabulary, what in ((splits.entities, "entity"), (splits.relations, "relation")):
        _refuse(vocabulary, _LINE_BREAK, f"{what} labels without tabs, line breaks and NUL", way_out)


def _refuse(vocabulary: Vocabulary, pattern: str, expected: str, way_out: str) -> None:
    wrong = vocabulary.labels.filter(pc.match_substring_regex(vocabulary.labels, pattern))
    if len(wrong):
        first = ", ".join(map(repr, wrong[:3].to_pylist()))
        more = f" and {len(wrong) - 3:,} more" if len(wrong) > 3 else ""
        raise KgtrecError(f"expected {expected}, found {first}{more}; {way_out}")


def _without_repeated(splits: Splits, policy: str) -> tuple[Splits, Report]:
    extra = {}
    for name in SPLITS:
        triples = getattr(splits, name)
        extra[name] = np.ones(len(triples), bool)
        extra[name][first_places(triples.keys())] = False
        _obey(policy, triples, extra[name], f"each {name} triple once", "repeated", "--repeated")
    return _left(splits, policy, extra), {"policy": policy} | {name: int(wrong.sum()) for name, wrong in extra.items()}


def _without_leaked(splits: Splits, policy: str) -> tuple[Splits, Report]:
    test = splits.test
    in_train, in_valid = (is_among(test.keys(), part.keys()) for part in (splits.train, splits.valid))
    leaks = in_train | in_valid
    _obey(policy, test, leaks, "test triples that are in neither train nor valid", "in one of them", "--leaked")
    return _left(splits, policy, {"test": leaks}), {
        "policy": policy,
        "test_in_train": int(in_train.sum()),
        "test_in_valid": int(in_valid.sum()),
        "test_in_either": int(leaks.sum()),
        "valid_in_train": int(is_among(splits.valid.keys(), splits.train.keys()).sum()),
    }


def _without_unseen(splits: Splits, kind: str, policy: str) -> tuple[Splits, Report]:
    """Apply the policy for entities or relations that train lacks; ``kind`` is "entities" or "relations"."""
    columns = ("head", "tail") if kind == "entities" else ("relation",)
    seen = np.zeros(len(getattr(splits, kind)), bool)
    for column in columns:
        seen[getattr(splits.train, column)] = True
    if kind == "relations":  # one seen at another time is no new one
        code = qualifiers_of(splits.relations)[1]
        seen = np.isin(code, code[seen])
    lacking = {
        name: ~np.logical_and.reduce([seen[getattr(getattr(splits, name), column)] for column in columns])
        for name in ("valid", "test")
    }
    option = f"--unseen-{kind}"
    _obey(policy, splits.test, lacking["test"], f"test triples whose {kind} are in train", "with others", option)
    counts = {
        "policy": policy,
        kind: int((~seen).sum()),
        "test_triples": int(lacking["test"].sum()),
        "valid_triples": int(lacking["valid"].sum()),
    }
    if policy == "drop" and not seen.all():
        splits, kept = _left(splits, policy, lacking), Vocabulary(getattr(splits, kind).labels.filter(pa.array(seen)))
        splits = Splits(*(getattr(splits, name).recoded(**{kind: kept}) for name in SPLITS))
    return splits, counts


def _left(splits: Splits, policy: str, wrong: dict[str, NDArray[np.bool_]]) -> Splits:
    """The splits, with "drop" without the triples that are wrong."""
    if policy != "drop":
        return splits
    return replace(splits, **{name: getattr(splits, name).take(~rows) for name, rows in wrong.items()})


def _obey(policy: str, triples: Triples, wrong: NDArray[np.bool_], expected: str, found: str, option: str) -> None:
    if policy != "error" or not wrong.any():
        return
    first = triples.labels_at(np.argmax(wrong))
    raise KgtrecError(
        f"expected {expected}, found {wrong.sum():,} of {len(triples):,} {found}, the first is {first}; "
        f"continue with {option} keep or {option} drop"
    )


def _sample(full: Triples, sample: int | float | Triples | None, seed: int) -> tuple[NDArray[np.bool_], Report | None]:
    """Which of the distinct test triples to keep, and a description of the sample."""
    chosen = np.ones(len(full), bool)
    if sample is None:
        return chosen, None
    if isinstance(sample, Triples):
        chosen = _among(full, sample)
    else:
        count = count_of(sample, len(full), what="a sample", whole=False)
        chosen[np.argsort(triple_keys(full, seed))[count:]] = False  # whatever the order of lines
    relation, relations = plain(full).relation, plain(full).relations
    counts = [np.bincount(relation[rows], minlength=len(relations)) for rows in (chosen, slice(None))]
    return chosen, {
        "triples": int(chosen.sum()),
        "of": len(full),
        "seed": None if isinstance(sample, Triples) else seed,
        "relations": int((counts[0] > 0).sum()),
        "relations_of": int((counts[1] > 0).sum()),
        "kl_nats": kl_divergence(counts[0], counts[1]),
        "kl_formula": "sum over the full test set's relations of p ln(p/q); p sample, q full set; no smoothing",
    }


def _among(full: Triples, sample: Triples) -> NDArray[np.bool_]:
    """Which of the test triples a sample names."""
    named = sample.recoded(entities=full.entities, relations=full.relations)
    known = (named.head >= 0) & (named.relation >= 0) & (named.tail >= 0)
    is_test = np.zeros(len(sample), bool)
    is_test[known] = is_among(named.take(known).keys(), full.keys())
    if not len(sample):
        raise KgtrecError("expected a sample of at least one test triple, found none")
    if not is_test.all():
        first = sample.labels_at(np.argmin(is_test))
        raise KgtrecError(
            f"expected a sample of the test triples, found {(~is_test).sum():,} of {len(sample):,} that are not test "
            f"triples or were dropped, the first is {first}"
        )
    return is_among(full.keys(), named.keys())


def _filtered(questions: Questions, qrels: Qrels, splits: Sequence[Triples]) -> FilteredAnswers:
    """The completions of each split, each once, without the answers."""
    split = np.repeat(np.arange(len(splits)), [len(triples) for triples in splits])
    facts = splits[0].joined(*splits[1:])
    question, entity, row = completed_rows(questions, facts)
    width, n = len(questions.entities), len(SPLITS)
    pairs = question.astype(np.int64) * width + entity
    answers = qrels.question.astype(np.int64) * width + qrels.entity
    rows = distinct((pairs * n + split[row])[~is_among(pairs, answers)])
    question, entity = (codes.astype(np.int32) for codes in np.divmod(rows // n, width))
    return FilteredAnswers(question, entity, (rows % n).astype(np.int8))


def _counts(
    splits: Splits, test: Triples, questions: Questions, qrels: Qrels, categories: RelationCategories
) -> Report:
    answers = np.bincount(qrels.question, minlength=len(questions))
    sides = {"head": questions.is_head, "tail": ~questions.is_head, "all": np.ones(len(questions), bool)}
    relations, relation, times, _ = qualifiers_of(splits.relations)
    per_relation = np.bincount(test.relation, minlength=len(splits.relations))
    sizes = np.bincount(np.ceil(np.log2(answers)).astype(np.intp))  # questions with 1, 2, 3-4, 5-8, ... answers
    return {
        "triples": {**_lengths(splits), "test": len(test)},
        "entities": len(splits.entities),
        "relations": len(relations),
        **({"times": len(times), "time_range": _time_range(splits)} if relations is not splits.relations else {}),
        "questions": {side: int(mask.sum()) for side, mask in sides.items()},
        "answers": len(qrels),
        "answers_per_question": {
            side: {
                "min": int(answers[mask].min()),
                "median": float(np.median(answers[mask])),
                "mean": float(answers[mask].mean()),
                "max": int(answers[mask].max()),
            }
            for side, mask in sides.items()
        },
        "histogram": [
            {"from": 2 ** (place - 1) + 1 if place else 1, "to": 2**place, "questions": size}
            for place, size in enumerate(sizes.tolist())
        ],
        "categories": {
            name: {
                "relations": len(np.unique(relation[categories.category == code])),
                "test_triples": int(per_relation[categories.category == code].sum()),
            }
            for code, name in [*enumerate(CATEGORIES), (-1, "none")]
        },
    }


def _time_range(splits: Splits) -> dict[str, list[str]]:
    """The first and the last time of each split that has one."""
    step, (_, _, qualifiers, own) = steps_of(splits.relations), qualifiers_of(splits.relations)
    found = {}
    for name in SPLITS:
        used = np.unique(getattr(splits, name).relation)
        used = used[step[used] >= 0]
        ends = [used[np.argmin(step[used])], used[np.argmax(step[used])]] if len(used) else []
        found[name] = [qualifiers[own[relation]] for relation in ends]
    return {name: ends for name, ends in found.items() if ends}


def _lengths(splits: Splits) -> dict[str, int]:
    return {name: len(getattr(splits, name)) for name in SPLITS}


def _pairs(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int64]:
    return first.astype(np.int64) << 32 | second
