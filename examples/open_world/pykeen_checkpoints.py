"""Checkpoints of PyKEEN models, trained on a family tree, as answer ranks for `kgtrec openworld curve`.

    pip install "kgtrec[peers]"
    kgtrec openworld world --people 1000 --out W
    python examples/open_world/pykeen_checkpoints.py W ranks --epochs 5 20 80
    kgtrec openworld curve W ranks --out curve

Every model is trained once per seed; training goes on from one checkpoint to the next. Scores come from `predict_t` and
`predict_h`, PyKEEN's public API, block by block, so that no whole matrix is held.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from pykeen.models import Model, model_resolver
from pykeen.training import SLCWATrainingLoop
from pykeen.triples import TriplesFactory

from kgtrec.data.collection import Collection
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import read_collection
from kgtrec.ranking import rank_scores

MODELS = ("TransE", "DistMult", "ComplEx", "RotatE")


def factory_of(collection: Collection) -> TriplesFactory:
    """The train facts under the collection's own codes, so that scores need no translation."""
    train = collection.train
    mapped = np.stack([train.head, train.relation, train.tail], axis=1).astype(np.int64)
    return TriplesFactory(
        mapped_triples=torch.as_tensor(mapped),
        entity_to_id={label: code for code, label in enumerate(collection.entities)},
        relation_to_id={label: code for code, label in enumerate(collection.relations)},
    )


def blocks(model: Model, collection: Collection, size: int) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
    """(rows, scores) of all questions; a block asks from one side only."""
    questions = collection.questions
    pairs = np.stack([questions.anchor, questions.relation], axis=1).astype(np.int64)
    for is_head in (True, False):
        rows = np.flatnonzero(questions.is_head == is_head)
        for first in range(0, len(rows), size):
            block = rows[first : first + size]
            asked = torch.as_tensor(pairs[block], device=model.device)
            with torch.inference_mode():
                scores = model.predict_h(asked.flip(1)) if is_head else model.predict_t(asked)
            yield block, scores.cpu()


def main() -> None:
    """Train, checkpoint by checkpoint, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--epochs", nargs="+", type=int, default=[5, 20, 80], help="of each checkpoint, in all")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--block", type=int, default=512, help="questions scored at a time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    collection = read_collection(options.collection)
    triples = factory_of(collection)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.models:
        torch.manual_seed(options.seed)
        model = model_resolver.make(
            name, triples_factory=triples, embedding_dim=options.dim, random_seed=options.seed
        ).to("cuda" if torch.cuda.is_available() else "cpu")
        loop = SLCWATrainingLoop(model=model, triples_factory=triples, optimizer=torch.optim.Adam(model.parameters()))
        done = 0
        for epochs in sorted(options.epochs):
            loop.train(triples, num_epochs=epochs - done, batch_size=options.batch, use_tqdm=False)
            done = epochs
            model.eval()
            label = f"{name}@{epochs}"
            ranks = rank_scores(collection, blocks(model, collection, options.block), name=label, depth=0).answer_ranks
            write_answer_ranks(options.out / f"{label}.ranks.parquet", ranks)
            sys.stderr.write(f"{label}: finds {np.mean(ranks.above + ranks.tied == 0):.1%}\n")


if __name__ == "__main__":
    main()
