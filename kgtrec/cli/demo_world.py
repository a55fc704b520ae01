"""The first part of `kgtrec demo`: the triples of a made-up world, and the files for its annotators and its study.

Those that are the same for every world are in the folder demo_files.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from kgtrec.formats.output.outputs import write_text
from kgtrec.formats.triples import write_triples
from kgtrec.kernels.sampling.label_draws import whole_share
from kgtrec.openworld.family_tree import FamilyTree, HiddenFacts, family_tree, hide_facts

PEOPLE, HIDDEN, LABELS = 200, 0.6, 40  # chosen with seeds below 41; benchmarks/demo_seeds.py tries others
FAVOURED = "inverse"  # the system that the sparse labels come from


def make_world(
    people: int = PEOPLE, hidden: float = HIDDEN, labels: int = LABELS, seed: int = 0
) -> tuple[FamilyTree, HiddenFacts]:
    """Make a family tree, and sparse labels that favour one system."""
    tree = family_tree(people, seed)
    density = min(1.0, labels / max(1, whole_share(hidden, len(tree.facts))))
    return tree, hide_facts(tree.facts, hidden=hidden, density=density, labels_from=FAVOURED, seed=seed)


def write_world(folder: Path, tree: FamilyTree, world: HiddenFacts) -> None:
    """Write the triples, and the files for annotators."""
    splits = world.splits
    triples = {"train": splits.train, "valid": splits.valid, "test": splits.test, "complete": world.complete}
    for name, split in triples.items():
        write_triples(folder / f"{name}.tsv", split)
    labels = list(tree.facts.entities)
    kinds = ["man" if male else "woman" for male in tree.is_male]
    _write_lines(
        folder / "entity_types.tsv",
        (row for pair in zip(labels, kinds, strict=True) for row in (pair, (pair[0], "person"))),
    )
    _write_lines(folder / "names.tsv", ((label, _name(label)) for label in labels))
    for file in files("kgtrec.cli").joinpath("demo_files").iterdir():
        write_text(folder / file.name, file.read_text(encoding="utf-8"))


def _name(label: str) -> str:
    """The display name: Brisa 17 for brisa_0017."""
    first, number = label.split("_")
    return f"{first.capitalize()} {int(number)}"


def _write_lines(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))
