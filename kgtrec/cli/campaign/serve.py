"""kgtrec campaign serve."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import Whole, option
from kgtrec.errors import FormatError, KgtrecError

_NEEDED = ("flask", "waitress", "markdown_it", "itsdangerous", "werkzeug")


@click.command(name="serve")
@click.argument("campaign", type=click.Path(), required=False)
@option("--host", "Address to listen on.", default="127.0.0.1", metavar="ADDRESS")
@option("--port", "Port to listen on; 0: any.", Whole(0, 65_535), 8765)
@option("--url", "Address under which people reach it, such as https://judge.example.org.", metavar="URL")
@option("--demo", "Serve the campaign of kgtrec demo, made in CAMPAIGN or for this time only.", is_flag=True)
@option(
    "--new-link person",
    "Make NAME a new link and leave; the former one, and who came in by it, is out at once.",
    metavar="NAME",
)
def command(campaign: str | None, host: str, port: int, url: str | None, demo: bool, person: str | None) -> None:
    """Serve the page where the people of CAMPAIGN judge, until Ctrl-C or SIGTERM.

    Each person who has none is given a link, which is printed once: only a hash of it is stored. --new-link makes a new
    one, which works at once, also while the page is served. Verdicts are checked as kgtrec campaign import does and
    added to judgements.jsonl before the page says that they are stored. All other commands may be used meanwhile.

    It speaks plain HTTP, by default to this machine alone. To put it on the internet, run a proxy with TLS in front
    of it, such as Caddy or nginx, and give the address of that as --url. Needs kgtrec[serve].

    \b
    kgtrec campaign serve --demo
    kgtrec campaign serve CAMPAIGN
    kgtrec campaign serve CAMPAIGN --url https://judge.example.org
    kgtrec campaign serve CAMPAIGN --new-link ann
    """
    require_serve()
    if campaign is None and not demo:
        raise click.UsageError("expected CAMPAIGN, or --demo")
    from kgtrec.formats.campaign.folder import read_people, require_initialised
    from kgtrec.formats.output.folders import PEOPLE
    from kgtrec.serve.auth import Gate
    from kgtrec.serve.links import active_roles, new_link
    from kgtrec.serve.run import serve
    from kgtrec.serve.state import State, key_of

    if campaign is not None and person is not None:
        require_initialised(campaign)
        with contextlib.closing(State(campaign)) as state:
            own = (url or state.url() or "").rstrip("/")
            if not own:
                raise KgtrecError("expected --url URL, since the page was not served yet")
            roles = active_roles(read_people(Path(campaign, PEOPLE)))
            click.echo(new_link(Gate(state, key_of(campaign)), own, person, roles))
        return
    with contextlib.ExitStack() as held:
        if demo:
            campaign = _demo(campaign, held)
        folder = str(campaign)

        def ready(own: str) -> None:
            with contextlib.closing(State(folder)) as state:
                gate, roles = Gate(state, key_of(folder)), active_roles(read_people(Path(folder, PEOPLE)))
                known = {name for name, _ in state.links()}
                for name in roles:
                    if name not in known:
                        click.echo(f"{name} ({', '.join(roles[name])}): {new_link(gate, own, name, roles)}")
            if known & roles.keys():
                say(
                    f"{', '.join(name for name in roles if name in known)}: links are made already; for a new one: "
                    f"kgtrec campaign serve {shlex.quote(folder)} --new-link NAME"
                )
            if not any("manager" in own_roles for own_roles in roles.values()):
                say(f"nobody manages it; for a dashboard: kgtrec campaign init {shlex.quote(folder)} --manager NAME")
            say(f"{folder}: served at {own}; stop with Ctrl-C")

        serve(folder, host=host, port=port, url=url, ready=ready)
    say("stopped")


def require_serve(needed: Sequence[str] = _NEEDED) -> None:
    """Refuse to go on without packages of ``kgtrec[serve]``.

    Raises
    ------
    KgtrecError
        With how to install them.
    """
    from importlib.util import find_spec

    if missing := [name for name in needed if find_spec(name) is None]:
        raise KgtrecError(
            f"expected {', '.join(missing).replace('markdown_it', 'markdown-it-py')} for the page; "
            'pip install "kgtrec[serve]"'
        )


def _demo(campaign: str | None, held: contextlib.ExitStack) -> str:
    """The folder of the demo's campaign, made where it is not there."""
    from kgtrec.cli.demo_page import write_demo_campaign
    from kgtrec.formats.output.folders import SETTINGS

    if campaign is None:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="kgtrec-demo-"))) / "campaign"
    else:
        folder = Path(campaign)
        if (folder / SETTINGS).is_file():
            return campaign  # it goes on
        if folder.exists():
            raise FormatError("expected a new folder for the campaign of the demo, found one", path=folder)
    say("making the campaign of the demo")
    write_demo_campaign(folder)
    return str(folder)
