"""Tasks out and back: spreadsheets' formulas, separators and line ends; JSON Lines."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.tasks import tasks_for
from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import Tasks
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.filled_tasks import read_tasks
from kgtrec.formats.campaign.tasks import write_tasks
from kgtrec.formats.csv_text import guarded, unguarded
from tests.campaigns_by_hand import campaign_of
from tests.formats.trec_files import written

HEADER = "task,head,relation,tail,verdict,source,note\n"
# every text that Arrow can hold, but NUL; often one that a spreadsheet would act upon
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
signs = st.text(st.sampled_from("=+-@\t\r\n '\";,;\uff1d\uff0b\uff0d\uff20a1\ufeff\u3000\xa0"), max_size=6)
cells = st.one_of(
    texts, signs, st.sampled_from(["007", "1e5", "NA", "null", "MAR1", "1/2", "TRUE", "''", "'=1", "sep=;"])
)


def tasks_of(rows) -> Tasks:
    """Tasks of (task, head, relation, tail, verdict, source, note), with names and question of the same texts."""
    task, head, relation, tail, verdict, source, note = zip(*rows, strict=True)
    columns = [labels_of(column) for column in (head, relation, tail)]
    filled = [labels_of(column) for column in (verdict, source, note)]
    return Tasks(
        np.array(task, np.int32),
        (("ann",),) * len(rows),
        columns[0],
        *columns,
        columns[0],
        columns[2],
        columns[1],
        *filled,
    )


def rows_of(returned):
    return [
        (one.task, one.head, one.relation, one.tail, one.verdict, one.source, one.note) for one in returned.incoming
    ]


@given(cells, st.booleans())
def test_guarding_is_undone_exactly(cell, is_returned):
    """Whatever the cell begins with, an apostrophe included."""
    assert unguarded(guarded(cell, is_returned=is_returned)) == cell


@given(cells, st.booleans())
def test_nothing_guarded_is_a_formula(cell, is_returned):
    """Nor is what stands behind a sign that another program takes for the end of a cell."""
    for part in re.split("[;\t\r\n]", guarded(cell, is_returned=is_returned)):
        assert not part.lstrip(" \xa0\u3000").startswith(
            ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
        ), part
    assert not guarded(cell).startswith(("\t", "\r", "\n"))


@pytest.mark.parametrize("cell", ["007", "1e5", "1/2", "10:30", "MAR1", "Sept 2", "1-Dec-20", "TRUE", ".5", "12%"])
def test_labels_that_look_like_numbers_are_kept_from_becoming_some(cell):
    """007 comes back as 007, MAR1 not as a date; in a table of results, which nobody fills in, they stay."""
    assert guarded(cell, is_returned=True) == f"'{cell}"
    assert guarded(cell) == cell


@pytest.mark.parametrize(
    "cell", ["Paris", "", "/m/02mjmr", "Q64", "e-mail", "a=b", "3rd Rock", "NA", "null", "'tis", "Mars"]
)
def test_ordinary_cells_stay_as_they_are(cell):
    """And one that somebody typed with an apostrophe is read as typed."""
    assert unguarded(cell) == cell
    assert guarded(cell, is_returned=True) == (cell if not cell.startswith("'") else f"'{cell}")


@given(
    rows=st.lists(
        st.tuples(st.integers(1, 10**9), cells, cells, cells, st.sampled_from(["Y", "N", "unsure"]), texts, cells),
        min_size=1,
        max_size=5,
    ),
    suffix=st.sampled_from([".csv", ".jsonl", ".csv.gz"]),
)
def test_labels_round_trip_to_the_letter(rows, suffix, tmp_path_factory):
    """In either format, and so do notes; a link loses the blanks around it."""
    path = tmp_path_factory.mktemp("tasks") / f"ann{suffix}"
    write_tasks(path, tasks_of(rows))
    assert rows_of(read_tasks(path)) == [(*row[:5], row[5].strip(), row[6]) for row in rows]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_what_spreadsheets_save_is_read(delimiter, ending, encoding, quoting, tmp_path):
    """The standard library's own writer in each of its forms, columns in another order and one more among them."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    writer.writerow(["tail", "my own", "task", "note", "head", "relation", "source", "verdict"])
    writer.writerow(["a,b;c\td", "?", "3", f"two{ending}lines", "é", "NA", " https://a.b/ ", " yes "])
    writer.writerow(["'=x", "", "4", "", "null", "r", "", "N"])
    path = written(tmp_path, "ann.csv", text.getvalue().encode(encoding))
    returned = read_tasks(path, person="ann")
    assert rows_of(returned) == [
        (3, "é", "NA", "a,b;c\td", "Y", "https://a.b/", f"two{ending}lines"),
        (4, "null", "r", "=x", "N", "", ""),
    ]
    assert returned.incoming[1].place == f"{path}:4"
    assert {one.person for one in returned.incoming} == {"ann"}


def test_a_row_is_placed_where_it_begins(tmp_path):
    """Quoted line breaks before it count as lines, and so do blank lines."""
    path = written(tmp_path, "x.csv", HEADER + '1,a,r,b,Y,https://a.b/,"one\ntwo\n"\n\n2,a,r,c,N,,\n')
    assert [one.place for one in read_tasks(path).incoming] == [f"{path}:2", f"{path}:6"]


def test_a_separator_line_is_understood(tmp_path):
    """It is the first line of some files, and counts as one."""
    path = written(tmp_path, "x.csv", "sep=;\r\ntask;head;relation;tail;verdict\r\n1;a;r;b;Y\r\n")
    assert [one.place for one in read_tasks(path).incoming] == [f"{path}:3"]


def test_rows_without_verdict_are_counted(tmp_path):
    """Blank ones are no rows; one with a link but no verdict is told apart."""
    path = written(tmp_path, "x.csv", HEADER + "1,a,r,b, ,,\n,,,,,,\n2,a,r,c,,https://a.b/,\n3,a,r,d,Perhaps,,\n")
    returned = read_tasks(path)
    assert (returned.not_done, returned.begun) == (2, (f"{path}:4",))
    assert [one.verdict for one in returned.incoming] == ["Perhaps"]
    lines = [{"task": n, "head": "a", "relation": "r", "tail": "b"} for n in (1, 2, 3)]
    lines[1]["verdict"], lines[2] = None, {**lines[2], "verdict": "", "note": "?"}
    path = written(tmp_path, "x.jsonl", "\n".join(map(json.dumps, lines)))
    returned = read_tasks(path)
    assert (returned.incoming, returned.not_done, returned.begun) == ([], 3, (f"{path}:3",))


def test_who_judged_is_told_by_file_or_caller(tmp_path):
    """A task given to somebody else is refused; a file that names nobody leaves it open."""
    named = written(tmp_path, "x.csv", "task,annotator,head,relation,tail,verdict\n1,ann,a,r,b,Y\n")
    assert read_tasks(named).incoming[0].person == "ann"
    assert read_tasks(named, person="ann", role="expert").incoming[0].role == "expert"
    with pytest.raises(FormatError, match=r"x\.csv:2: expected a task of 'bob', found one of 'ann'"):
        read_tasks(named, person="bob")
    assert read_tasks(written(tmp_path, "y.csv", HEADER + "1,a,r,b,Y,,\n")).incoming[0].person is None


def test_the_file_of_a_campaign(tmp_path):
    """What ann gets, to the byte."""
    write_tasks(tmp_path / "ann.csv", tasks_for(campaign_of(), "ann"))
    data = (tmp_path / "ann.csv").read_bytes()
    assert data.decode("utf-8-sig").split("\r\n") == [
        "verdict,question,source,note,search,head_name,tail_name,task,annotator,head,relation,tail",
        ',"On a fact sheet about Paris, is the line “@near: Germany {tail}” true?",,,Paris @near,Paris,Germany {tail},'
        "1,ann,paris,'@near,de",
        ",Is 'n the capital of Germany {tail}?,,,Germany {tail} capital,Germany {tail},''n,2,ann,de,capital,''n",
        ",Is berlin the capital of Germany {tail}?,,,Germany {tail} capital,Germany {tail},berlin,3,ann,de,capital,"
        "berlin",
        ",Is <script>alert(1)</script> the capital of France?,,,France capital,France,<script>alert(1)</script>,4,ann,"
        "fr,capital,<script>alert(1)</script>",
        ",Is =lyon the capital of France?,,,France capital,France,'=lyon,5,ann,fr,capital,'=lyon",
        ",Is Paris the capital of France?,,,France capital,France,Paris,6,ann,fr,capital,paris",
        "",
    ]
    assert data.startswith(b"\xef\xbb\xbf")
    write_tasks(tmp_path / "ann.jsonl", tasks_for(campaign_of(), "ann"))
    records = [json.loads(line) for line in (tmp_path / "ann.jsonl").read_text().splitlines()]
    assert (records[4]["task"], records[4]["tail"], records[4]["verdict"]) == (5, "=lyon", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ": expected a table with the columns task, head, relation, tail, verdict, found an empty file"),
        ("a,b\n", ":1: expected a header line with the columns task, head, relation, tail, verdict, separated by"),
        ("task;head;relation;tail;verdct\n", "found no 'verdict'; did you mean verdct?: 'task | head | relation | "),
        ("task,task,head,relation,tail,verdict\n", ":1: expected each column once, found 'task' 2 times"),
        (HEADER + "1,a,r,b,Y\n", ":2: expected 7 columns as in the header, got 5: '1 | a | r | b | Y'"),
        (HEADER + "1,a,r,b,Y,,,x\n", ":2: expected 7 columns as in the header, got 8: "),
        (HEADER + '1,a,r,b,Y,,\n2,"a,r,b,Y,,\n3,a,r,b,Y,,\n', ":3: expected cells separated by commas, with quotes"),
        (HEADER + '1,"a"b,r,b,Y,,\n', ":2: expected cells separated by commas, with quotes doubled inside quotes"),
        (HEADER + "1,a\0,r,b,Y,,\n", ":2: expected text, found NUL: "),
        (HEADER.encode() + b"1,caf\xe9,r,b,Y,\n", ":2: expected UTF-8 text, found '1,caf\\xe9,r,b,Y,'; in a spread"),
        (HEADER + f"1,{'a' * 140_000},r,b,Y,,\n", ":2: expected cells separated by commas"),
    ],
)
def test_what_is_no_table_of_tasks_is_refused(text, expected, tmp_path):
    """With file, line, and what to do."""
    path = written(tmp_path, "ann.csv", text)
    with pytest.raises(FormatError) as caught:
        read_tasks(path)
    assert str(path) in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "task"),
    [
        *(("72088", 72088), (" 72088.0 ", 72088), ("7.0", 7)),
        *((cell, None) for cell in ("one", "1.5", "72.088", "1e3", "", "-1", "\u0661", "7.00", "1" * 11)),
    ],
)
def test_a_number_that_a_spreadsheet_made_is_read_and_no_other(cell, task, tmp_path):
    """A wrong one is told with the row, so that all are told at once, and stops nothing without a verdict."""
    path = written(tmp_path, "ann.csv", HEADER + f"{cell},a,r,b,Y,,\n{cell},a,r,b,,,\n3,a,r,b,N,,\n")
    back = read_tasks(path)
    assert ([row.task for row in back.incoming], back.not_done) == ([task, 3], 1)
    found = "" if task else f"expected a task's number, found {cell.strip()!r}; do not edit it"
    assert [row.wrong for row in back.incoming] == [found, ""]


@pytest.mark.parametrize(
    ("number", "task"),
    [("7", 7), ("7.0", 7), ("7.5", None), ('"7"', None), ("true", None), ("-1", None), ("1e999", None), ("null", None)],
)
def test_a_number_in_json_is_whole(number, task, tmp_path):
    """Text or a truth value is none."""
    line = f'{{"task": {number}, "head": "a", "relation": "r", "tail": "b", "verdict": "Y"}}\n'
    (row,) = read_tasks(written(tmp_path, "ann.jsonl", line)).incoming
    assert (row.task, bool(row.wrong)) == (task, task is None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[1]", "expected a JSON object, got '[1]'"),
        ("{", "expected JSON, found something else (expecting property name"),
        (b'{"task": "\xff"}', "expected JSON, found something else (not UTF-8); write one"),
        ('{"task": 1, "task": 2}', "expected JSON, found the key 'task' twice in one object"),
        ('{"task": 1, "relation": "r", "tail": "b"}', "expected 'head' in every object, found none"),
        ('{"task": 1, "head": null, "relation": "r", "tail": "b"}', "expected text as 'head', got 'None'"),
        ('{"task": 1, "head": "a", "relation": "r", "tail": 7}', "expected text as 'tail', got '7'"),
        ('{"task": 1, "head": "\\ud800", "relation": "r", "tail": "b"}', "expected JSON, found half a surrogate pair"),
        ("[" * 100_000, "expected JSON, found brackets nested too deeply"),
        ('{"task": ' + "1" * 5000 + "}", "expected JSON, found a number too long to read"),
    ],
)
def test_what_is_no_task_in_json_is_refused(line, expected, tmp_path):
    """On its line, behind a good one and a blank one."""
    good = b'{"task": 1, "head": "a", "relation": "r", "tail": "b", "verdict": "Y"}\r\n\t\n'
    path = written(tmp_path, "ann.jsonl", good + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(FormatError) as caught:
        read_tasks(path)
    assert str(caught.value).startswith(f"{path}:3: {expected}")


def test_suffixes_decide(tmp_path):
    """And another one is refused, in writing and reading; no file appears."""
    with pytest.raises(KgtrecError, match=r"expected a name that ends in \.csv, \.xlsx or \.jsonl"):
        write_tasks(tmp_path / "ann.xls", tasks_for(campaign_of(), "ann"))
    with pytest.raises(FormatError, match=r"ann\.xls: expected a name that ends in \.csv, "):
        read_tasks(written(tmp_path, "ann.xls", "x"))
    with pytest.raises(KgtrecError, match=r"expected text without NUL, found 'a\\x00'; write \.jsonl instead"):
        write_tasks(tmp_path / "ann.csv", tasks_of([(1, "a\0", "r", "b", "", "", "")]))
    assert [path.name for path in tmp_path.iterdir()] == ["ann.xls"]


def test_more_columns_can_be_shown(tmp_path):
    """Behind the question; reading skips them."""
    tasks = tasks_for(campaign_of(), "ann")
    from dataclasses import replace

    shown = replace(tasks, shown={"said": labels_of(["=ann: Y"] * 6)})
    write_tasks(tmp_path / "x.csv", shown)
    header, first, *_ = (tmp_path / "x.csv").read_text("utf-8-sig").splitlines()
    assert header.startswith("verdict,question,said,source,note,search")
    assert "true?\",'=ann: Y,,,Paris @near," in first
    assert read_tasks(tmp_path / "x.csv").not_done == 6
    with pytest.raises(KgtrecError, match="under names of their own, found 'verdict'"):
        write_tasks(tmp_path / "y.csv", replace(tasks, shown={"verdict": labels_of(["Y"] * 6)}))


@pytest.mark.parametrize(
    "header",
    ["TASK,Head,relation,tail,Verdict", "Task;HEAD;Relation;Tail;VERDICT;Mine", "verdict\tTask\thead\trelation\ttail"],
)
def test_headings_may_be_in_any_case(tmp_path, header):
    """As spreadsheet programs and people write them; of two that differ in nothing else, neither is meant."""
    mark = next(sign for sign in ",;\t" if sign in header)
    names = header.lower().split(mark)
    cells = {"task": "7", "head": "De", "relation": "capital", "tail": "Berlin", "verdict": "y", "mine": "x"}
    path = tmp_path / "ann.csv"
    path.write_text(f"{header}\n{mark.join(cells[name] for name in names)}\n")
    assert rows_of(read_tasks(path)) == [(7, "De", "capital", "Berlin", "Y", "", "")]
    path.write_text(f"{header}{mark}tAsK\n")
    with pytest.raises(FormatError, match="expected each column once, found 'task' 2 times"):
        read_tasks(path)


@pytest.mark.parametrize("text", [",,,,\n", "sep=;\n", "sep=;\n\n\n"])
def test_a_table_of_blank_cells_has_no_header(tmp_path, text):
    (tmp_path / "z.csv").write_text(text)
    with pytest.raises(FormatError, match=r"z\.csv:1: expected a header line"):
        read_tasks(tmp_path / "z.csv")
