"""Docstrings of what `import kgtrec` and its subjects offer describe every parameter."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from importlib import import_module

import kgtrec
from tests.test_public_names import SUBJECTS

PAGES = ("kgtrec", *(f"kgtrec.{subject}" for subject in (*SUBJECTS, "explore", "systems")), "kgtrec.ir_measures")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def offered() -> dict[str, object]:
    """Functions and classes of this package by name, each once."""
    found: dict[str, object] = {}
    for page in PAGES:
        package = import_module(page)
        for name in package.__all__:
            thing = getattr(package, name)
            ours = (inspect.isroutine(thing) or inspect.isclass(thing)) and thing.__module__.startswith("kgtrec")
            if ours and thing not in found.values():
                found[f"{page}.{name}"] = thing
    return found


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Public functions, and the public methods that the classes define themselves."""
    for name, thing in OFFERED.items():
        if not inspect.isclass(thing):
            yield name, typing.cast("Callable[..., object]", thing)
            continue
        for method, value in vars(thing).items():
            inner = inspect.unwrap(value.__func__ if isinstance(value, (classmethod, staticmethod)) else value)
            if not method.startswith("_") and inspect.isfunction(inner):
                yield f"{name}.{method}", inner


OFFERED = offered()
FUNCTIONS = dict(functions())
#: classes with a constructor that is written out, which the class's docstring describes
CLASSES = {
    name: thing
    for name, thing in OFFERED.items()
    if inspect.isclass(thing)
    and "__init__" in vars(thing)
    and not dataclasses.is_dataclass(thing)
    and thing is not kgtrec.KgtrecError  # takes what ValueError takes
}


def described(doc: str, section: str = "Parameters") -> dict[str, str]:
    """The entries of a section, each with its description, which several in one line share."""
    _, *parts = SECTION.split(inspect.cleandoc(doc))
    text_of = dict(zip(parts[::2], parts[1::2], strict=True))
    entries: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", text_of.get(section, "").strip()):
        names, _, text = entry.partition("\n")
        entries |= {name: text.strip() for name in names.partition(" : ")[0].split(", ") if name}
    return entries


def wrong_entries(function: Callable[..., object], doc: str) -> list[str]:
    """The parameters without a description, and the entries that are no parameters."""
    names, keywords = [], []
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        if place == 0 and parameter.name in {"self", "cls"}:
            continue
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        names.append(f"{stars}{parameter.name}")
        if unpacked := re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation)):
            keywords = list(typing.get_type_hints(function.__globals__[unpacked[1]]))
    entries = described(doc)
    if keywords and names[-1] not in entries:  # each keyword has an entry, as those of evaluate have
        names[-1:] = keywords
    missing = [f"{name} is not described" for name in names if not entries.get(name)]
    return missing + [f"{name} is no parameter" for name in entries if name not in [*names, *keywords]]


def test_every_parameter_of_a_function_is_described():
    """And nothing is described that is no parameter; a method whose first line says it all needs no section."""
    said = {name: name not in OFFERED and "Parameters\n" not in (own.__doc__ or "") for name, own in FUNCTIONS.items()}
    wrong = {name: wrong_entries(own, own.__doc__ or "") for name, own in FUNCTIONS.items() if not said[name]}
    assert {name: entries for name, entries in wrong.items() if entries} == {}


def test_every_parameter_of_a_constructor_is_described():
    """In the class's docstring."""
    wrong = {name: wrong_entries(vars(kind)["__init__"], kind.__doc__ or "") for name, kind in CLASSES.items()}
    assert {name: entries for name, entries in wrong.items() if entries} == {}


def test_the_first_line_begins_with_a_verb():
    """In the imperative: no article, nothing in capitals, no possessive, participle or third person."""
    first = {name: (function.__doc__ or "None").split()[0].rstrip(",") for name, function in FUNCTIONS.items()}
    no_verb = re.compile(r"(?![A-Z][a-z]+$)|(An?|The|This|None)$|.*(ed|[^s]s)$")
    assert {name: word for name, word in first.items() if no_verb.match(word)} == {}


def test_see_also_names_public_neighbours():
    """Other functions or classes, by the name under which they are offered."""
    neighbours = {name: described(function.__doc__ or "", "See Also") for name, function in FUNCTIONS.items()}
    unknown = {name: own.keys() - (OFFERED.keys() - {name}) for name, own in neighbours.items()}
    assert {name: names for name, names in unknown.items() if names} == {}


def test_a_missing_and_an_unknown_entry_are_found():
    """Also one without a description."""
    doc = """Add.

    Parameters
    ----------
    x : int
    z : int
        Added.
    """
    found = ["x is not described", "y is not described", "z is no parameter"]
    assert wrong_entries(lambda x, y: x + y, doc) == found
