"""The TOML file that configures a study."""

from __future__ import annotations

import glob
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from kgtrec.data.table import REPORT_FORMATS
from kgtrec.data.triples import FILTERS, POLICIES, SPLITS
from kgtrec.errors import FormatError, MeasureError, nearest
from kgtrec.evaluation.families import SEEDS
from kgtrec.evaluation.scoring import TIE_POLICIES, UNLISTED_ANSWERS
from kgtrec.formats.files import PathLike
from kgtrec.formats.parquet import is_in_parts
from kgtrec.formats.triples import are_columns, find_splits
from kgtrec.measures.names import parse_measures
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.meta.power import POWER_TESTS, RESAMPLES
from kgtrec.study.config import LABEL_KINDS, WHOLE, LabelSet, Source, StudyConfig, StudyData, StudyOptions, StudySystems

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")  # the name of a folder may contain two of them
_SYNTAX = re.compile(r"(.*) \(at line (\d+), column \d+\)")
_MOST = 1_000_000  # repeats and resamples
_MOST_SEED = 2**63 - 1
# endings of systems that are ranked already; those in parts are folders
_RANKS = (".ranks.parquet", ".ranks")
_RUNS = (".run", ".run.gz", ".run.zst", ".parquet")
_LONGEST = 200  # characters of a value that a message quotes

_At = tuple[Any, ...]  # section, key, and the place among label sets, as of _wrong
_Check = tuple[str, Callable[[Any], bool]]  # the expected values in words, and a test for them


def _is_whole(value: Any, least: int = 0, most: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_list(value: Any, of: Callable[[Any], bool], least: int = 1) -> bool:
    return isinstance(value, list) and len(value) >= least and all(map(of, value))


def _are_names(value: Any, of: Callable[[Any], bool], least: int = 1) -> bool:
    return _is_list(value, lambda each: isinstance(each, str) and of(each), least) and len(set(value)) == len(value)


def _one_of(choices: Sequence[str]) -> _Check:
    return f"one of {', '.join(choices)}", lambda value: isinstance(value, str) and value in choices


def _some_of(choices: Sequence[str]) -> _Check:
    return (
        f"a list of {', '.join(choices)}, each at most once",
        lambda value: _are_names(value, lambda each: each in choices),
    )


_TEXT: _Check = ("a string", _is_text)
_TEXTS: _Check = ("a list of strings", lambda value: _is_list(value, _is_text))
_FLAG: _Check = ("true or false", lambda value: isinstance(value, bool))
_SEED: _Check = (f"a whole number from 0 to {_MOST_SEED:,}", lambda value: _is_whole(value, 0, _MOST_SEED))
_COUNT: _Check = (f"a whole number from 1 to {_MOST:,}", lambda value: _is_whole(value, 1, _MOST))
_RESAMPLES: _Check = (f"a whole number from 2 to {_MOST:,}", lambda value: _is_whole(value, 2, _MOST))
_SHARE: _Check = ("a number between 0 and 1", _is_share)
_LABELS: _Check = ("a list of names of label sets, each once", lambda value: _are_names(value, _is_text, 0))

_TOP: Mapping[str, _Check] = {"title": _TEXT, "subtitle": _TEXT, "about": _TEXTS, "seed": _SEED, "out": _TEXT}
_SECTIONS: Mapping[str, Mapping[str, _Check]] = {
    "data": {
        "folder": _TEXT,
        "train": _TEXT,
        "valid": _TEXT,
        "test": _TEXT,
        "collection": _TEXT,
        "header": _FLAG,
        "columns": ("the order of the columns, such as hrt", lambda value: are_columns(str(value))),
        "repeated": _one_of(POLICIES),
        "leaked": _one_of(POLICIES),
        "unseen_entities": _one_of(POLICIES),
        "unseen_relations": _one_of(POLICIES),
        "ids": _FLAG,
        "threshold": (
            "a number above 1",
            lambda value: _is_whole(value, 2) or (isinstance(value, float) and 1 < value < math.inf),
        ),
        "categories_from": _some_of(SPLITS),
    },
    "systems": {
        "scores": _TEXTS,
        "baselines": _TEXTS,
        "ranks": _TEXTS,
        "runs": _TEXTS,
        "filter": (
            f"a list of {', '.join(FILTERS)}, each at most once",
            lambda value: _are_names(value, lambda each: each in FILTERS, 0),
        ),
        "mixed": _FLAG,
    },
    "labels": {
        "name": (
            "a name of at most 64 letters, digits, dots and dashes",
            lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)),
        ),
        "kind": _one_of(LABEL_KINDS),
        "about": _TEXT,
        "on": _TEXT,
        "triples": _TEXT,
        "folder": _TEXT,
        "file": _TEXT,
        "size": ("a number of triples, or a fraction of them", lambda value: _is_whole(value, 1) or _is_share(value)),
        "seed": _SEED,
        "depths": (
            "true, false or a list of depths",
            lambda value: isinstance(value, bool) or _is_list(value, _is_whole),
        ),
    },
    "measures": {
        "names": _TEXTS,
        "main": _TEXTS,
        "ties": _one_of(TIE_POLICIES),
        "unlisted_answers": _one_of(UNLISTED_ANSWERS),
        "confidence": _SHARE,
        "resamples": _RESAMPLES,
    },
    "correlation": {
        "pairs": (
            "a list of pairs of label sets",
            lambda value: _is_list(value, lambda pair: _is_list(pair, _is_text) and len(pair) == 2, 0),
        ),
        "coefficients": _some_of(COEFFICIENTS),
        "fixed_relations": _FLAG,
    },
    "stability": {
        "labels": _LABELS,
        "measures": _TEXTS,
        "repeats": _COUNT,
        "coefficient": _one_of(COEFFICIENTS),
        "sizes": (
            "a list of numbers of triples, or of shares of them",
            lambda value: _is_list(value, lambda each: _is_whole(each, 1) or each == 1 or _is_share(each)),
        ),
    },
    "power": {
        "labels": _LABELS,
        "measures": _TEXTS,
        "tests": _some_of(POWER_TESTS),
        "alpha": _SHARE,
        "repeats": _COUNT,
        "resample": _one_of(RESAMPLES),
        "families": (
            "seeds, or a table of system and family",
            lambda value: value == SEEDS or (isinstance(value, dict) and all(map(_is_text, value.values()))),
        ),
    },
    "ties": {"labels": _LABELS, "measures": _TEXTS, "policies": _some_of(TIE_POLICIES)},
    "report": {"formats": _some_of(REPORT_FORMATS)},
}
#: kind of label set -> the option with its file or folder, empty for none, and its other options
_KINDS: Mapping[str, tuple[str, ...]] = {
    "test": ("",),
    "sample": ("triples", "size", "seed"),
    "qrels": ("file", "on"),
    "campaign": ("folder", "on", "depths"),
    "published": ("folder", "on", "depths"),
}


def read_study_config(path: PathLike, *, environment: Mapping[str, str] | None = None) -> StudyConfig:
    """Read the configuration of a study.

    Parameters
    ----------
    path : path
        A TOML file; docs/study.md describes its options. Paths in it are relative to its folder. ``${NAME}`` in a path
        is replaced by the environment variable NAME.
    environment : mapping, optional
        The environment variables. Default: those of the process.

    Raises
    ------
    FormatError
        If the file is not TOML, an option is unknown or has a wrong value, a variable is not set, or a file that it
        names does not exist. The error gives the line if it is known.
    """
    return _Reader(Path(path), os.environ if environment is None else environment).config()


class _Reader:
    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.path, self.environment = path, environment
        try:
            self.written = path.read_bytes()
            self.text = self.written.decode("utf-8-sig").replace("\r\n", "\n")
            self.found = tomllib.loads(self.text)
        except OSError as error:
            raise FormatError(f"cannot read it: {error.strerror}", path) from None
        except UnicodeDecodeError:
            raise FormatError("expected TOML in UTF-8, found other bytes", path) from None
        except RecursionError:
            raise FormatError("expected TOML, found brackets nested too deeply", path) from None
        except ValueError as error:  # other syntax than TOML, or too many digits
            match = _SYNTAX.fullmatch(str(error))
            line = int(match[2]) if match else None
            raise FormatError(f"expected TOML, found: {match[1] if match else error}", path, line=line) from None
        self.sections: dict[str, Any] = {name: self.found.get(name, {}) for name in _SECTIONS}

    def config(self) -> StudyConfig:
        self._check()
        found, measures, correlation = self.found, self.sections["measures"], self.sections["correlation"]
        if "title" not in found:
            raise self._wrong('expected a title, found none; add title = "..."')
        self._check_measures()
        data, systems = self._data(), self._systems()
        labels = self._label_sets()
        self._check_systems(systems, labels)
        names = [each.name for each in labels]
        parts = {name: self.sections[name] for name in ("stability", "power", "ties")}
        for name, options in parts.items():
            self._check_names(options.get("labels", ()), names, name)
        pairs = correlation.get("pairs", list(combinations(names, 2)))
        for pair in pairs:
            self._check_names(pair, names, "correlation", "pairs")
            if pair[0] == pair[1]:
                raise self._wrong(f"expected two label sets, found {pair[0]!r} twice", "correlation", "pairs")
        homes = {"confidence": "measures", "alpha": "power", "coefficients": "correlation", "coefficient": "stability"}
        options = {name: self.sections[home][name] for name, home in homes.items() if name in self.sections[home]}
        if "coefficients" in options:
            options["coefficients"] = tuple(options["coefficients"])
        return StudyConfig(
            title=found["title"],
            out=self.path.parent / self._expanded(found.get("out", self.path.stem), (None, "out")),
            data=data,
            systems=systems,
            labels=labels,
            subtitle=found.get("subtitle", ""),
            about=tuple(found.get("about", ())),
            seed=found.get("seed", 0),
            measures=tuple(measures.get("names", ())),
            main=tuple(measures.get("main", ())),
            ties=measures.get("ties"),
            unlisted_answers=measures.get("unlisted_answers", "filtered"),
            resamples=measures.get("resamples", 1000),
            pairs=tuple((one, other) for one, other in pairs),
            fixed_relations=correlation.get("fixed_relations", True),
            options=StudyOptions(**options),
            parts=parts,
            formats=tuple(self.sections["report"].get("formats", ())),
            settings=found,
            written=self.written,
        )

    # checks of options

    def _check(self) -> None:
        """Raise FormatError for the first option that is unknown or has a wrong value."""
        for key, value in self.found.items():
            if key in _TOP:
                self._check_value(_TOP[key], value, None, key)
            elif key not in _SECTIONS:
                known = [*_TOP, *(f"[{name}]" for name in _SECTIONS)]
                there = f"[{key}]" if isinstance(value, dict | list) else key
                raise self._wrong(
                    f"unknown option {there}{nearest(there, known)}; the options are {', '.join(known)}", None, key
                )
            elif key == "labels":
                if not _is_list(value, lambda each: isinstance(each, dict), 0):
                    raise self._wrong("expected label sets under [[labels]], each with a name and a kind", None, key)
                for place, each in enumerate(value):
                    self._check_section(key, each, place)
            elif not isinstance(value, dict):
                raise self._wrong(f"expected a section [{key}], found {_cut(repr(value))}", None, key)
            else:
                self._check_section(key, value)

    def _check_section(self, section: str, options: Mapping[str, Any], place: int | None = None) -> None:
        known = _SECTIONS[section]
        for key, value in options.items():
            if key not in known:
                unknown = f"unknown option {key!r} of [{section}]{nearest(key, known)}"
                raise self._wrong(f"{unknown}; the options are {', '.join(known)}", section, key, place)
            self._check_value(known[key], value, section, key, place)

    def _check_value(self, check: _Check, value: Any, *at: Any) -> None:
        expected, fits = check
        if not fits(value):
            choices = expected.removeprefix("one of ").split(", ")
            near = nearest(value, choices) if isinstance(value, str) and expected.startswith("one of") else ""
            raise self._wrong(f"expected {at[1]} to be {expected}, found {_cut(repr(value))}{near}", *at)

    def _check_names(self, found: Iterable[str], names: Sequence[str], section: str, key: str = "labels") -> None:
        for name in found:
            if name not in names:
                raise self._wrong(
                    f"expected a label set among {', '.join(names)}, found {name!r}{nearest(name, names)}", section, key
                )

    def _check_measures(self) -> None:
        others = ((part, "measures") for part in ("stability", "power", "ties"))
        for section, key in (("measures", "names"), ("measures", "main"), *others):
            try:
                for name in self.sections[section].get(key, ()):
                    parse_measures(name)
            except MeasureError as error:
                raise self._wrong(str(error), section, key) from None

    # data and systems

    def _data(self) -> StudyData:
        options = dict(self.sections["data"])
        if not options:
            raise self._wrong("expected a section [data] with train, valid and test, a folder of them, or a collection")
        ways, named = ([name for name in names if name in options] for names in (("folder", "collection"), SPLITS))
        if len(ways) + bool(named) != 1 or (named and not {"train", "test"} <= set(named)):
            raise self._wrong(
                "expected train, valid and test, or a folder with them, or a collection (valid may be left out); found "
                + (" and ".join([*ways, *named]) or "none of them"),
                "data",
            )
        columns = options.pop("columns", "hrt")
        if "collection" in options:
            collection = self._there("a folder", options.pop("collection"), "data", "collection")
            for unwanted in options:
                raise self._wrong(f"expected no {unwanted} together with a collection, which is already built", "data")
            return StudyData(None, collection, columns)
        header = options.pop("header", True)
        if "folder" in options:
            folder = self._there("a folder", options.pop("folder"), "data", "folder")
            files = dict(zip(SPLITS, find_splits(folder.path), strict=True))
            found = {
                split: folder.within(path.relative_to(folder.path).as_posix()) for split, path in files.items() if path
            }
        else:
            found = {split: self._there("a file", options.pop(split), "data", split) for split in named}
        splits = found["train"], found.get("valid"), found["test"]
        return StudyData(splits, None, columns, header, options)

    def _systems(self) -> StudySystems:
        options = self.sections["systems"]
        if not any(options.get(name) for name in ("scores", "baselines", "ranks", "runs")):
            raise self._wrong("expected a section [systems] with scores, baselines, ranks or runs, found none")
        return StudySystems(
            scores=self._files(options, "scores", (".npz", ".npy")),
            ranks=self._files(options, "ranks", _RANKS),
            runs=self._files(options, "runs", _RUNS),
            baselines=tuple(options.get("baselines", ())),
            filtered_by=tuple(options.get("filter", SPLITS)),
            mixed=options.get("mixed", False),
        )

    def _check_systems(self, systems: StudySystems, labels: Sequence[LabelSet]) -> None:
        if (systems.ranks or systems.runs) and (systems.scores or systems.baselines):
            raise self._wrong(
                "expected scores and baselines, or ranks and runs, found both: the former are ranked with the pairs "
                "that the label sets judge, the latter are as they are",
                "systems",
            )
        others = sorted({each.collection for each in labels} - {WHOLE})
        if systems.runs and others:
            expected = f"expected scores, baselines or answer ranks for label set {others[0]}, a sample"
            raise self._wrong(f"{expected}, found a run: {systems.runs[0].shown}", "systems")

    def _label_sets(self) -> tuple[LabelSet, ...]:
        tables = self.found.get("labels", [{"name": WHOLE, "kind": "test"}])
        found: list[LabelSet] = []
        for place, options in enumerate(tables):
            for key in ("name", "kind"):
                if key not in options:
                    raise self._wrong(f"expected a {key} for each label set, found none", "labels", None, place)
            found.append(self._label_set(options, found, place))
        if not found:
            raise self._wrong("expected at least one label set under [[labels]], found none")
        return tuple(found)

    def _label_set(self, options: Mapping[str, Any], before: Sequence[LabelSet], place: int) -> LabelSet:
        name, kind = options["name"], options["kind"]
        names = [each.name for each in before]
        if name in names or (name == WHOLE and kind == "sample"):
            message = f"expected a different name for each label set, found {name!r} again"
            raise self._wrong(message, "labels", "name", place)
        where = _KINDS[kind][0]
        for key in options:
            if key not in ("name", "kind", "about", *_KINDS[kind]):
                raise self._wrong(f"expected no {key} for a label set of kind {kind!r}", "labels", key, place)
        drawn = options.get("size")
        if where and (where in options) == (drawn is not None):
            more = " or a size" if kind == "sample" else ""
            found = "both" if where in options else "none"
            expected = f"{where}{more} for a label set of kind {kind!r}"
            raise self._wrong(f"expected {expected}, found {found}", "labels", "kind", place)
        source, depths = None, options.get("depths", True)
        if where and where in options:
            there = "a folder" if where == "folder" else "a file"
            source = self._there(there, options[where], "labels", where, place)
        return LabelSet(
            name,
            kind,
            self._base(options.get("on", WHOLE), before, place),
            options.get("about", ""),
            source,
            drawn,
            options.get("seed", self.found.get("seed", 0)),
            (None if depths else ()) if isinstance(depths, bool) else tuple(sorted({0, *depths})),
        )

    def _base(self, on: str, before: Sequence[LabelSet], place: int) -> str:
        """The name of the collection that a label set judges."""
        if on == WHOLE:
            return WHOLE
        for each in before:
            if each.name == on:
                return each.collection
        names = [WHOLE, *(each.name for each in before)]
        expected = f"expected 'on' to be the name of an earlier label set ({', '.join(names)})"
        raise self._wrong(f"{expected}, found {on!r}{nearest(on, names)}", "labels", "on", place)

    # paths

    def _expanded(self, text: str, at: _At, each: Callable[[str], str] = str) -> str:
        """A path with the values of its variables; a path in a variable may be relative to the working directory."""

        def value(match: re.Match[str]) -> str:
            name = match[1]
            found = self.environment.get(name)
            if not name.isidentifier():
                raise self._wrong(
                    f"expected the name of an environment variable in ${{...}} of {at[1]}, found {name!r}", *at
                )
            if not found:
                expected = f"expected the environment variable {name} to be set, which {at[1]} uses"
                raise self._wrong(f"{expected}, found none; set it to a folder: export {name}=...", *at)
            return str(Path(found).absolute()) if match.start() == 0 else found

        found = _VARIABLE.sub(lambda match: each(value(match)), text)
        if not _is_valid_path(found):
            raise self._wrong(f"expected a path in UTF-8 without NUL for {at[1]}, found {found!r}", *at)
        return found

    def _shown(self, text: str, path: Path) -> str:
        """The name in messages and report of a file that was found for ``text``."""
        start = _VARIABLE.match(text)
        if start:
            root = Path(self.environment[start[1]]).absolute()
            if path.is_relative_to(root):
                return f"{start[0]}/{path.relative_to(root).as_posix()}"
        own = self.path.parent
        return path.relative_to(own).as_posix() if path.is_relative_to(own) else path.as_posix()

    def _source(self, text: str, at: _At) -> Source:
        """A path, which may begin with the name of a data set; that is downloaded if necessary."""
        expanded = self._expanded(text, at)
        name, _, rest = expanded.partition("/")
        if name.casefold() in _data_sets() and not (self.path.parent / name).exists():
            from kgtrec.data_sets.get import get

            return Source(text, get(name) / rest)
        return Source(text, self.path.parent / expanded)

    def _there(self, kind: str, text: str, *at: Any) -> Source:
        """The source at a path; ``kind``: "a file" or "a folder"."""
        found = self._source(text if kind == "a file" else text.rstrip("/") or text, at)
        if (what := _kind_of(found.path)) != kind:
            near = nearest(text, _data_sets()) if at == ("data", "folder") and len(text) <= _LONGEST else ""
            raise self._wrong(f"expected {kind} for {at[1]}, found {what}: {_cut(str(found.path))}{near}", *at)
        return found

    def _files(self, options: Mapping[str, Any], key: str, endings: Sequence[str]) -> tuple[Source, ...]:
        """The files that paths, folders and patterns give, in the order of these; those of a pattern by name."""
        found: dict[Path, Source] = {}
        for text in options.get(key, ()):
            if "*" in text:
                fitting = self._fitting(text, key)
            elif is_in_parts(whole := self._source(text, ("systems", key)).path):
                fitting = [whole]
            elif _kind_of(whole) == "a folder":
                fitting = sorted(path for path in whole.iterdir() if path.is_file() or is_in_parts(path))
            else:
                fitting = [self._there("a file", text, "systems", key).path]
            kept = [path for path in fitting if path.name.lower().endswith(tuple(endings))]
            if key == "runs":
                kept = [path for path in kept if not path.name.lower().endswith(_RANKS)]
            if not kept:
                expected = f"expected {key} to name files that end in {', '.join(endings)}"
                raise self._wrong(f"{expected}, found none: {text}", "systems", key)
            for name in (path.name for path in kept):
                if not _is_valid_path(name):
                    expected = f"expected file names in UTF-8 for {key}"
                    raise self._wrong(f"{expected}, found {name!r}; rename the file", "systems", key)
            found |= {path: Source(self._shown(text, path), path) for path in kept}
        return tuple(found.values())

    def _fitting(self, text: str, key: str) -> list[Path]:
        """The files that match a pattern; pattern characters in the path of the configuration have no effect."""
        pattern = Path(self._expanded(text, ("systems", key), glob.escape))
        start = Path(pattern.anchor) if pattern.anchor else self.path.parent
        try:
            found = start.glob(str(pattern.relative_to(pattern.anchor)))
            return sorted(path for path in found if path.is_file() or is_in_parts(path))
        except (ValueError, NotImplementedError) as error:
            expected = f"expected a pattern of files for {key}"
            raise self._wrong(f"{expected}, found {text!r}: {error}", "systems", key) from None

    # lines of options

    def _wrong(
        self, message: str, section: str | None = None, key: str | None = None, place: int | None = None
    ) -> FormatError:
        return FormatError(message, path=self.path, line=self._line(section, key, place))

    def _line(self, section: str | None, key: str | None, place: int | None) -> int | None:
        """The line of an option, found by its name in the text; if it is not found, the line of its section."""
        if section is None and key is None:
            return None
        current: str | None = None
        nth, at_section = -1, None
        for number, line in enumerate(self.text.split("\n"), start=1):
            text = line.strip()
            if match := re.match(r"\[\[?\s*([\w.-]+)\s*\]", text):
                current = match[1]
                nth += current == section
                if section in (current, None) and key == current:
                    return number
                if current == section and place in (None, nth):
                    at_section = number
            elif (
                current == section
                and (section is None or place in (None, nth))
                and key is not None
                and re.match(rf"(\"?){re.escape(key)}\1\s*[.=]", text)
            ):
                return number
        return at_section


def _data_sets() -> list[str]:
    from kgtrec.data_sets.registry import list_data_sets

    return [found.name for found in list_data_sets(unconfirmed=True).data_sets]


def _kind_of(path: Path) -> str:
    """What exists at a path, in words."""
    try:
        if path.is_file() or path.is_dir():
            return "a file" if path.is_file() else "a folder"
        return "no file and no folder" if path.exists() else "nothing there"
    except OSError as error:
        return f"a path that cannot be read ({error.strerror})"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_valid_path(path: str) -> bool:
    """Whether a path is valid, and can be written to a text file."""
    return "\0" not in path and not any("\ud800" <= character <= "\udfff" for character in path)
