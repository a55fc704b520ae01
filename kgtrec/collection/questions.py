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

from kgtrec.collection.candidates import entities_by_side
from kgtrec.data.collection import CATEGORIES, Collection, FilteredAnswers, RelationCategories
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions, checked_sides, completed_rows, completions
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
from kgtrec.errors import KgtrecError, count_of, one_of, warn, whole_number
from kgtrec.formats.files import PathLike
from kgtrec.formats.triples import find_graphs, read_triples
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
    inference: Any = None,
    repeated: str = "drop",
    leaked: str = "keep",
    unseen_entities: str = "keep",
    unseen_relations: str = "keep",
    sample: int | float | Triples | PathLike | None = None,
    seed: int = 0,
    ids: bool = False,
    sides: Sequence[str] = SIDES,
    training_ids: bool = False,
    candidates: PathLike | None = None,
    threshold: float = 1.5,
    categories_from: Sequence[str] = SPLITS,
) -> Collection:
    """Build the test collection of a link-prediction data set: its triple questions, answers and filtered answers.

    All test triples with the same (side, relation, anchor) make one question; ``head0, head1, ...`` are numbered by
    first appearance in the test triples, then ``tail0, ...`` likewise. The answers are the entities that complete the
    question to a test triple, grade 1. Filtered are those that complete it to a train or valid triple, or to a test
    triple that ``sample`` left out, and that are not answers.

    With ``inference`` the collection is inductive: a model that was trained on ``train`` is asked about the entities of
    another graph, ``inference``, which takes the part of train everywhere else, also below. Nothing of the training
    graph is a candidate or filtered, and its entities are compared with those of the inference graph by label only, for
    counts and for ``Collection.training``.

    Parameters
    ----------
    train, valid, test : Triples or path, or what Triples.of takes
        With any vocabularies; the collection's has train's entities first, then valid's new ones, then test's. Without
        validation triples: ``build_questions(train, test=test)``. All three in one: a folder as ``train``, see
        :func:`kgtrec.read_triples` for its files, or a Dataset of PyKEEN. A folder of ILPC 2022 or InGram and an
        InductiveDataset of PyKEEN have the inference graph, too.
    inference : Triples or path, or what Triples.of takes, optional
        The graph that a trained model meets, without the triples that are asked for; valid and test are of its
        entities. A folder, as GraIL's ``fb237_v1_ind``, has all three.
    repeated : {"drop", "keep", "error"}
        Triples repeated within a split. "keep" leaves them in ``Collection.train``; an answer is judged once in any
        case.
    leaked : {"keep", "drop", "error"}
        Test triples that are also in train or valid. If kept, they are answers, not filtered answers.
    unseen_entities, unseen_relations : {"keep", "drop", "error"}
        Test triples with an entity (a relation) that no train triple has. "drop" removes these test triples, such
        valid triples, and all such entities from the candidates. Of an inductive collection: a relation that the
        training graph lacks, and "drop" removes such triples of the inference graph too, but none of its entities.
    sample : int, float, Triples or path, optional
        Build the questions of that many test triples, of that fraction of them (0 < f < 1), sampled without
        replacement, or of those given, with any vocabularies, or in a file, see :func:`kgtrec.read_triples`. The
        triples left out are filtered.
    seed : int
        Random seed of the sample. The order of the test triples does not matter.
    ids : bool
        Name the entities ``e0, e1, ...``, by the byte order of their labels, which may then contain white space.
    sides : sequence of {"head", "tail"}
        Which questions are asked; for data sets that ask for tails only.
    training_ids : bool
        Filter what PyKEEN 1.11.1's pipeline filters of an inductive data set: valid and test triples, and the triples
        of the training graph, whose numbers are taken for those of the inference graph's entities. It is wrong
        (issue 1547, mended later), and here to compare with its numbers.
    candidates : "train" or path, optional
        Which entities a side of a relation takes: those that train has there (the local closed world), or those of a
        file, see :func:`kgtrec.formats.entity_types.read_candidates`. Answers are candidates in any case. Default: all.
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

    Warns
    -----
    KgtrecWarning
        If PyKEEN would stop at a number that ``training_ids`` takes for no entity.

    References
    ----------
    Zhou et al. (2022), Re-thinking knowledge graph completion evaluation from an information retrieval perspective.
    Teru et al. (2020), Inductive relation prediction by subgraph reasoning, ICML, for inductive data sets.

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
    if not checked_sides(sides):
        raise KgtrecError("expected sides to ask for, head, tail or both, found none")
    if valid is None and test is None:
        if any(isinstance(graph, str | os.PathLike) and Path(graph).is_dir() for graph in (train, inference)):
            train, inference, valid, test = find_graphs(train, inference)
        elif hasattr(train, "inductive_inference"):
            inference, valid, test = train.inductive_inference, train.inductive_validation, train.inductive_testing
            train = train.transductive_training
        elif hasattr(train, "training"):
            train, valid, test = train.training, train.validation, train.testing
    if training_ids and inference is None:
        raise KgtrecError("expected an inference graph with training_ids, whose numbers they would be, found none")
    training = None if inference is None else _occurring(_triples("train", train))
    splits = Splits.of(
        _triples(*(("train", train) if inference is None else ("inference", inference))),
        _triples("valid", [] if valid is None else valid),
        _triples("test", test),
    )
    if isinstance(sample, str | os.PathLike):
        sample = read_triples(sample)
    require_labels(splits, ids)
    if training is not None:
        _require_lines(training)
    report: Report = {
        "options": policies
        | {
            "sample": len(sample) if isinstance(sample, Triples) else sample,
            "seed": seed,
            "ids": ids,
            "threshold": threshold,
            "categories_from": list(categories_from),
        }
        | ({} if set(sides) == set(SIDES) else {"sides": list(checked_sides(sides))}),
        "triples_read": _lengths(splits),
    }
    splits, report["repeated"] = _without_repeated(splits, repeated)
    splits, report["leaked"] = _without_leaked(splits, leaked, training)
    splits, report["unseen_entities"] = _without_unseen(splits, "entities", unseen_entities)
    splits, report["unseen_relations"] = _without_unseen(splits, "relations", unseen_relations, training)
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
    labels, known = splits.entities, splits.train
    if training is not None:
        report["training"] = _training_counts(splits, full.take(chosen), training)
        report["options"] |= {"training_ids": training_ids}
        training = training.recoded(relations=splits.relations)
        training = training.take(training.relation >= 0)
        if training_ids:
            known = _by_number(training, splits.entities)
    filters = known.take((known.head >= 0) & (known.tail >= 0))
    fingerprint = fingerprint_of(filters, splits.valid, full.take(chosen), full.take(~chosen))
    taken = None if candidates is None else entities_by_side(candidates, splits.train)
    if taken is not None:
        fingerprint = taken.fingerprint(fingerprint, labels, splits.relations)
    if ids:  # by the places of the labels in byte order, whatever that of the lines
        names = Vocabulary(pa.array([f"e{place}" for place in labels.byte_order.tolist()], pa.string()))
        splits = Splits(*(replace(getattr(splits, name), entities=names) for name in SPLITS))
        full, known = (replace(triples, entities=names) for triples in (full, known))
    test = full.take(chosen)
    questions = questions_of(test, sides)
    question, entity = completions(questions, test)
    qrels = Qrels.of(question, entity, np.ones(len(question), np.int32), questions.ids, questions.entities)
    filtered = _filtered(questions, qrels, (_in_range(known, questions), splits.valid, full.take(~chosen)))
    report |= _counts(splits, test, questions, qrels, categories)
    report["known"] = {name: int((filtered.split == code).sum()) for code, name in enumerate(SPLITS)}
    collection = Collection(
        questions, qrels, filtered, categories, splits.train, report, labels if ids else None, fingerprint, training,
        held=None if plain(questions) is questions else (splits.valid, full), candidates=taken,
    )  # fmt: skip
    if taken is not None:
        report["options"] |= {"candidates": Path(str(candidates)).name}
        n_only = int((~collection.takes(question, entity)).sum())
        report["candidates"] = {"mean": float(collection.sizes.mean()), "answers_only": n_only}
    return collection


def _triples(split: str, triples: Any) -> Triples:
    if isinstance(triples, str | os.PathLike):
        return read_triples(triples, may_be_empty=split == "valid")
    try:
        return Triples.of(triples)
    except KgtrecError as error:
        way_out = "; leave out valid, not test: build_questions(train, test=test)" if triples is None else ""
        raise KgtrecError(f"{split}: {error}{way_out}") from None


def questions_of(test: Triples, sides: Sequence[str] = SIDES) -> Questions:
    """Return the triple questions of test triples: head questions, then tail questions, each by first appearance.

    Examples
    --------
    >>> questions = questions_of(Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")]))
    >>> list(questions.ids), questions.is_head.tolist()
    (['head0', 'tail0', 'tail1'], [True, False, False])
    """
    heads, tails = (
        first_places(_pairs(test.relation, end)) if side in checked_sides(sides) else np.zeros(0, np.intp)
        for side, end in zip(SIDES, (test.tail, test.head), strict=True)
    )
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


def require_labels(splits: Splits, ids: bool) -> None:
    """Refuse empty labels, white space in those of entities unless they get ids, and line breaks."""
    for kind, vocabulary in (("entity", splits.entities), ("relation", splits.relations)):
        if pc.index(vocabulary.labels, "").as_py() >= 0:
            raise KgtrecError(f"expected a label for every {kind}, found an empty one among the triples")
    if not ids:
        way_out = "name entities e0, e1, ... with --ids (in Python ids=True)"
        expected = "entity labels without white space, since TREC files are split there"
        _refuse(splits.entities, WHITE_SPACE, expected, way_out)
    _require_lines(splits)


def _require_lines(triples: Triples | Splits) -> None:
    way_out = "replace them in the triples"
    for vocabulary, what in ((triples.entities, "entity"), (triples.relations, "relation")):
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


def _without_leaked(splits: Splits, policy: str, training: Triples | None) -> tuple[Splits, Report]:
    test = splits.test
    in_train, in_valid = (is_among(test.keys(), part.keys()) for part in (splits.train, splits.valid))
    leaks = in_train | in_valid
    if training is not None:
        leaks |= _among_labels(test, training)
    _obey(policy, test, leaks, "test triples that are in neither train nor valid", "in one of them", "--leaked")
    return _left(splits, policy, {"test": leaks}), {
        "policy": policy,
        "test_in_train": int(in_train.sum()),
        "test_in_valid": int(in_valid.sum()),
        "test_in_either": int(leaks.sum()),
        "valid_in_train": int(is_among(splits.valid.keys(), splits.train.keys()).sum()),
    }


def _without_unseen(splits: Splits, kind: str, policy: str, training: Triples | None = None) -> tuple[Splits, Report]:
    """Apply the policy for entities or relations (``kind``) that train, or the training graph, lacks."""
    columns = ("head", "tail") if kind == "entities" else ("relation",)
    seen = np.zeros(len(getattr(splits, kind)), bool)
    for column in columns:
        seen[getattr(splits.train, column)] = True
    if training is not None:
        plain_ones = [qualifiers_of(each.relations) for each in (splits.train, training)]
        seen = (plain_ones[1][0].encode(plain_ones[0][0].labels) >= 0)[plain_ones[0][1]]
    if kind == "relations":  # one seen at another time is no new one
        code = qualifiers_of(splits.relations)[1]
        seen = np.isin(code, code[seen])
    lacking = {
        name: ~np.logical_and.reduce([seen[getattr(getattr(splits, name), column)] for column in columns])
        for name in (SPLITS if training is not None else SPLITS[1:])
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


def _occurring(triples: Triples) -> Triples:
    """The same triples under the labels that occur in them."""
    return Triples.of_columns(*(triples.decoded(name) for name in ("head", "relation", "tail")))


def _among_labels(triples: Triples, others: Triples) -> NDArray[np.bool_]:
    """Which of the triples are among others, which have vocabularies of their own."""
    others = others.recoded(entities=triples.entities, relations=triples.relations)
    return is_among(
        triples.keys(), others.take((others.head >= 0) & (others.relation >= 0) & (others.tail >= 0)).keys()
    )


def _training_counts(splits: Splits, test: Triples, training: Triples) -> Report:
    """What the training graph has, and what of the inference graph and of the questions it has seen."""
    entity = training.entities.encode(splits.entities.labels) >= 0
    relation = training.relations.encode(splits.relations.labels) >= 0
    return {
        "triples": len(training),
        "entities": len(training.entities),
        "relations": len(training.relations),
        "entities_in_both": int(entity.sum()),
        "relations_in_both": int(relation.sum()),
        "inference_triples_of_other_relations": int((~relation[splits.train.relation]).sum()),
        "test_triples_with_its_entities": int((entity[test.head] | entity[test.tail]).sum()),
        "test_triples_in_it": int(_among_labels(test, training).sum()),
    }


def _by_number(training: Triples, entities: Vocabulary) -> Triples:
    """Training triples as PyKEEN's numbers, by label order, read for other entities; -1 for a number that is none's.

    References
    ----------
    PyKEEN 1.11.1, pipeline/api.py, _handle_evaluation, and its issue 1547.
    """
    own, number = np.argsort(entities.byte_order), training.entities.byte_order
    own = np.append(own, np.full(max(0, len(number) - len(own)), -1))
    head, tail = (own[number[end]].astype(np.int32) for end in (training.head, training.tail))
    return replace(training, head=head, tail=tail, entities=entities)


def _in_range(known: Triples, questions: Questions) -> Triples:
    """What is known without numbers that stand for no entity; a warning of the questions where PyKEEN stops at one."""
    lacking = (known.head < 0) | (known.tail < 0)
    question, entity, _ = completed_rows(questions, known.take(lacking))
    if n := len(distinct(np.sort(question[entity < 0]))):
        warn(
            f"PyKEEN 1.11.1 stops with an IndexError at {n:,} of the {len(questions):,} questions, where the number of "
            "an entity of the training graph is out of range; such numbers are left out here"
        )
    return known.take(~lacking)


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
    own_answers = {side: answers[mask] if mask.any() else np.zeros(1) for side, mask in sides.items()}
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
                "min": int(own.min()),
                "median": float(np.median(own)),
                "mean": float(own.mean()),
                "max": int(own.max()),
            }
            for side, own in own_answers.items()
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
