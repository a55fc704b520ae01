"""Predict verdicts from what the runs of a pool and the train facts say, as one more machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.features import triple_features
from kgtrec.campaign.machine_report import MachineReport, machine_report
from kgtrec.campaign.predict import folds_of_triples
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.collection import Collection
from kgtrec.data.judgements import NO, YES
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.questions import completed_rows
from kgtrec.data.table import Column, Table
from kgtrec.data.triples import label_hashes, plain, triple_keys
from kgtrec.errors import KgtrecError, counted
from kgtrec.formats.files import kgtrec_version
from kgtrec.kernels.statistics.calibration import fold_of, phi_of
from kgtrec.kernels.statistics.discrimination import best_threshold, weighted_auc
from kgtrec.kernels.statistics.logistic import effective_weights, expit, mean_and_spread, penalised_logistic
from kgtrec.kernels.statistics.resampling import BootstrapSamples, percentile_interval, resampled_quotients

#: the name of the machine whose verdicts are predicted
LEARNED = "learned"
#: in this order
STATISTICS = ("AUC", "phi", "log loss", "log loss of the share", "difference")
_FOLDS = 10
# chosen on the published labels of FB15k-237 and on family trees, see docs/machine-verdicts.md
_RIDGE, _RELATION_RIDGE = 10.0, 2.5
_DIGITS = 6  # of the probabilities, so that they do not depend on the order in which a processor adds
_MODEL = "logistic regression on what the runs and train say, kgtrec {}"

_Floats = NDArray[np.float64]


class LearnedReport(MachineReport):
    """How good predictions from the runs are, in the tables ``learned``, ``features`` and ``reliability``."""

    __slots__ = ()


class Learned(NamedTuple):
    """What is predicted of each triple of a pool, and how good it is."""

    verdicts: MachineVerdicts
    report: LearnedReport


class _Fits(NamedTuple):
    """The fits without the folds of each triple's questions."""

    fit: NDArray[np.intp]  # (n,) of each triple, row in the others
    coefficient: _Floats  # (fits, features), of the features as they are
    effect: _Floats  # (fits, relations)
    odds: _Floats  # (n,) log odds of Y
    share: _Floats  # (n,) of Y among the labels of the same fit


def learn(
    campaign: Campaign,
    collection: Collection,
    families: Mapping[str, str] | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Learned:
    r"""Predict people's verdict on each triple of a pool from its runs' ranks, their agreement, and the train facts.

    The log odds of Y are a linear function of the standardised features of
    :func:`kgtrec.campaign.features.triple_features` and of an effect for each relation. Coefficients are penalised as
    if they came from normal distributions, of variance 1/10, and 2/5 for relations. Labels are the settled verdicts of
    people, each weighted by 1 / the probability that its triple is drawn. A hash of their labels puts the questions
    into 10 folds; a triple is predicted from the triples that answer no question in a fold of either of its questions.

    Triples that a rule has judged are left out.

    Parameters
    ----------
    campaign : Campaign
        With its judgements so far.
    collection : Collection
        For which the pool was made; its train facts are used.
    families : mapping of str to str, optional
        Of runs. Default: each run is a family.
    resamples : int
        Bootstrap samples of questions for the report.
    seed : int
        Of the folds, the samples, and the permutations that show what a feature is worth.

    Returns
    -------
    Learned
        ``verdicts``, Y where the probability is at least 1/2, and ``report``.

    Raises
    ------
    KgtrecError
        If people have not settled triples of two questions at least, or an option is out of range.
    CollectionError
        If the pool is not of the collection.

    References
    ----------
    le Cessie, van Houwelingen (1992), Applied Statistics 41; Breiman (2001), Machine Learning 45, for permutations.

    Examples
    --------
    See ``kgtrec campaign learn``.
    """
    pool, verdict = campaign.pool, decisions_of(campaign).verdict
    features = triple_features(campaign, collection, families)
    # in an order that depends on labels alone, so that sums do too
    rows = np.argsort(triple_keys(pool.triples, 0), kind="stable")
    rows = rows[~campaign.automatic.is_automatic[rows]]
    label = np.where(verdict[rows] >= 0, verdict[rows], np.nan).astype(np.float64)
    group = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)[rows]
    settled = np.flatnonzero(~np.isnan(label))
    questions, cluster = np.unique(pool.questions.ids.byte_order[group[settled]], return_inverse=True)
    if len(questions) < 2:
        raise KgtrecError(
            "expected triples of at least 2 questions that people have settled, to learn from, found those of "
            f"{len(questions)}; judge some first"
        )
    weight = 1.0 / campaign.chance[rows]
    x = np.stack(list(features.values()), axis=1)[rows]
    triples = plain(pool.triples)
    relation = triples.relations.byte_order[triples.relation[rows]]
    question, _, triple = completed_rows(pool.questions, pool.triples)
    fold = fold_of(label_hashes(pool.questions.ids), _FOLDS, seed)[question]
    fits = _fitted(x, relation, label, weight, folds_of_triples(triple, fold, len(pool))[rows])
    p = np.round(expit(fits.odds), _DIGITS)
    none, model = labels_of([""] * len(rows)), labels_of([_MODEL.format(kgtrec_version())] * len(rows))
    verdict = np.where(p >= 0.5, YES, NO).astype(np.int8)
    verdicts = MachineVerdicts(rows.astype(np.int32), verdict, p, none, model, none).take(np.argsort(rows))
    w, y = weight[settled], label[settled]
    tables = (
        _quality(p[settled], fits.share[settled], y, w, BootstrapSamples(len(questions), resamples, seed), cluster),
        _importance(list(features), x, relation, settled, fits, y, w, seed),
    )
    report = machine_report(campaign, {LEARNED: verdicts}, resamples=resamples, seed=seed)
    return Learned(verdicts, LearnedReport((*tables, *(each for each in report.parts if each.key == "reliability"))))


def _fitted(
    x: _Floats, relation: NDArray[np.int32], label: _Floats, weight: _Floats, folds: NDArray[np.int64]
) -> _Fits:
    """Fit once for each two folds, without the triples of both."""
    pairs, fit = np.unique(folds, axis=0, return_inverse=True)
    fit = fit.ravel()  # numpy 2.0 alone gives a column
    n_relations = int(relation.max()) + 1
    coefficient, effect = np.zeros((len(pairs), x.shape[1])), np.zeros((len(pairs), n_relations))
    odds, share = np.zeros(len(x)), np.full(len(x), 0.5)
    ridge = np.append(np.full(x.shape[1], _RIDGE), 0.0)
    for row, pair in enumerate(pairs):
        used = np.flatnonzero(~np.isnan(label) & ~np.isin(folds, pair).any(axis=1))
        if not len(used):
            continue
        w = effective_weights(weight[used])
        mean, spread = mean_and_spread(x[used], w)
        scale = 1.0 / spread
        # half a Y and half an N of no feature and no relation keep the intercept finite
        columns = np.vstack([(x[used] - mean) * scale, np.zeros((2, x.shape[1]))])
        y, w = np.append(label[used], [0.0, 1.0]), np.append(w, [0.5, 0.5])
        columns, group = np.hstack([columns, np.ones((len(y), 1))]), np.append(relation[used], [-1, -1])
        found, effect[row] = penalised_logistic(columns, y, w, ridge, group, n_relations, _RELATION_RIDGE)
        coefficient[row] = found[:-1] * scale
        own = fit == row
        odds[own] = found[-1] + (x[own] - mean) @ coefficient[row] + effect[row, relation[own]]
        share[own] = w @ y / w.sum()
    return _Fits(fit, coefficient, effect, odds, share)


def _log_loss(p: _Floats, y: _Floats) -> _Floats:
    p = np.clip(p, 10.0**-_DIGITS, 1.0 - 10.0**-_DIGITS)
    return -np.log(np.where(y > 0, p, 1.0 - p))


def _quality(
    p: _Floats, share: _Floats, y: _Floats, w: _Floats, samples: BootstrapSamples, cluster: NDArray[np.intp]
) -> Table:
    threshold, one = best_threshold(p, y, w), np.zeros(len(y), np.int32)
    is_true = p >= threshold
    cells = [w * (y == of) * (is_true == said) for of, said in ((1, True), (1, False), (0, True), (0, False))]
    losses = [w * _log_loss(p, y), w * _log_loss(share, y)]
    parts = resampled_quotients(samples, cluster, one, 1, [*cells, *losses], [w] * 6)[:, :, 0]
    parts = np.hstack([np.array([[part.sum() / w.sum()] for part in (*cells, *losses)]), parts])
    auc = [weighted_auc(p, y, w), *(weighted_auc(p, y, w * row[cluster]) for counts in samples for row in counts)]
    values = np.stack([np.array(auc), phi_of(parts[:4]), parts[4], parts[5], parts[4] - parts[5]])
    found = [of[~np.isnan(of)] for of in values[:, 1:]]  # a sample of one kind of labels has no AUC and no phi
    low, high = np.array([percentile_interval(of, 0.95) if len(of) else (np.nan, np.nan) for of in found]).T
    data = pa.table({"statistic": list(STATISTICS), "value": values[:, 0], "low": low, "high": high})
    compared = "lower than" if high[-1] < 0 else "not shown to be lower than"
    caption = (
        f"Of {counted(len(y), 'settled triple')} of {counted(samples.n, 'question')}, each predicted from triples of "
        f"other questions. The log loss is {compared} that of predicting the share of Y.\nphi: calling true what has a "
        f"probability of at least {threshold:.2g}, the best threshold on these labels. 95% bootstrap "
        "intervals, questions resampled."
    )
    columns = Column("statistic"), Column("value", low="low", high="high")
    return Table("learned", "Verdicts predicted from the runs", caption, data, columns)


def _importance(
    names: list[str],
    x: _Floats,
    relation: NDArray[np.int32],
    settled: NDArray[np.intp],
    fits: _Fits,
    y: _Floats,
    w: _Floats,
    seed: int,
) -> Table:
    other = np.random.default_rng(seed).permutation(settled)
    fit, odds = fits.fit[settled], fits.odds[settled]
    changes = [fits.coefficient[fit, place] * (column[other] - column[settled]) for place, column in enumerate(x.T)]
    changes.append(fits.effect[fit, relation[other]] - fits.effect[fit, relation[settled]])
    loss = np.average(_log_loss(expit(odds), y), weights=w)
    worth = np.array([np.average(_log_loss(expit(odds + change), y), weights=w) - loss for change in changes])
    per_spread = np.append(fits.coefficient[fit].mean(axis=0) * x[settled].std(axis=0), np.nan)
    order = np.argsort(-np.round(worth, _DIGITS), kind="stable")
    ordered = [[*names, "relation"][place] for place in order]
    data = pa.table({"feature": ordered, "importance": worth[order], "coefficient": per_spread[order]})
    caption = (
        "By how much the log loss grows when the values of a feature are exchanged among the triples, and the mean "
        "coefficient per standard deviation. Features that say nearly the same share what they are worth."
    )
    return Table("features", "What each feature is worth", caption, data)
