"""The command line: one file per command, each imported only when it is called."""

from __future__ import annotations

import contextlib
import gc
import inspect
import io
import os
import pkgutil
import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kgtrec.errors import NO_ROOM, FormatError, KgtrecError, KgtrecWarning, legible, nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TRACE = "KGTREC_TRACE"
_UNREAD = 128 + 13  # the exit code of a program that SIGPIPE ended, as a shell says it
_COMPLETE = "_KGTREC_COMPLETE"  # a shell sets it to get its completion script, or the possible next words
#: packages that compute, match or store the numbers
_COMPUTING = ("numpy", "pandas", "pyarrow", "scipy", "ir-measures", "pytrec-eval-terrier")
_OUTPUTS = {"out", "target", "report_path", "plan"}  # parameters that name what is written
COMMANDS = {
    "data": "Get public data sets by name.",
    "questions": "Turn train, valid and test triples into questions and qrels.",
    "rank": "Turn a system's scores into answer ranks and a TREC run.",
    "evaluate": "Score runs or answer ranks against qrels.",
    "chance": "Compute the chance level of a collection.",
    "published": "Adjust published numbers for chance, and find impossible ones.",
    "align": "Rank the test alignments of two graphs' entities.",
    "pool": "Collect the top answers of several runs, for people to judge.",
    "campaign": "Have a pool judged by people, and write qrels.",
    "meta": "Find out which measures to trust.",
    "explore": "Show why systems get their numbers, question by question.",
    "openworld": "Show what missing facts do to a measure.",
    "study": "Run a whole study, from triples and scores to a report, or write its report anew.",
    "check": "Validate runs, qrels, topics, collections and campaigns.",
    "convert": "Convert runs and qrels between TREC text and Parquet.",
    "demo": "Run the whole job on a family-tree KG; needs no data.",
}


#: commands and options of earlier versions, and what replaces them
_GONE = {
    "adjust": "kgtrec published adjust",
    "baseline": "kgtrec rank COLLECTION --baseline NAME --out FOLDER",
    "calibration": "kgtrec campaign agreement CAMPAIGN --gold",
    "check-paper": "kgtrec published check",
    "links": "kgtrec campaign serve CAMPAIGN --new-link NAME --url URL",
    "report": "kgtrec study STUDY --out page.html",
    "stamp": "kgtrec convert --stamp COLLECTION FILES",
    "ties": "kgtrec evaluate QRELS SYSTEMS --ties all",
    "--against": "kgtrec meta sparsity",
    "--trust-ids": "--mixed",
}


#: headings of the options of a command with more than 8, and the parameters below each; of all others files are
#: "Input", what is shown instead of running the command stands at the end, and the rest is "Method"
_HEADINGS: dict[str, set[str]] = {
    "What is scored": {
        *("measures", "systems", "second_systems", "folder", "sides", "per", "keys", "baselines", "settings", "split"),
        *("data_set", "questions_path", "known_path", "judged_path", "labels", "known", "truth"),
    },
    "Input": {
        *("kind", "input_form", "file_form", "columns", "delimiter", "is_bare", "literals", "chance", "trust"),
        "collection",
    },
    "Method": set(),
    "Output": {"out", "form", "part", "force", "sort", "run_format", "report_path", "merge", "dry_run", "name"},
}
_MOST_OPTIONS = 8  # without headings
_WIDEST_NAME = 26  # of an option with its value, beside its help


class LazyGroup(click.Group):
    """A group with the names of its commands in ``commands_of``, which imports a command only when it is called."""

    def __init__(self, *args: Any, package: str, commands_of: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | _help_parts(kwargs["help"]))
        self.package = package  # holds one module per command, with dashes as underscores
        self.commands_of = commands_of  # name -> one line about it

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_of)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_of:
            return None
        command: click.Command = import_module(f"{self.package}.{cmd_name.replace('-', '_')}").command
        from kgtrec.cli.options import Text

        for param in command.params:
            if param.type is click.STRING:
                param.type = Text()
        if isinstance(command, click.Group):
            return command
        return _Command(command.name, callback=command.callback, params=command.params, **_help_parts(command.help))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands_of:
            ctx.fail(f"unknown command {args[0]!r}{_instead(args[0]) or nearest(args[0], self.commands_of)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the commands that begin with ``incomplete``, without importing any, and the options of the group."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=about) for name, about in self.commands_of.items() if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.commands_of.items()))


class _Command(click.Command):
    """A command that refuses to write to one of its inputs, and whose help has many options under headings."""

    def invoke(self, ctx: click.Context) -> Any:
        from kgtrec.formats.output.outputs import protecting

        with protecting(_inputs(self.params, ctx.params)):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those of each heading together if there are many."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        below: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Options", *_HEADINGS)}
        for option in sorted(options, key=lambda option: option.is_eager):
            heading = "Input" if isinstance(option.type, click.Path) else "Method"
            heading = next((heading for heading, names in _HEADINGS.items() if option.name in names), heading)
            if len(options) <= _MOST_OPTIONS + 1:  # --help
                heading = "Options"
            elif option.is_eager:
                heading = next(heading for heading in reversed(below) if below[heading])
            below[heading].append(_help_record(option, ctx))
        for heading, records in below.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=_WIDEST_NAME)


def _help_parts(text: str | None) -> dict[str, Any]:
    """A command's help without its examples and page, which follow the options."""
    about, _, examples = inspect.cleandoc(text or "").partition("\n\n\b\n")
    return {"help": about, "epilog": f"\b\n{examples}"}


def _help_record(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """The names and the help of an option; many choices follow the help, since that wraps."""
    names, about = option.get_help_record(ctx) or ("", "")
    if len(names) > _WIDEST_NAME and names.endswith("]"):
        names, _, choices = names[:-1].partition(" [")
        about, gap, default = about.partition("  [")
        return f"{names} NAME", f"{about.removesuffix('.')}: {choices.replace('|', ', ')}{gap}{default}"
    return names, about


def _instead(name: str) -> str:
    """What to write instead of a name that no command or option has; "" if that is unknown."""
    if name in _GONE:
        return f"; use {_GONE[name]}"
    if name.startswith("-"):
        from kgtrec.measures.names import describe_measures

        stem, _, cutoff = name.lstrip("-").partition("@")
        for about in describe_measures():
            measure = about.name.replace("[", "").partition("@")[0]
            if stem.casefold() in (measure.rpartition(".")[2].casefold(), *about.trec_eval):
                cutoff = cutoff or "10" * about.name.endswith("@k")  # of those that need one
                return f"; kgtrec evaluate takes it as -m {measure}" + f"@{cutoff}" * bool(cutoff)
        return ""
    groups = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    within = [group for group in groups if name in import_module(f"kgtrec.cli.{group}").command.commands_of]
    return f"; did you mean kgtrec {' or kgtrec '.join(f'{group} {name}' for group in within)}?" if within else ""


def _inputs(parameters: Sequence[click.Parameter], values: Mapping[str, Any]) -> list[str]:
    """The paths among the values of a command's parameters, except those that it writes to.

    Raises
    ------
    BadParameter
        If a path is empty, which would mean the current folder.
    FormatError
        If an input is a named pipe: most commands open an input more than once, and would wait for another writer. One
        that is open already, as bash's <(...), has no name.
    """
    inputs: list[str] = []
    for parameter in parameters:
        if not isinstance(parameter.type, click.Path):
            continue
        value = values.get(str(parameter.name))
        paths = [value] if isinstance(value, str) else value or ()
        if "" in paths:
            raise click.BadParameter("expected the name of a file or folder, found an empty one", param=parameter)
        if parameter.name not in _OUTPUTS:
            inputs += paths
    for path in inputs:
        is_pipe = False
        with contextlib.suppress(OSError):
            is_pipe = Path(path).is_fifo() and Path(path).resolve().is_fifo()
        if is_pipe:
            raise FormatError(
                "expected a file, found a named pipe, which can be read only once; write its contents to a file first",
                path,
            )
    return inputs


def _print_versions(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    """Print kgtrec's version on the first line, those that its numbers depend on below it, and exit."""
    if is_asked and not context.resilient_parsing:
        import platform
        from importlib.metadata import version

        click.echo(f"kgtrec {version('kgtrec')}\npython {platform.python_version()}")
        for package in _COMPUTING:
            click.echo(f"{package} {version(package)}")
        context.exit()


@click.group(
    cls=LazyGroup,
    package="kgtrec.cli",
    commands_of=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Show the versions of kgtrec, Python and the packages that compute, and exit.",
)
def cli() -> None:
    """Evaluate knowledge-graph completion as TREC evaluates retrieval.

    \b
    # the whole job on made-up data
    kgtrec demo --out demo
    # triples -> questions and qrels
    kgtrec questions train.tsv valid.tsv test.tsv --out C
    # scores -> answer ranks and runs
    kgtrec rank C transe.npz --out ranks
    # ranks -> MRR, Hits@k, AP@20, nDCG@20
    kgtrec evaluate C ranks

    Docs: docs/README.md
    """


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, KgtrecWarning):
        click.echo(f"warning: {legible(str(message))}", err=True)


class _Stop:
    """Whether the program received a signal to stop; compiled code may turn the signal into another error."""

    came = False


class _Messages(io.FileIO):
    """Standard error, where a message that cannot be written, since nobody reads it or the disk is full, is lost."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _buffered(stream: Any, kind: type[io.FileIO]) -> Any:
    """A standard stream with a buffer, without which (PYTHONUNBUFFERED) a write that is cut short raises no error."""
    if stream is None:
        return None
    buffer = io.BufferedWriter(kind(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=True)


def _stop(*_: object) -> NoReturn:
    _Stop.came = True
    raise KeyboardInterrupt


def run() -> NoReturn:
    """Run the program ``kgtrec``: call :func:`main` and exit.

    A command runs for a short time: it needs no garbage collection of cycles until there are many, and a complete
    shutdown of the interpreter at the end would take longer than reading the qrels.
    """
    gc.set_threshold(100_000)
    sys.stdout, sys.stderr = _buffered(sys.stdout, io.FileIO), _buffered(sys.stderr, _Messages)
    # a signal from outside leads to the same cleanup as Ctrl-C
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)
    try:
        main()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    for stream in (sys.stdout, sys.stderr):
        # the reader may have closed the stream, or there was none
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _invoke(args: list[str]) -> None:
    try:
        with cli.make_context("kgtrec", args) as context:
            cli.invoke(context)
    except Exception:
        if _Stop.came:
            raise KeyboardInterrupt from None
        raise


def main(args: list[str] | None = None) -> None:
    """Run the command line; an error of the user gives one line and exit code 2."""
    warnings.showwarning = _show_warning
    if args is None and (asked := os.environ.get(_COMPLETE)):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "kgtrec", _COMPLETE, asked))
    try:
        _invoke(list(sys.argv[1:] if args is None else args))
    except click.exceptions.Exit as leaving:
        if leaving.exit_code:
            sys.exit(leaving.exit_code)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and (instead := _instead(error.option_name)):
            error = click.UsageError(f"No such option {error.option_name}{instead}", error.ctx)
        error.show()
        sys.exit(error.exit_code)
    except KgtrecError as error:
        click.echo(f"error: {legible(str(error))}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader of standard output, such as head, has closed it
        sys.exit(_UNREAD)
    except OSError as error:
        prefix = f"{error.filename}: " if error.filename else ""
        ways_out = getattr(error, "__notes__", [])
        if error.errno in NO_ROOM and not ways_out:
            ways_out = ["make room or choose another place, and give the command again"]
        click.echo("; ".join([f"error: {legible(f'{prefix}{error.strerror or error}')}", *ways_out]), err=True)
        sys.exit(2)
    except MemoryError:
        click.echo("error: out of memory; try a smaller --block, --depth, --repeats or --resamples", err=True)
        sys.exit(2)
    except Exception as error:
        # a bug in kgtrec: the user gets a line to report, and the traceback only on request
        if os.environ.get(_TRACE):
            raise
        click.echo(
            f"error: kgtrec failed unexpectedly ({type(error).__name__}: {legible(str(error))}); please report it "
            f"with the output of {_TRACE}=1 kgtrec ...",
            err=True,
        )
        sys.exit(1)
