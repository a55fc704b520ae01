"""A verb of this folder on each stratum of the judgements by itself, as if nothing else were judged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.scores import OF_POPULARITY, STRATA
from kgtrec.data.table import Result, TabledResult, stacked
from kgtrec.errors import KgtrecError, KgtrecWarning, one_of, some_of, warn
from kgtrec.evaluation.belonging import of_collection
from kgtrec.evaluation.given import judgements_of, qrels_of
from kgtrec.evaluation.prepared import breakdown_of, systems_and_measures
from kgtrec.evaluation.scoring import OF_ANSWERS
from kgtrec.measures.names import AnyMeasure

_Label = tuple[str, ...]
_ADJUSTED = ", p adjusted for its pairs of systems only"


def per_stratum(
    verb: Callable[..., Result],
    per: str,
    *label_sets: Any,
    systems: Any,
    measures: Any = None,
    collection: Collection | None = None,
    **options: Any,
) -> TabledResult:
    """Call a verb with the judgements of each stratum alone, and stack its tables.

    All numbers are those of the verb on qrels of that stratum. So p-values are adjusted for the pairs of systems in a
    stratum, and not for the number of strata: the numbers of one do not depend on which others there are. To conclude
    from any of k strata, divide the level by k.

    Parameters
    ----------
    verb : function
        :func:`stability`, :func:`power`, :func:`correlate`, :func:`between_measures`, :func:`swaps`, or another one
        that takes one or two label sets, systems and measures, and a collection.
    per : {"side", "relation", "category", "popularity", "anchor-popularity", "half-link", "seen", "time", \
            "missing-links"}
        As for :func:`kgtrec.evaluate`. The parts by popularity, half-link and missing-links are of answers: they need
        measures over answers, and the other answers are filtered. Popularity is cut at quartiles.
    *label_sets : Qrels or Collection, or paths
        The verb's ``qrels``, or its ``first`` and ``second``.
    systems, measures, collection
        As the verb takes them. Default: the collection that is a label set.
    **options
        Of the verb.

    Returns
    -------
    TabledResult
        The verb's tables, with the stratum in columns before their own.

    Raises
    ------
    KgtrecError
        If judgements cannot be divided so; or as the verb, if it refuses every stratum.

    Warns
    -----
    KgtrecWarning
        As the verb, with the strata that it is about. If strata are left out: those that the verb refuses, as one with
        fewer triples than a subsample has, and those that only one label set has.

    References
    ----------
    Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, for
    levels divided by numbers of tests.

    Examples
    --------
    >>> from kgtrec import build_questions
    >>> from kgtrec.meta.power import power
    >>> collection = build_questions([("ann", "likes", "tea")], test=[("bob", "likes", "tea"), ("cat", "likes", "tea")])
    >>> sorts = {"head0": {"bob": 2, "cat": 1}, "tail0": {"tea": 1}, "tail1": {"tea": 1, "ann": 0}}
    >>> guesses = {"head0": {"ann": 2, "cat": 1}, "tail0": {"ann": 1}, "tail1": {"ann": 1, "tea": 0}}
    >>> runs = {"sorts": sorts, "guesses": guesses}
    >>> per_stratum(power, "side", collection, systems=runs, measures="RR", tests=["sign"])["measures"].num_rows
    2
    """
    one_of("per to be one of", per, STRATA)
    given = [qrels_of(labelled) for labelled in label_sets]
    if len(given) > 1 and per in OF_POPULARITY:
        raise KgtrecError(f"expected one label set per {per}, found {len(given)}, which have other quantiles")
    collection = collection or next((own for own in given if isinstance(own, Collection)), None)
    systems, measures = systems_and_measures(systems, measures, only_answers=per in OF_ANSWERS)
    asked, compared = list(systems), [_divided(per, own, collection, measures) for own in given]
    messages: dict[str, list[str]] = {}  # and the strata that they are about
    results: dict[_Label, Result] = {}
    refused = KgtrecError(f"expected the same {per} in both label sets, found none")
    for label in dict.fromkeys(label for _, own in compared for label in own):
        name = " ".join(label)
        if not all(label in own for _, own in compared):
            messages.setdefault("left out: only one label set has it", []).append(name)
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", KgtrecWarning)
            try:
                own = [stratum[label] for _, stratum in compared]
                ids = own[0].questions.extended(own[-1].questions.labels)
                ranked = [one if isinstance(one, AnswerRanks) else one.of_questions(ids) for one in asked]
                results[label] = verb(*own, ranked, measures, collection=collection, **options)
            except KgtrecError as error:
                refused = error
                messages.setdefault(f"left out: {error}", []).append(name)
        for warning in caught:
            messages.setdefault(str(warning.message), []).append(name)
    if not results:
        raise refused
    for message, strata in messages.items():
        warn(f"{per} {some_of(strata)}: {message}")
    labels = dict(zip(compared[0][0], zip(*results, strict=True), strict=True))
    tables = list(zip(*(result.tables() for result in results.values()), strict=True))
    by = f"each {per} by itself"
    adjusted = [any("adjusted" in name for name in own[0].data.column_names) for own in tables]
    stacks = (stacked(labels, own, by + _ADJUSTED * is_p) for own, is_p in zip(tables, adjusted, strict=True))
    return TabledResult(tuple(stacks))


def _divided(
    per: str, labelled: Qrels | Collection, collection: Collection | None, measures: list[AnyMeasure]
) -> tuple[list[str], dict[_Label, Qrels]]:
    """The columns of the strata, and the judgements of each: of its questions, or its answers alone."""
    qrels = of_collection(judgements_of(labelled), collection)
    found = breakdown_of(per, qrels, collection, measures, None)
    of, rows = (qrels.with_rows, np.flatnonzero(qrels.grade >= 1)) if found.of_answers else (qrels.of_questions, None)
    members = np.split(np.argsort(found.group, kind="stable"), np.cumsum(np.bincount(found.group))[:-1])
    labels = zip(*(column.to_pylist() for column in found.items.values()), strict=True)
    parts = (of(own if rows is None else rows[own]) for own in members)
    return list(found.items), dict(zip(labels, parts, strict=True))
