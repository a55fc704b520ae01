"""The pool's part of a campaign's folder: what ``kgtrec pool`` writes.

==================  ===============================================================================================
``campaign.json``   version, stamp of the collection, seed, annotators per triple, how the pool was made, the last
                    ranks of its strata if each was sampled question by question, and the SHA-256 of the
                    files below except ``runs.tsv``
``topics.tsv``      ``id TAB anchor TAB relation``, without header: the questions pooled for
``seeds.txt``       ``question 0 entity grade``: the answers known before the campaign
``pool.tsv``        ``question entity run rank probability``, one line per contribution
``runs.tsv``        ``run family``: every run, also one without contributions; no family is an empty text
``automatic.tsv``   ``head relation tail rule``: judged N without a person
``design.tsv``      which sample people judge, if not all; see :mod:`kgtrec.formats.campaign.designs`
==================  ===============================================================================================

Tables have a header line and are split at tabs only: no quoting, no comments, labels unchanged. Tasks are numbered by
the order of the triples, so the pool of a campaign never changes: a changed file is an error. Only families may be
edited. Equal pools give equal bytes: no time, no absolute path.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import ANNOTATORS_PER_TRIPLE, Automatic
from kgtrec.data.design import Design
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions, Topics
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, nearest, require
from kgtrec.formats.campaign.designs import read_design, write_design
from kgtrec.formats.files import PathLike, kgtrec_version, require_regular, sha256_of
from kgtrec.formats.json_text import read_manifest
from kgtrec.formats.lines import Lines, probabilities, read_codes, read_columns
from kgtrec.formats.output.folders import (
    ASSIGNMENTS,
    AUTOMATIC,
    DESIGN,
    JUDGEMENTS,
    PEOPLE,
    POOL,
    RUNS,
    SEEDS,
    SENT_BACK,
    SERVE_KEY,
    SERVE_STATE,
    SETTINGS,
    TOPICS,
    files_listed,
    write_git_files,
)
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.output.outputs import (
    require_folder,
    together,
    update_text,
    updating,
    write_text,
    writing,
    writing_folder,
)
from kgtrec.formats.trec.qrels import read_qrels, write_qrels
from kgtrec.formats.trec.text import shown
from kgtrec.formats.trec.topics import read_topics, write_topics
from kgtrec.formats.tsv import require_writable_labels, triple_labels, write_rows, write_tsv
from kgtrec.formats.versions import FORMATS, require_version

GUARDED = (TOPICS, SEEDS, POOL, AUTOMATIC)
_KEPT = ("links", "training", "training_gold")  # settings that people choose, whatever the pool
_REPLACED = (SETTINGS, RUNS, *GUARDED, DESIGN, ASSIGNMENTS)
POOL_COLUMNS = ("question", "entity", "run", "rank", "probability")
RUN_COLUMNS = ("run", "family")
AUTOMATIC_COLUMNS = ("head", "relation", "tail", "rule")
_RENAME = "rename it before writing"
_MOST_RULES = np.iinfo(np.int8).max


@dataclass(frozen=True, slots=True, eq=False)
class PoolFolder:
    """The pool in a folder and its settings."""

    pool: Pool
    known_answers: Qrels  # of the pool's questions
    automatic: Automatic
    families: Mapping[str, str]  # run -> family, "" for none; every run of the pool, in its order
    settings: Mapping[str, Any]  # campaign.json
    design: Design | None = None  # the sample that people judge; None: all that no rule has judged


def write_pool(
    folder: PathLike,
    pool: Pool,
    known_answers: Qrels,
    automatic: Automatic | None = None,
    families: Mapping[str, str] | None = None,
    *,
    collection: str = "",
    seed: int = 0,
    made: Mapping[str, Any] | None = None,
    design: Design | None = None,
    force: bool = False,
) -> None:
    """Write a pool as the beginning of a campaign, all of it or nothing.

    Parameters
    ----------
    folder : path
        Created with its parents if absent. An earlier pool is replaced only with ``force``, and only while nobody has
        judged; the other files of its folder are kept, except the assignments.
    pool : Pool
        The triples to be judged.
    known_answers : Qrels
        The answers known before, under the vocabularies of the pool's questions.
    automatic : Automatic, optional
        Which triples are judged N without a person.
    families : mapping, optional
        Run to family; a run that is not in it has none.
    collection : str
        The stamp of the collection that the question ids are of.
    seed : int
        Used to make the pool.
    made : mapping, optional
        How the pool was made: strategy, options, command, inputs.
    design : Design, optional
        The sample that people judge. Default: they judge all that no rule has.
    force : bool
        Replace a pool that is there already. Default: refuse.

    Raises
    ------
    FormatError
        If the folder is a file, has other files, has a pool and ``force`` is False, or has judgements.
    KgtrecError
        If a label has a tab or a line break, or is empty, or the seed is negative.

    Examples
    --------
    >>> import tempfile
    >>> from kgtrec.data.triples import Triples
    >>> one = np.zeros(1, np.int32)
    >>> entities, relations = Vocabulary.of(["france", "paris"]), Vocabulary.of(["capital"])
    >>> asked = Questions(Vocabulary.of(["tail0"]), np.zeros(1, np.bool_), one, one, entities, relations)
    >>> pool = Pool.of(Triples(one, one, one + 1, entities, relations), one, one, one, one + 1, ["transe"], asked)
    >>> folder = Path(tempfile.mkdtemp(), "campaign")
    >>> write_pool(folder, pool, Qrels(one[:0], one[:0], one[:0], asked.ids, entities))
    >>> print((folder / "pool.tsv").read_text().expandtabs(12), end="")
    question    entity      run         rank        probability
    tail0       paris       transe      1           1
    """
    if seed < 0:  # a campaign with one could not be read
        raise KgtrecError(f"expected a whole number from 0 on as seed, found {seed}")
    automatic = automatic or Automatic.none(len(pool))
    with writing_campaign(folder, force=force) as part:
        settings = {"collection": collection, "seed": seed, "pool": dict(made or {})}
        write_pool_parts(part, pool, known_answers, automatic, families or {}, settings, design)


def write_pool_parts(
    folder: Path,
    pool: Pool,
    known_answers: Qrels,
    automatic: Automatic,
    families: Mapping[str, str],
    settings: Mapping[str, Any],
    design: Design | None = None,
) -> None:
    """Write the files of a pool and the settings into a new, empty folder, see :func:`write_pool`."""
    questions = pool.questions

    def misnamed(row: int) -> KgtrecError:
        side = SIDES[not questions.is_head[row]]
        expected = f"expected the id of a {side} question to begin with {side!r}"
        return KgtrecError(f"{folder / TOPICS}: {expected}, found {questions.ids[row]!r}")

    require(values_of(pc.starts_with(questions.ids.labels, SIDES[0])) == questions.is_head, misnamed)
    write_topics(folder / TOPICS, Topics.of(questions))
    if len(known_answers):
        write_qrels(folder / SEEDS, known_answers)
    else:
        write_text(folder / SEEDS, "")
    _write_contributions(folder / POOL, pool)
    if unknown := next((run for run in families if run not in pool.runs), None):
        raise KgtrecError(f"expected families of the pool's runs, found {unknown!r}{nearest(unknown, pool.runs)}")
    write_rows(folder / RUNS, RUN_COLUMNS, [(run, families.get(run, "")) for run in pool.runs], 1)
    _write_automatic(folder / AUTOMATIC, pool, automatic)
    if design is not None:
        with writing(folder / DESIGN) as stream:
            write_design(stream, design, pool)
    whole = {
        "campaign_format": FORMATS["a campaign"][-1],
        "kgtrec": kgtrec_version(),
        "collection": "",
        "seed": 0,
        "annotators_per_triple": ANNOTATORS_PER_TRIPLE,
        **settings,
        **({"strata": list(pool.strata)} if pool.strata else {}),
        "files": {name: sha256_of(folder / name) for name in (*GUARDED, DESIGN) if (folder / name).exists()},
    }
    write_settings(folder, whole)


def write_settings(folder: PathLike, settings: Mapping[str, Any]) -> None:
    """Write campaign.json."""
    update_text(Path(folder, SETTINGS), json.dumps(settings, indent=2, ensure_ascii=False) + "\n")


def replace_design(folder: PathLike, settings: Mapping[str, Any], design: Design, pool: Pool) -> None:
    """Write another design of a campaign's pool, and settings with its checksum, both or none.

    The caller holds the lock of the campaign. The settings come first and name the design before, too, until all is
    written: whoever reads between the two, or after a program was killed there, still finds that one.
    """
    import hashlib  # slow to import, and rarely needed

    data = io.BytesIO()
    write_design(data, design, pool)
    files = dict(settings["files"]) | {DESIGN: hashlib.sha256(data.getvalue()).hexdigest()}
    settings = {name: value for name, value in settings.items() if name != "design_before"} | {"files": files}
    with together():
        write_settings(folder, settings | {"design_before": _sum_of(Path(folder, DESIGN))})
        with updating(Path(folder, DESIGN)) as stream:
            stream.write(data.getvalue())
    write_settings(folder, settings)


def _sum_of(path: Path) -> str:
    """The checksum of a file; empty where there is none."""
    return sha256_of(path) if path.is_file() else ""


@contextmanager
def writing_campaign(folder: PathLike, *, force: bool = False) -> Iterator[Path]:
    """Give a folder to fill with a pool, which becomes ``folder``, or replaces the pool in it."""
    require_writable(folder, force=force)
    with ExitStack() as held, writing_folder(folder, SETTINGS, owned=_files_of, force=force) as part:
        yield part
        held.enter_context(campaign_lock(folder))  # from here on nobody adds a verdict on the replaced pool
        require_writable(folder, force=force)  # somebody may have judged meanwhile
        with suppress(FormatError):  # what was chosen for a campaign, and has nothing to do with its pool, is kept
            before = read_settings(folder)
            if kept := {name: before[name] for name in _KEPT if name in before}:
                write_settings(part, read_settings(part) | kept)
        if not Path(folder, JUDGEMENTS).exists():  # which is what programs lock
            (part / JUDGEMENTS).touch()
        write_campaign_git_files(part, folder)


def write_campaign_git_files(part: Path, folder: PathLike) -> None:
    """Write the settings that git needs for a campaign, see :func:`kgtrec.formats.output.folders.write_git_files`."""
    added_to = (JUDGEMENTS, SENT_BACK, PEOPLE, "*.torn")
    write_git_files(part, folder, added_to=added_to, ignored=(SERVE_KEY, f"{SERVE_STATE}*"))


def require_writable(folder: PathLike, *, force: bool = False) -> None:
    """Raise FormatError if :func:`write_pool` would refuse to write to a folder."""
    judgements = Path(folder, JUDGEMENTS)
    if judgements.exists() and judgements.stat().st_size:
        raise FormatError(
            "expected a campaign without judgements, found some, which belong to its pool; choose another folder",
            path=judgements,
        )
    require_folder(folder, _files_of, force=force)


def _files_of(folder: Path) -> tuple[str, ...]:
    """The files of a campaign that are replaced with its pool: the pool itself, and the assignments."""
    return _REPLACED if files_listed(folder, SETTINGS, "campaign_format") else ()


def _write_contributions(path: Path, pool: Pool) -> None:
    questions, entity = pool.questions, pool.entity
    runs = labels_of(pool.runs)
    for labels, what in ((questions.ids.labels, "question"), (questions.entities.labels, "entity"), (runs, "run")):
        require_writable_labels(path, labels, what, _RENAME)
    # one key per line, if 64 bits suffice: there are many contributions
    order = _order(pool.question, pool.rank, questions.entities.byte_order[entity], pool.run)

    def columns(some: slice) -> list[pa.StringArray]:
        rows = order[some]
        labels = questions.ids.decode(pool.question[rows]), questions.entities.decode(entity[rows])
        numbers = pool.rank[rows], pool.probability[pool.triple[rows]]
        texts = (pc.cast(arrow_of(column), pa.string()) for column in numbers)
        return [*labels, runs.take(arrow_of(pool.run[rows])), *texts]

    with writing(path) as stream:
        write_tsv(stream, len(order), columns, POOL_COLUMNS)


def _order(*columns: NDArray[Any]) -> NDArray[np.intp]:
    """Rows sorted by the first column, then the second, and so on; all are whole numbers from 0."""
    spans = [int(column.max(initial=0)) + 1 for column in columns]
    if np.prod(np.array(spans, np.float64)) >= 2.0**62:
        return np.lexsort(columns[::-1])
    key = np.zeros(len(columns[0]), np.int64)
    for column, span in zip(columns, spans, strict=True):
        key *= span
        key += column
    return np.argsort(key, kind="stable")


def _write_automatic(path: Path, pool: Pool, automatic: Automatic) -> None:
    """The triples judged N without a person, in the order of the pool, and by which rule."""
    triples, row = pool.triples, np.flatnonzero(automatic.is_automatic)
    relations, rules = triples.relations.labels, labels_of(automatic.rules)
    for labels, what in ((relations, "relation"), (rules, "rule")):  # those of entities are checked in pool.tsv
        require_writable_labels(path, labels, what, _RENAME)
    rule = automatic.rule[row].astype(np.int32)

    def columns(some: slice) -> list[pa.StringArray]:
        return [*triple_labels(triples, row[some]), rules.take(arrow_of(rule[some]))]

    with writing(path) as stream:
        write_tsv(stream, len(row), columns, AUTOMATIC_COLUMNS)


def read_pool(folder: PathLike) -> PoolFolder:
    """Read the pool in a campaign's folder, and the answers known before the campaign.

    Labels get codes in byte order, so that triples, and with them the numbers of tasks, are sorted by the labels
    of relation, head and tail, in any order that they had when they were pooled.

    Parameters
    ----------
    folder : path
        Folder of the campaign.

    Raises
    ------
    FormatError
        If there is no pool, a file is missing or was changed; for the first malformed line.
    """
    path = Path(folder)
    settings = read_settings(folder)
    require_unchanged(folder, settings)
    topics = read_topics(path / TOPICS)
    lines = Lines.read(path / POOL).below_header(POOL_COLUMNS).without_nul()
    columns = read_columns(lines, POOL_COLUMNS)
    none, nothing = np.zeros(0, np.int32), Vocabulary.of([])
    has_seeds = (path / SEEDS).stat().st_size > 0
    known_answers = read_qrels(path / SEEDS) if has_seeds else Qrels(none, none, none, nothing, nothing)
    relations = _in_byte_order(topics.relation)
    entities = _in_byte_order(topics.anchor, columns[1], known_answers.entities.labels)
    questions = Questions(
        topics.ids,
        values_of(pc.starts_with(topics.ids.labels, SIDES[0])),
        relations.encode(topics.relation),
        entities.encode(topics.anchor),
        entities,
        relations,
    )
    families = read_families(path / RUNS)
    pool = replace(_pool_of(lines, columns, questions, tuple(families)), strata=_strata_of(path, settings))
    automatic = _read_automatic(path / AUTOMATIC, pool)
    has_design = DESIGN in settings["files"] and (path / DESIGN).exists()
    design = read_design(path / DESIGN, pool, automatic) if has_design else None
    own, expected = known_answers.recoded(questions=questions.ids, entities=entities), f"expected questions of {TOPICS}"

    def error(row: int) -> FormatError:
        return FormatError(f"{expected}, found {known_answers.decoded('question')[row].as_py()!r}", path=path / SEEDS)

    require(own.question >= 0, error)
    stamp = str(settings.get("collection", ""))
    known_answers = Qrels.of(own.question, own.entity, own.grade, questions.ids, entities, collection=stamp)
    return PoolFolder(pool, known_answers, automatic.with_design(design), families, settings, design)


def read_settings(folder: PathLike) -> dict[str, Any]:
    """Read the contents of ``campaign.json``.

    Raises
    ------
    FormatError
        If there is none, or it is of another kind or version.
    """
    path = Path(folder)
    require_regular(*(path / name for name in (SETTINGS, *GUARDED, DESIGN, RUNS)))
    settings = read_manifest(path, SETTINGS, "a campaign", "make one with kgtrec pool")
    has_files = isinstance(settings.get("files"), dict)
    if has_files or "campaign_format" in settings:
        require_version(settings.get("campaign_format"), "a campaign", path / SETTINGS)
    if not has_files:
        raise FormatError("expected the settings of a campaign with files, found another file", path=path / SETTINGS)
    return settings


def require_unchanged(folder: PathLike, settings: Mapping[str, Any]) -> None:
    """Refuse a pool whose files do not have the checksums in the settings.

    Raises
    ------
    FormatError
        For the first file that is missing or was changed.
    """
    path = Path(folder)
    guarded = (*GUARDED, *[DESIGN] * (DESIGN in settings["files"] or (path / DESIGN).exists()))
    for name in (*guarded, RUNS):
        if name == DESIGN and _sum_of(path / name) == settings.get("design_before"):
            continue  # see replace_design
        if not (path / name).is_file():
            raise FormatError("expected this file of the campaign, found none; run kgtrec pool again", path=path / name)
        if name in guarded and sha256_of(path / name) != settings["files"].get(name):
            raise FormatError(
                "expected the file that kgtrec pool wrote, found another one; a pool never changes: put it back, or "
                "make another campaign",
                path=path / name,
            )


def read_families(path: PathLike, runs: Sequence[str] | None = None) -> dict[str, str]:
    r"""Read the family of each run, from `run family` lines below a header; a line with a run alone gives it no family.

    Of certain ``runs`` each line needs one of these, and a family.

    Raises
    ------
    FormatError
        For the first line that is malformed or repeats a run.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "runs.tsv")
    >>> _ = path.write_text("run\tfamily\ncp\tfactors\ntranse\t\n")
    >>> read_families(path)
    {'cp': 'factors', 'transe': ''}
    """
    families: dict[str, str] = {}
    for line in Lines.read(path).below_header(RUN_COLUMNS).rows:
        run, *others = line.text.split("\t")
        if not run or len(others) > 1 or "\0" in run:
            raise line.error(f"expected 2 columns (run family) separated by a tab, got {shown(line.data)}")
        line.once(run, repr(run), "each run")
        families[run] = "".join(others)
        if runs is not None and not families[run].strip():
            raise line.error(f"expected a tab and a family after the run, found none after {run!r}")
        if runs is not None and run not in runs:
            raise line.error(f"expected runs that are given, found {run!r}{nearest(run, runs)}")
    return {run: families[run] for run in sorted(families, key=str.encode)}


def _read_automatic(path: Path, pool: Pool) -> Automatic:
    """Which of the pool's triples are judged N without a person, from `head relation tail rule` lines."""
    lines = Lines.read(path).below_header(AUTOMATIC_COLUMNS).without_nul()
    head, relation, tail, rule = read_columns(lines, AUTOMATIC_COLUMNS)
    entities, relations = pool.triples.entities, pool.triples.relations
    row = pool.rows(entities.encode(head), relations.encode(relation), entities.encode(tail))
    lines.require(row >= 0, lambda _: f"expected a triple of {POOL}, got another")
    lines.require_distinct(row, lambda row: shown(lines.rows[row].data), "each triple")
    rules, code = Vocabulary.encoding(rule)
    if len(rules) > _MOST_RULES:
        raise FormatError(f"expected at most {_MOST_RULES} rules, found {len(rules)}", path)
    by_row = np.full(len(pool), -1, np.int8)
    by_row[row] = code
    return Automatic(by_row, tuple(rules))


def _in_byte_order(*labels: pa.StringArray) -> Vocabulary:
    distinct = pc.unique(pa.concat_arrays(labels))
    return Vocabulary(distinct.take(pc.array_sort_indices(distinct)))


def _pool_of(lines: Lines, columns: list[pa.StringArray], questions: Questions, runs: tuple[str, ...]) -> Pool:
    ids, labels, names, ranks, chances = columns
    question, entity = questions.ids.encode(ids), questions.entities.encode(labels)
    lines.require(question >= 0, lambda row: f"expected a question of {TOPICS}, got {ids[row].as_py()!r}")
    run = Vocabulary.of(runs).encode(names)
    lines.require(run >= 0, lambda row: f"expected a run of {RUNS}, got {names[row].as_py()!r}")
    rank = read_codes(lines, ranks, np.iinfo(np.int32).max, "rank")
    lines.require(rank > 0, lambda _: "expected a rank from 1 on, got 0")
    chance = probabilities(lines, chances)
    every = questions.triples(question, entity)
    _, first, place = np.unique(every.keys(), return_index=True, return_inverse=True)
    triple: NDArray[np.int32] = place.reshape(-1).astype(np.int32)
    pair = triple * np.int64(2) + questions.is_head[question]
    lines.require_distinct(
        pair * max(len(runs), 1) + run, lambda row: shown(lines.rows[row].data), "each (question, entity, run)"
    )
    lines.require(chance == chance[first][triple], lambda _: "expected one probability for a triple, got two")
    return Pool.of(every.take(first), triple, question, run, rank.astype(np.int32), runs, questions, chance[first])


def _strata_of(folder: Path, settings: Mapping[str, Any]) -> tuple[int, ...]:
    """Last ranks of the strata, from the settings; empty for a pool that was not sampled in strata."""
    strata = settings.get("strata", [])
    whole = isinstance(strata, list) and all(type(last) is int for last in strata)
    if not whole or any(later <= last for last, later in pairwise([0, *strata])):
        raise FormatError(
            f"expected ascending last ranks, from 1 on, as strata, got {json.dumps(strata)}", path=folder / SETTINGS
        )
    return tuple(strata)
