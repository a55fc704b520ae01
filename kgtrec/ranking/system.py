"""Whatever a system gives -> answer ranks and a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from kgtrec.data.collection import Collection
from kgtrec.data.identity import ordered_labels
from kgtrec.data.progress import Progress
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, kind_of
from kgtrec.ranking.grid import Grid
from kgtrec.ranking.lists import rank_lists, rank_triples, require_sides
from kgtrec.ranking.mapping import mapped, score_blocks
from kgtrec.ranking.options import RankKeywords, RankOptions
from kgtrec.ranking.rank import Plan, Ranked, joined, rank_blocks
from kgtrec.ranking.tiles import Tiling
from kgtrec.systems.kinds import (
    CollectionLists,
    Factors,
    RankedLists,
    ScoreBlock,
    ScoreBlocks,
    Scorer,
    Scoring,
    SystemOutput,
    TripleRanks,
    kind_in_words,
)
from kgtrec.workers.results import Helper


def rank_model(
    collection: Collection,
    score_tails: Scoring | None,
    score_heads: Scoring | None,
    *,
    entities: Vocabulary | Sequence[str] | Mapping[str, int],
    relations: Vocabulary | Sequence[str] | Mapping[str, int],
    name: str = "system",
    progress: Progress | None = None,
    **options: Unpack[RankKeywords],
) -> Ranked:
    """Rank any trained model, given as two functions that score all entities in its own numbers.

    Parameters
    ----------
    collection : Collection
        The questions to rank, with the labels of entities and relations.
    score_tails : callable
        ``score_tails(heads, relations)``: (n,) int64 arrays of the model's numbers to an (n, model's entities) block of
        scores, higher is better; a numpy array, or a torch tensor, which is ranked on its device. None: the model
        cannot.
    score_heads : callable
        ``score_heads(tails, relations)``, likewise.
    entities, relations : Vocabulary, sequence of str, or mapping of str to int
        The model's labels in the order of its numbers, or each one's number, as PyKEEN's ``entity_to_id``.
    name : str
        The system's name, which becomes the run tag.
    unknown_entities : {"error", "last"}
        What becomes of entities that the model has not seen, see :func:`kgtrec.ranking.mapping.mapped`.
    sides, filtered_by, depth, judged, progress
        As for :func:`kgtrec.rank_scores`.
    block : int, optional
        Questions that are scored at a time. Default: as many as fit 64 MiB of scores.

    Returns
    -------
    Ranked

    Raises
    ------
    CollectionError
        If the model lacks entities or relations of the collection.
    KgtrecError
        If a block has the wrong shape, or a score is NaN or +inf.

    See Also
    --------
    kgtrec.rank_scores : From scores.
    kgtrec.rank_system : From a file of another program.

    Examples
    --------
    >>> import numpy as np
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> E, R = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6], [0.2, 0.9]]), np.array([[1.0, 1.0]])
    >>> ranked = rank_model(
    ...     collection, lambda heads, relations: E[heads] * R[relations] @ E.T,
    ...     lambda tails, relations: E[tails] * R[relations] @ E.T,
    ...     entities=["ann", "bob", "jam", "tea"], relations=["likes"], name="distmult", depth=0)
    >>> ranked.answer_ranks.above.tolist(), ranked.answer_ranks.n_other.tolist()
    ([2, 1], [2, 2])
    """
    scorer = Scorer(
        name, ordered_labels(entities, "entities"), ordered_labels(relations, "relations"), score_tails, score_heads
    )
    return rank_system(collection, scorer, progress=progress, **options)


def rank_system(
    collection: Collection, system: SystemOutput, *, progress: Progress | None = None, **options: Unpack[RankKeywords]
) -> Ranked:
    """Rank whatever :func:`kgtrec.systems.read_system` gives.

    Parameters
    ----------
    collection : Collection
        The questions to rank.
    system : Scorer, Factors, ScoreBlocks, RankedLists, CollectionLists or TripleRanks
        What is ranked, with its name.
    progress, **options
        As for :func:`rank_model`. Ranks of triples give no run.

    Returns
    -------
    Ranked

    See Also
    --------
    kgtrec.rank_model : From two functions that score.
    kgtrec.read_system : Read a system.
    """
    return joined(list(ranked_parts(collection, system, RankOptions(**options), progress=progress)))


def require_fit(collection: Collection, system: SystemOutput, options: RankOptions) -> None:
    """Refuse a system whose questions or entities are not those of a collection, before anything is ranked.

    Raises
    ------
    KgtrecError
        What ranking it would raise about its labels.
    """
    if isinstance(system, ScoreBlocks):
        system.blocks(collection, None)
    elif isinstance(system, Scorer | Factors):
        mapped(system, collection, options)
    elif isinstance(system, CollectionLists):
        system.lists(collection)
    else:
        require_sides(collection, system.name, system.is_head, collection.questions.rows_of(options.sides))


def grid_of(collection: Collection, system: SystemOutput, **options: Unpack[RankKeywords]) -> Grid:
    """Cut a factorised model's ranking into tiles; options as for :func:`rank_model`.

    Parameters
    ----------
    collection : Collection
        The questions to rank.
    system : Factors
        The factorised model.
    **options
        As for :func:`rank_model`.

    Raises
    ------
    KgtrecError
        If the system is none whose scores can be computed in any cut; or what :func:`require_fit` raises.
    """
    return _grid(Plan.of(collection, RankOptions(**options)), system)


def _grid(plan: Plan, system: SystemOutput) -> Grid:
    if not isinstance(system, Factors):
        raise KgtrecError(
            f"{system.name}: expected a factorised model for several workers, such as an .npz archive, "
            f"found {kind_in_words(system)}; rank it without --workers and --scheduler"
        )
    return Grid(
        system, mapped(system, plan.collection, plan.options), plan, Tiling.of(len(system.E), plan.options.block)
    )


def ranked_parts(
    collection: Collection,
    system: SystemOutput,
    options: RankOptions,
    *,
    workers: int | None = None,
    executor: Helper | None = None,
    unfinished: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[Ranked]:
    """Rank a system part by part, for runs that are written as they come; see :func:`rank_system`.

    ``workers``, ``executor`` and ``unfinished`` are of a factorised model, as for
    :meth:`kgtrec.ranking.grid.Grid.parts`.
    """
    plan = Plan.of(collection, options)
    if not isinstance(system, SystemOutput):
        raise KgtrecError(
            "expected a system, of kgtrec.read_system or of a framework's own function such as pykeen_system, found "
            f"{kind_of(system)}"
        )
    if isinstance(system, CollectionLists):
        system = system.lists(collection)
    if isinstance(system, Factors) or (workers or 1) > 1 or executor is not None:
        grid = _grid(plan, system)
        if len(grid):
            yield from grid.parts(workers=workers, executor=executor, unfinished=unfinished, progress=progress)
            return
    if isinstance(system, RankedLists | TripleRanks):
        yield rank_lists(plan, system) if isinstance(system, RankedLists) else rank_triples(plan, system)
        if progress is not None:
            progress(len(collection.questions.rows_of(options.sides)))
        return
    blocks: Iterator[ScoreBlock]
    if isinstance(system, Factors):
        blocks = iter(())  # there is no question
    elif isinstance(system, ScoreBlocks):
        blocks = system.blocks(collection, options.block)
    else:
        blocks = score_blocks(system, collection, options)
    yield from rank_blocks(plan, blocks, collection, collection, system.name, progress)
