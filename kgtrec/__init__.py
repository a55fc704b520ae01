"""TREC-style evaluation of knowledge-graph completion.

Verbs work on columnar types and give new ones: ``read_triples``, ``build_questions``, ``rank_scores``, ``read_run``,
``evaluate``. Everything named here is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgtrec.alignment.align import align, alignment_collection
    from kgtrec.alignment.by_size import study_alignment
    from kgtrec.baselines import BASELINES, baseline_blocks, baseline_checkpoints, fit_baseline
    from kgtrec.campaign.accept import Accepted, RefusedError, accept
    from kgtrec.campaign.agreement import AgreementReport, annotator_agreement
    from kgtrec.campaign.assign import assign
    from kgtrec.campaign.decide import decide
    from kgtrec.campaign.diagnostics import Diagnostics, diagnose
    from kgtrec.campaign.estimates import estimate_ap, estimate_positives
    from kgtrec.campaign.expert_sample import draw_sample, sample_report
    from kgtrec.campaign.qrels import QrelsReport, question_level, report_qrels, triple_level, with_judgements
    from kgtrec.campaign.store import OpenCampaign
    from kgtrec.campaign.tasks import phrase, tasks_for, tasks_for_adjudicator
    from kgtrec.campaign.track import Progress, track
    from kgtrec.campaign.verdict_rules import Refusal
    from kgtrec.collection.questions import build_questions
    from kgtrec.data.alignments import Alignments, EntityVectors
    from kgtrec.data.answer_ranks import AnswerRanks
    from kgtrec.data.campaign import Assignments, Automatic, Campaign, People
    from kgtrec.data.chance_table import ChanceTable
    from kgtrec.data.collection import Collection
    from kgtrec.data.decisions import Decisions
    from kgtrec.data.entity_types import EntityTypes, RelationTypes
    from kgtrec.data.expert_sample import ExpertSample, SampleReport
    from kgtrec.data.incoming import Incoming
    from kgtrec.data.judgements import Judgements
    from kgtrec.data.missing_estimate import MissingEstimate
    from kgtrec.data.pool import Pool
    from kgtrec.data.qrels import Qrels
    from kgtrec.data.questions import Questions
    from kgtrec.data.run import Run
    from kgtrec.data.score_table import ScoreTable
    from kgtrec.data.scores import Scores
    from kgtrec.data.table import Figure, Report, Section, Table
    from kgtrec.data.tasks import Tasks
    from kgtrec.data.triples import Splits, Triples
    from kgtrec.data.vocabulary import Vocabulary
    from kgtrec.errors import CollectionError, FormatError, KgtrecError, KgtrecWarning, MeasureError
    from kgtrec.evaluation.chance import adjust, chance_of_split, chance_table
    from kgtrec.evaluation.evaluate import default_measures, evaluate
    from kgtrec.evaluation.item_scores import ItemScores, item_scores
    from kgtrec.evaluation.ties import TieComparison, compare_ties
    from kgtrec.formats.alignment import read_alignment_system, read_pairs
    from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
    from kgtrec.formats.campaign.folder import read_campaign, write_assignments, write_people
    from kgtrec.formats.campaign.judgements import JudgementWriter, read_judgements
    from kgtrec.formats.campaign.kgc_sparsity import read_kgc_sparsity
    from kgtrec.formats.campaign.label_studio import read_label_studio, write_label_studio
    from kgtrec.formats.campaign.pools import read_pool, write_pool
    from kgtrec.formats.campaign.tasks import read_tasks, write_tasks
    from kgtrec.formats.chance_tables import read_chance_table, write_chance_table
    from kgtrec.formats.collections import read_collection, write_collection
    from kgtrec.formats.entity_types import read_entity_types, read_relation_types
    from kgtrec.formats.factorised import read_factorised
    from kgtrec.formats.score_matrix import read_score_matrix, write_score_matrix
    from kgtrec.formats.score_tables import read_score_table
    from kgtrec.formats.trec.qrels import read_qrels, write_qrels
    from kgtrec.formats.trec.runs import RunWriter, read_run, write_run
    from kgtrec.formats.trec.topics import read_topics, write_topics
    from kgtrec.formats.triples import read_triples, write_triples
    from kgtrec.kernels.statistics.correlation import kendall_tau_b, rank_biased_overlap, spearman_rho, tau_ap
    from kgtrec.measures.names import describe_measures, parse_measure
    from kgtrec.meta.comparison import Comparison, compare
    from kgtrec.meta.correlation import Correlations, Swaps, between_measures, correlate, swaps
    from kgtrec.meta.power import Power, power
    from kgtrec.meta.sparsity import label_scores, sparsity
    from kgtrec.meta.stability import Stability, stability, subsample
    from kgtrec.openworld.annotators import annotate
    from kgtrec.openworld.curve import OpenWorldCurve, degradation, inconsistency, open_world_curve
    from kgtrec.openworld.estimate import estimate_missing, judged_answers
    from kgtrec.openworld.family_tree import family_tree, hide_facts
    from kgtrec.openworld.open_world import OpenWorld, OpenWorldSimulation
    from kgtrec.openworld.simulate import simulate
    from kgtrec.openworld.theory import (
        correlation_range,
        expected_score,
        logarithmic_approximation,
        mean_variance,
        question_variance,
        questions_needed,
        questions_needed_by_logarithm,
        score_slope,
        wrong_order_probability,
    )
    from kgtrec.pooling.interactive import Asker, asking, replay
    from kgtrec.pooling.pool_runs import pool_runs, seeds_of_triples
    from kgtrec.pooling.summary import summarise_pool
    from kgtrec.pooling.trivial import judge_trivial
    from kgtrec.ranking.rank import rank_scores, ranked_blocks
    from kgtrec.report.files import report_files
    from kgtrec.report.html import to_html
    from kgtrec.study.config import Study
    from kgtrec.study.folder import read_study
    from kgtrec.study.report import study_report

_HOMES = {
    "campaign.accept": ("Accepted", "RefusedError", "accept"),
    "campaign.decide": ("decide",),
    "campaign.agreement": (
        "annotator_agreement",
        "AgreementReport",
    ),
    "alignment.align": ("align", "alignment_collection"),
    "alignment.by_size": ("study_alignment",),
    "campaign.assign": ("assign",),
    "baselines": ("BASELINES", "baseline_blocks", "baseline_checkpoints", "fit_baseline"),
    "campaign.store": ("OpenCampaign",),
    "evaluation.chance": ("adjust", "chance_of_split", "chance_table"),
    "data.alignments": ("Alignments", "EntityVectors"),
    "data.answer_ranks": ("AnswerRanks",),
    "data.campaign": ("Assignments", "Automatic", "Campaign", "People"),
    "data.chance_table": ("ChanceTable",),
    "data.collection": ("Collection",),
    "data.decisions": ("Decisions",),
    "data.entity_types": ("EntityTypes", "RelationTypes"),
    "data.expert_sample": ("ExpertSample", "SampleReport"),
    "data.incoming": ("Incoming",),
    "data.judgements": ("Judgements",),
    "data.missing_estimate": ("MissingEstimate",),
    "openworld.open_world": ("OpenWorld", "OpenWorldSimulation"),
    "data.pool": ("Pool",),
    "data.qrels": ("Qrels",),
    "data.questions": ("Questions",),
    "data.table": ("Figure", "Report", "Section", "Table"),
    "data.run": ("Run",),
    "data.score_table": ("ScoreTable",),
    "data.scores": ("Scores",),
    "study.config": ("Study",),
    "data.tasks": ("Tasks",),
    "data.triples": ("Splits", "Triples"),
    "data.vocabulary": ("Vocabulary",),
    "errors": ("CollectionError", "FormatError", "KgtrecError", "KgtrecWarning", "MeasureError"),
    "evaluation.evaluate": ("default_measures", "evaluate"),
    "campaign.expert_sample": ("draw_sample", "sample_report"),
    "formats.alignment": ("read_alignment_system", "read_pairs"),
    "formats.answer_ranks": ("read_answer_ranks", "write_answer_ranks"),
    "formats.campaign.folder": ("read_campaign", "write_assignments", "write_people"),
    "formats.chance_tables": ("read_chance_table", "write_chance_table"),
    "formats.collections": ("read_collection", "write_collection"),
    "formats.entity_types": ("read_entity_types", "read_relation_types"),
    "formats.factorised": ("read_factorised",),
    "formats.campaign.judgements": ("JudgementWriter", "read_judgements"),
    "formats.campaign.kgc_sparsity": ("read_kgc_sparsity",),
    "formats.campaign.label_studio": ("read_label_studio", "write_label_studio"),
    "formats.campaign.pools": ("read_pool", "write_pool"),
    "formats.trec.qrels": ("read_qrels", "write_qrels"),
    "formats.trec.runs": ("RunWriter", "read_run", "write_run"),
    "formats.score_matrix": ("read_score_matrix", "write_score_matrix"),
    "formats.score_tables": ("read_score_table",),
    "study.folder": ("read_study",),
    "formats.campaign.tasks": ("read_tasks", "write_tasks"),
    "formats.trec.topics": ("read_topics", "write_topics"),
    "formats.triples": ("read_triples", "write_triples"),
    "pooling.interactive": ("Asker", "asking", "replay"),
    "campaign.qrels": (
        "question_level",
        "report_qrels",
        "triple_level",
        "with_judgements",
        "QrelsReport",
    ),
    "kernels.statistics.correlation": ("kendall_tau_b", "rank_biased_overlap", "spearman_rho", "tau_ap"),
    "measures.names": ("describe_measures", "parse_measure"),
    "meta.comparison": (
        "compare",
        "Comparison",
    ),
    "meta.correlation": (
        "between_measures",
        "correlate",
        "swaps",
        "Correlations",
        "Swaps",
    ),
    "meta.power": (
        "power",
        "Power",
    ),
    "meta.sparsity": ("label_scores", "sparsity"),
    "meta.stability": (
        "stability",
        "subsample",
        "Stability",
    ),
    "openworld.annotators": ("annotate",),
    "openworld.curve": (
        "degradation",
        "inconsistency",
        "open_world_curve",
        "OpenWorldCurve",
    ),
    "openworld.estimate": ("estimate_missing", "judged_answers"),
    "openworld.family_tree": ("family_tree", "hide_facts"),
    "openworld.simulate": ("simulate",),
    "openworld.theory": (
        "correlation_range",
        "expected_score",
        "logarithmic_approximation",
        "mean_variance",
        "question_variance",
        "questions_needed",
        "questions_needed_by_logarithm",
        "score_slope",
        "wrong_order_probability",
    ),
    "evaluation.item_scores": (
        "item_scores",
        "ItemScores",
    ),
    "campaign.tasks": (
        "phrase",
        "tasks_for",
        "tasks_for_adjudicator",
    ),
    "campaign.diagnostics": (
        "diagnose",
        "Diagnostics",
    ),
    "pooling.summary": ("summarise_pool",),
    "pooling.pool_runs": ("pool_runs", "seeds_of_triples"),
    "collection.questions": ("build_questions",),
    "ranking.rank": ("rank_scores", "ranked_blocks"),
    "report.files": ("report_files",),
    "report.html": ("to_html",),
    "study.report": ("study_report",),
    "campaign.estimates": ("estimate_ap", "estimate_positives"),
    "evaluation.ties": (
        "compare_ties",
        "TieComparison",
    ),
    "campaign.track": (
        "track",
        "Progress",
    ),
    "pooling.trivial": ("judge_trivial",),
    "campaign.verdict_rules": ("Refusal",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022  # in the order of the work
    "read_triples", "write_triples", "build_questions", "read_collection", "write_collection", "read_topics",
    "write_topics", "read_factorised", "read_score_matrix", "write_score_matrix", "rank_scores",
    "ranked_blocks", "read_answer_ranks", "write_answer_ranks", "read_run", "write_run",
    "RunWriter", "read_qrels", "write_qrels", "evaluate", "compare_ties",
    "default_measures", "parse_measure", "describe_measures", "chance_table", "chance_of_split", "adjust",
    "read_chance_table", "write_chance_table", "align", "alignment_collection", "study_alignment", "read_pairs",
    "read_alignment_system", "BASELINES", "fit_baseline", "baseline_blocks", "baseline_checkpoints", "family_tree",
    "hide_facts", "pool_runs", "seeds_of_triples", "summarise_pool", "asking", "replay", "judge_trivial",
    "read_entity_types", "read_relation_types", "read_pool", "write_pool", "read_campaign", "write_people",
    "write_assignments", "assign", "phrase", "tasks_for", "read_tasks", "write_tasks", "read_label_studio",
    "write_label_studio", "accept", "OpenCampaign", "read_judgements", "JudgementWriter", "decide",
    "tasks_for_adjudicator", "track",
    "annotator_agreement", "draw_sample", "sample_report", "question_level", "triple_level", "with_judgements",
    "report_qrels", "diagnose", "estimate_positives", "estimate_ap", "read_kgc_sparsity", "item_scores",
    "read_score_table", "correlate", "between_measures", "swaps", "label_scores", "sparsity", "stability", "subsample",
    "power", "compare", "kendall_tau_b", "tau_ap", "spearman_rho", "rank_biased_overlap", "annotate", "read_study",
    "study_report", "report_files", "to_html", "expected_score", "score_slope", "question_variance", "mean_variance",
    "wrong_order_probability", "questions_needed", "questions_needed_by_logarithm", "logarithmic_approximation",
    "correlation_range", "simulate", "open_world_curve", "degradation", "inconsistency", "estimate_missing",
    "judged_answers", "Accepted", "AgreementReport", "Alignments", "AnswerRanks", "Asker", "Assignments", "Automatic",
    "Campaign", "ChanceTable", "Collection", "Comparison", "Correlations", "Decisions", "Diagnostics", "EntityTypes",
    "EntityVectors", "ExpertSample", "Figure", "Incoming", "ItemScores", "Judgements", "MissingEstimate", "OpenWorld",
    "OpenWorldCurve", "OpenWorldSimulation", "People", "Pool", "Power", "Progress", "Qrels", "QrelsReport", "Questions",
    "Refusal", "RelationTypes", "Report", "Run", "SampleReport", "ScoreTable", "Scores", "Section", "Splits",
    "Stability", "Study", "Swaps", "Table", "Tasks", "TieComparison", "Triples", "Vocabulary", "CollectionError",
    "FormatError", "KgtrecError", "KgtrecWarning", "MeasureError", "RefusedError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kgtrec' has no attribute {name!r}")
    value = getattr(import_module(f"kgtrec.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
