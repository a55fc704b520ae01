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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of, values_of
from kgtrec.data.campaign import Automatic, People
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, NO, UNSURE, VERDICTS, YES, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.trec.topics import read_topics
from kgtrec.formats.triples.text import Line, Lines, TextLine

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

_MOST_DEPTH = np.iinfo(np.int32).max
_COLUMNS = ("head", "relation", "tail", "value")
_Triple = tuple[str, str, str]
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


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The lines of one file, by triple."""

    n_lines: int
    rows: Mapping[_Triple, Sequence[tuple[int, str]]]  # triple -> line number and last field of each of its lines


def read_kgc_sparsity(folder: PathLike, *, topics: PathLike | None = None) -> PublishedLabels:
    """The published labels in a folder.

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
    known_answers = _table(path, SEEDS, 3, findings)
    _check_seed_lines(path, known_answers, findings)
    final = _table(path, FINAL, 4, findings, ("Y", "N"))
    positive = _table(path, POSITIVE, 3, findings)
    depths = _table(path, DEPTHS, 4, findings)
    human = _table(path, HUMAN, 4, findings, ("Y", "N", ""))
    filtered = _table(path, FILTERED, 4, findings, ("N",))
    labels = {triple: _label_of(path, FINAL, lines) for triple, lines in final.rows.items()}
    _check_sets(path, known_answers, labels, positive, depths, human, filtered)
    for triple, lines in human.rows.items():
        if triple in filtered.rows:
            line, other = lines[0][0], filtered.rows[triple][0][0]
            message = f"also in {FILTERED}, line {other}; both are kept, the label is {labels[triple]}"
            findings.append(LabelFinding(HUMAN, line, "in both", message))
    names = _Names.of([*known_answers.rows, *depths.rows])
    questions = _questions(path, topics, names.triples(known_answers.rows))
    pool = _pool(path, names, questions, depths)
    automatic = np.full(len(pool), -1, np.int8)
    automatic[_rows(pool, names.triples(filtered.rows))] = 0
    people, judgements = _judgements(pool, names, human, labels, findings)
    kinds = Counter(finding.kind for finding in findings if finding.file == HUMAN)
    counts = {
        "seeds": len(known_answers.rows),
        "pooled": len(depths.rows),
        "judged": len(labels),
        "positive": sum(label == "Y" for label in labels.values()),
        "negative": sum(label == "N" for label in labels.values()),
        "human lines": human.n_lines,
        "human triples": len(human.rows),
        "repeated lines": kinds["repeated"],
        "empty labels": kinds["empty"],
        "padded labels": kinds["padded"],
        "filtered": len(filtered.rows),
        "in both": kinds["in both"],
        "questions": len(questions),
    }
    place = {name: number for number, name in enumerate((SEEDS, SEED_LINES, FINAL, POSITIVE, DEPTHS, HUMAN, FILTERED))}
    ordered = sorted(findings, key=lambda finding: (place[finding.file], finding.line))
    return PublishedLabels(
        pool,
        _seeds(questions, names.triples(known_answers.rows)),
        Automatic(automatic, (RULE,)),
        people,
        judgements,
        tuple(ordered),
        counts,
    )


def topics_of(folder: PathLike) -> Path:
    """The topics of the whole test set in the published folder."""
    return _data(folder) / TOPICS


def _data(folder: PathLike) -> Path:
    path = Path(folder)
    return path / "data" if (path / "data").is_dir() else path


def _table(
    path: Path, name: str, n_columns: int, findings: list[LabelFinding], labels: Sequence[str] | None = None
) -> _Table:
    """The lines of a file; irregular ones are added to the findings."""
    rows: dict[_Triple, list[tuple[int, str]]] = {}
    n_lines = 0
    for line in _lines(path, name, findings):
        head, relation, tail, *last = line.fields(_COLUMNS[:n_columns], 3)
        n_lines += 1
        field = last[0] if last else ""
        if labels is not None:
            field = _clean_label(line, name, field, labels, findings)
        before = rows.setdefault((head, relation, tail), [])
        if before:
            first, other = before[0]
            same = "says the same as" if field == other else f"says {field!r}, against {other!r} on"
            findings.append(LabelFinding(name, line.number, "repeated", f"{same} line {first} of the same triple"))
        before.append((line.number, field))
    return _Table(n_lines, rows)


def _lines(path: Path, name: str, findings: list[LabelFinding]) -> Sequence[TextLine]:
    lines = Lines.read(path / name).without_nul()
    if not lines.data:
        raise FormatError("expected lines, found an empty file", path=path / name)
    found = list(lines.every())
    if not lines.data.endswith(b"\n"):
        message = "the last line ends without a line feed; it counts"
        findings.append(LabelFinding(name, len(found), "no line feed", message))
    return found


def _clean_label(line: TextLine, name: str, field: str, labels: Sequence[str], findings: list[LabelFinding]) -> str:
    label = field.strip()
    if label not in labels:
        raise line.error(f"expected a label of {', '.join(map(repr, labels))}, found {field!r}")
    if label != field:
        message = f"label {field!r} has blanks around it; read as {label!r}"
        findings.append(LabelFinding(name, line.number, "padded", message))
    if not label:
        findings.append(LabelFinding(name, line.number, "empty", f"no label; that of {FINAL} is taken"))
    return label


def _label_of(path: Path, name: str, lines: Sequence[tuple[int, str]]) -> str:
    """The one label of a triple."""
    (first, label), *others = lines
    if wrong := next((line for line, other in others if other != label), None):
        raise Line(str(path / name), wrong).error(f"expected one final label, found another one than on line {first}")
    return label


def _check_seed_lines(path: Path, known_answers: _Table, findings: list[LabelFinding]) -> None:
    lines = _lines(path, SEED_LINES, findings)
    for line in lines:
        if not line.text.isascii() or not line.text.isdigit():
            raise line.error(f"expected a whole number, found {line.text[:100]!r}")
    if len(lines) != known_answers.n_lines:
        expected = f"expected a number for each of the {known_answers.n_lines} lines of {SEEDS}"
        raise FormatError(f"{expected}, found {len(lines)}", path=path / SEED_LINES)


def _check_sets(
    path: Path,
    known_answers: _Table,
    labels: Mapping[_Triple, str],
    positive: _Table,
    depths: _Table,
    human: _Table,
    filtered: _Table,
) -> None:
    """The files agree on what is pooled, who judged it, and what is positive."""
    pooled = depths.rows.keys()
    for triple, lines in known_answers.rows.items():
        if triple in pooled:
            raise _against(path, SEEDS, lines, "a triple that is not pooled", f"one of {DEPTHS}")
        if labels.get(triple) != "Y":
            raise _against(path, SEEDS, lines, f"a triple of label Y in {FINAL}", labels.get(triple, "none"))
    for name, table in ((HUMAN, human), (FILTERED, filtered)):
        for triple, lines in table.rows.items():
            if triple not in pooled:
                raise _against(path, name, lines, f"a triple of {DEPTHS}", "another")
    for triple, lines in depths.rows.items():
        if triple not in labels:
            raise _against(path, DEPTHS, lines, f"a triple with a label in {FINAL}", "none")
        if triple not in human.rows and triple not in filtered.rows:
            raise _against(path, DEPTHS, lines, f"a triple of {HUMAN} or {FILTERED}", "one of neither")
    for triple, lines in filtered.rows.items():
        if labels[triple] != "N":
            raise _against(path, FILTERED, lines, f"a triple of label N in {FINAL}", "Y")
    for triple in labels:
        if triple not in pooled and triple not in known_answers.rows:
            raise FormatError(f"expected triples of {SEEDS} and {DEPTHS}, found {triple}", path=path / FINAL)
    yes = {triple for triple, label in labels.items() if label == "Y"}
    for triple, lines in positive.rows.items():
        if triple not in yes:
            raise _against(path, POSITIVE, lines, f"a triple of label Y in {FINAL}", labels.get(triple, "none"))
    if missing := next((triple for triple in labels if triple in yes and triple not in positive.rows), None):
        raise FormatError(f"expected all triples of label Y in {FINAL}, found no {missing}", path=path / POSITIVE)


def _against(path: Path, name: str, lines: Sequence[tuple[int, str]], expected: str, found: str) -> FormatError:
    return FormatError(f"expected {expected}, found {found}", path=path / name, line=lines[0][0])


@dataclass(frozen=True, slots=True, eq=False)
class _Names:
    """Labels in byte order, as the folder of a campaign has them."""

    entities: Vocabulary
    relations: Vocabulary

    @classmethod
    def of(cls, triples: Iterable[_Triple]) -> _Names:
        entities, relations = set(), set()
        for head, relation, tail in triples:
            entities |= {head, tail}
            relations.add(relation)
        return cls(*(Vocabulary.of(labels_of(sorted(labels, key=str.encode))) for labels in (entities, relations)))

    def triples(self, rows: Iterable[_Triple]) -> Triples:
        head, relation, tail = (labels_of([row[column] for row in rows]) for column in range(3))
        return Triples(
            self.entities.encode(head),
            self.relations.encode(relation),
            self.entities.encode(tail),
            self.entities,
            self.relations,
        )


def _questions(path: Path, topics: PathLike | None, known_answers: Triples) -> Questions:
    """The questions of the known answers, with the ids and in the order of the topics."""
    source = path / TOPICS if topics is None else Path(topics)
    found = read_topics(source)
    is_head = values_of(pc.starts_with(found.ids.labels, SIDES[0]))
    relation, anchor = known_answers.relations.encode(found.relation), known_answers.entities.encode(found.anchor)
    there = np.flatnonzero((relation >= 0) & (anchor >= 0))
    all_of_them = Questions(
        Vocabulary(found.ids.decode(there)),
        is_head[there],
        relation[there],
        anchor[there],
        known_answers.entities,
        known_answers.relations,
    )
    sides = np.repeat([True, False], len(known_answers))
    asked = all_of_them.rows(
        sides, np.tile(known_answers.relation, 2), np.concatenate([known_answers.tail, known_answers.head])
    )
    if (wrong := np.flatnonzero(asked < 0)).size:
        side = SIDES[int(wrong[0]) >= len(known_answers)]
        entities, relations, seed = known_answers.entities, known_answers.relations, wrong[0] % len(known_answers)
        columns = (known_answers.head, entities), (known_answers.relation, relations), (known_answers.tail, entities)
        triple = tuple(labels[int(codes[seed])] for codes, labels in columns)
        expected = "expected the topics of the seeds' questions"
        raise FormatError(f"{expected}, found no {side} question of {triple}", path=source)
    kept = np.unique(asked)
    return Questions(
        Vocabulary(all_of_them.ids.decode(kept)),
        all_of_them.is_head[kept],
        all_of_them.relation[kept],
        all_of_them.anchor[kept],
        known_answers.entities,
        known_answers.relations,
    )


def _asked_of(questions: Questions, triples: Triples) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(m,) row of the triple, and question, for every question that a triple answers."""
    row = np.tile(np.arange(len(triples), dtype=np.int32), 2)
    sides = np.repeat([True, False], len(triples))
    question = questions.rows(sides, triples.relation[row], np.concatenate([triples.tail, triples.head]))
    there = question >= 0
    return row[there], question[there].astype(np.int32)


def _seeds(questions: Questions, triples: Triples) -> Qrels:
    row, question = _asked_of(questions, triples)
    entity = np.where(questions.is_head[question], triples.head[row], triples.tail[row])
    return Qrels.of(question, entity, np.ones(len(row), np.int32), questions.ids, questions.entities)


def _pool(path: Path, names: _Names, questions: Questions, depths: _Table) -> Pool:
    rank = np.zeros(len(depths.rows), np.int32)
    for place, lines in enumerate(depths.rows.values()):
        line, text = lines[0]
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _MOST_DEPTH):
            expected = f"expected a depth from 1 to {_MOST_DEPTH:,}"
            raise Line(str(path / DEPTHS), line).error(f"{expected}, found {text[:40]!r}")
        if wrong := next((other for other, again in lines if again != text), None):
            raise Line(str(path / DEPTHS), wrong).error(f"expected one depth, found another one than on line {line}")
        rank[place] = int(text)
    triples = names.triples(depths.rows)
    row, question = _asked_of(questions, triples)
    without = np.ones(len(triples), np.bool_)
    without[row] = False
    if without.any():
        lines = list(depths.rows.values())[int(np.argmax(without))]
        raise _against(path, DEPTHS, lines, f"a candidate of a question of {SEEDS}", "one of none")
    return Pool.of(triples, row, question, np.zeros(len(row), np.int32), rank[row], [RUN], questions)


def _rows(pool: Pool, triples: Triples) -> NDArray[np.intp]:
    """Row of each triple in the pool, which has all of them."""
    own = pool.triples.keys()
    order = np.argsort(own)
    return order[np.searchsorted(own, triples.keys(), sorter=order)]


def _judgements(
    pool: Pool, names: _Names, human: _Table, labels: Mapping[_Triple, str], findings: list[LabelFinding]
) -> tuple[People, Judgements]:
    """The people's verdicts, in the order of their file, each followed by the final label if it differs."""
    row = _rows(pool, names.triples(human.rows))
    events: list[tuple[int, int, int, str]] = []  # triple, role, verdict, note
    for place, (triple, lines) in zip(row.tolist(), human.rows.items(), strict=True):
        label = lines[-1][1]
        numbers = ", ".join(str(line) for line, _ in lines)
        said = _CODES[label] if label else UNSURE
        events.append((place, ANNOTATOR, said, f"{HUMAN}, line {numbers}" + ("" if label else ": no label")))
        if said != _CODES[labels[triple]]:
            events.append((place, ADJUDICATOR, _CODES[labels[triple]], f"{FINAL}"))
            if label:
                message = f"label {label}, but {labels[triple]} in {FINAL}, which is taken"
                findings.append(LabelFinding(HUMAN, lines[-1][0], "contradicted", message))
    columns = list(zip(*events, strict=True)) or [(), (), (), ()]
    n = len(events)
    said_what = np.array(columns[2], np.int8)
    person = Vocabulary.of([PERSON])
    source = pc.if_else(pa.array(said_what == VERDICTS.index("unsure")), "", SOURCE)
    judgements = Judgements(
        np.array(columns[0], np.int32),
        np.zeros(n, np.int32),
        np.array(columns[1], np.int8),
        said_what,
        source,
        labels_of(list(columns[3])),
        labels_of([TIME] * n),
        person,
    )
    roles = np.array([ANNOTATOR, ADJUDICATOR], np.int8)
    return People(person, np.zeros(2, np.int32), roles, np.zeros(2, np.bool_)), judgements
