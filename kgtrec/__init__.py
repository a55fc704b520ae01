"""TREC-style evaluation of knowledge-graph completion.

Verbs work on columnar types and give new ones: ``read_triples``, ``build_questions``, ``rank_scores``, ``read_run``,
``evaluate``. Everything named here is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgtrec.alignment import align, alignment_collection
    from kgtrec.alignment_study import alignment_study
    from kgtrec.baselines import BASELINES, baseline_blocks, fit_baseline
    from kgtrec.chance import adjust, chance_table
    from kgtrec.data.alignments import Alignments, EntityVectors
    from kgtrec.data.answer_ranks import AnswerRanks
    from kgtrec.data.chance_table import ChanceTable
    from kgtrec.data.collection import Collection
    from kgtrec.data.qrels import Qrels
    from kgtrec.data.questions import Questions
    from kgtrec.data.run import Run
    from kgtrec.data.scores import Scores
    from kgtrec.data.tie_comparison import TieComparison
    from kgtrec.data.triples import Splits, Triples
    from kgtrec.data.vocabulary import Vocabulary
    from kgtrec.errors import CollectionError, FormatError, KgtrecError, KgtrecWarning, MeasureError
    from kgtrec.evaluation import default_measures, evaluate
    from kgtrec.formats.alignment import read_alignment_system, read_pairs
    from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
    from kgtrec.formats.chance_tables import read_chance_table, write_chance_table
    from kgtrec.formats.collections import read_collection, write_collection
    from kgtrec.formats.factorised import read_factorised
    from kgtrec.formats.qrels import read_qrels, write_qrels
    from kgtrec.formats.runs import RunWriter, read_run, write_run
    from kgtrec.formats.score_matrix import read_score_matrix
    from kgtrec.formats.topics import read_topics, write_topics
    from kgtrec.formats.triples import read_triples, write_triples
    from kgtrec.measures.names import describe_measures, parse_measure
    from kgtrec.openworld.family_tree import family_tree, hide_facts
    from kgtrec.questions import build_questions
    from kgtrec.ranking import rank_scores, ranked_blocks
    from kgtrec.ties import compare_ties

_HOMES = {
    "alignment": ("align", "alignment_collection"),
    "alignment_study": ("alignment_study",),
    "baselines": ("BASELINES", "baseline_blocks", "fit_baseline"),
    "chance": ("adjust", "chance_table"),
    "data.alignments": ("Alignments", "EntityVectors"),
    "data.answer_ranks": ("AnswerRanks",),
    "data.chance_table": ("ChanceTable",),
    "data.collection": ("Collection",),
    "data.qrels": ("Qrels",),
    "data.questions": ("Questions",),
    "data.run": ("Run",),
    "data.scores": ("Scores",),
    "data.tie_comparison": ("TieComparison",),
    "data.triples": ("Splits", "Triples"),
    "data.vocabulary": ("Vocabulary",),
    "errors": ("CollectionError", "FormatError", "KgtrecError", "KgtrecWarning", "MeasureError"),
    "evaluation": ("default_measures", "evaluate"),
    "formats.alignment": ("read_alignment_system", "read_pairs"),
    "formats.answer_ranks": ("read_answer_ranks", "write_answer_ranks"),
    "formats.chance_tables": ("read_chance_table", "write_chance_table"),
    "formats.collections": ("read_collection", "write_collection"),
    "formats.factorised": ("read_factorised",),
    "formats.qrels": ("read_qrels", "write_qrels"),
    "formats.runs": ("RunWriter", "read_run", "write_run"),
    "formats.score_matrix": ("read_score_matrix",),
    "formats.topics": ("read_topics", "write_topics"),
    "formats.triples": ("read_triples", "write_triples"),
    "measures.names": ("describe_measures", "parse_measure"),
    "openworld.family_tree": ("family_tree", "hide_facts"),
    "questions": ("build_questions",),
    "ranking": ("rank_scores", "ranked_blocks"),
    "ties": ("compare_ties",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022  # in the order of the work
    "read_triples", "write_triples", "build_questions", "read_collection", "write_collection", "read_topics",
    "write_topics", "read_factorised", "read_score_matrix", "rank_scores", "ranked_blocks", "read_answer_ranks",
    "write_answer_ranks", "read_run", "write_run", "RunWriter", "read_qrels", "write_qrels", "evaluate",
    "compare_ties", "default_measures", "parse_measure", "describe_measures", "chance_table", "adjust",
    "read_chance_table", "write_chance_table", "align", "alignment_collection", "alignment_study", "read_pairs",
    "read_alignment_system", "BASELINES", "fit_baseline", "baseline_blocks", "family_tree", "hide_facts",
    "Alignments", "AnswerRanks", "ChanceTable", "Collection", "EntityVectors", "Qrels", "Questions", "Run",
    "Scores", "Splits", "TieComparison", "Triples", "Vocabulary", "CollectionError", "FormatError", "KgtrecError",
    "KgtrecWarning", "MeasureError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kgtrec' has no attribute {name!r}")
    value = getattr(import_module(f"kgtrec.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
