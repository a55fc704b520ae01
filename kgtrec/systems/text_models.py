"""Ranks of test triples that text models write: SimKGC's evaluation, KG-BERT's file of ranks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, require
from kgtrec.formats.json_text import read_json
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.formats.trec.text import shown
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.first_lines import first_bytes, first_lines
from kgtrec.systems.kinds import TripleRanks

_SIDES = ("forward", "backward")  # SimKGC's words for tails and heads
_INVERSE = "inverse "
_PREDICTION = pa.struct([("head", pa.string()), ("relation", pa.string()), ("tail", pa.string()), ("rank", pa.int64())])
_TRIPLE = pa.struct([(name, pa.string()) for name in ("head_id", "head", "relation", "tail_id", "tail")])
_MOST = np.iinfo(np.int32).max


def _is_simkgc(path: Path) -> bool:
    if path.is_dir():
        return any(path.glob("eval_*_forward_*.json")) or any(path.glob("eval_*_backward_*.json"))
    begin = first_bytes(path).lstrip()
    return begin.startswith(b"[") and b'"pred_tail"' in begin


def _is_kg_bert(path: Path) -> bool:
    if not path.name.endswith("_ranks.txt"):
        return False
    return any(re.fullmatch(rb"[0-9]+\t[0-9]+", line) for line in first_lines(path, 1))


@Adapter.of(
    "simkgc",
    "SimKGC",
    "eval_*_forward_*.json or eval_*_backward_*.json of its evaluate.py, or the folder with both",
    "ranks",
    "--data with test.txt.json and relations.json of its preprocess.py",
    _is_simkgc,
)
def _simkgc(path: Path, options: ReadOptions) -> TripleRanks:
    if options.data is None:
        raise FormatError(
            "expected --data, the folder in which SimKGC's preprocess.py left test.txt.json and relations.json, found "
            "none; entity names alone are ambiguous",
            path,
        )
    files = _evaluations(path)
    parts = [_evaluation(file, side, options.data) for side, file in files.items()]
    sides = " and ".join(word for side, word in zip(_SIDES, ("tails", "heads"), strict=True) if side in files)
    return _without_ties(
        path.resolve().name if path.is_dir() else path.name.removesuffix(".json").removesuffix(".mdl"),
        [pa.concat_arrays([triples[place] for triples, _ in parts]) for place in range(3)],
        np.repeat([side == "backward" for side in files], [len(rank) for _, rank in parts]),
        np.concatenate([rank for _, rank in parts]) - 1,
        "SimKGC",
        sides,
    )


def _without_ties(
    name: str,
    triples: list[pa.StringArray],
    is_head: NDArray[np.bool_],
    above: NDArray[np.int64],
    tool: str,
    sides: str,
) -> TripleRanks:
    """The ranks of triples, (n,) heads, relations and tails, whose ties are unknown."""
    heads, relations, tails = triples
    entities, code = Vocabulary.encoding(pa.concat_arrays([heads, tails]))
    types, relation = Vocabulary.encoding(relations)
    head, tail = np.split(code, 2)
    remark = f"the file has no scores: candidates that tie with an answer count in the order of {tool}'s sort"
    kind, none = f"{tool}'s ranks of {sides}", np.zeros(len(above), np.int64)
    return TripleRanks(name, entities, types, is_head, head, relation, tail, above, none, kind=kind, remarks=(remark,))


def _evaluations(path: Path) -> dict[str, Path]:
    """The file of each direction: those of a folder, or one alone."""
    if not path.is_dir():
        return {_direction(path): path}
    files: dict[str, Path] = {}
    for file in sorted(path.glob("eval_*ward*.json")):
        other = files.setdefault(_direction(file), file)
        if other is not file:
            raise FormatError(
                f"expected one evaluation of each direction, found {other.name} and {file.name}; name one of the files",
                path,
            )
    return files


def _direction(path: Path) -> str:
    named = [side for side in _SIDES if side in path.name]
    if len(named) != 1:
        raise FormatError(
            "expected a file named as SimKGC does, with forward or backward in its name, found another one", path
        )
    return named[0]


def _evaluation(path: Path, side: str, data: Path) -> tuple[list[pa.StringArray], NDArray[np.int64]]:
    """Labels of heads, relations and tails of the test triples in their order, and the ranks."""
    predictions = _table(path, _PREDICTION, "SimKGC's predictions")
    rank = predictions.field("rank")
    if rank.null_count:
        raise FormatError(
            f"expected a rank in each prediction, found none in number {rank.is_null().index(True).as_py() + 1}; "
            "older versions of SimKGC's evaluate.py leave it out",
            path,
        )
    rank = values_of(rank)
    require(
        (rank >= 1) & (rank <= _MOST),
        lambda row: FormatError(f"expected ranks from 1 on, found {rank[row]} in number {row + 1}", path),
    )
    named = re.fullmatch(r"eval_(.+\.json)_(?:forward|backward)_.*", path.name)
    split = data if data.is_file() else data / (named[1] if named else "test.txt.json")
    triples = _table(split, _TRIPLE, "triples of SimKGC's preprocess.py")
    if len(triples) != len(predictions):
        raise FormatError(
            f"expected a rank for each of the {len(triples):,} triples of {split}, found {len(predictions):,}", path
        )
    heads, tails, relation = (triples.field(name) for name in ("head", "tail", "relation"))
    if side == "backward":
        heads, tails, relation = tails, heads, pc.binary_join_element_wise(_INVERSE, relation, "")
    for what, expected in (("head", heads), ("relation", relation), ("tail", tails)):
        found = predictions.field(what)
        if (row := pc.fill_null(pc.equal(found, expected), False).index(False).as_py()) >= 0:
            raise FormatError(
                f"expected the triples of {split} in their order, found the {what} {found[row].as_py()!r} in number "
                f"{row + 1}, where it has {expected[row].as_py()!r}; is it of other data?",
                path,
            )
    labels = _relation_labels(split.parent / "relations.json", triples.field("relation"))
    return [triples.field("head_id"), labels, triples.field("tail_id")], rank


def _table(path: Path, kind: pa.StructType, what: str) -> pa.StructArray:
    """The fields of a JSON array of objects."""
    value = read_json(path)
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value) or not value:
        raise FormatError(f"expected a JSON array of {what}, found something else", path)
    try:
        table = pa.array(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise FormatError(f"expected {what}, found other values ({str(error).splitlines()[0]})", path) from None
    for number, name in enumerate(field.name for field in kind):
        column = table.field(number)
        if name != "rank" and column.null_count:
            row = column.is_null().index(True).as_py()
            raise FormatError(f"expected {what}, found number {row + 1} without {name}", path)
    return table


def _relation_labels(path: Path, names: pa.StringArray) -> pa.StringArray:
    """The labels of relations, from SimKGC's names for them."""
    value = read_json(path)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
        raise FormatError("expected a JSON object with the name of each relation, found something else", path)
    label_of: dict[str, str] = {}
    for label, name in value.items():
        if label_of.setdefault(name, label) != label:
            raise FormatError(
                f"expected each name for one relation, found {name!r} for {label_of[name]} and {label}", path
            )
    known, code = Vocabulary.encoding(names)
    if lacking := [name for name in known if name not in label_of]:
        raise FormatError(
            f"expected the name of each relation of the test triples, found none for {lacking[0]!r}", path
        )
    return pa.array([label_of[name] for name in known], pa.string()).take(arrow_of(code))


@Adapter.of(
    "kg-bert",
    "KG-BERT",
    "NAME_ranks.txt of its run_bert_link_prediction.py: the ranks of head and tail of each test triple",
    "ranks",
    "--data with the test triples in its order",
    _is_kg_bert,
)
def _kg_bert(path: Path, options: ReadOptions) -> TripleRanks:
    if options.data is None:
        raise FormatError(
            "expected --data, the test triples in the order in which KG-BERT read them (its test.tsv, or the folder "
            "with it), found none; the file of ranks has numbers alone",
            path,
        )
    file = options.data / "test.tsv" if options.data.is_dir() else options.data
    triples = read_fields(Lines.read(file), 3, "head, relation and tail")
    lines = Lines.read(path)
    columns = read_fields(lines, 2, "the rank of the head and that of the tail, from 0")
    above = np.concatenate([_numbers(column, lines) for column in columns])
    n = len(triples[0])
    if len(columns[0]) != n:
        more = "; KG-BERT appends to an existing file, so that a second run doubles it" if len(columns[0]) > n else ""
        raise FormatError(
            f"expected a line for each of the {n:,} triples of {file}, found {len(columns[0]):,}{more}", path
        )
    return _without_ties(
        path.name.removesuffix("_ranks.txt"),
        [pa.concat_arrays([column, column]) for column in triples],
        np.repeat([True, False], n),
        above,
        "KG-BERT",
        "heads and tails",
    )


def _numbers(column: pa.StringArray, lines: Lines) -> NDArray[np.int64]:
    require(
        values_of(pc.match_substring_regex(column, "^[0-9]{1,9}$")),
        lambda row: lines.error(row, f"expected a rank from 0 on, found {shown(column[row].as_py().encode())}"),
    )
    return values_of(pc.cast(column, pa.int64()))
