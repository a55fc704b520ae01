"""The folder of an annotation campaign: what `kgtrec pool` begins and `kgtrec campaign` fills, all of it plain text.

The pool's own files (campaign.json, topics.tsv, seeds.txt, pool.tsv, runs.tsv, automatic.tsv) are those of
:mod:`kgtrec.formats.campaign.pools`, the events those of :mod:`kgtrec.formats.campaign.judgements`; here are the files
that people edit, and the assignments. Tables have a header line and are split at tabs only; labels are read unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.data.arrow import arrow_of, labels_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import (
    ASKED,
    HOST,
    LINKS,
    MANAGER,
    NOT_ASKED,
    PERSON_ROLES,
    REQUIRED,
    Assignments,
    Campaign,
    People,
    template_parts,
)
from kgtrec.data.judgements import ROLES, Gold, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file, nearest, one_of, whole_number
from kgtrec.formats.campaign.gold import read_gold
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.campaign.pools import read_pool
from kgtrec.formats.files import PathLike, require_regular
from kgtrec.formats.lines import Lines, TextLine, read_columns
from kgtrec.formats.output.folders import (
    ASSIGNMENTS,
    DESCRIPTIONS,
    GOLD,
    GUIDELINES,
    JUDGEMENTS,
    NAMES,
    PEOPLE,
    POOL,
    SETTINGS,
    SOURCES,
    TEMPLATES,
)
from kgtrec.formats.output.outputs import update_text, updating
from kgtrec.formats.tsv import triple_labels, write_rows, write_tsv

#: beside the pool and the judgements
EDITED = (PEOPLE, ASSIGNMENTS, TEMPLATES, SOURCES, NAMES, DESCRIPTIONS, GOLD)

SOURCES_COMMENT = """\
# Hosts whose pages may prove a verdict, one a line; hosts below one count too: wikipedia.org allows en.wikipedia.org.
# While no host is listed, a page of any host will do. Remove the # before those that you trust:
# wikipedia.org
# wikidata.org
"""

_TEMPLATE_COLUMNS = ("relation", "template")
_PERSON_COLUMNS = ("person", "role", "active")
ASSIGNMENT_COLUMNS = ("annotator", "task", "head", "relation", "tail")
_NEED = "Yes and No need a link to a page that shows it. Unsure needs none."
#: what the guidelines say instead where links are not required
_INSTEAD = {
    ASKED: "With Yes and No, please give a link to a page that shows it, if you have one.",
    NOT_ASKED: "You need not give a link. If you give one all the same:",
}
_WHOLE_SETTINGS = {
    "annotators_per_triple": 1,
    "seed": 0,
    "assignment_seed": 0,
    "training": 0,
}  # and the least each may be
_IS_ACTIVE = {"yes": True, "no": False}


def read_campaign(folder: PathLike, broken: list[FormatError] | None = None) -> Campaign:
    """Read the whole campaign in a folder; for ``broken`` see :func:`read_templates`.

    A folder that only has a pool reads as a campaign of no people and no judgements; commands that need more ask
    :func:`require_initialised` first.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    broken : list of FormatError, optional
        To which the lines of the templates that cannot be read are added. Default: the first one is raised.

    Raises
    ------
    FormatError
        If there is no pool, a file is missing, or for the first malformed line of any file.
    """
    campaign = read_campaign_without_judgements(folder, broken)
    if not is_initialised(folder):
        return campaign
    return replace(campaign, judgements=read_judgements(Path(folder, JUDGEMENTS), campaign.pool))


def read_campaign_without_judgements(folder: PathLike, broken: list[FormatError] | None = None) -> Campaign:
    """Read the campaign in a folder, without the judgements; for ``broken`` see :func:`read_templates`.

    Raises
    ------
    FormatError
        As :func:`read_campaign`.
    """
    made = read_pool(folder)
    pool, own = made.pool, Path(folder)
    require_right_settings(folder, made.settings)
    judged = own / JUDGEMENTS
    if not is_initialised(folder) and judged.is_file() and judged.stat().st_size:
        raise FormatError(
            f"expected the people who judged, since {JUDGEMENTS} has judgements, found no such file; put it back, or "
            "name the same people with kgtrec campaign init",
            path=own / PEOPLE,
        )
    nobody = People.none()
    campaign = Campaign(
        pool,
        made.known_answers,
        made.automatic,
        nobody,
        Assignments.none(nobody.names),
        Judgements.none(nobody.names),
        settings=made.settings,
        design=made.design,
    )
    return reread(folder, campaign, EDITED, broken) if is_initialised(folder) else campaign


def reread(
    folder: PathLike, campaign: Campaign, names: Collection[str], broken: list[FormatError] | None = None
) -> Campaign:
    """Read some of ``EDITED`` of a campaign again; for ``broken`` see :func:`read_templates`.

    Raises
    ------
    FormatError
        As :func:`read_campaign`.
    """
    own, pool, people = Path(folder), campaign.pool, campaign.people
    changes: dict[str, Any] = {}
    if PEOPLE in names:
        changes["people"] = people = read_people(own / PEOPLE)
    if PEOPLE in names or ASSIGNMENTS in names:
        changes["assignments"] = (
            read_assignments(own / ASSIGNMENTS, pool, people)
            if (own / ASSIGNMENTS).exists()  # removed when a pool replaces another; they can be made again
            else Assignments.none(people.names)
        )
    if TEMPLATES in names:
        changes["templates"] = read_templates(own / TEMPLATES, broken)
    if SOURCES in names:
        changes["sources"] = read_sources(own / SOURCES)
    gold = campaign.gold
    if GOLD in names:
        changes["gold"] = gold = read_gold(own / GOLD) if (own / GOLD).exists() else Gold.none()
    if NAMES in names or GOLD in names:
        changes["names"] = read_names(own / NAMES, named_entities(pool, gold))
    if DESCRIPTIONS in names or GOLD in names:
        path, entities = own / DESCRIPTIONS, named_entities(pool, gold)
        changes["descriptions"] = read_names(path, entities, "description") if path.exists() else {}
    return replace(campaign, **changes)


def named_entities(pool: Pool, gold: Gold) -> Vocabulary:
    """Find the entities whose names a campaign needs."""
    return pool.questions.entities.extended(gold.triples.entities.labels)


def require_right_settings(folder: PathLike, settings: Mapping[str, Any]) -> None:
    """Refuse settings that are not of their kind: numbers, gold of the training round, rules for links.

    Raises
    ------
    FormatError
        For the first one.
    """
    with in_file(Path(folder, SETTINGS)):
        for name, least in _WHOLE_SETTINGS.items():
            whole_number(name, settings.get(name, least), least)
        chosen = settings.get("training_gold", [])
        if not isinstance(chosen, list) or not all(
            isinstance(triple, list) and [type(label) for label in triple] == [str] * 3 for triple in chosen
        ):
            raise KgtrecError(
                "expected a list of triples, each of head, relation and tail, as training_gold, got "
                f"{str(chosen)[:100]}"
            )
        links = settings.get("links", {})
        if not isinstance(links, dict):
            raise KgtrecError(f"expected a rule for each role as links, got {links!r}")
        for role, rule in links.items():
            one_of("a role with a rule for links among", role, ROLES)
            one_of(f"a rule for links of {role} among", rule, LINKS)


def is_initialised(folder: PathLike) -> bool:
    """Check whether `kgtrec campaign init` has run: people.tsv, which it writes last, is there.

    Raises
    ------
    FormatError
        If one of the files that people edit, or the judgements, is not a file but something else.
    """
    require_regular(*(Path(folder, name) for name in (GUIDELINES, *EDITED, JUDGEMENTS)))
    return Path(folder, PEOPLE).is_file()


def require_initialised(folder: PathLike) -> None:
    """Refuse a folder without a pool, and one that is not initialised, so that nobody can judge yet.

    Raises
    ------
    FormatError
        Says which command to run first.
    """
    require_regular(Path(folder, POOL))
    if not Path(folder, POOL).is_file():
        raise FormatError(
            f"expected the folder of a campaign, found no {POOL} in it; run kgtrec pool first", path=str(folder)
        )
    if not is_initialised(folder):
        raise FormatError(f"found no {PEOPLE}; run kgtrec campaign init first", path=str(folder))


def default_text(name: str) -> str:
    """Read one of the texts that a campaign begins with."""
    return files("kgtrec.formats").joinpath("campaign_defaults", name).read_text(encoding="utf-8")


def default_guidelines(links: str = REQUIRED) -> str:
    """Write guidelines for annotators that fit any campaign, in Markdown.

    Parameters
    ----------
    links : {"required", "asked", "none"}
        Whether annotators' Y and N need a link.
    """
    return default_text(GUIDELINES).replace(_NEED, _INSTEAD.get(links, _NEED))


def read_text(path: PathLike) -> str:
    """Read a text of any form, such as guidelines, each line ended by a line feed.

    Raises
    ------
    FormatError
        If it is not UTF-8, or empty.
    """
    lines = Lines.read(path).without_nul()
    if not lines.data.strip():
        raise FormatError("expected a text, found an empty file", path)
    return "".join(f"{line.text}\n" for line in lines.every())


def read_people(path: PathLike) -> People:
    r"""Read who takes part, from `person role active` lines; one line per person and role, or the same again.

    Raises
    ------
    FormatError
        For the first line that is malformed or contradicts an earlier one; if an active manager is active in another
        role too.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.tsv"
    >>> _ = path.write_text("person\trole\tactive\nann\tannotator\tyes\nann\texpert\tno\n")
    >>> people = read_people(path)
    >>> list(people.names), people.person.tolist(), people.role.tolist(), people.is_active.tolist()
    (['ann'], [0, 0], [0, 2], [True, False])
    """
    rows: dict[tuple[str, int], bool] = {}
    for line in Lines.read(path).without_nul().below_header(_PERSON_COLUMNS).rows:
        person, role, active = line.fields(_PERSON_COLUMNS)
        if person != person.strip():
            raise line.error(f"expected a person's name without white space around it, got {person!r}")
        one_of("a role of", role, PERSON_ROLES, path=path, line=line.number)
        if active not in _IS_ACTIVE:
            raise line.error(f"expected yes or no as active, got {active!r}")
        key = person, PERSON_ROLES.index(role)
        if rows.get(key) != _IS_ACTIVE[active]:  # both of two merged copies may have added somebody
            line.once(key, f"{person!r} as {role}", "each person in a role")
            rows[key] = _IS_ACTIVE[active]
    names, person_code = Vocabulary.encoding(labels_of([person for person, _ in rows]))
    people = People(
        names, person_code, np.array([role for _, role in rows], np.int8), np.array(list(rows.values()), np.bool_)
    )
    if both := people.judging_managers:
        raise FormatError(judging_manager_text(both[0]), path, line=line.seen[both[0], MANAGER])
    return people


def judging_manager_text(person: str) -> str:
    """Describe the error that somebody is an active manager and judges too."""
    return (
        f"expected a manager, who sees all verdicts, to judge nothing, found {person!r} active in another role; let "
        "somebody else manage, or say no as active in one of the two"
    )


def write_people(folder: PathLike, people: People) -> None:
    """Write people.tsv, in the order of ``people``.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    people : People
        Who takes part, and in which role.
    """
    active = {value: text for text, value in _IS_ACTIVE.items()}
    rows = zip(
        people.names.decode(people.person).to_pylist(),
        (PERSON_ROLES[role] for role in people.role),
        (active[bool(value)] for value in people.is_active),
        strict=True,
    )
    write_rows(Path(folder, PEOPLE), _PERSON_COLUMNS, rows)


def read_templates(path: PathLike, broken: list[FormatError] | None = None) -> dict[str, str]:
    r"""Read the question template of each relation, from `relation template` lines; relations need not be the pool's.

    Parameters
    ----------
    path : path
    broken : list of FormatError, optional
        To which lines that cannot be read are added, and left out: people go on judging, and are asked about these
        relations in general words. Default: the first one is raised.

    Raises
    ------
    FormatError
        For the first line that is malformed, repeats a relation, or has an invalid template, see
        :func:`kgtrec.data.campaign.template_parts`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "templates.tsv"
    >>> _ = path.write_text("relation\ttemplate\ncapital\tIs {tail} the capital of {head}?\n")
    >>> read_templates(path)
    {'capital': 'Is {tail} the capital of {head}?'}
    """
    templates: dict[str, str] = {}
    lines: Sequence[TextLine] = ()
    with _collecting(broken):
        lines = Lines.read(path).without_nul().below_header(_TEMPLATE_COLUMNS).rows
    for line in lines:
        with _collecting(broken), in_file(path, line.number):
            relation, template = line.fields(_TEMPLATE_COLUMNS)
            line.once(relation, repr(relation), "each relation")
            template_parts(template)
            templates[relation] = template
    return templates


@contextmanager
def _collecting(broken: list[FormatError] | None) -> Iterator[None]:
    """Add an error to a list, where there is one, and go on."""
    try:
        yield
    except FormatError as error:
        if broken is None:
            raise
        broken.append(error)


def write_templates(folder: PathLike, templates: Mapping[str, str]) -> None:
    """Write templates.tsv, in the order of ``templates``."""
    write_rows(Path(folder, TEMPLATES), _TEMPLATE_COLUMNS, templates.items())


def read_sources(path: PathLike) -> tuple[str, ...]:
    r"""Read the verified hosts, one per line, in lower case; text after ``#`` is a comment.

    Raises
    ------
    FormatError
        For the first line that is not a host, or repeats one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sources.txt"
    >>> _ = path.write_text("# encyclopedias\nen.wikipedia.org\nWikidata.org # items\n")
    >>> read_sources(path)
    ('en.wikipedia.org', 'wikidata.org')
    """
    hosts: list[str] = []
    for line in Lines.read(path).without_nul().rows:
        written = line.text.partition("#")[0].strip()
        host = written.lower()
        if not host:
            continue
        if not HOST.fullmatch(host):
            raise line.error(
                f"expected a host such as en.wikipedia.org, without https:// and path, got {written[:100]!r}"
            )
        line.once(host, repr(host), "each host")
        hosts.append(host)
    return tuple(hosts)


def write_sources(folder: PathLike, sources: Iterable[str]) -> None:
    """Write sources.txt: ``SOURCES_COMMENT``, then one host per line."""
    update_text(Path(folder, SOURCES), SOURCES_COMMENT + "".join(f"{host}\n" for host in sources))


def read_names(path: PathLike, entities: Vocabulary, what: str = "name") -> dict[str, str]:
    r"""Read the names of ``entities``, from `entity name` lines; the header may be missing, as in files of many KGs.

    Entities that are not among ``entities`` are skipped, so the file of a whole KG can be used. Descriptions are read
    likewise, by ``what="description"``.

    Raises
    ------
    FormatError
        For the first line that is malformed or repeats one of ``entities``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "names.tsv"
    >>> _ = path.write_text("entity\tname\nQ90\tParis\nQ64\tBerlin\n")
    >>> read_names(path, Vocabulary.of(["Q64"]))
    {'Q64': 'Berlin'}
    """
    columns = ("entity", what)
    lines = Lines.read(path).without_nul()
    header, rest = lines.without_first()
    if header == "\t".join(columns).encode():
        lines = rest
    labels, names = read_columns(lines, columns)
    code = entities.encode(labels)
    row = np.flatnonzero(code >= 0)
    lines.require_distinct(code, lambda row: repr(labels[row].as_py()), "each entity", among=row)
    kept = arrow_of(row)
    return dict(zip(labels.take(kept).to_pylist(), names.take(kept).to_pylist(), strict=True))


def write_names(folder: PathLike, names: Mapping[str, str], what: str = "name") -> None:
    """Write names.tsv, or descriptions.tsv for ``what="description"``, in the order of ``names``."""
    write_rows(Path(folder, f"{what}s.tsv"), ("entity", what), names.items())


def read_assignments(path: PathLike, pool: Pool, people: People) -> Assignments:
    """Read the assignments, from `annotator task head relation tail` lines, in their order.

    Raises
    ------
    FormatError
        For the first line that is malformed, names a person who is not among ``people``, a triple that is not the
        pool's of that task number, or a task that the annotator has on an earlier line.
    """
    lines = Lines.read(path).without_nul().below_header(ASSIGNMENT_COLUMNS)
    annotator, task, *labels = read_columns(lines, ASSIGNMENT_COLUMNS)
    person = people.names.encode(annotator)
    lines.require(
        person >= 0,
        lambda row: (
            f"expected a person of {PEOPLE}, got {(name := annotator[row].as_py())!r}{nearest(name, people.names)}; "
            "people who left stay there, with no as active; in the line"
        ),
    )
    is_number = values_of(pc.match_substring_regex(task, "^[1-9][0-9]{0,8}$"))
    lines.require(is_number, lambda row: f"expected a task number from 1 on, got {task[row].as_py()!r}; in the line")
    triple = values_of(pc.cast(task, pa.int32())) - np.int32(1)
    lines.require(
        triple < len(pool), lambda row: f"expected a task of 1 to {len(pool)}, got {triple[row] + 1}; in the line"
    )
    asked, triples = pool.questions, pool.triples
    own = (
        asked.entities.encode(labels[0]) == triples.head[triple],
        asked.relations.encode(labels[1]) == triples.relation[triple],
        asked.entities.encode(labels[2]) == triples.tail[triple],
    )
    lines.require(
        np.logical_and.reduce(own),
        lambda row: (
            f"expected the triple that is task {triple[row] + 1} of {POOL}, got another; run kgtrec campaign assign to "
            "write the file again; in the line"
        ),
    )
    key = triple.astype(np.int64) * len(people.names) + person
    found = "task {} of {!r}"
    lines.require_distinct(key, lambda row: found.format(triple[row] + 1, annotator[row].as_py()), "each task")
    return Assignments(person, triple, people.names)


def write_assignments(folder: PathLike, pool: Pool, assignments: Assignments) -> None:
    """Write assignments.tsv, in the order of ``assignments``.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    pool : Pool
        The campaign's pool, which has the labels of the triples.
    assignments : Assignments
        Who judges which triple.
    """
    people, row = assignments.annotators, assignments.triple
    task = pc.cast(arrow_of(row + 1), pa.string())

    def columns(some: slice) -> list[pa.StringArray]:
        return [people.decode(assignments.annotator[some]), task[some], *triple_labels(pool.triples, row[some])]

    with updating(Path(folder, ASSIGNMENTS)) as stream:
        write_tsv(stream, len(row), columns, ASSIGNMENT_COLUMNS)
