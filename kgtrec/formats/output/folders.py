"""The names of the files in kgtrec's folders, in one place, and those by which each kind of folder is recognised."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from glob import escape
from pathlib import Path
from typing import Any

from kgtrec.formats.files import PathLike

# settings for git of a folder, see write_git_files
GIT_ATTRIBUTES = ".gitattributes"
GIT_IGNORE = ".gitignore"

# a collection, see kgtrec.formats.collections; a study has a manifest too
MANIFEST = "manifest.json"
TOPICS = "topics.tsv"
QRELS = "qrels.txt"
RELATIONS = "relations.tsv"
FILTERED = "known.parquet"
TRAIN = "train.parquet"
REPORT = "report.txt"
ENTITY_LABELS = "entities.txt"
ENTITY_IDS = "entities.tsv"
SUMS = "SHA256SUMS"  # of the qrels of a campaign, whether they are a collection or not

# a campaign: the pool's part, see kgtrec.formats.campaign.pools
SETTINGS = "campaign.json"
SEEDS = "seeds.txt"
POOL = "pool.tsv"
RUNS = "runs.tsv"
AUTOMATIC = "automatic.tsv"
DESIGN = "design.tsv"
# and the files that people edit, and the judgements, see kgtrec.formats.campaign.folder
README = "README.md"
GUIDELINES = "guidelines.md"
TEMPLATES = "templates.tsv"
SOURCES = "sources.txt"
NAMES = "names.tsv"
DESCRIPTIONS = "descriptions.tsv"
PEOPLE = "people.tsv"
ASSIGNMENTS = "assignments.tsv"
JUDGEMENTS = "judgements.jsonl"
EXPERT_SAMPLE = "expert_sample.tsv"
GOLD = "gold.tsv"
SENT_BACK = "sent_back.jsonl"
MACHINES = "machine"  # a folder, with a file for each machine
# and what its page needs, see kgtrec.serve.state: who is signed in, which may be lost, and what signs for it
SERVE_STATE = "serve.sqlite"
SERVE_KEY = "serve.key"
SERVE_FILES = (SERVE_KEY, SERVE_STATE, f"{SERVE_STATE}-wal", f"{SERVE_STATE}-shm")

# a study, see kgtrec.study.folder
STUDY_CONFIG = "study.toml"
EXPLORATION = "explore.html"  # also in a campaign, if somebody has put it there
STEPS = "steps"
UNFINISHED = "unfinished"  # rankings that were interrupted

_OF_POOL = (SETTINGS, TOPICS, SEEDS, POOL, RUNS, AUTOMATIC, DESIGN)
_TO_JUDGE = (README, GUIDELINES, TEMPLATES, SOURCES, NAMES, DESCRIPTIONS, PEOPLE, ASSIGNMENTS)
_JUDGED = (JUDGEMENTS, f"{JUDGEMENTS}.torn", EXPERT_SAMPLE, GOLD, SENT_BACK, f"{SENT_BACK}.torn")
#: the whole campaign, without what is its page's alone
CAMPAIGN_FILES = (GIT_ATTRIBUTES, GIT_IGNORE, *_OF_POOL, *_TO_JUDGE, *_JUDGED)

_FILES = {
    "campaign": {*CAMPAIGN_FILES, *SERVE_FILES},
    "collection": {MANIFEST, TOPICS, QRELS, RELATIONS, FILTERED, TRAIN, REPORT, ENTITY_LABELS, ENTITY_IDS},
    "study": {MANIFEST, STUDY_CONFIG, STEPS, UNFINISHED},
}


def owner_of(place: Path) -> str:
    """Give the kind of folder of which a file or folder of this name is a part, ``""`` if of none.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "campaign.json").write_text("{}")
    >>> owner_of(folder / "judgements.jsonl"), owner_of(folder / "ann.csv")
    ('campaign', '')
    """
    folder = place.parent
    manifest = _manifest(folder / MANIFEST)
    kinds = {
        "campaign": (folder / SETTINGS).is_file(),
        "collection": "collection_format" in manifest,
        "study": "study_format" in manifest or (folder / STEPS).is_dir(),
    }
    return next((kind for kind, is_there in kinds.items() if is_there and place.name in _FILES[kind]), "")


def files_listed(folder: Path, manifest: str, mark: str) -> list[str]:
    """Give a manifest and the files that it lists, as patterns; none if the folder has no manifest with this mark."""
    content = _manifest(folder / manifest)
    files = content.get("files")
    return [manifest, *map(escape, files)] if mark in content and isinstance(files, dict) else []


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_git_files(part: Path, folder: PathLike, *, added_to: Iterable[str] = (), ignored: Iterable[str] = ()) -> None:
    """Write ``.gitattributes``, and ``.gitignore`` where something is ignored; one that the folder has stays.

    Parameters
    ----------
    part : path
        Where they are written.
    folder : path
        The folder that this becomes, which may be there already.
    added_to : iterable of str
        Files to which lines are only added, so that git can merge two copies line by line.
    ignored : iterable of str
        Files that belong to one machine alone.
    """
    lines = {GIT_ATTRIBUTES: ["* -text", *(f"{name} merge=union" for name in added_to)], GIT_IGNORE: list(ignored)}
    for name, texts in lines.items():
        if texts and not os.path.lexists(Path(folder, name)):
            (part / name).write_bytes("".join(f"{text}\n" for text in texts).encode())
