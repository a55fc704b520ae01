"""Questions in plain words for the relations of data sets, which come with the package."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path

from kgtrec.formats.campaign.folder import read_templates

#: a file for each data set, of the form of a campaign's templates.tsv
FOLDER = Path(__file__).with_name("templates")
_UNMISTAKABLE = ("/", "_")  # first letters of Freebase's and WordNet's relations, which others do not give


def shipped_templates(relations: AbstractSet[str]) -> tuple[str, dict[str, str]]:
    """Return the name and the templates of the data set that some relations are of; nothing where none is certain.

    All of them must be relations of one data set. Short names such as ``causes`` may be those of any graph, where they
    may mean something else, so that then at least half of the data set's relations must be there.

    Parameters
    ----------
    relations : set of str

    Returns
    -------
    str
        As ``kgtrec data`` calls the data set, or ``family-tree``, the world of ``kgtrec demo``.
    dict of str to str
        Relation to template, for all relations of the data set.

    Examples
    --------
    >>> name, templates = shipped_templates({"_hypernym"})
    >>> name, len(templates), shipped_templates({"_hypernym", "mine"}), shipped_templates({"causes"})
    ('wn18rr', 11, ('', {}), ('', {}))
    """
    is_unmistakable = bool(relations) and all(relation.startswith(_UNMISTAKABLE) for relation in relations)
    for path in sorted(FOLDER.glob("*.tsv")):
        templates = read_templates(path)
        if relations <= templates.keys() and (is_unmistakable or 2 * len(relations) >= len(templates)):
            return path.stem, templates
    return "", {}
