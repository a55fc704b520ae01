"""Checkpoints of PyKEEN models, trained on a family tree, as answer ranks for `kgtrec openworld curve`.

    pip install "kgtrec[peers]"
    kgtrec openworld world --people 800 --out W
    python examples/open_world/pykeen_checkpoints.py W ranks
    kgtrec openworld curve W ranks --out curve

One training run per model: at the epochs named in `SETTINGS`, or by `--epochs`, all questions are scored and ranked as
`kgtrec rank` does it for a saved model, and the ranks are written as `NAME@EPOCHS.ranks.parquet`. Training then goes
on, with the optimizer's state, as if nothing had been. Only PyKEEN's public functions are called.

The same seed gives the same ranks on the same machine. Torch runs on one thread: these models are so small that a
second one costs more than it helps, and sums do not depend on how many cores there are.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError, nearest
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import read_collection
from kgtrec.ranking.system import rank_system
from kgtrec.systems.pykeen import pykeen_system

try:
    import torch
    from pykeen.models import Model, model_resolver
    from pykeen.training import SLCWATrainingLoop, TrainingCallback
    from pykeen.triples import TriplesFactory
except ImportError as missing:
    raise ImportError(f'{missing}; install PyKEEN and torch: pip install "kgtrec[peers]"') from missing


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is trained; all by Adam, each fact against random ones (sLCWA), without a regulariser."""

    dim: int  # complex numbers for ComplEx and RotatE
    rate: float
    negatives: int  # of each true fact: the same with another head or another tail
    loss: str
    epochs: tuple[int, ...]  # of each checkpoint, counted from the start
    batch: int = 512
    inverse: bool = False  # whether every fact is learnt backwards too, as a relation of its own
    loss_options: dict[str, Any] = field(default_factory=dict)
    model_options: dict[str, Any] = field(default_factory=dict)


# PyKEEN's own beginning of ComplEx, normal numbers, is far off
SMALL = {"entity_initializer": "xavier_uniform", "relation_initializer": "xavier_uniform"}
FREE = {"entity_constrainer": None}  # entities need not be of length 1
PLAIN = {"regularizer": None}
MARGIN = {"margin": 6.0, "adversarial_temperature": 1.0}  # self-adversarial: Sun et al. (2019)

SETTINGS = {
    "TransE": Settings(64, 0.01, 32, "nssa", (3, 5, 7, 10, 20), loss_options=MARGIN, model_options=FREE),
    "DistMult": Settings(64, 0.01, 32, "crossentropy", (3, 5, 8, 16, 40), model_options=SMALL | FREE | PLAIN),
    "ComplEx": Settings(32, 0.01, 32, "crossentropy", (2, 3, 5, 10, 30), inverse=True, model_options=SMALL | PLAIN),
    "RotatE": Settings(32, 0.03, 32, "nssa", (5, 8, 12, 20, 50), loss_options=MARGIN),
}


def facts(collection: Collection, *, inverse: bool = False) -> TriplesFactory:
    """The train facts under the collection's own codes, so that scores need no translation."""
    train = collection.train
    mapped = np.stack([train.head, train.relation, train.tail], axis=1).astype(np.int64)
    return TriplesFactory(
        mapped_triples=torch.as_tensor(mapped),
        entity_to_id={label: code for code, label in enumerate(collection.entities)},
        relation_to_id={label: code for code, label in enumerate(collection.relations)},
        create_inverse_triples=inverse,
    )


class Checkpoints(TrainingCallback):
    """Ranks and writes after some epochs of a training run, which it leaves as it is."""

    def __init__(self, name: str, epochs: tuple[int, ...], collection: Collection, out: Path, size: int) -> None:
        super().__init__()
        self.name, self.epochs, self.collection, self.out, self.size = name, epochs, collection, out, size
        self.since = time.monotonic()

    def post_epoch(self, epoch: int, epoch_loss: float, **_: Any) -> None:
        """Write the checkpoint of this epoch, if there is to be one."""
        if epoch not in self.epochs:
            return
        label, trained = f"{self.name}@{epoch}", time.monotonic()
        labels = self.collection.entities, self.collection.relations  # their codes are the model's numbers, see facts()
        system = pykeen_system(self.model, labels, name=label)
        table = rank_system(self.collection, system, depth=0, block=self.size).answer_ranks
        write_answer_ranks(path_of(self.out, label), table)
        now = time.monotonic()
        say(
            f"{label}: loss {epoch_loss:.4f}, finds {np.mean(table.above + table.tied == 0):.1%} of {len(table):,} "
            f"answers ({trained - self.since:.0f} s of training, {now - trained:.0f} s of ranking)"
        )
        self.since = now


def train(
    name: str, settings: Settings, collection: Collection, out: Path, *, seed: int = 0, size: int = 512
) -> tuple[Model, TriplesFactory]:
    """Train a model to its last checkpoint, write all of them, and return it with the facts it was trained on."""
    triples = facts(collection, inverse=settings.inverse)
    torch.manual_seed(seed)
    model = model_resolver.make(
        name,
        triples_factory=triples,
        embedding_dim=settings.dim,
        random_seed=seed,
        loss=settings.loss,
        loss_kwargs=settings.loss_options,
        **settings.model_options,
    ).to("cuda" if torch.cuda.is_available() else "cpu")
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=triples,
        optimizer=torch.optim.Adam(model.parameters(), lr=settings.rate),
        negative_sampler="basic",
        negative_sampler_kwargs={"num_negs_per_pos": settings.negatives},
        automatic_memory_optimization=False,  # else a trial of what fits comes first
    )
    loop.train(
        triples,
        num_epochs=max(settings.epochs),
        batch_size=settings.batch,
        use_tqdm=False,
        pin_memory=False,
        callbacks=Checkpoints(name, settings.epochs, collection, out, size),
    )
    return model, triples


def path_of(out: Path, label: str) -> Path:
    """The file of a checkpoint."""
    return out / f"{label}.ranks.parquet"


def say(text: str) -> None:
    """A line of progress, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def chosen(options: argparse.Namespace) -> dict[str, Settings]:
    """The models asked for with their settings, options in place of the file's own.

    Raises
    ------
    KgtrecError
        If a model is unknown, or a number too small.
    """
    for name in options.models:
        if name not in SETTINGS:
            raise KgtrecError(f"expected models among {', '.join(SETTINGS)}, found {name!r}{nearest(name, SETTINGS)}")
    for what, values in (
        ("--epochs", options.epochs or [1]),
        ("--dim", [options.dim or 1]),
        ("--block", [options.block]),
    ):
        if min(values) < 1:
            raise KgtrecError(f"{what}: expected at least 1, found {min(values)}")
    new: dict[str, Any] = {}
    if options.epochs:
        new["epochs"] = tuple(sorted(set(options.epochs)))
    if options.dim:
        new["dim"] = options.dim
    return {name: replace(SETTINGS[name], **new) for name in dict.fromkeys(options.models)}


def require_no_others(out: Path, models: dict[str, Settings]) -> None:
    """Refuse a folder whose checkpoints of these models would be mixed with the new ones."""
    for name in models:
        for found in sorted(out.glob(f"{name}@*.ranks.parquet")):
            raise KgtrecError(
                f"{out}: expected no checkpoints of {name}, found {found.name}; remove them or name another folder"
            )


def main() -> None:
    """Train the models one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", help="folder, as of kgtrec openworld world")
    parser.add_argument("out", type=Path, help="folder of the answer ranks")
    parser.add_argument("--models", nargs="+", default=list(SETTINGS), metavar="NAME", help=", ".join(SETTINGS))
    parser.add_argument("--epochs", nargs="+", type=int, metavar="N", help="of each checkpoint, counted from the start")
    parser.add_argument("--dim", type=int, help="of all models")
    parser.add_argument("--block", type=int, default=512, help="questions scored at a time")
    parser.add_argument("--seed", type=int, default=0, help="of the first embeddings and of what is drawn in training")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        models = chosen(options)
        collection = read_collection(options.collection)
        if collection.is_alignment or not len(collection.questions) or not len(collection.train.head):
            raise KgtrecError(f"{options.collection}: expected a collection of triples with train facts and questions")
        require_no_others(options.out, models)
        options.out.mkdir(parents=True, exist_ok=True)
        for name, settings in models.items():
            train(name, settings, collection, options.out, seed=options.seed, size=options.block)
    except (KgtrecError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
