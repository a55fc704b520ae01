"""kgtrec campaign serve."""

from __future__ import annotations

import contextlib
import re
import shlex
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import Whole, option, refuse_idle
from kgtrec.errors import FormatError, KgtrecError, extra_text

if TYPE_CHECKING:
    from kgtrec.serve.app import Site

_NEEDED = ("flask", "waitress", "markdown_it", "itsdangerous", "werkzeug")


@click.command(name="serve")
@click.argument("campaign", type=click.Path(), required=False)
@option("--host", "Address to listen on.", default="127.0.0.1", metavar="ADDRESS")
@option("--port", "Port to listen on; 0: any.", Whole(0, 65_535), 8765)
@option("--url", "Address under which people reach it, such as https://judge.example.org.", metavar="URL")
@option("--demo", "Serve the campaign of kgtrec demo, made in CAMPAIGN or a temporary folder.", is_flag=True)
@option("--new-link names", "Print a new link for NAME and exit; repeatable.", metavar="NAME", multiple=True)
def command(campaign: str | None, host: str, port: int, url: str | None, demo: bool, names: tuple[str, ...]) -> None:
    """Serve the page where the people of CAMPAIGN judge, until Ctrl-C; prints a link for each of them.

    \b
    # try it
    kgtrec campaign serve --demo
    # behind a proxy with TLS
    kgtrec campaign serve CAMPAIGN --url https://judge.example.org

    Docs: docs/serve.md
    """
    require_serve()
    if names:
        refuse_idle(("host", "port", "demo"), "--new-link")
        if campaign is None:
            raise click.UsageError("expected CAMPAIGN with --new-link")
        click.echo("\n".join(_new_links(campaign, dict.fromkeys(names), url)))
        return
    if campaign is None and not demo:
        raise click.UsageError("expected CAMPAIGN, or --demo")
    from kgtrec.serve.run import serve

    with contextlib.ExitStack() as held:
        serve(_demo(campaign, held) if demo else str(campaign), host=host, port=port, url=url, ready=_print_links)
    say("stopped")


def _new_links(folder: str, names: Collection[str], url: str | None) -> list[str]:
    """A new link for each person; no link changes, and no file is made, where that is refused for one of them."""
    from kgtrec.formats.campaign.folder import require_initialised
    from kgtrec.formats.output.folders import SERVE_STATE
    from kgtrec.serve.auth import require_active
    from kgtrec.serve.state import State

    require_initialised(folder)
    for name in names:
        require_active(folder, name)
    if url and not re.match(r"https?://\w", url):
        raise click.UsageError(f"expected --url as https://judge.example.org, found {url!r}")
    if url or Path(folder, SERVE_STATE).exists():
        with contextlib.closing(State(folder)) as state:
            if own := url or state.url():
                return [state.link(name, own) for name in names]
    raise KgtrecError("expected --url URL, since the page was not served yet")


def _print_links(site: Site) -> None:
    """Print a new link for each person who has none, and what else there is to know."""
    from kgtrec.serve.auth import active_roles

    folder, linked = site.service.folder, dict(site.state.links())
    roles = active_roles(folder)
    for name, own in roles.items():
        if name not in linked:
            click.echo(f"{name} ({', '.join(own)}): {site.state.link(name, site.url)}")
    if known := [name for name in roles if name in linked]:
        say(
            f"{', '.join(known)}: links are made already; for a new one: kgtrec campaign serve "
            f"{shlex.quote(str(folder))} --new-link NAME"
        )
    if not any("manager" in own for own in roles.values()):
        say(f"nobody manages it; for a dashboard: kgtrec campaign init {shlex.quote(str(folder))} --manager NAME")
    say(f"{folder}: served at {site.url}; stop with Ctrl-C")


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
            f"{extra_text('serve')}"
        )


def _demo(campaign: str | None, held: contextlib.ExitStack) -> str:
    """The folder of the demo's campaign, made where it is not there."""
    from kgtrec.cli.demo_steps import write_demo_campaign
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
