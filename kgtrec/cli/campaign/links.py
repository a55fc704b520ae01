"""kgtrec campaign links."""

from __future__ import annotations

from pathlib import Path

import click

from kgtrec.cli.campaign.serve import require_serve
from kgtrec.errors import KgtrecError


@click.command(name="links")
@click.argument("campaign", type=click.Path())
@click.option("--person", metavar="NAME", help="Whose link.")
@click.option("--new", is_flag=True, help="Make a new link; the former one, and who came in by it, is out at once.")
@click.option("--url", metavar="URL", help="Address of the page. Default: that under which it was served last.")
def command(campaign: str, person: str | None, new: bool, url: str | None) -> None:
    """Tell who of CAMPAIGN has a link to its page, or make a new one.

    Only a hash of each link is stored, so a lost link cannot be shown again. A new one works at once, also while the
    page is served. Needs kgtrec[serve].

    \b
    kgtrec campaign links CAMPAIGN
    kgtrec campaign links CAMPAIGN --person ann --new
    """
    require_serve()
    from kgtrec.formats.campaign.folder import read_people, require_initialised
    from kgtrec.formats.output.folders import PEOPLE
    from kgtrec.serve.auth import Gate
    from kgtrec.serve.links import active_roles, new_link, require_person
    from kgtrec.serve.state import State, key_of

    if new and person is None:
        raise click.UsageError("expected --person NAME with --new")
    require_initialised(campaign)
    roles = active_roles(read_people(Path(campaign, PEOPLE)))
    if person is not None:
        require_person(person, roles)
    state = State(campaign)
    try:
        if new:
            own = (url or state.url() or "").rstrip("/")
            if not own:
                raise KgtrecError("expected --url URL, since the page was not served yet")
            click.echo(new_link(Gate(state, key_of(campaign)), own, str(person), roles))
            return
        known = {name for name, _ in state.links()}
    finally:
        state.close()
    for name in roles if person is None else [person]:
        click.echo(f"{name}: {'has a link' if name in known else 'has no link'}")
