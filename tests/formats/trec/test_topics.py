"""Topics and entity lists: tab-separated labels, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.questions import Topics
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.formats.trec.topics import read_entity_labels, read_topics, write_topics
from tests.formats.trec_files import plain_first_labels, written

free_labels = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n"), min_size=1, max_size=5)


def rows_of(topics: Topics) -> list[tuple[str, str, str]]:
    return list(zip(topics.ids, topics.anchor.to_pylist(), topics.relation.to_pylist(), strict=True))


@given(
    rows=st.lists(
        st.tuples(plain_first_labels, free_labels, free_labels), min_size=1, max_size=6, unique_by=lambda row: row[0]
    ),
    suffix=st.sampled_from(["", ".gz", ".zst"]),
)
def test_round_trip(rows, suffix, tmp_path_factory):
    """Anchors and relations may hold anything but tabs and line breaks."""
    path = tmp_path_factory.mktemp("topics") / f"topics.tsv{suffix}"
    ids, anchors, relations = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    write_topics(path, Topics(Vocabulary.of(ids), anchors, relations))
    assert rows_of(read_topics(path)) == rows


def test_blank_lines_comments_and_crlf(tmp_path):
    """They are skipped, as in runs and qrels, and count as lines."""
    path = written(tmp_path, "x", "\ufeffq1\ta b\tr\r\n\xa0\n# note\nq2\tNA\t#r")
    assert rows_of(read_topics(path)) == [("q1", "a b", "r"), ("q2", "NA", "#r")]


@pytest.mark.parametrize(
    "row", [("q 1", "a", "r"), ("", "a", "r"), ("q", "a\tb", "r"), ("q", "a", "r\n"), ("q", "", "r")]
)
def test_what_the_format_cannot_hold_is_not_written(row, tmp_path):
    """No file appears, and the way out is named."""
    columns = [pa.array([label]) for label in row]
    with pytest.raises(KgtrecError, match="see kgtrec questions --ids"):
        write_topics(tmp_path / "x", Topics(Vocabulary.of(columns[0]), columns[1], columns[2]))
    assert list(tmp_path.iterdir()) == []


def test_entity_labels(tmp_path):
    """One per line, spaces and all; the ids where a file has both."""
    assert list(read_entity_labels(written(tmp_path, "entities.txt", "New York\nNA\n"))) == ["New York", "NA"]
    assert list(read_entity_labels(written(tmp_path, "entities.tsv", "e0\tNew York\ne1\tNA\n"))) == ["e0", "e1"]


def test_published_topics(data: Path):
    """FB15k-237's 22,850 questions."""
    topics = read_topics(data / "kgc-sparsity" / "data" / "FB-Test-O" / "trec_queries.txt")
    assert len(topics) == 22_850
    assert topics.ids[0] == "head0"
