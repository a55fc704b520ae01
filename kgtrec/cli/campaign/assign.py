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
@option("--per-triple", "Annotators per triple. Default: as before, first 2.", Whole(1, MOST_PER_TRIPLE))
@option("--seed", "Random seed. Default: as before, first the pool's.", SEED)
def command(campaign: str, per_triple: int | None, seed: int | None) -> None:
    """Assign the open triples of CAMPAIGN to its active annotators; again, when somebody has come or left.

    \b
    # two annotators per triple
    kgtrec campaign assign CAMPAIGN
    # three
    kgtrec campaign assign CAMPAIGN --per-triple 3

    Docs: docs/campaigns.md
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
