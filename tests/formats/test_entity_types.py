"""Files of types: opaque labels, one type per line, and what is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtrec.formats.entity_types import read_entity_types, read_relation_types
from tests.formats.trec_files import written

labels = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n\0\ufeff"), min_size=1, max_size=4
).filter(lambda text: text.strip(" \v\f") == text)


@given(rows=st.lists(st.tuples(labels, labels), min_size=1, max_size=6))
def test_entity_types_are_read_as_written(rows, tmp_path_factory):
    """Whatever the labels; a repeated line counts once."""
    path = tmp_path_factory.mktemp("types") / "types.tsv"
    path.write_bytes("".join(f"{entity}\t{kind}\n" for entity, kind in rows).encode())
    found = read_entity_types(path)
    pairs = zip(
        found.entities.decode(found.entity).to_pylist(), found.types.decode(found.type).to_pylist(), strict=True
    )
    assert sorted(pairs) == sorted(set(rows))


def test_relation_types_have_two_sides(tmp_path):
    """Blank lines, CRLF and a byte-order mark are nothing; `NA` and `a,b` are types."""
    path = written(tmp_path, "types.tsv", "\ufeffborn\tNA\ta,b\r\n\r\nborn\tNA\t007\r\n")
    found = read_relation_types(path)
    sides = zip(found.is_head.tolist(), found.types.decode(found.type).to_pylist(), strict=True)
    assert list(found.relations) == ["born"]
    assert sorted(sides) == [(False, "007"), (False, "a,b"), (True, "NA")]


def test_published_relation_types(data):
    """FB15k-237's file has one line for each of its 237 relations."""
    found = read_relation_types(data / "fb15k-237" / "relation_types.tsv")
    assert len(found.relations) == 237
    assert len(found) == 2 * 237
