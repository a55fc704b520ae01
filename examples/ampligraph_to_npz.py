"""A trained AmpliGraph 2 model as scores that `kgtrec rank` reads.

    kgtrec questions FOLDER --like pykeen --out C      # where kgtrec is
    python ampligraph_to_npz.py MODEL C OUT            # where AmpliGraph is
    kgtrec rank C OUT/MODEL.npz --out ranks            # where kgtrec is

AmpliGraph 2 needs TensorFlow and numpy < 2, kgtrec needs numpy >= 2, so each has an environment of its own: this script
imports numpy and AmpliGraph alone. DistMult, ComplEx and HolE become a factorised system (`MODEL.npz`, with
`entities.txt` and `relations.txt`), TransE a score matrix (`MODEL.npy`, with `topics.tsv` and `entities.txt`).
AmpliGraph's own ranks compare scores as whole numbers after multiplication by 1,000, so that near scores tie; the ranks
of `kgtrec rank` compare the scores.
"""

import sys
from pathlib import Path

import numpy as np

BLOCK = 1 << 22  # differences that TransE holds at a time
SCORING = ("DistMult", "ComplEx", "HolE", "TransE")


def labels_of(model, kind):
    """Labels of entities ("e") or relations ("r"), in the order of the model's numbers."""
    return [str(label) for label in model.get_indexes(np.arange(model.get_count(kind)), kind, "ind2raw")]


def read_questions(collection):
    """Ids, and for each question whether its head is asked for, its relation and its anchor, as labels."""
    names = {}
    if (collection / "entities.tsv").is_file():
        for line in (collection / "entities.tsv").read_text(encoding="utf-8").splitlines():
            number, label = line.split("\t")[:2]
            names[number] = label
    rows = []
    for line in (collection / "topics.tsv").read_text(encoding="utf-8").splitlines():
        identifier, anchor, relation = line.split("\t")
        rows.append((identifier, identifier.startswith("head"), relation, names.get(anchor, anchor)))
    return rows


def numbered(questions, entities, relations):
    """(n, 3) int array: is the head asked for, number of the relation, number of the anchor."""
    entity, relation = ({label: number for number, label in enumerate(labels)} for labels in (entities, relations))
    unknown = sorted({row[3] for row in questions} - set(entity)) + sorted(
        {row[2] for row in questions} - set(relation)
    )
    if unknown:
        raise SystemExit(
            f"expected questions about what the model knows, found {len(unknown):,} labels that it lacks, such as "
            f"{', '.join(unknown[:3])}; build the collection with kgtrec questions --like pykeen"
        )
    return np.array([(is_head, relation[kind], entity[anchor]) for _, is_head, kind, anchor in questions], np.int64)


def queries(scoring, E, R, numbers):
    """(n, d) float64 array: the score of an entity is its product with E."""
    is_head, relation, anchor = numbers.T
    point, by = E[anchor].astype(np.float64), R[relation].astype(np.float64)
    if scoring == "DistMult":
        return point * by
    half = E.shape[1] // 2
    real, imaginary = point[:, :half], point[:, half:]
    by_real, by_imaginary = by[:, :half], by[:, half:] * np.where(is_head, -1, 1)[:, None]
    found = np.concatenate(
        [real * by_real - imaginary * by_imaginary, real * by_imaginary + imaginary * by_real], axis=1
    )
    return found * 2 / half if scoring == "HolE" else found


def distances(E, R, numbers):
    """Blocks of minus the sum of |h + r - t|, (n, entities) float32."""
    is_head, relation, anchor = numbers.T
    sign = np.where(is_head, -1, 1)[:, None]
    point = E[anchor].astype(np.float64) + sign * R[relation].astype(np.float64)
    step = max(1, BLOCK // E.size)
    for first in range(0, len(point), step):
        yield -np.abs(point[first : first + step, None] - E[None].astype(np.float64)).sum(axis=2).astype(np.float32)


def write_lines(path, lines):
    """One label, or row, per line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def export(model, collection, out, name):
    """Write the scores of a model for a collection's questions; returns the file."""
    if model.scoring_type not in SCORING:
        raise SystemExit(f"expected a model among {', '.join(SCORING)}, found {model.scoring_type}")
    entities, relations = (labels_of(model, kind) for kind in "er")
    E, R = (
        np.asarray(model.get_embeddings(np.array(labels), kind)) for labels, kind in ((entities, "e"), (relations, "r"))
    )
    questions = read_questions(collection)
    numbers = numbered(questions, entities, relations)
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / "entities.txt", entities)
    write_lines(out / "relations.txt", relations)
    if model.scoring_type != "TransE":
        np.savez(out / f"{name}.npz", E=E, Q=queries(model.scoring_type, E, R, numbers), questions=numbers)
        return out / f"{name}.npz"
    write_lines(out / "topics.tsv", ["\t".join((row[0], row[3], row[2])) for row in questions])
    shape = len(questions), len(entities)
    scores = np.lib.format.open_memmap(out / f"{name}.npy", "w+", np.float32, shape)
    first = 0
    for block in distances(E, R, numbers):
        scores[first : first + len(block)] = block
        first += len(block)
    scores.flush()
    return out / f"{name}.npy"


def main(arguments):
    """What the command line asks for."""
    if len(arguments) != 3:
        raise SystemExit("usage: python ampligraph_to_npz.py MODEL COLLECTION OUT")
    from ampligraph.utils import restore_model

    path = Path(arguments[0])
    written = export(restore_model(str(path)), Path(arguments[1]), Path(arguments[2]), path.stem)
    sys.stdout.write(f"wrote {written}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
