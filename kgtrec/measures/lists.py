"""Measures over questions: ir-measures' names and semantics, with trec_eval's own names as aliases.

Importing this module registers them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists import credit, expected_ties, gain, list_measures, preference
from kgtrec.kernels.lists.judged_ranking import Ranking
from kgtrec.measures.record import Measure, Rule
from kgtrec.measures.registry import register

Kernel = Callable[..., NDArray[np.float64]]

_REL = {"rel": Rule(int, low=0)}
_SHARE = Rule(float, low=0.0, high=1.0)
_GAINS = {"gains": Rule(dict)}
_COUNT: dict[str, Any] = {"bounds": (0.0, np.inf), "better": "neither", "aggregate": "sum"}
_TREC_EVAL = "trec_eval, {}.c (https://github.com/usnistgov/trec_eval)"


def _judged_only(kernel: Kernel) -> Kernel:
    """The kernel with a parameter ``judged_only``, which first takes the unjudged candidates out of the list."""

    def value(ranking: Ranking, judged_only: bool = False, **parameters: Any) -> NDArray[np.float64]:
        return kernel(ranking.only_judged() if judged_only else ranking, **parameters)

    return value


def _with_gains(kernel: Kernel) -> Kernel:
    """The kernel with a parameter ``gains``, which first replaces grades by other gains."""

    def value(ranking: Ranking, gains: Mapping[int, int] | None = None, **parameters: Any) -> NDArray[np.float64]:
        return kernel(ranking.regraded(gains), **parameters)

    return value


def _of_relevant(name: str, kernel: Kernel, description: str, **more: Any) -> None:
    """Register a measure of binary relevance that can leave unjudged candidates out."""
    more["parameters"] = {"rel": 1, "judged_only": False} | more.get("parameters", {})
    _of_pool(name, kernel, description, **more)


def _of_gains(name: str, kernel: Kernel, description: str, **more: Any) -> None:
    """Register a measure of graded relevance that can leave unjudged candidates out."""
    if "expected" in more:
        more["expected"] = _with_gains(more["expected"])
    more["parameters"] = more.get("parameters", {}) | {"gains": None, "judged_only": False}
    more["rules"] = _GAINS | more.get("rules", {})
    _over_questions(name, _with_gains(kernel), description, **more)


def _of_pool(name: str, kernel: Kernel, description: str, **more: Any) -> None:
    """Register a measure of binary relevance."""
    more["parameters"] = {"rel": 1} | more.get("parameters", {})
    more["rules"] = _REL | more.get("rules", {})
    _over_questions(name, kernel, description, **more)


def _over_questions(name: str, kernel: Kernel, description: str, **more: Any) -> None:
    """Register a measure over questions, by default one that trec_eval has, and computes in a file of its name there.

    With a parameter ``judged_only`` it is that of condensed lists, too (Sakai 2007, SIGIR). A measure without a name of
    its own in trec_eval, and without another source, is one that only trec_eval has.
    """
    if "judged_only" in more.get("parameters", {}):
        kernel = _judged_only(kernel)
        if "expected" in more:
            more["expected"] = _judged_only(more["expected"])
    if "source" not in more:
        more.setdefault("trec_eval", (name,))
        more["source"] = _TREC_EVAL.format("m_" + more["trec_eval"][0].partition("_{")[0])
    register(Measure(name, kernel, "questions", description, **more))


_of_relevant(
    "AP",
    list_measures.average_precision,
    "Average precision: the mean over all relevant candidates of the precision at their positions.",
    source=_TREC_EVAL.format("m_map") + "; m_map_cut.c with a cutoff",
    cutoff="optional",
    expected=expected_ties.average_precision,
    trec_eval=("map", "map_cut_{cutoff}"),
    aliases={"MAP": {}},
    credit=credit.average_precision,
)
_of_gains(
    "nDCG",
    gain.ndcg,
    "Discounted cumulative gain of the list, divided by that of the best possible one; the gain is the grade.",
    source="Jarvelin, Kekalainen 2002, ACM TOIS 20(4); Burges et al. 2005, ICML, for exp-log2",
    cutoff="optional",
    parameters={"dcg": "log2"},
    rules={"dcg": Rule(str, choices=("log2", "exp-log2"))},
    expected=expected_ties.ndcg,
    trec_eval=("ndcg", "ndcg_cut_{cutoff}"),
    aliases={"NDCG": {}},
    credit=credit.ndcg,
)
_of_relevant(
    "P",
    list_measures.precision,
    "Precision: relevant candidates at the first k positions, divided by k.",
    cutoff="required",
    expected=list_measures.precision,
    trec_eval=("P_{cutoff}",),
    aliases={"Precision": {}},
    credit=credit.precision,
)
_of_relevant(
    "R",
    list_measures.recall,
    "Recall: share of the relevant candidates that are at the first k positions.",
    cutoff="required",
    expected=list_measures.recall,
    trec_eval=("recall_{cutoff}",),
    aliases={"Recall": {}},
    credit=credit.recall,
)
_of_relevant(
    "RR",
    list_measures.reciprocal_rank,
    "Reciprocal rank: 1 / rank of the best relevant candidate.",
    source="Kantor, Voorhees 2000, Information Retrieval 2; trec_eval, m_recip_rank.c",
    cutoff="optional",
    expected=expected_ties.reciprocal_rank,
    trec_eval=("recip_rank",),
    credit=credit.reciprocal_rank,
)
_of_relevant(
    "Success",
    list_measures.success,
    "1 if a relevant candidate ranks at k or better, else 0.",
    cutoff="required",
    expected=expected_ties.success,
    trec_eval=("success_{cutoff}",),
    credit=credit.success,
)
_of_relevant(
    "Rprec",
    list_measures.r_precision,
    "Precision at position R, where R is the number of relevant candidates.",
    source="Buckley, Voorhees 2005, Retrieval System Evaluation; trec_eval, m_Rprec.c",
    expected=list_measures.r_precision,
    trec_eval=("Rprec",),
    aliases={"RPrec": {}},
    credit=credit.r_precision,
)
_of_pool(
    "Bpref",
    preference.bpref,
    "Binary preference: how few judged non-relevant candidates are above the relevant ones.",
    source="Buckley, Voorhees 2004, SIGIR; trec_eval, m_bpref.c",
    trec_eval=("bpref",),
    aliases={"BPref": {}},
    sees_wrong=True,
    credit=credit.bpref,
)
_of_pool(
    "infAP",
    preference.inferred_average_precision,
    "Average precision estimated from a judged sample of the pool; a negative grade means pooled but not sampled.",
    source="Yilmaz, Aslam 2006, CIKM; trec_eval, m_infap.c",
    trec_eval=("infAP",),
    sees_wrong=True,
    sees_unsampled=True,
    by_relevance=False,
)
_of_relevant(
    "IPrec",
    list_measures.interpolated_precision,
    "Interpolated precision: the greatest precision at or below the position where a recall is reached.",
    cutoff="required",
    at="recall",
    parameters={"rounding": list_measures.ALMOST_UP},
    rules={"recall": _SHARE, "rounding": _SHARE},
    trec_eval=("iprec_at_recall_{recall}",),
    aliases={"iprec_at_recall_{recall}": {"rounding": list_measures.NEAREST}},  # as trec_eval 10, unlike ir-measures
)
_over_questions(
    "Judged",
    list_measures.judged_share,
    "Share of judged candidates among the first k positions, or among all of a shorter list.",
    source="ir-measures, Judged (negative grades count as unjudged, as in trec_eval)",
    cutoff="optional",
    expected=list_measures.judged_share,
    sees_wrong=True,
    by_relevance=False,
)
_over_questions(
    "RBP",
    list_measures.rank_biased_precision,
    "Rank-biased precision with persistence p; graded by the question's highest grade unless rel is given.",
    source="Moffat, Zobel 2008, ACM TOIS 27(1); trec_eval, m_rbp.c",
    cutoff="optional",
    parameters={"p": 0.8, "rel": None, "judged_only": False},
    rules={"p": _SHARE, **_REL},
    expected=expected_ties.rank_biased_precision,
    trec_eval=("rbp",),
    aliases={"rbp": {"p": 0.9}},
    credit=credit.rank_biased_precision,
)
_over_questions(
    "RBPResidual",
    list_measures.rank_biased_residual,
    "How much RBP would gain if every candidate that is not judged, or not seen, were perfect.",
    source="Moffat, Zobel 2008, ACM TOIS 27(1), section 4.3; unlike rbp_resid also where a list has no unjudged one",
    better="neither",
    cutoff="optional",
    parameters={"p": 0.8},
    rules={"p": _SHARE},
    expected=expected_ties.rank_biased_residual,
    sees_wrong=True,
)
_of_gains(
    "Q",
    gain.q_measure,
    "Q-measure: mean over all relevant candidates of (count + beta x gain by then) / (position + beta x best gain).",
    source="Sakai 2007, IPM 43(2); at a cutoff Sakai, Song 2011, SIGIR, which divides by the smaller of it and R",
    cutoff="optional",
    parameters={"beta": 1.0},
    rules={"beta": Rule(float, low=0.0)},
    expected=expected_ties.q_measure,
    aliases={"Q-measure": {}},
    credit=credit.q_measure,
)
_of_relevant(
    "SetP",
    list_measures.set_precision,
    "Precision of the whole list; relative: divided by the greatest possible for a list of its length.",
    parameters={"relative": False},
    expected=list_measures.set_precision,
    trec_eval=("set_P", "set_relative_P"),
    aliases={"SetRelP": {"relative": True}, "set_relative_P": {"relative": True}},
)
_of_pool(
    "SetR",
    list_measures.recall,
    "Recall of the whole list.",
    expected=list_measures.recall,
    credit=credit.recall,
    trec_eval=("set_recall",),
)
_of_relevant(
    "SetF",
    list_measures.set_f,
    "Weighted harmonic mean of precision and recall of the whole list.",
    parameters={"beta": 1.0},
    rules={"beta": Rule(float, low=0.0)},
    expected=list_measures.set_f,
    trec_eval=("set_F",),
)
_of_relevant(
    "SetAP",
    list_measures.set_average_precision,
    "Precision times recall of the whole list.",
    expected=list_measures.set_average_precision,
    trec_eval=("set_map",),
)
_over_questions(
    "NumQ",
    list_measures.num_questions,
    "Number of questions.",
    **_COUNT,
    expected=list_measures.num_questions,
    trec_eval=("num_q",),
)
_over_questions(
    "NumRet",
    list_measures.num_retrieved,
    "Number of retrieved candidates; with rel, of the relevant ones among them.",
    source="trec_eval, m_num_ret.c and m_num_rel_ret.c",
    **_COUNT,
    parameters={"rel": None},
    rules=_REL,
    expected=list_measures.num_retrieved,
    trec_eval=("num_ret", "num_rel_ret"),
    aliases={"NumRelRet": {"rel": 1}, "num_rel_ret": {"rel": 1}},
)
_of_pool(
    "NumRel",
    list_measures.num_relevant,
    "Number of relevant candidates in the qrels.",
    **_COUNT,
    expected=list_measures.num_relevant,
    trec_eval=("num_rel",),
)

# measures that only trec_eval has keep trec_eval's names
_of_relevant(
    "gm_map",
    list_measures.average_precision,
    "Average precision, averaged by the geometric mean, in which 0 counts as 0.00001.",
    aggregate="floored geometric mean",
)
_of_pool(
    "gm_bpref",
    preference.bpref,
    "Binary preference, averaged by the geometric mean, in which 0 counts as 0.00001.",
    aggregate="floored geometric mean",
    sees_wrong=True,
)
_of_relevant(
    "Rprec_mult",
    list_measures.r_precision,
    "Precision at a multiple of R, the number of relevant candidates.",
    cutoff="required",
    at="multiple",
    rules={"multiple": Rule(float, low=0.0)},
    expected=list_measures.r_precision,
    trec_eval=("Rprec_mult_{multiple}",),
    credit=credit.r_precision,
)
_of_relevant(
    "11pt_avg",
    list_measures.eleven_point_average,
    "Mean of the interpolated precision at recall 0, 0.1, ..., 1.",
    parameters={"rounding": list_measures.NEAREST},
    rules={"rounding": _SHARE},
)
_of_relevant(
    "relative_P",
    list_measures.relative_precision,
    "Precision at k, divided by the greatest possible there.",
    source=_TREC_EVAL.format("m_rel_P"),
    cutoff="required",
    expected=list_measures.relative_precision,
    trec_eval=("relative_P_{cutoff}",),
    credit=credit.relative_precision,
)
_of_relevant(
    "utility",
    list_measures.set_utility,
    "Weighted count of retrieved relevant, retrieved non-relevant and missed relevant candidates.",
    bounds=(-np.inf, np.inf),
    parameters={"relevant": 1.0, "nonrelevant": -1.0, "missed": 0.0},
    expected=list_measures.set_utility,
)
_of_relevant(
    "binG",
    gain.binary_gain,
    "Mean over all relevant candidates of 1 / log2(2 + non-relevant candidates before it).",
    credit=credit.binary_gain,
)
for _name, _kernel, _description in (
    (
        "G",
        gain.normalized_gain,
        "Gain discounted by how far the list is behind the best possible one, divided by the sum of all gains.",
    ),
    ("ndcg_rel", gain.ndcg_at_relevant, "nDCG averaged over the positions of the candidates with a gain."),
    (
        "Rndcg",
        gain.ndcg_at_levels,
        "nDCG averaged over the positions where the best possible list changes to a lower grade, and the list's end.",
    ),
):
    _of_gains(_name, _kernel, _description, by_relevance=_name != "G")
_of_pool(
    "num_nonrel_judged_ret",
    list_measures.num_nonrelevant_retrieved,
    "Number of retrieved candidates that are judged not relevant.",
    **_COUNT,
    expected=list_measures.num_nonrelevant_retrieved,
    sees_wrong=True,
)
_over_questions(
    "rbp_resid",
    list_measures.trec_eval_residual,
    "How much rank-biased precision could gain if every unjudged and every unseen candidate were perfect.",
    source="Moffat, Zobel 2008, ACM TOIS 27(1); trec_eval, m_rbp_resid.c",
    better="neither",
    parameters={"p": 0.9},
    rules={"p": _SHARE},
    trec_eval=("rbp_resid",),
    sees_wrong=True,
)
_over_questions(
    "unj",
    list_measures.unjudged,
    "Unjudged candidates at the first k positions, divided by k.",
    source=_TREC_EVAL.format("m_unjudged"),
    better="lower",
    cutoff="required",
    expected=list_measures.unjudged,
    trec_eval=("unj_{cutoff}",),
    sees_wrong=True,
    by_relevance=False,
)
