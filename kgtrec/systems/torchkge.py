"""TorchKGE: a model with its knowledge graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtrec.data.identity import ordered_labels
from kgtrec.errors import KgtrecError
from kgtrec.systems.kinds import Scorer, Scoring
from kgtrec.systems.numbered_labels import require_labels
from kgtrec.systems.torch_files import torch_of, torch_scoring

if TYPE_CHECKING:
    from torchkge.data_structures import KnowledgeGraph
    from torchkge.models.interfaces import Model


def torchkge_system(model: Model, kg: KnowledgeGraph, *, name: str | None = None, device: str | None = None) -> Scorer:
    """Make a trained TorchKGE model a system that :func:`kgtrec.ranking.rank_system` ranks.

    Parameters
    ----------
    model : torchkge.models.interfaces.Model
        The trained model.
    kg : torchkge.data_structures.KnowledgeGraph
        That of the training, or any other with its ``ent2ix`` and ``rel2ix``.
    name : str, optional
        Default: the model's class, in lower case.
    device : str, optional
        Where scores are computed. Default: where the model is.

    Raises
    ------
    KgtrecError
        If the knowledge graph has other entities or relations than the model.
    """
    torch_of("a TorchKGE model")
    if not hasattr(model, "inference_prepare_candidates"):
        raise KgtrecError(f"expected a TorchKGE model, found {type(model).__name__}")
    if not all(hasattr(kg, each) for each in ("ent2ix", "rel2ix")):
        raise KgtrecError(
            f"expected the knowledge graph of the model's training, with ent2ix and rel2ix, found {type(kg).__name__}"
        )
    entities, relations = (
        ordered_labels({str(label): number for label, number in numbers.items()}, what)
        for numbers, what in ((kg.ent2ix, "entities"), (kg.rel2ix, "relations"))
    )
    way_out = "give the knowledge graph that it was trained with"
    require_labels(entities, model.n_ent, "entities", way_out)
    require_labels(relations, model.n_rel, "relations", way_out)
    if device is not None:
        model = model.to(device)
    model.eval()
    if hasattr(model, "evaluated_projections"):
        model.evaluated_projections = False  # those of an earlier ranking may be of other weights

    def scoring(*, tails: bool) -> Scoring:
        def scores(anchor: Any, relation: Any) -> Any:
            # the entity that is asked for is not looked at: the anchor stands in for it
            head, tail, embedded, candidates = model.inference_prepare_candidates(
                anchor, anchor, relation, entities=True
            )
            return model.inference_scoring_function(*((head, candidates) if tails else (candidates, tail)), embedded)

        return torch_scoring(model, scores)

    kind = type(model).__name__
    name = kind.lower().removesuffix("model") if name is None else name
    # about how many numbers the model holds to score one entity: candidates are repeated for each question
    sizes = [getattr(model, each, None) for each in ("emb_dim", "ent_emb_dim", "rel_emb_dim")]
    work = 4 * max((size for size in sizes if isinstance(size, int)), default=128)
    tails, heads = scoring(tails=True), scoring(tails=False)
    return Scorer(name, entities, relations, tails, heads, f"a TorchKGE model ({kind})", work)
