"""TREC-style evaluation of knowledge-graph completion.

The main job is at the top: ``read_triples``, ``build_questions``, ``rank_scores``, ``read_run``, ``evaluate``. Subjects
are packages: ``kgtrec.campaign.accept``, ``kgtrec.meta.power``. A name is imported when it is first used.
"""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(
    __name__,
    {
        "formats.triples": ("read_triples", "write_triples"),
        "collection.questions": ("build_questions",),
        "formats.collections": ("read_collection", "write_collection"),
        "formats.trec.topics": ("read_topics", "write_topics"),
        "formats.score_matrix": ("read_score_matrix", "write_score_matrix"),
        "ranking.rank": ("rank_scores", "ranked_blocks"),
        "ranking.system": ("rank_model", "rank_system"),
        "systems.registry": ("read_system",),
        "formats.answer_ranks": ("read_answer_ranks", "write_answer_ranks"),
        "formats.trec.runs": ("read_run", "write_run", "RunWriter"),
        "formats.trec.streamed_runs": ("open_run",),
        "formats.trec.qrels": ("read_qrels", "write_qrels"),
        "evaluation.evaluate": ("evaluate",),
        "evaluation.prepared": ("default_measures",),
        "measures.names": ("parse_measure", "describe_measures"),
        "pooling.pool_runs": ("pool_runs",),
        "explore.explore": ("explore",),
        "study.run": ("run_study",),
        "report.progress": ("progress_bar",),
        "data.triples": ("Splits", "Triples"),
        "data.collection": ("Collection",),
        "data.questions": ("Questions",),
        "data.qrels": ("Qrels",),
        "data.run": ("Run", "StreamedRun"),
        "data.answer_ranks": ("AnswerRanks",),
        "data.scores": ("Scores",),
        "data.pool": ("Pool",),
        "data.vocabulary": ("Vocabulary",),
        "errors": ("KgtrecError", "FormatError", "MeasureError", "CollectionError", "KgtrecWarning"),
    },
    packages=(
        "data_sets",
        "collection",
        "systems",
        "ranking",
        "evaluation",
        "pooling",
        "campaign",
        "alignment",
        "meta",
        "openworld",
        "report",
        "study",
    ),
)
