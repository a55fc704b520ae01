"""PyKEEN: the folder of ``save_to_directory``, or a model with its triples factory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.identity import ordered_labels
from kgtrec.data.questions import SIDES
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.csv_text import csv_rows, csv_text
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.kinds import Scorer, Scoring, TripleRanks
from kgtrec.systems.numbered_labels import require_labels
from kgtrec.systems.torch_files import load_trusted, require_device, torch_of, torch_scoring

if TYPE_CHECKING:
    from pykeen.models import Model

_MODEL = "trained_model.pkl"
_LABELS = "training_triples"
_PACKAGES = "torch pykeen"


def pykeen_system(
    model: Model, factory: Any = None, *, name: str | None = None, device: str | None = None, mode: str | None = None
) -> Scorer:
    """Make a trained PyKEEN model a system that :func:`kgtrec.ranking.rank_system` ranks.

    Heads of a model with inverse triples are predicted by their inverse relations, as PyKEEN itself does.

    Parameters
    ----------
    model : pykeen.models.Model
        The trained model.
    factory : TriplesFactory, or pair of labels
        What the numbers stand for: ``result.training`` of a pipeline, or ``(entity_to_id, relation_to_id)``, each a
        mapping or labels in order.
    name : str, optional
        Default: the model's class, in lower case.
    device : str, optional
        Where scores are computed. Default: where the model is.
    mode : {"validation", "testing"}, optional
        Of an inductive model, such as InductiveNodePiece: which of its graphs it answers about. Its factory is then
        that of the inference graph.

    Raises
    ------
    KgtrecError
        If it is no PyKEEN model, the factory has other entities or relations, or the device is not there.
    """
    torch = torch_of("a PyKEEN model", _PACKAGES)
    if not hasattr(model, "predict_t"):
        raise KgtrecError(f"expected a PyKEEN model, such as result.model, found {type(model).__name__}")
    require_device(device)
    entities, relations = _labels_of(factory)
    way_out = "give the factory that it was trained with (result.training)"
    n_entities = model.num_entities if mode is None else model._get_entity_len(mode=mode)
    require_labels(entities, n_entities, "entities", way_out)
    require_labels(relations, n_relations_of(model), "relations", way_out)
    if device is not None:
        model = model.to(device)
    model.eval()

    def scoring(predict: Any, *, anchor_first: bool) -> Scoring:
        def scores(anchor: Any, relation: Any) -> Any:
            batch = torch.stack((anchor, relation) if anchor_first else (relation, anchor), dim=1)
            # some interactions give one row for all questions of a batch of one
            return predict(batch, **({} if mode is None else {"mode": mode})).reshape(len(anchor), -1)

        return torch_scoring(model, scores)

    kind = type(model).__name__
    name = kind.lower() if name is None else name
    kind = f"a PyKEEN model ({kind}{', with inverse triples' if model.use_inverse_triples else ''})"
    tails, heads = scoring(model.predict_t, anchor_first=True), scoring(model.predict_h, anchor_first=False)
    return Scorer(name, entities, relations, tails, heads, kind, _work_per_score(model))


def pykeen_ranks(evaluator: Any, mapped_triples: Any, factory: Any, *, name: str = "pykeen") -> TripleRanks:
    """Take the ranks that PyKEEN's own evaluator counted: above is optimistic - 1, tied is pessimistic - optimistic.

    Parameters
    ----------
    evaluator : pykeen.evaluation.RankBasedEvaluator
        Made with ``clear_on_finalize=False``, after its ``evaluate``.
    mapped_triples : (n, 3) tensor
        What it evaluated: ``factory.mapped_triples`` of the test triples.
    factory : TriplesFactory, or pair of labels
        What the numbers stand for, as for :func:`pykeen_system`.
    name : str
        The system's name.

    Raises
    ------
    KgtrecError
        If the evaluator has no ranks, or those of other triples.
    """
    entities, relations = _labels_of(factory)
    triples = np.asarray(mapped_triples.cpu()).astype(np.int64)
    ranks, candidates = getattr(evaluator, "ranks", None) or {}, getattr(evaluator, "num_candidates", None) or {}
    sides = [side for side in SIDES if (side, "optimistic") in ranks]
    if not sides:
        raise KgtrecError(
            "expected an evaluator that keeps its ranks, found none in it; make it with clear_on_finalize=False "
            "(RankBasedEvaluator(clear_on_finalize=False)) and evaluate once"
        )
    for side in sides:
        if (n := sum(map(len, ranks[side, "optimistic"]))) != len(triples):
            raise KgtrecError(
                f"expected the ranks of {len(triples):,} triples, found those of {n:,} for the {side}s; give the "
                "mapped triples that were evaluated, in one evaluation"
            )

    def joined(*lists: Any) -> NDArray[np.int64]:
        return np.rint(np.concatenate([part for parts in lists for part in parts])).astype(np.int64)

    optimistic, pessimistic = (joined(*(ranks[side, kind] for side in sides)) for kind in ("optimistic", "pessimistic"))
    head, relation, tail = (np.tile(column.astype(np.int32), len(sides)) for column in triples.T)
    is_head = np.repeat(np.array([side == SIDES[0] for side in sides]), len(triples))
    among, kind = joined(*(candidates[side] for side in sides)), "ranks of PyKEEN's evaluator"
    above, tied = optimistic - 1, pessimistic - optimistic
    return TripleRanks(name, entities, relations, is_head, head, relation, tail, above, tied, among, kind)


def _labels_of(factory: Any) -> tuple[Vocabulary, Vocabulary]:
    """Labels of entities and of relations, each in the order of their numbers."""
    if hasattr(factory, "entity_to_id") and hasattr(factory, "relation_to_id"):
        factory = factory.entity_to_id, factory.relation_to_id
    if isinstance(factory, tuple | list) and len(factory) == 2:
        return ordered_labels(factory[0], "entities"), ordered_labels(factory[1], "relations")
    raise KgtrecError(
        "expected the triples factory of the model's training (result.training), or (entity_to_id, relation_to_id), "
        f"found {type(factory).__name__}"
        + ("; a CoreTriplesFactory has numbers only, give both mappings" if hasattr(factory, "mapped_triples") else "")
    )


def n_relations_of(model: Model) -> int:
    """Count the relations of a model, without the inverse ones that PyKEEN makes."""
    return int(getattr(model, "num_real_relations", model.num_relations))


def _work_per_score(model: Model) -> int:
    """About how many numbers a model holds to score one entity: its longest representation, twice over."""
    shapes = [each.shape for each in getattr(model, "entity_representations", ()) if getattr(each, "shape", ())]
    return 2 * max((int(np.prod(shape)) for shape in shapes), default=128)


@Adapter.of(
    "pykeen",
    "PyKEEN 1.11",
    f"the folder of result.save_to_directory: {_MODEL} and {_LABELS}/",
    "scores",
    "torch, pykeen; --trust",
    lambda path: (path / _MODEL).is_file(),
)
def _read(path: Path, options: ReadOptions) -> Scorer:
    labels = path / _LABELS
    numbered = tuple(_labels(labels / f"{what}_to_id.tsv.gz") for what in ("entity", "relation"))
    model = load_trusted(path / _MODEL, "a PyKEEN model", options, _PACKAGES)
    if not hasattr(model, "predict_t"):
        raise FormatError(f"expected a PyKEEN model, found {type(model).__name__}", path=path / _MODEL)
    return pykeen_system(model, numbered, name=path.resolve().name, device=options.device)


def _labels(path: Path) -> Vocabulary:
    """Labels by number, of a table with columns ``id`` and ``label``."""
    if not path.is_file():
        raise FormatError(
            "expected the labels that PyKEEN's save_to_directory writes, found no such file; save with "
            "save_training=True, or rank the model in Python (kgtrec.systems.pykeen.pykeen_system)",
            path,
        )
    rows = csv_rows(str(path), csv_text(path, "labels of PyKEEN"), "\t")
    head = next((row.cells for row in rows), [])
    if sorted(head) != ["id", "label"]:
        raise FormatError(f"expected columns id and label, found {', '.join(head) or 'nothing'}", path, line=1)
    at_id, at_label = head.index("id"), head.index("label")
    labels: list[str] = []
    for row in rows:
        if len(row.cells) != 2 or row.cells[at_id] != str(len(labels)):
            raise row.error(f"expected the numbers 0, 1, ... and a label each, here {len(labels)}, found {row.cells!r}")
        labels.append(row.cells[at_label])
    with in_file(path):
        return Vocabulary.of(labels)
