"""The labels that Zhou et al. (2022) published for FB15k-237, as the campaign that produced them.

=============================================  ====================================================================
``FB-Test-O/trec_queries.txt``                 topics of the whole test set, from which the questions get their ids
``FB-Test-S/samples.txt``                      ``head relation tail``: the known answers, test triples that were sampled
``FB-Test-S/sample_idxs.txt``                  a line number of the test file per seed
``FB-Test-S-C/annotations.txt``                ``head relation tail Y|N``: the final label of every judged triple
``FB-Test-S-C/test.txt``                       ``head relation tail``: those of label Y
``FB-Test-S-C/supplementary/pooling_depth.txt``  ``head relation tail depth``: the pool
``FB-Test-S-C/supplementary/human_labeled.txt``  ``head relation tail label``: judged by people
``FB-Test-S-C/supplementary/filtered.txt``       ``head relation tail N``: judged by a rule
=============================================  ====================================================================

All are split at tabs, without header. The files do not say which run contributed a triple, for which of its
questions, or who judged it when. So the pool has one run, named after the data set, whose rank is the published
depth, and which contributes a triple for each of its questions that exists; one annotator; and one time.

The final labels are those of ``annotations.txt``. Where a person gave another label, or none, the annotator's verdict
is that label, or unsure, and an adjudicator's verdict is the final label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic, People
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, NO, UNSURE, YES, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions, completed_rows
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file, require
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Line, Lines, TextLine
from kgtrec.formats.trec.topics import read_topics

RUN = "kgc-sparsity"
PERSON = "published"
RULE = "filtered by Zhou et al."
SOURCE = "https://github.com/zhouying20/kgc-sparsity"
TIME = "2022-07-11T00:00:00Z"  # when the paper was presented: the files have no times
TOPICS = "FB-Test-O/trec_queries.txt"
SEEDS, SEED_LINES = "FB-Test-S/samples.txt", "FB-Test-S/sample_idxs.txt"
FINAL, POSITIVE = "FB-Test-S-C/annotations.txt", "FB-Test-S-C/test.txt"
DEPTHS = "FB-Test-S-C/supplementary/pooling_depth.txt"
HUMAN = "FB-Test-S-C/supplementary/human_labeled.txt"
FILTERED = "FB-Test-S-C/supplementary/filtered.txt"
KINDS = ("repeated", "empty", "padded", "contradicted", "in both", "no line feed")

#: the labels that may stand in each table; (): it has no fourth column, None: the column is no label
_LABELS: Mapping[str, Sequence[str] | None] = {
    SEEDS: (),
    FINAL: ("Y", "N"),
    POSITIVE: (),
    DEPTHS: None,
    HUMAN: ("Y", "N", ""),
    FILTERED: ("N",),
}
_MOST_DEPTH = np.iinfo(np.int32).max
_COLUMNS = ("head", "relation", "tail", "value")
_Triple = tuple[str, str, str]
_Table = Mapping[_Triple, Sequence[tuple[int, str]]]  # triple -> line number and last field of each of its lines
_CODES = {"N": NO, "Y": YES}


@dataclass(frozen=True, slots=True)
class LabelFinding:
    """An irregular line, and how it was read."""

    file: str  # within the published folder
    line: int
    kind: str  # of KINDS
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedLabels:
    """The contents of the files as a campaign, and their irregularities."""

    pool: Pool  # one run, RUN
    known_answers: Qrels
    automatic: Automatic  # one rule, RULE
    people: People  # PERSON, as annotator and as adjudicator
    judgements: Judgements
    findings: tuple[LabelFinding, ...]  # in the order of the files above, then of lines
    counts: Mapping[str, int]


def read_kgc_sparsity(folder: PathLike, *, topics: PathLike | None = None) -> PublishedLabels:
    """Read the published labels in a folder.

    Parameters
    ----------
    folder : path
        The repository's ``data`` folder, or the repository.
    topics : path, optional
        A topics file with the seeds' questions, from which these get their ids. Default:
        ``FB-Test-O/trec_queries.txt``.

    Returns
    -------
    PublishedLabels

    Raises
    ------
    FormatError
        If a file is missing; for the first malformed line; where the files contradict each other about what is in the
        pool or positive. Other irregularities are not errors, and are reported as findings.

    References
    ----------
    Zhou, Chen, He, Ye, Sun (2022), Re-thinking knowledge graph completion evaluation from an information retrieval
    perspective, SIGIR.
    """
    path = _data(folder)
    findings: list[LabelFinding] = []
    tables = {name: _table(path, name, labels, findings) for name, labels in _LABELS.items()}
    seeds, final, depths, human, filtered = (tables[name] for name in (SEEDS, FINAL, DEPTHS, HUMAN, FILTERED))
    n_seed_lines = sum(map(len, seeds.values()))
    numbers = _lines(path, SEED_LINES, findings)
    for number in numbers:
        if not number.text.isascii() or not number.text.isdigit():
            raise number.error(f"expected a whole number, found {number.text[:100]!r}")
    if len(numbers) != n_seed_lines:
        expected = f"expected a number for each of the {n_seed_lines} lines of {SEEDS}"
        raise FormatError(f"{expected}, found {len(numbers)}", path=path / SEED_LINES)
    labels = {triple: _only_value(path, FINAL, "final label", lines) for triple, lines in final.items()}
    _check_sets(path, tables, labels)
    for triple, lines in human.items():
        if triple in filtered:
            line, other = lines[0][0], filtered[triple][0][0]
            message = f"also in {FILTERED}, line {other}; both are kept, the label is {labels[triple]}"
            findings.append(LabelFinding(HUMAN, line, "in both", message))
    every = Triples.of([*seeds, *depths])
    names = {
        "entities": Vocabulary.of(sorted(every.entities, key=str.encode)),
        "relations": Vocabulary.of(sorted(every.relations, key=str.encode)),
    }
    seed_triples, pooled, judged, ruled = (
        Triples.of(rows).recoded(**names) for rows in (seeds, depths, human, filtered)
    )
    with in_file(of_topics := Path(topics or path / TOPICS)):
        asked = read_topics(of_topics).questions()
    in_topics, n = seed_triples.recoded(entities=asked.entities, relations=asked.relations), len(seeds)
    # the ids of the known answers' questions, and their order, are the topics'; first those of all heads
    anchors = np.concatenate([in_topics.tail, in_topics.head])
    at = asked.rows(np.repeat([True, False], n), np.tile(in_topics.relation, 2), anchors)
    message = "expected the topics of the seeds' questions, found no {} question of {}"
    require(
        at >= 0,
        lambda row: FormatError(message.format(SIDES[row // n], seed_triples.labels_at(row % n)), path=of_topics),
    )
    questions = asked.take(np.unique(at)).recoded(entities=seed_triples.entities, relations=seed_triples.relations)
    pool = _pool(path, pooled, questions, depths)
    automatic = np.full(len(pool), -1, np.int8)
    automatic[pool.rows(ruled.head, ruled.relation, ruled.tail)] = 0
    rows = pool.rows(judged.head, judged.relation, judged.tail)
    people, judgements = _judgements(rows, human, labels, findings)
    question, entity, _ = completed_rows(questions, seed_triples)
    known_answers = Qrels.of(question, entity, np.ones(len(question), np.int32), questions.ids, questions.entities)
    kinds = Counter(finding.kind for finding in findings if finding.file == HUMAN)
    label_counts = Counter(labels.values())
    counts = {
        "seeds": len(seeds),
        "pooled": len(depths),
        "judged": len(labels),
        "positive": label_counts["Y"],
        "negative": label_counts["N"],
        "human lines": sum(map(len, human.values())),
        "human triples": len(human),
        "repeated lines": kinds["repeated"],
        "empty labels": kinds["empty"],
        "padded labels": kinds["padded"],
        "filtered": len(filtered),
        "in both": kinds["in both"],
        "questions": len(questions),
    }
    files = [SEEDS, SEED_LINES, *_LABELS]
    findings.sort(key=lambda finding: (files.index(finding.file), finding.line))
    return PublishedLabels(
        pool, known_answers, Automatic(automatic, (RULE,)), people, judgements, tuple(findings), counts
    )


def topics_of(folder: PathLike) -> Path:
    """Find the topics of the whole test set in the published folder."""
    return _data(folder) / TOPICS


def _data(folder: PathLike) -> Path:
    path = Path(folder)
    return path / "data" if (path / "data").is_dir() else path


def _table(path: Path, name: str, labels: Sequence[str] | None, findings: list[LabelFinding]) -> _Table:
    """The lines of a file; irregular ones are added to the findings."""
    columns = _COLUMNS[: 3 if labels == () else 4]
    table: dict[_Triple, list[tuple[int, str]]] = {}
    for line in _lines(path, name, findings):
        head, relation, tail, field = (*line.fields(columns, 3), "")[:4]
        if labels:
            label = field.strip()
            if label not in labels:
                raise line.error(f"expected a label of {', '.join(map(repr, labels))}, found {field!r}")
            if label != field:
                message = f"label {field!r} has blanks around it; read as {label!r}"
                findings.append(LabelFinding(name, line.number, "padded", message))
            if not label:
                findings.append(LabelFinding(name, line.number, "empty", f"no label; that of {FINAL} is taken"))
            field = label
        before = table.setdefault((head, relation, tail), [])
        if before:
            first, other = before[0]
            same = "says the same as" if field == other else f"says {field!r}, against {other!r} on"
            findings.append(LabelFinding(name, line.number, "repeated", f"{same} line {first} of the same triple"))
        before.append((line.number, field))
    return table


def _lines(path: Path, name: str, findings: list[LabelFinding]) -> Sequence[TextLine]:
    lines = Lines.read(path / name).without_nul()
    if not lines.data:
        raise FormatError("expected lines, found an empty file", path=path / name)
    every = list(lines.every())
    if not lines.data.endswith(b"\n"):
        message = "the last line ends without a line feed; it counts"
        findings.append(LabelFinding(name, len(every), "no line feed", message))
    return every


def _only_value(path: Path, name: str, what: str, lines: Sequence[tuple[int, str]]) -> str:
    """The one value of a triple, which all its lines have."""
    first, value = lines[0]
    if wrong := next((line for line, other in lines if other != value), None):
        raise Line(str(path / name), wrong, seen={}).error(
            f"expected one {what}, found another one than on line {first}"
        )
    return value


def _check_sets(path: Path, tables: Mapping[str, _Table], labels: Mapping[_Triple, str]) -> None:
    """The files agree on what is pooled, who judged it, and what is positive."""
    yes = {triple for triple, label in labels.items() if label == "Y"}
    seeds, depths, human, filtered = (tables[name].keys() for name in (SEEDS, DEPTHS, HUMAN, FILTERED))
    for name, among, expected, found in (
        (SEEDS, seeds - depths, "a triple that is not pooled", f"one of {DEPTHS}"),
        (SEEDS, yes, f"a triple of label Y in {FINAL}", None),
        (HUMAN, depths, f"a triple of {DEPTHS}", "another"),
        (FILTERED, depths, f"a triple of {DEPTHS}", "another"),
        (DEPTHS, labels.keys(), f"a triple with a label in {FINAL}", "none"),
        (DEPTHS, human | filtered, f"a triple of {HUMAN} or {FILTERED}", "one of neither"),
        (FILTERED, labels.keys() - yes, f"a triple of label N in {FINAL}", "Y"),
        (FINAL, depths | seeds, f"a triple of {SEEDS} or {DEPTHS}", "another"),
        (POSITIVE, yes, f"a triple of label Y in {FINAL}", None),
    ):
        if wrong := next((triple for triple in tables[name] if triple not in among), None):
            raise _against(path, name, tables[name][wrong], expected, found or labels.get(wrong, "none"))
    if missing := next((triple for triple in labels if triple in yes and triple not in tables[POSITIVE]), None):
        raise FormatError(f"expected all triples of label Y in {FINAL}, found no {missing}", path=path / POSITIVE)


def _against(path: Path, name: str, lines: Sequence[tuple[int, str]], expected: str, found: str) -> FormatError:
    return FormatError(f"expected {expected}, found {found}", path=path / name, line=lines[0][0])


def _pool(path: Path, triples: Triples, questions: Questions, depths: _Table) -> Pool:
    """The pool of the triples of ``depths``, in their order there."""
    rank = np.zeros(len(depths), np.int32)
    for place, lines in enumerate(depths.values()):
        text = _only_value(path, DEPTHS, "depth", lines)
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _MOST_DEPTH):
            expected = f"expected a depth from 1 to {_MOST_DEPTH:,}"
            raise Line(str(path / DEPTHS), lines[0][0], seen={}).error(f"{expected}, found {text[:40]!r}")
        rank[place] = int(text)
    question, _, row = completed_rows(questions, triples)
    expected = f"a candidate of a question of {SEEDS}"
    require(
        np.bincount(row, minlength=len(triples)) > 0,
        lambda place: _against(path, DEPTHS, list(depths.values())[place], expected, "one of none"),
    )
    return Pool.of(triples, row.astype(np.int32), question, np.zeros(len(row), np.int32), rank[row], [RUN], questions)


def _judgements(
    rows: NDArray[np.intp], human: _Table, labels: Mapping[_Triple, str], findings: list[LabelFinding]
) -> tuple[People, Judgements]:
    """The people's verdicts, in the order of their file, each followed by the final label if it differs.

    ``rows`` are those of the triples of ``human`` in the pool.
    """
    events: list[tuple[int, int, int, str]] = []  # triple, role, verdict, note
    for row, (triple, lines) in zip(rows.tolist(), human.items(), strict=True):
        label, final = lines[-1][1], labels[triple]
        numbers = ", ".join(str(line) for line, _ in lines)
        verdict = _CODES.get(label, UNSURE)
        events.append((row, ANNOTATOR, verdict, f"{HUMAN}, line {numbers}" + ("" if label else ": no label")))
        if verdict != _CODES[final]:
            events.append((row, ADJUDICATOR, _CODES[final], FINAL))
            if label:
                message = f"label {label}, but {final} in {FINAL}, which is taken"
                findings.append(LabelFinding(HUMAN, lines[-1][0], "contradicted", message))
    triples, roles, verdicts, notes = list(zip(*events, strict=True)) or [(), (), (), ()]
    n, person = len(events), Vocabulary.of([PERSON])
    judgements = Judgements(
        np.array(triples, np.int32),
        np.zeros(n, np.int32),
        np.array(roles, np.int8),
        np.array(verdicts, np.int8),
        labels_of(["" if verdict == UNSURE else SOURCE for verdict in verdicts]),
        labels_of(notes),
        labels_of([TIME] * n),
        person,
    )
    both = np.array([ANNOTATOR, ADJUDICATOR], np.int8)
    return People(person, np.zeros(2, np.int32), both, np.zeros(2, np.bool_)), judgements
