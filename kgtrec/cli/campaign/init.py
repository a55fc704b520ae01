"""kgtrec campaign init."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from kgtrec.campaign.gold import draw_gold, gold_notes
from kgtrec.campaign.people import changed_people
from kgtrec.campaign.track import track
from kgtrec.campaign.training import with_training
from kgtrec.campaign.wording import draft_template
from kgtrec.cli.campaign.next_steps import next_text, notes_text
from kgtrec.cli.common import say
from kgtrec.cli.options import GOLD_SHARES, PATH, Whole, force_option, option
from kgtrec.data.campaign import (
    ASKED,
    LINKS,
    MANAGER,
    MOST_TRAINING,
    NOT_ASKED,
    REQUIRED,
    Assignments,
    People,
    rule_for_links,
)
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, EXPERT, ROLES, Gold
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning, counted, one_of, warn
from kgtrec.formats.campaign.folder import (
    default_guidelines,
    default_text,
    is_initialised,
    named_entities,
    read_assignments,
    read_campaign,
    read_descriptions,
    read_names,
    read_people,
    read_sources,
    read_templates,
    read_text,
    require_right_settings,
    write_assignments,
    write_descriptions,
    write_names,
    write_people,
    write_settings,
    write_sources,
    write_templates,
)
from kgtrec.formats.campaign.gold import read_gold, write_gold
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.campaign.pools import read_pool, write_campaign_git_files
from kgtrec.formats.output.folders import (
    ASSIGNMENTS,
    DESCRIPTIONS,
    GOLD,
    GUIDELINES,
    JUDGEMENTS,
    NAMES,
    PEOPLE,
    README,
    SOURCES,
    TEMPLATES,
)
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.output.outputs import is_replacing, keep_aside, update_text


@click.command(name="init")
@click.argument("campaign", type=click.Path())
@option("--names", "Names of entities, entity TAB name a line; that of a whole KG will do.", PATH)
@option("--descriptions", "What entities are, entity TAB text a line, to be shown on the page.", PATH)
@option("--templates", "Question templates, relation TAB template a line, under a header.", PATH)
@option("--sources", "Verified hosts, one a line. Without any, every https page will do.", PATH)
@option(
    "--links link_rules",
    "Whether Y and N need a link: required, asked or none; of one role as in adjudicator=asked.",
    multiple=True,
    metavar="[ROLE=]RULE",
)
@option("--gold", "Triples with a known verdict; those of the pool show who judges well.", PATH)
@option("--gold-share", "Draw so much of the pool as gold, for you to fill in.", GOLD_SHARES, metavar="SHARE")
@option(
    "--training",
    "Gold triples outside the pool that annotators judge first, told the answer of each; 0: none.",
    Whole(0, MOST_TRAINING),
    metavar="N",
)
@option("--guidelines", "Guidelines for annotators, Markdown. Default: a page that fits any.", PATH)
@option("--annotator annotators", "Somebody who judges; may be repeated.", multiple=True, metavar="NAME")
@option("--adjudicator adjudicators", "Somebody who settles conflicts.", multiple=True, metavar="NAME")
@option("--expert experts", "Somebody who judges a sample again.", multiple=True, metavar="NAME")
@option("--manager managers", "Somebody who manages and judges nothing.", multiple=True, metavar="NAME")
@option("--left", "Somebody who has left; what they judged stays.", multiple=True, metavar="NAME")
@force_option
def command(
    campaign: str,
    names: str | None,
    descriptions: str | None,
    templates: str | None,
    sources: str | None,
    link_rules: tuple[str, ...],
    gold: str | None,
    gold_share: float | None,
    training: int | None,
    guidelines: str | None,
    annotators: tuple[str, ...],
    adjudicators: tuple[str, ...],
    experts: tuple[str, ...],
    managers: tuple[str, ...],
    left: tuple[str, ...],
) -> None:
    """Add to the pool in CAMPAIGN what annotators need: guidelines, templates, verified sources, names, people.

    What is not named is made: guidelines, a draft of a template per relation, no sources, no names. Files that are
    there already stay as they are, since somebody may have edited them; --force replaces those named here, and keeps
    one of which lines would be lost as NAME.1.tsv. Run it
    again to add people, or to tell who has left; then run kgtrec campaign assign.

    \b
    kgtrec campaign init CAMPAIGN --names names.tsv --annotator ann --annotator bob --adjudicator eve
    kgtrec campaign init CAMPAIGN --annotator cleo --left bob
    kgtrec campaign init CAMPAIGN --templates better.tsv --force
    kgtrec campaign init CAMPAIGN --links asked --links adjudicator=required
    kgtrec campaign init CAMPAIGN --gold-share 0.05
    """
    click.get_current_context().with_resource(campaign_lock(campaign))  # or two that add somebody would lose one
    made, folder = read_pool(campaign), Path(campaign)
    pool = made.pool
    require_right_settings(campaign, made.settings)
    settings, links = _with_links(made.settings, link_rules)
    again = is_initialised(campaign)
    if again and not (folder / JUDGEMENTS).exists():
        raise FormatError(
            "expected the judgements of this campaign, found no such file; put it back, or remove people.tsv "
            "to begin anew",
            path=folder / JUDGEMENTS,
        )
    before = read_people(folder / PEOPLE) if again else People.none()
    roles = {ANNOTATOR: annotators, ADJUDICATOR: adjudicators, EXPERT: experts, MANAGER: managers}
    people, changes = changed_people(before, roles, left)
    changes += links

    # all that was given is read before anything is written
    writers: dict[str, Callable[[], None]] = {}
    if not (folder / README).exists():
        writers[README] = partial(update_text, folder / README, default_text(README))
    if _is_due(folder / GUIDELINES, guidelines):
        text = read_text(guidelines) if guidelines else default_guidelines(rule_for_links(settings, ROLES[ANNOTATOR]))
        writers[GUIDELINES] = partial(update_text, folder / GUIDELINES, text)
    if _is_due(folder / TEMPLATES, templates):
        asked = pool.questions.relations.decode(np.unique(pool.triples.relation)).to_pylist()
        drafts = {relation: draft_template(relation) for relation in sorted(asked, key=str.encode)}
        chosen = read_templates(templates) if templates else drafts
        writers[TEMPLATES] = partial(write_templates, folder, chosen)
    if _is_due(folder / SOURCES, sources):
        if sources is None:
            writers[SOURCES] = partial(write_sources, folder, ())
        elif sources in LINKS and not Path(sources).exists():
            raise KgtrecError(
                f"--sources: expected a file of hosts, found {sources!r}; whether Y and N need a link is --links "
                f"{sources}"
            )
        else:
            read_sources(sources)
            writers[SOURCES] = partial(update_text, folder / SOURCES, read_text(sources))  # with its comments
    own_gold = read_gold(folder / GOLD) if (folder / GOLD).exists() and not gold else Gold.none()
    if gold and _is_due(folder / GOLD, gold):
        own_gold = read_gold(gold)
        writers[GOLD] = partial(write_gold, folder, own_gold)
        changes.append(f"{gold}: {counted(len(own_gold), 'gold triple')}")
    settings, changed = with_training(settings, pool, own_gold, training)
    changes += changed
    if gold_share is not None:
        drawn = draw_gold(pool, made.automatic, settings, own_gold, gold_share)
        if len(drawn) > len(own_gold):
            changes.append(f"drew {counted(len(drawn) - len(own_gold), 'triple')} of the pool as gold")
            own_gold, writers[GOLD] = drawn, partial(write_gold, folder, drawn)
    entities = named_entities(pool, own_gold)
    if _is_due(folder / NAMES, names):
        known = read_names(names, entities) if names else {}
        writers[NAMES] = partial(write_names, folder, known)
        if names:
            changes.append(f"{names}: names of {len(known):,} of the pool's {len(entities):,} entities")
    else:
        read_names(folder / NAMES, entities)
    if descriptions and _is_due(folder / DESCRIPTIONS, descriptions):
        told = read_descriptions(descriptions, entities)
        writers[DESCRIPTIONS] = partial(write_descriptions, folder, told)
        changes.append(f"{descriptions}: descriptions of {len(told):,} of the pool's {len(entities):,} entities")
    elif (folder / DESCRIPTIONS).exists():
        read_descriptions(folder / DESCRIPTIONS, entities)

    # and so is what stays
    if (folder / JUDGEMENTS).exists():
        with warnings.catch_warnings(action="ignore", category=KgtrecWarning):  # said when it is read again
            read_judgements(folder / JUDGEMENTS, pool)
    if (folder / ASSIGNMENTS).exists():
        read_assignments(folder / ASSIGNMENTS, pool, people)
    for name, reader in ((TEMPLATES, read_templates), (SOURCES, read_sources)):
        if name not in writers:
            reader(folder / name)

    if settings != made.settings:
        write_settings(folder, settings)
    for name, write in writers.items():
        _write(folder / name, write)
    if not (folder / ASSIGNMENTS).exists():
        write_assignments(folder, pool, Assignments.none(people.names))
    (folder / JUDGEMENTS).touch()
    write_campaign_git_files(folder, folder)
    if not again or people is not before:
        writers[PEOPLE] = partial(write_people, folder, people)
        writers[PEOPLE]()  # last: it tells that all is there
    for change in changes:
        say(change)
    if links and GUIDELINES not in writers:
        say(f"{folder / GUIDELINES} tells annotators which verdicts need a link; edit it if that has changed")
    say(f"{campaign}: " + (f"wrote {', '.join(writers)}" if writers else "nothing to change"))
    found = read_campaign(campaign)
    progress = track(found)
    if annotators and people is not before and progress.step == "judge":
        progress = replace(progress, step="assign")  # all tasks are somebody's, but not that of who has come
    if notes := notes_text(progress):
        say(notes)
    if notes := gold_notes(found):
        say(notes)
    say(next_text(progress, shlex.quote(campaign)))


def _with_links(settings: Mapping[str, Any], rules: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The settings with other rules for links, and what is different, in words.

    Only what was changed is written down, so that "required" in the settings tells that it was not always.
    """
    chosen: dict[str, str] = {}
    for text in rules:
        role, _, rule = text.rpartition("=")
        one_of("a rule for --links among", rule, LINKS)
        if role:
            one_of("a role for --links among", role, ROLES)
        if chosen.setdefault(role, rule) != rule:
            whose = role or "all roles"
            raise KgtrecError(f"--links: expected one rule for {whose}, found {chosen[role]} and {rule}")
    if every := chosen.pop("", ""):
        chosen = dict.fromkeys(ROLES, every) | chosen
    changed = {name: rule for name, rule in chosen.items() if rule != rule_for_links(settings, name)}
    if not changed:
        return dict(settings), []
    told = {REQUIRED: "Y and N need a link", ASKED: "Y and N may have a link", NOT_ASKED: "no link is asked for"}
    return {**settings, "links": {**settings.get("links", {}), **changed}}, [
        f"{name}: {told[rule]}" for name, rule in changed.items()
    ]


def _write(path: Path, write: Callable[[], None]) -> None:
    """Write a file, and keep what was there under another name if it had lines that the new one lacks."""
    before = path.read_bytes().splitlines() if path.exists() else []
    aside = keep_aside(path) if before else None
    write()
    if aside is None:
        return
    if set(before) <= set(path.read_bytes().splitlines()):
        aside.unlink()
    else:
        warn(f"{path}: had lines that the new file lacks; it is kept as {aside.name}")


def _is_due(path: Path, given: str | None) -> bool:
    """Whether a file is to be written; refuses to lose what somebody may have edited."""
    if not path.exists():
        return True
    if given is not None and not is_replacing():
        raise FormatError(f"is there already, and may have been edited; replace it by {given} with --force", path=path)
    return given is not None
