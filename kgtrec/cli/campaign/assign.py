"""kgtrec campaign assign."""

from __future__ import annotations

import shlex
from dataclasses import replace

import click

from kgtrec.campaign.gold import gold_notes
from kgtrec.campaign.sharing import shared_out, write_shares
from kgtrec.campaign.track import track
from kgtrec.cli.campaign.next_steps import much_text, next_text, work_text
from kgtrec.cli.common import say
from kgtrec.cli.options import SEED, Whole, option
from kgtrec.data.campaign import MOST_PER_TRIPLE
from kgtrec.formats.campaign.folder import read_campaign, require_initialised
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.report.show import table_text


@click.command(name="assign")
@click.argument("campaign", type=click.Path())
@option("--per-triple", "Annotators per triple. Default: as before, first 2.", Whole(1, MOST_PER_TRIPLE), metavar="N")
@option("--seed", "Of orders and ties. Default: as before, at first the pool's.", SEED)
def command(campaign: str, per_triple: int | None, seed: int | None) -> None:
    """Share the open triples of CAMPAIGN out among its active annotators, and print how much each of them has.

    The triples of a question go to the same annotators, so that one search serves several of them. The questions come
    in one order for everybody, so that work done in part overlaps, and their candidates in one's own. Nothing that was
    judged is lost, and who was given something keeps it. Run it again when somebody has come or left: what the one did
    not judge goes to others, and somebody new gets an even share of what
    nobody has begun. Import before it what is done so far, and export the tasks anew after it. Otherwise it changes
    nothing.

    \b
    kgtrec campaign assign CAMPAIGN
    kgtrec campaign assign CAMPAIGN --per-triple 3 --seed 7
    """
    click.get_current_context().with_resource(campaign_lock(campaign))
    require_initialised(campaign)
    read = read_campaign(campaign)
    changed = shared_out(read, per_triple=per_triple, seed=seed)
    write_shares(campaign, read, changed)
    progress = track(changed)
    people = progress.tables()[2]
    loads = [column for column in people.columns if column.name in ("annotator", "assigned", "judged", "to_do")]
    click.echo(table_text(replace(people, columns=tuple(loads))), nl=False)
    for_people = int(read.automatic.for_people.sum())
    say(work_text(for_people, changed.per_triple))
    say(much_text(for_people))
    say(gold_notes(changed))
    say(next_text(progress, shlex.quote(campaign)))
