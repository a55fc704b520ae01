"""Options that several commands share, with the same help and the same checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kgtrec.data.questions import SIDES
from kgtrec.data.triples import FILTERS, SPLITS
from kgtrec.errors import KgtrecError, legible, nearest

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from click.shell_completion import CompletionItem

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic only since click 8.2

Command = Callable[..., Any]

_MIXED = "kgtrec.mixed"
_RAW, _STATIC = "raw", "static"
_WHOLE = {(_RAW,): (), (_STATIC,): FILTERS}
#: upper limits of options, above every practical value: beyond them arrays and generators fail
MOST_SEED = 2**63 - 1
MOST_SAMPLES = 1_000_000  # repeats and resamples, as in the configuration of a study
MOST_WORKERS = 1_024
MOST_DRAWS = 100_000  # sets of labels
MOST_PEOPLE = 1_000_000  # of a family tree
MOST_COUNT = 1_000_000_000  # ranks, rows, triples, tasks, questions


class Text(click.types.StringParamType):
    """A string; bytes on the command line that are not UTF-8 are an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"expected text in UTF-8, found {legible(text)}", param, ctx)
        return text


class Whole(click.types.IntParamType):
    """A whole number from ``least`` to ``most``."""

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if not self.least <= number <= self.most:
            text = str(value)
            shown = text if len(text) <= 40 else f"{text[:40]}... ({len(text)} characters)"
            self.fail(f"expected a whole number from {self.least:,} to {self.most:,}, found {shown}", param, ctx)
        return number


class Real(click.types.FloatParamType):
    """A finite number in a range."""

    def __init__(self, least: float | None = None, most: float | None = None, **ends: bool) -> None:
        self.range = click.FloatRange(least, most, **ends)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "X"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _finite(self, self.range.convert(value, param, ctx), value, param, ctx)


def _finite(
    kind: click.ParamType[Any], number: float, value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    if not math.isfinite(number):
        kind.fail(f"expected a finite number, found {value}", param, ctx)
    return number


PATH = click.Path()
SEED = Whole(0, MOST_SEED)
COUNT = Whole(1, MOST_COUNT)
SHARE = Real(0, 1, min_open=True, max_open=True)
GOLD_SHARES = Real(0, 1, max_open=True)


def option(
    names: str, about: str, kind: _ParamType | Iterable[str] | None = None, default: Any = None, **more: Any
) -> Callable[[Command], Command]:
    """Add an option with its help, which shows the default; ``names``: as it is typed, then its parameter, if another.

    ``kind`` is a type, or the choices. "Default: ..." at the end of ``about`` is shown like the default of others.
    """
    about, _, described = about.partition(" Default: ")
    if described:
        about += f"  [default: {described.removesuffix('.')}]"
    chosen = kind if kind is None or isinstance(kind, click.ParamType) else click.Choice(tuple(kind))
    if default is not None:
        more |= {"default": default, "show_default": True}
    return click.option(*names.split(), type=chosen, help=about, **more)


def stacked(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def at_least(least: int) -> Whole:
    """Return a number of ranks, rows, triples, tasks or questions."""
    return Whole(least, MOST_COUNT)


def samples(least: int) -> Whole:
    """Return a number of repeats or resamples."""
    return Whole(least, MOST_SAMPLES)


def listed(text: str | None) -> list[str]:
    """Return the items of a list on the command line, which commas or spaces separate.

    Examples
    --------
    >>> listed("0.1, 0.5 0.9")
    ['0.1', '0.5', '0.9']
    """
    return (text or "").replace(",", " ").split()


def numbers_of(_: click.Context, __: click.Parameter, text: str) -> list[float]:
    """Read an option that lists numbers."""
    try:
        return [float(part) for part in listed(text)]
    except ValueError:
        raise click.BadParameter(f"expected numbers, such as 0.1 0.5 0.9, found {text!r}") from None


def sizes_of(_: click.Context, __: click.Parameter, text: str | None) -> list[int | float] | None:
    """Return the sizes of samples, a callback: numbers of items, or shares of all."""
    return None if text is None else [_size(part) for part in listed(text)]


def _size(text: str) -> int | float:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise click.BadParameter(
            f"expected numbers, shares such as 0.05, or percentages such as 5%, found {text!r}"
        ) from None


class _Chosen(_ParamType):
    """One or several of some names, separated as in :func:`listed`."""

    name = "names"

    def __init__(self, choices: Sequence[str]) -> None:
        self._choice = click.Choice(choices)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self._choice.choices)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names, choices = listed(value) or [value], self._choice.choices
        for name in names:
            if name not in choices:
                self.fail(f"expected {', '.join(choices)}, found {name!r}{nearest(name, choices)}", param, ctx)
        return tuple(names)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._choice.shell_complete(ctx, param, incomplete)


def choices_option(
    *names: str, choices: Sequence[str], about: str, default: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Add an option of one or several of ``choices``: as a list, or repeated; passed to the command as one tuple."""

    def joined(_: click.Context, __: click.Parameter, values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for value in values for name in value)) or default

    return option(" ".join(names), about, _Chosen(choices), multiple=True, callback=joined)


def splits(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the filters named in a text; an empty tuple for ``raw``, all of them for ``static``, None for no text."""
    if value is None:
        return None
    expected = f"{', '.join(SPLITS)} separated by commas, {_STATIC} or {_RAW}"
    names = tuple(dict.fromkeys(listed(value)))
    if names in _WHOLE:
        return _WHOLE[names]
    if not names or not {*names} <= {*SPLITS}:
        wrong = [name for name in names if name not in SPLITS]
        raise click.BadParameter(f"expected {expected}, found {value!r}{nearest(wrong[0], SPLITS) if wrong else ''}")
    return names


splits_option = option(
    "--filter filtered_by",
    "Splits whose triples are filtered; static: those of any time.",
    default=",".join(SPLITS),
    callback=splits,
    metavar="SPLITS|static|raw",
)


sides_option = choices_option(
    "--sides", choices=SIDES, about="Only questions for this side. Default: head,tail.", default=SIDES
)
#: read by :func:`kgtrec.cli.inputs.read_families_of`
family_option = option(
    "--family families",
    "Systems to take together, such as the seeds of a model; repeatable.",
    multiple=True,
    metavar="seeds|PATTERN=NAME|FILE",
)


def ties_option(*more: str) -> Callable[[Command], Command]:
    """Add the option ``--ties``, which may take ``more`` than policies."""
    from kgtrec.evaluation.scoring import TIE_POLICIES

    about = "How ties count. Default: trec for runs, else realistic for micro, expected for macro."
    return option("--ties", about, (*TIE_POLICIES, *more))


def _replace(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    from kgtrec.formats.output.outputs import replacing

    context.with_resource(replacing(wanted))


force_option = option(
    "--force",
    "Replace output of the same kind; never inputs or verdicts.",
    is_flag=True,
    expose_value=False,
    callback=_replace,
)


def _note_mixed(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    context.meta[_MIXED] = wanted


mixed_option = option(
    "--mixed",
    "Match files of different collections by question id.",
    is_flag=True,
    expose_value=False,
    callback=_note_mixed,
)


def is_mixed() -> bool:
    """Check whether the current command has the option ``--mixed``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_MIXED, False))


def listing_option(name: str, about: str, lines: Callable[[], Iterable[str]]) -> Callable[[Command], Command]:
    """Add an option that prints lines instead of running the command."""

    def print_lines(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            for line in lines():
                click.echo(line)
            context.exit()

    return option(name, about, is_flag=True, is_eager=True, expose_value=False, callback=print_lines)


def refuse_idle(idle: Container[str], of: str, *, when: bool = True) -> None:
    """Refuse options of the current command that were given and have no effect with another one."""
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in idle and context.get_parameter_source(option.name) is not ParameterSource.DEFAULT
    ]
    if given and when:
        raise click.UsageError(
            f"expected options that have an effect, found {', '.join(given)} with {of}; leave it out"
        )


def measure_option(default: str) -> Callable[[Command], Command]:
    """Add the option ``-m`` or ``--measure``, passed to the command as ``measures``; ``default`` is shown."""
    about = f"Measure; repeatable. Default: {default}."
    return option("-m --measure measures", about, multiple=True, metavar="MEASURE")


def per_option(choices: Sequence[str]) -> Callable[[Command], Command]:
    """Add the option ``--per`` of the commands that take each stratum by itself."""
    return option("--per", "One result for each.", choices)


seed_option = option("--seed", "Random seed.", SEED, 0)
alpha_option = option("--alpha", "Level of significance.", SHARE, 0.05)
confidence_option = option("--confidence", "Level of the intervals.", SHARE, 0.95)
resamples_option = option("--resamples", "Bootstrap samples.", samples(2), 1000)
names_option = option("--names", "File of entity TAB name, to show names.", PATH)


def direction_options(command: Command) -> Command:
    """Add ``--higher`` and ``--lower``, which the command gets as ``better``, from columns of unknown measures."""

    @wraps(command)
    def directed(*, higher: tuple[str, ...], lower: tuple[str, ...], **given: Any) -> Any:
        if twice := sorted(set(higher) & set(lower)):
            raise KgtrecError(f"expected {twice[0]} with either --higher or --lower, found it with both")
        return command(better={**dict.fromkeys(higher, "higher"), **dict.fromkeys(lower, "lower")}, **given)

    about = "Column of an unknown measure, {} is better; repeatable."
    return stacked(
        *(option(f"--{way}", about.format(way), multiple=True, metavar="NAME") for way in ("higher", "lower"))
    )(directed)


def workers_options(command: Command) -> Command:
    """Add ``--workers`` and ``--scheduler``, which the command gets as ``workers`` and ``executor``, as verbs do."""

    @wraps(command)
    def shared(*, workers: int | None, scheduler: str | None, **given: Any) -> Any:
        if workers is not None and scheduler is not None:
            raise click.UsageError("expected --workers or --scheduler, found both")
        return command(workers=workers, executor=scheduler and partial(_dask, scheduler), **given)

    return stacked(
        option("--workers", "Processes that share the work. Default: 1.", Whole(1, MOST_WORKERS)),
        option("--scheduler", "Dask scheduler, such as tcp://host:8786.", metavar="ADDRESS"),
    )(shared)


def _dask(address: str) -> AbstractContextManager[Executor]:
    from kgtrec.workers.clusters import dask_workers

    return dask_workers(address)
