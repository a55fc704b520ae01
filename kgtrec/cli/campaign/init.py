"""kgtrec campaign init."""

from __future__ import annotations

import shlex
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
from kgtrec.campaign.wording import draft_template, relations_in
from kgtrec.cli.campaign.next_steps import next_text, notes_text
from kgtrec.cli.common import say
from kgtrec.cli.options import GOLD_SHARES, PATH, Whole, force_option, names_option, option, stacked
from kgtrec.data.campaign import (
    ASKED,
    LINKS,
    MOST_TRAINING,
    NOT_ASKED,
    PERSON_ROLES,
    REQUIRED,
    Assignments,
    People,
    rule_for_links,
)
from kgtrec.data.judgements import ANNOTATOR, ROLES, Gold
from kgtrec.data_sets.wording import shipped_templates
from kgtrec.errors import FormatError, KgtrecError, counted, one_of, unwarned, warn
from kgtrec.formats.campaign import folder as files
from kgtrec.formats.campaign.gold import read_gold, write_gold
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.campaign.pools import read_pool, write_campaign_git_files, write_settings
from kgtrec.formats.output import folders as names
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.output.outputs import is_replacing, keep_aside, update_text

_PEOPLE = {
    "annotator": "Person who judges",
    "adjudicator": "Person who settles conflicts",
    "expert": "Person who judges a sample again",
    "manager": "Person who manages and judges nothing",
    "left": "Person who has left, and whose verdicts stay",
}


@click.command(name="init")
@click.argument("campaign", type=click.Path())
@names_option
@option("--descriptions", "File of entity TAB description, shown on the page.", PATH)
@option("--templates", "Question templates: relation TAB template, with a header.", PATH)
@option("--sources", "Verified hosts, one a line. Default: every https page.", PATH)
@option("--links", "Links for Y and N: required, asked or none; repeatable.", multiple=True, metavar="[ROLE=]RULE")
@option("--gold", "Triples with a known verdict, to check annotators.", PATH)
@option("--gold-share", "Draw this share of the pool as gold, for you to fill in.", GOLD_SHARES)
@option("--training", "Gold triples outside the pool to judge first; 0: none.", Whole(0, MOST_TRAINING))
@option("--guidelines", "Guidelines for annotators, Markdown. Default: a page that fits any.", PATH)
@stacked(
    *(option(f"--{role}", f"{about}; repeatable.", multiple=True, metavar="NAME") for role, about in _PEOPLE.items())
)
@force_option
def command(
    campaign: str, links: tuple[str, ...], gold_share: float | None, training: int | None, **given: Any
) -> None:
    """Add to the pool in CAMPAIGN what annotators need: guidelines, question templates, verified sources, names,
    people.

    \b
    # the first time
    kgtrec campaign init CAMPAIGN --names names.tsv --annotator ann --annotator bob --adjudicator eve
    # somebody new, and somebody who left
    kgtrec campaign init CAMPAIGN --annotator cleo --left bob

    Docs: docs/campaigns.md
    """
    click.get_current_context().with_resource(campaign_lock(campaign))  # or two that add somebody would lose one
    made, folder = read_pool(campaign), Path(campaign)
    pool, judgements = made.pool, folder / names.JUDGEMENTS
    files.require_right_settings(campaign, made.settings)
    settings, changed_links = _with_links(made.settings, links)
    again = files.is_initialised(campaign)
    if again and not judgements.exists():
        raise FormatError(
            "expected the judgements of this campaign, found no such file; put it back, or remove people.tsv "
            "to begin anew",
            path=judgements,
        )
    before = files.read_people(folder / names.PEOPLE) if again else People.none()
    roles = {code: given[role] for code, role in enumerate(PERSON_ROLES)}
    people, changes = changed_people(before, roles, given["left"])
    changes += changed_links

    # all that is given, and what stays, is read before anything is written
    writers: dict[str, Callable[[], None]] = {}

    def content(name: str, read: Callable[[str | Path], Any], write: Callable[[Any], None], default: Any = None) -> Any:
        """What a file will hold; it is written where it is given, or where it is not there and has a default."""
        path, source = folder / name, given.get(Path(name).stem)
        if source is None and path.exists():
            return read(path) if name in files.EDITED else None
        if source and path.exists() and not is_replacing():
            text = f"is there already, and may have been edited; replace it by {source} with --force"
            raise FormatError(text, path)
        value = read(source) if source else default
        if value is not None:
            writers[name] = partial(write, value)
        return value

    def text(name: str, default: str, read: Callable[[str | Path], Any] = files.read_text) -> None:
        content(name, read, partial(update_text, folder / name), default)

    text(names.README, files.default_text(names.README))
    text(names.GUIDELINES, files.default_guidelines(rule_for_links(settings, ROLES[ANNOTATOR])))
    codes = np.unique(pool.triples.relation)
    asked = {part for relation in pool.questions.relations.decode(codes).to_pylist() for part in relations_in(relation)}
    data_set, templates = shipped_templates(asked)
    templates = templates or {relation: draft_template(relation) for relation in sorted(asked, key=str.encode)}
    used = content(names.TEMPLATES, files.read_templates, partial(files.write_templates, folder), templates)
    if data_set and used is templates:
        changes.append(f"{names.TEMPLATES}: the questions for the relations of {data_set} that come with kgtrec")
    text(names.SOURCES, files.SOURCES_COMMENT, _sources_text)
    gold = content(names.GOLD, read_gold, partial(write_gold, folder)) or Gold.none()
    if names.GOLD in writers:
        changes.append(f"{given['gold']}: {counted(len(gold), 'gold triple')}")
    settings, changed_training = with_training(settings, pool, gold, training)
    changes += changed_training
    if gold_share is not None:
        drawn = draw_gold(pool, made.automatic, settings, gold, gold_share)
        if len(drawn) > len(gold):
            changes.append(f"drew {counted(len(drawn) - len(gold), 'triple')} of the pool as gold")
            gold, writers[names.GOLD] = drawn, partial(write_gold, folder, drawn)
    entities = files.named_entities(pool, gold)
    for name, what, default in ((names.NAMES, "name", {}), (names.DESCRIPTIONS, "description", None)):
        read, write = partial(files.read_names, entities=entities, what=what), partial(files.write_names, folder)
        known = content(name, read, partial(write, what=what), default)
        if source := given[Path(name).stem]:
            what = f"{Path(name).stem} of {len(known):,} of the pool's {len(entities):,} entities"
            changes.append(f"{source}: {what}")
    if judgements.exists():
        with unwarned():  # the warnings come when it is read again
            read_judgements(judgements, pool)
    if (folder / names.ASSIGNMENTS).exists():
        files.read_assignments(folder / names.ASSIGNMENTS, pool, people)

    if settings != made.settings:
        write_settings(folder, settings)
    for name, write_file in writers.items():
        _replace(folder / name, write_file)
    if not (folder / names.ASSIGNMENTS).exists():
        files.write_assignments(folder, pool, Assignments.none(people.names))
    judgements.touch()
    write_campaign_git_files(folder, folder)
    if not again or people is not before:
        writers[names.PEOPLE] = partial(files.write_people, folder, people)
        writers[names.PEOPLE]()  # last: where it is, all is there
    for change in changes:
        say(change)
    if changed_links and names.GUIDELINES not in writers:
        say(f"{folder / names.GUIDELINES} says which verdicts need a link; edit it if that has changed")
    say(f"{campaign}: " + (f"wrote {', '.join(writers)}" if writers else "nothing to change"))
    read_again = files.read_campaign(campaign)
    progress = track(read_again)
    if given["annotator"] and people is not before and progress.step == "judge":
        progress = replace(progress, step="assign")  # all tasks are somebody's, but not that of who has come
    say(notes_text(progress))
    say(gold_notes(read_again))
    say(next_text(progress, shlex.quote(campaign)))


def _sources_text(path: str | Path) -> str:
    """The text of a file of hosts, with its comments; where it has no host, that of a new campaign."""
    if path in LINKS and not Path(path).exists():
        raise KgtrecError(
            f"--sources: expected a file of hosts, found {path!r}; whether Y and N need a link is --links {path}"
        )
    return files.read_text(path) if files.read_sources(path) else files.SOURCES_COMMENT


def _with_links(settings: Mapping[str, Any], rules: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The settings with other rules for links, and what is different, in words.

    Only what was changed is written down, so that "required" in the settings means that it was not always.
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
    effect = {REQUIRED: "Y and N need a link", ASKED: "Y and N may have a link", NOT_ASKED: "no link is asked for"}
    return {**settings, "links": {**settings.get("links", {}), **changed}}, [
        f"{name}: {effect[rule]}" for name, rule in changed.items()
    ]


def _replace(path: Path, write: Callable[[], None]) -> None:
    """Write a file, and keep what was there under another name if it had lines that the new one lacks."""
    aside = keep_aside(path) if path.exists() and path.stat().st_size else None
    write()
    if aside is None:
        return
    if set(aside.read_bytes().splitlines()) <= set(path.read_bytes().splitlines()):
        aside.unlink()
    else:
        warn(f"{path}: had lines that the new file lacks; it is kept as {aside.name}")
