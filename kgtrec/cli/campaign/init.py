"""kgtrec campaign init."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import numpy as np

from kgtrec.campaign.tasks import draft_template
from kgtrec.campaign.track import track
from kgtrec.cli.campaign.next_steps import next_text, notes_text
from kgtrec.cli.common import say
from kgtrec.data.campaign import Assignments, People
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning, nearest
from kgtrec.formats.campaign.folder import (
    default_guidelines,
    is_initialised,
    read_assignments,
    read_campaign,
    read_names,
    read_people,
    read_sources,
    read_templates,
    read_text,
    write_assignments,
    write_names,
    write_people,
    write_sources,
    write_templates,
)
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.campaign.pools import BY, read_pool
from kgtrec.formats.output.folders import ASSIGNMENTS, GUIDELINES, JUDGEMENTS, NAMES, PEOPLE, SOURCES, TEMPLATES
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.output.outputs import update_text


@click.command(name="init")
@click.argument("campaign", type=click.Path())
@click.option(
    "--names", type=click.Path(), help="Names of entities, entity TAB name a line; that of a whole KG will do."
)
@click.option(
    "--templates", type=click.Path(), help="Question templates, relation TAB template a line, under a header."
)
@click.option("--sources", type=click.Path(), help="Verified hosts, one a line. Without any, every https page will do.")
@click.option(
    "--guidelines", type=click.Path(), help="Guidelines for annotators, Markdown. Default: a page that fits any."
)
@click.option("--annotator", "annotators", multiple=True, metavar="NAME", help="Somebody who judges; may be repeated.")
@click.option("--adjudicator", "adjudicators", multiple=True, metavar="NAME", help="Somebody who settles conflicts.")
@click.option("--expert", "experts", multiple=True, metavar="NAME", help="Somebody who judges a sample again.")
@click.option("--left", multiple=True, metavar="NAME", help="Somebody who has left; what they judged stays.")
@click.option(
    "--force", is_flag=True, help="Replace files that are there by those named here; edited ones stay, as NAME.1.tsv."
)
def command(
    campaign: str,
    names: str | None,
    templates: str | None,
    sources: str | None,
    guidelines: str | None,
    annotators: tuple[str, ...],
    adjudicators: tuple[str, ...],
    experts: tuple[str, ...],
    left: tuple[str, ...],
    force: bool,
) -> None:
    """Add to the pool in CAMPAIGN what annotators need: guidelines, templates, verified sources, names, people.

    What is not named is made: guidelines, a draft of a template per relation, no sources, no names. Files that are
    there already stay as they are, since somebody may have edited them; --force replaces those named here. Run it
    again to add people, or to tell who has left; then run kgtrec campaign assign.

    \b
    kgtrec campaign init CAMPAIGN --names names.tsv --annotator ann --annotator bob --adjudicator eve
    kgtrec campaign init CAMPAIGN --annotator cleo --left bob
    kgtrec campaign init CAMPAIGN --templates better.tsv --force
    """
    click.get_current_context().with_resource(campaign_lock(campaign))  # or two that add somebody would lose one
    pool, folder = read_pool(campaign).pool, Path(campaign)
    again = is_initialised(campaign)
    if again and not (folder / JUDGEMENTS).exists():
        raise FormatError(
            "expected the judgements of this campaign, found no such file; put it back, or remove people.tsv "
            "to begin anew",
            path=folder / JUDGEMENTS,
        )
    before = read_people(folder / PEOPLE) if again else People.none()
    roles = {ANNOTATOR: annotators, ADJUDICATOR: adjudicators, EXPERT: experts}
    people, changes = _changed(before, roles, left)

    # all that was given is read before anything is written
    writers: dict[str, Callable[[], None]] = {}
    if _is_due(folder / GUIDELINES, guidelines, force=force):
        text = read_text(guidelines) if guidelines else default_guidelines()
        writers[GUIDELINES] = partial(update_text, folder / GUIDELINES, text, by=BY)
    if _is_due(folder / TEMPLATES, templates, force=force):
        asked = pool.questions.relations.decode(np.unique(pool.triples.relation)).to_pylist()
        drafts = {relation: draft_template(relation) for relation in sorted(asked, key=str.encode)}
        chosen = read_templates(templates) if templates else drafts
        writers[TEMPLATES] = partial(write_templates, folder, chosen)
    if _is_due(folder / SOURCES, sources, force=force):
        if sources is None:
            writers[SOURCES] = partial(write_sources, folder, ())
        else:
            read_sources(sources)
            writers[SOURCES] = partial(update_text, folder / SOURCES, read_text(sources), by=BY)  # with its comments
    if _is_due(folder / NAMES, names, force=force):
        known = read_names(names, pool.questions.entities) if names else {}
        writers[NAMES] = partial(write_names, folder, known)
        if names:
            changes.append(f"{names}: names of {len(known):,} of the pool's {len(pool.questions.entities):,} entities")

    # and so is what stays
    if (folder / JUDGEMENTS).exists():
        with warnings.catch_warnings(action="ignore", category=KgtrecWarning):  # said when it is read again
            read_judgements(folder / JUDGEMENTS, pool)
    if (folder / ASSIGNMENTS).exists():
        read_assignments(folder / ASSIGNMENTS, pool, people)
    for name, reader in ((TEMPLATES, read_templates), (SOURCES, read_sources)):
        if name not in writers:
            reader(folder / name)
    if NAMES not in writers:
        read_names(folder / NAMES, pool.questions.entities)

    for write in writers.values():
        write()
    if not (folder / ASSIGNMENTS).exists():
        write_assignments(folder, pool, Assignments.none(people.names))
    (folder / JUDGEMENTS).touch()
    if not again or people is not before:
        writers[PEOPLE] = partial(write_people, folder, people)
        writers[PEOPLE]()  # last: it tells that all is there
    for change in changes:
        say(change)
    say(f"{campaign}: " + (f"wrote {', '.join(writers)}" if writers else "nothing to change"))
    progress = track(read_campaign(campaign))
    if annotators and people is not before and progress.step == "judge":
        progress = replace(progress, step="assign")  # all tasks are somebody's, but not that of who has come
    if notes := notes_text(progress):
        say(notes)
    say(next_text(progress, shlex.quote(campaign)))


def _is_due(path: Path, given: str | None, *, force: bool) -> bool:
    """Whether a file is to be written; refuses to lose what somebody may have edited."""
    if not path.exists():
        return True
    if given is not None and not force:
        raise FormatError(f"is there already, and may have been edited; replace it by {given} with --force", path=path)
    return given is not None


def _changed(people: People, named: dict[int, tuple[str, ...]], left: tuple[str, ...]) -> tuple[People, list[str]]:
    """The people with some more, and without those who have left; and what is different, in words.

    The same object where nothing is.
    """
    rows = {
        (people.names[person], int(role)): bool(active)
        for person, role, active in zip(people.person, people.role, people.is_active, strict=True)
    }
    before, changes = dict(rows), []
    for role, names in named.items():
        for name in names:
            if name != " ".join(name.split()) or not name.isprintable() or not name:
                raise KgtrecError(f"expected a name without white space around it, of one line, got {name!r}")
            if not rows.get((name, role), False):
                changes.append(f"{name} is {'back as' if (name, role) in rows else 'now'} {ROLES[role]}")
            rows[name, role] = True
    everybody = {name for name, _ in rows}
    for name in left:
        if name not in everybody:
            raise KgtrecError(f"--left: expected somebody of {PEOPLE}, got {name!r}{nearest(name, everybody)}")
        if any(name in names for names in named.values()):
            raise KgtrecError(f"expected {name!r} either to take part or to have left, got both")
        for key in [key for key in rows if key[0] == name and rows[key]]:
            rows[key] = False
            changes.append(f"{name} has left as {ROLES[key[1]]}")
    if rows == before:
        return people, changes
    names_of, person = Vocabulary.encoding([name for name, _ in rows])
    role_of = np.array([role for _, role in rows], np.int8)
    return People(names_of, person, role_of, np.array(list(rows.values()), np.bool_)), changes
