"""A model in plain PyTorch, trained on the cities of examples/cities, ranked exactly.

    pip install torch
    python examples/pytorch_model.py OUT

All that kgtrec needs is marked: two functions that score all entities, and what the model's numbers stand for.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

import kgtrec

DATA = Path(__file__).parent / "cities"


def main() -> None:
    """Train DistMult on all triples of train against all entities, and rank it."""
    torch.manual_seed(0)
    splits = [kgtrec.read_triples(DATA / f"{split}.tsv") for split in ("train", "valid", "test")]
    collection = kgtrec.build_questions(*splits)
    train = collection.train
    entity_to_id = {label: number for number, label in enumerate(sorted(collection.entities))}
    relation_to_id = {label: number for number, label in enumerate(sorted(collection.relations))}
    head, tail = (
        torch.tensor([entity_to_id[label] for label in train.entities.decode(codes).to_pylist()])
        for codes in (train.head, train.tail)
    )
    relation = torch.tensor([relation_to_id[label] for label in train.relations.decode(train.relation).to_pylist()])

    E = torch.nn.Embedding(len(entity_to_id), 32)
    R = torch.nn.Embedding(len(relation_to_id), 32)
    optimizer = torch.optim.Adam([*E.parameters(), *R.parameters()], lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(E(head) * R(relation) @ E.weight.T, tail)
        loss += torch.nn.functional.cross_entropy(E(tail) * R(relation) @ E.weight.T, head)
        loss.backward()
        optimizer.step()

    # from here on, what kgtrec needs
    @torch.inference_mode()
    def score(anchors, relations):
        return E(torch.as_tensor(anchors)) * R(torch.as_tensor(relations)) @ E.weight.T

    ranked = kgtrec.rank_model(
        collection, score, score, entities=entity_to_id, relations=relation_to_id, name="distmult"
    )
    # to here

    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    kgtrec.write_answer_ranks(out / "distmult.ranks.parquet", ranked.answer_ranks)
    kgtrec.write_run(out / "distmult.run.gz", ranked.run)
    print(kgtrec.evaluate(collection, ranked, ["micro.MRR", "macro.MRR", "AP@20"]).to_frame())


if __name__ == "__main__":
    main()
