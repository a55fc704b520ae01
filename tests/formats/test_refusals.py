"""Text files that are refused: with the file, the line where there is one, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.alignment import read_pairs
from kgtrec.formats.campaign.gold import read_gold
from kgtrec.formats.chance_tables import read_chance_table
from kgtrec.formats.entity_types import read_entity_types, read_relation_types
from kgtrec.formats.json_text import read_json
from kgtrec.formats.published_tables import read_published_table
from kgtrec.formats.relation_shares import read_relation_shares
from kgtrec.formats.score_tables import read_score_table
from kgtrec.formats.sniff import sniff
from kgtrec.formats.trec.topics import read_entity_labels, read_label_lines, read_topics
from kgtrec.formats.triples import read_triples
from tests.formats.test_triples import SPLITS, put_libkge, put_openke
from tests.formats.trec_files import written


def with_labels(path: Path) -> object:
    """Pairs whose left entities have one label."""
    return read_pairs(path, Vocabulary.of(["a"]), 2)


def with_rows(path: Path) -> object:
    return read_pairs(path, 3, 2)


def among(put_splits: Callable[..., None], train: str) -> Callable[[Path], object]:
    """Read the train triples of a folder that is right but for the file."""

    def read(path: Path) -> object:
        data = path.read_bytes()
        put_splits(path.parent, SPLITS)
        path.write_bytes(data)
        return read_triples(path.parent / train)

    return read


openke, libkge = among(put_openke, "train2id.txt"), among(put_libkge, "train.del")
CHANCE = b"measure,side,items,expectation,variance\n"
LONG = "system,measure,key,value\n" + "".join(f"s{place},m{place},{place},1\n" for place in range(400))

CASES: list[tuple[Callable[[Path], object], str, str | bytes, int | None, str]] = [
    (read_entity_types, "x.tsv", "a\tb\nc\n", 2, "one type per line"),
    (read_entity_types, "x.tsv", "a\tb\tc\n", 1, "2 columns"),
    (read_entity_types, "x.tsv", "a\t\n", 1, "empty"),
    (read_entity_types, "x.tsv", "\n", None, "2 columns .* none"),
    (read_entity_types, "x.tsv", b"a\tb\nc\t\xe9\n", 2, "UTF-8"),
    (read_relation_types, "x.tsv", "r\ta\n", 1, "3 columns"),
    (read_relation_types, "x.tsv", "", None, "3 columns .* none"),
    (read_relation_shares, "x.tsv", b"likes\t1\ncaf\xe9\t1\n", 2, r"UTF-8 .*caf\\xe9"),
    (read_relation_shares, "x.tsv", "likes\t1\nknows\t1_000\n", 2, "number"),
    (read_relation_shares, "x.tsv", "likes\t1\nknows\t\u0661\n", 2, "number"),
    (read_relation_shares, "x.tsv", "likes\t1\nlikes\t2\n", 2, "'likes' here and on line 1; remove"),
    (read_topics, "x.tsv", "q1\ta\tr\nq2 a r\n", 2, r"3 columns \(id anchor relation\) .* got 1: 'q2 a r'"),
    (read_topics, "x.tsv", "q1\t\tr\n", 1, "empty"),
    (read_topics, "x.tsv", "q 1\ta\tr\n", 1, "white space, got 'q 1'"),
    (read_topics, "x.tsv", "q\ta\tr\nr\ta\tr\nq\tb\tr\n", 3, "'q' here and on line 1; remove"),
    (read_topics, "x.tsv", "\ufeffq1\ta b\tr\r\n\n# note\nq2\tNA", 4, "3 columns"),
    (read_topics, "x.tsv", "", None, "none"),
    (read_topics, "x.tsv", b"q\ta\tr\n# caf\xe9\n", 2, r"UTF-8 .*# caf\\xe9"),
    (read_topics, "x.tsv", b"q\ta\tr\nq\tcaf\xe9\tr\n", 2, "UTF-8"),
    (read_entity_labels, "entities.txt", "a\nb\na\n", 3, "'a' here and on line 1"),
    (lambda path: read_label_lines(path, column=1), "x.tsv", "a\tb\nc\n", 2, "2 columns"),
    (with_rows, "x.tsv", "", None, "empty"),
    (with_rows, "x.tsv", "0\t1\n2 0\n", 2, "2 columns"),
    (with_rows, "x.tsv", "0\t1\nzh\t0\n", None, "x.tsv:2: .*whole number .*'zh'.* --left-labels"),
    (with_rows, "x.tsv", "3\t1\n", None, "x.tsv:1: .* 0 to 2, found 3"),
    (with_labels, "x.tsv", "a\t1\nb\t1\n", 2, "--left-labels"),
    (read_gold, "gold.tsv", "head\trelation\ttail\tanswer\n", 1, "tail verdict, with explanation or without"),
    (lambda path: read_json(path), "x.json", '{"a": 1,\n"b": 2,\n"a": 3}', 3, "'a' twice"),
    (sniff, "file", "# c\n\na b c d e\n", 3, "6 columns.* 5 columns: 'a b c d e'"),
    (sniff, "file", "a\n", 1, "1 column: 'a'"),
    (sniff, "file", "", None, "empty"),
    (sniff, "file", b"PAR1...", None, r"\.parquet"),
    (read_triples, "kg.tsv", "a\tr\tb\n\na\tr\n", 3, r"3 columns \(head, relation, tail\) .* TAB, found 2: 'a"),
    (read_triples, "kg.tsv", "a\tr\tb\td\n", 1, "found 4"),
    (read_triples, "kg.tsv", "a\tr\tb\na\t\tb\n", 2, "empty"),
    (read_triples, "kg.tsv", "a r b\n", 1, "no TAB .--delimiter whitespace would find 3"),
    (read_triples, "kg.tsv", "a,r,b\n", 1, "no TAB .--delimiter , would find 3"),
    (read_triples, "kg.tsv", "a;r;b\n", 1, "no TAB .another separator is named with --delimiter"),
    (read_triples, "kg.tsv", b"a\tr\t\xff\n", 1, "UTF-8"),
    (read_triples, "kg.tsv", "a\tr\tb\rc\tr\td\n", 1, "found 5"),
    (read_triples, "kg.tsv", "", None, "3 columns .*empty"),
    (read_triples, "kg.tsv", "\n \n", None, "empty"),
    (read_triples, "kg.nt", "<http://a> <http://p> <http://b> .\n<http://a> <http://p> .\n", 2, "N-Triples"),
    (openke, "train2id.txt", "3\n0 1 0\n1 2 1\n", 1, "3 triples.* found 2"),
    (openke, "train2id.txt", "2\n0 1 0\n1 9 1\n", 3, "tail in 0 to 3, found 9"),
    (openke, "train2id.txt", "2\n0 1 0\n-1 2 1\n", 3, "head, found '-1'"),
    (openke, "train2id.txt", "1\n0 1\n", 2, "3 numbers .* found 2"),
    (openke, "train2id.txt", "0 1 0\n", 1, "alone"),
    (openke, "train2id.txt", "", 1, "alone"),
    (openke, "train2id.txt", "0\n", None, "at least one triple"),
    (openke, "entity2id.txt", "4\na\t0\nb\t1\nc\t1\nd\t2\n", 4, "found 1 again"),
    (openke, "entity2id.txt", "4\na\t0\nb\t1\na\t2\nd\t3\n", None, "'a' more than once"),
    (openke, "entity2id.txt", "5\na\t0\nb\t1\n", 1, "5 labels.* found 2"),
    (openke, "entity2id.txt", "2\na\t0\nb\t2\n", 3, "0 to 1, found 2"),
    (libkge, "train.del", "0\t0\t4\n", 1, "tail in 0 to 3, found 4"),
    (libkge, "train.del", "0 0 1\n", 1, "3 numbers"),
    (libkge, "train.del", "", None, "at least one triple"),
    (libkge, "relation_ids.del", "0\tr\n0\ts\n", 2, "found 0 again"),
    (read_chance_table, "c.csv", "", 1, "columns measure, side, .*none"),
    (read_chance_table, "c.csv", "a,b\n", 1, "columns measure, side, .*found a, b"),
    (read_chance_table, "c.csv", CHANCE, None, "none"),
    (read_chance_table, "c.csv", CHANCE + b"micro.MR,both,x,1,2\n", 2, "measure, side"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1\r,1,2\n", 2, "5 cells"),  # a bare CR, which Python's csv refuses
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1,0.5\r0.1,2\n", 2, "5 cells"),
    (read_chance_table, "c.csv", CHANCE + b'RR,both,1,0.5,"2\n', 2, "quotes"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1,0.5,2,3\n", 2, "5 cells"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1,nan,2\n", 2, "measure, side"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1,inf,2\n", 2, "measure, side"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1_0,1,2\n", 2, "measure, side"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both," + b"9" * 30 + b",1,2\n", 2, "measure, side"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1,\xff,2\n", 2, "UTF-8"),
    (read_chance_table, "c.csv", CHANCE + b"RR,both,1,1,2\nRR,both,2,1,2\n", 3, "once, found RR, both"),
    *(
        (read_score_table, "s.csv", data, None, "System .*none")
        for data in ("", "\n \n", ",", ",\n", " , ,\n,,\n", "\t")
    ),
    (read_score_table, "s.csv", "System,map\n", 1, "header"),
    (read_score_table, "s.csv", "System\na\n", 1, "column for each measure"),
    (read_score_table, "s.csv", "System,Depth\na,1\n", 1, "column for each measure"),
    (read_score_table, "s.csv", "name,map\na,1\n", 1, "System, found 'name,map'"),
    (read_score_table, "s.csv", "System;map\na;1\n", 1, "'System;map'; cells are separated"),
    (read_score_table, "s.csv", ",System,map\n0,a,1\n", 1, "column 1, .*row numbers"),
    (read_score_table, "s.csv", "system,measure,value\na,,1\n", 2, "name of a measure"),
    (read_score_table, "s.csv", "System,map\na,30%\n", 2, "'map', found '30%'$"),
    (read_score_table, "s.csv", "System,map,MAP\na,1,2\n", 1, "'MAP' again"),
    (read_score_table, "s.csv", "System,map,\na,1,2\n", 1, "column 3, .*empty"),
    (read_score_table, "s.csv", "System,map\na,1\nb\n", 3, "2 cells, .*found 1: 'b'"),
    (read_score_table, "s.csv", "System,map\na,1,2\n", 2, "2 cells, .*found 3"),
    (read_score_table, "s.csv", "System,map\n,1\n", 2, "name of a system"),
    (read_score_table, "s.csv", "System,map\na,1_0\n", 2, "'1_0'"),
    (read_score_table, "s.csv", "System,map\na,inf\n", 2, "'inf'"),
    (read_score_table, "s.csv", "System,map\na,1e999\n", 2, "'1e999'"),
    (read_score_table, "s.csv", "System,map\na,NA\n", 2, "'NA'"),
    (read_score_table, "s.csv", "System,map\na,\u0661\n", 2, "number"),
    (read_score_table, "s.csv", "System,map\na,1\na,2\n", 3, "found a here and on line 2"),
    (read_score_table, "s.csv", "system,measure,value\na,RR,1\na,RR,2\n", 3, "found a, RR here and on line 2"),
    (read_score_table, "s.csv", b"System,map\na,\xff\n", 2, "UTF-8"),
    (read_score_table, "s.csv", "System,map\na,\x001\n", 2, "zero byte"),
    (read_score_table, "s.csv", 'System,map\na,"1\n', 2, "quotes"),
    (read_score_table, "s.csv", 'System,map\n"a\nb",1\nc,x\n', 4, "'map', found 'x'"),
    (read_score_table, "s.csv", "System,micro.MRR,MRR\na,1,2\n", None, r"both 'micro\.MRR' and 'MRR'"),
    (read_score_table, "s.csv", LONG, None, "in common"),  # a line each: 64 million cells would come of 400 lines
    (read_score_table, "b.txt", "a map all 0.5\nb map 0.5\n", 2, "run measure topic value.*found 3: 'b map 0.5'"),
    (read_score_table, "b.txt", "a map all 0.5\nb map all high\n", 2, "number .*'high'"),
    (read_score_table, "b.txt", "a map all 0.5\nb map all inf\n", 2, "number .*'inf'"),
    (read_score_table, "b.txt", "a map all 0.5\na map all 0.5\n", 2, "once, .* on line 1; remove"),
    (read_score_table, "b.txt", "run measure topic value\n", 1, "header"),
    (read_published_table, "p.csv", "", None, "column of systems .*none"),
    (read_published_table, "p.csv", "a,MRR\nx,1\n", 1, "System, Model or Method, found 'a,MRR'; each row"),
    (read_published_table, "p.csv", "model;MRR\nx;0,3\n", 1, "'model;MRR'; separate cells .*not by ';'"),
    (read_published_table, "p.csv", "model,MRR,mrr (filtered)\nx,.3,.2\nx,.4,\n", 3, "one MRR of 'x', .*line 2"),
    (read_published_table, "p.csv", "model,MRR,micro.MRR\nx,.3,.4\n", 2, "one micro.MRR of 'x', .*line 2"),
    (read_published_table, "p.csv", "model,AP\nx,1\n", 1, "column of MR, .*'model,AP'"),
    (read_published_table, "p.csv", "model,MRR\n", None, "none"),
    (read_published_table, "p.csv", "model,MRR\nx\n", 2, "2 cells, .*found 1: 'x'"),
    (read_published_table, "p.csv", "model,MRR\nx,good\n", 2, "'MRR', found 'good'"),
    (read_published_table, "p.csv", "model,MRR\nx,.\n", 2, r"'MRR', found '\.'"),
    (read_published_table, "p.csv", "model,MRR\n,.3\n", 2, "name of a system"),
    (read_published_table, "p.csv", "model,setting,MRR\nx,half,.3\n", 2, "filtered or raw, found 'half'"),
    (read_published_table, "p.csv", "model,side,MRR\nx,left,.3\n", 2, "head or tail, found 'left'"),
    (read_published_table, "p.csv", "model,count,MRR\nx,many,.3\n", 2, "ranks, found 'many'"),
    (read_published_table, "p.csv", "model,count,MRR\nx,0,.3\n", 2, "ranks, found '0'"),
    (read_published_table, "p.csv", f"model,MR\nx,{'9' * 400}\n", 2, "finite .*'999"),
]


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{name}" for number, (_, name, *_) in enumerate(CASES)])
def test_a_text_file_that_is_wrong_is_named_with_its_line(tmp_path: Path, case: tuple[Any, ...]):
    """In one line: file and line, what was expected, what was found, and the way out."""
    read, name, content, line, word = case
    path = written(tmp_path, name, content)
    with pytest.raises(FormatError, match=word) as caught:
        read(path)
    place = "" if line is None else f"{line}:"
    assert str(caught.value).startswith(f"{path}:{place}")
    assert caught.value.line == line
    assert "\n" not in str(caught.value)
