"""The first part of `kgtrec demo`: the triples of a made-up world, and the files for its annotators."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kgtrec.formats.output.outputs import write_text
from kgtrec.formats.triples import write_triples
from kgtrec.kernels.sampling.label_draws import whole_share
from kgtrec.openworld.family_tree import FamilyTree, HiddenFacts, family_tree, hide_facts

PEOPLE, HIDDEN, LABELS = 200, 0.6, 40  # chosen with seeds below 41; benchmarks/demo_seeds.py tries others
FAVOURED = "inverse"  # the system that the sparse labels come from
REGISTER = "register.example"  # where the annotators look things up; no such host can exist
# relation -> type of its head, and the question
_KINSHIP = {
    "father_of": ("man", "Is {head} the father of {tail}?"),
    "mother_of": ("woman", "Is {head} the mother of {tail}?"),
    "son_of": ("man", "Is {head} a son of {tail}?"),
    "daughter_of": ("woman", "Is {head} a daughter of {tail}?"),
    "husband_of": ("man", "Is {head} the husband of {tail}?"),
    "wife_of": ("woman", "Is {head} the wife of {tail}?"),
    "brother_of": ("man", "Is {head} a brother of {tail}?"),
    "sister_of": ("woman", "Is {head} a sister of {tail}?"),
    "grandfather_of": ("man", "Is {head} a grandfather of {tail}?"),
    "grandmother_of": ("woman", "Is {head} a grandmother of {tail}?"),
    "grandson_of": ("man", "Is {head} a grandson of {tail}?"),
    "granddaughter_of": ("woman", "Is {head} a granddaughter of {tail}?"),
    "uncle_of": ("man", "Is {head} an uncle of {tail}?"),
    "aunt_of": ("woman", "Is {head} an aunt of {tail}?"),
    "nephew_of": ("man", "Is {head} a nephew of {tail}?"),
    "niece_of": ("woman", "Is {head} a niece of {tail}?"),
    "cousin_of": ("person", "Is {head} a cousin of {tail}?"),
    "father_in_law_of": ("man", "Is {head} the father-in-law of {tail}?"),
    "mother_in_law_of": ("woman", "Is {head} the mother-in-law of {tail}?"),
    "son_in_law_of": ("man", "Is {head} a son-in-law of {tail}?"),
    "daughter_in_law_of": ("woman", "Is {head} a daughter-in-law of {tail}?"),
    "brother_in_law_of": ("man", "Is {head} a brother-in-law of {tail}?"),
    "sister_in_law_of": ("woman", "Is {head} a sister-in-law of {tail}?"),
}

_README = """# A worked annotation campaign

`kgtrec demo` made this folder: four baseline systems were pooled for forty facts of a made-up family tree, two
annotators judged the pool, an adjudicator settled where they disagreed or could not tell, and an expert judged a sample
again. All of them are a program that knows the truth and errs on purpose; their link leads to a register that does not
exist.

docs/campaigns.md tells what each file holds, and the labels that came out of it are in `../qrels`. Try

    kgtrec campaign status annotation
    kgtrec campaign agreement annotation
    kgtrec campaign qrels annotation --out my-qrels
"""


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
    _write_lines(folder / "relation_types.tsv", ((name, kind, "person") for name, (kind, _) in _KINSHIP.items()))
    _write_lines(folder / "names.tsv", ((label, _name(label)) for label in labels))
    _write_lines(
        folder / "templates.tsv",
        (("relation", "template"), *((name, question) for name, (_, question) in _KINSHIP.items())),
    )
    write_text(folder / "annotation.md", _README)
    write_text(folder / "sources.txt", f"# the register of all families, which knows everything\n{REGISTER}\n")


def _name(label: str) -> str:
    """The display name: Brisa 17 for brisa_0017."""
    first, number = label.split("_")
    return f"{first.capitalize()} {int(number)}"


def _write_lines(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))
