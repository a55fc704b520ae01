from __future__ import annotations

from collections import Counter

import pytest

from kgtrec.campaign.decide import decide
from kgtrec.data.judgements import ROLES, STATES, VERDICTS
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.kgc_sparsity import FINAL, HUMAN, RUN, read_kgc_sparsity
from tests.published_labels import FILES, published


@pytest.mark.slow
def test_the_published_counts(data):
    """Every number that the issue gives, out of the published files themselves."""
    found = read_kgc_sparsity(data / "kgc-sparsity" / "data")
    assert found.counts == {
        "seeds": 1023,
        "pooled": 21469,
        "judged": 22492,
        "positive": 2738,
        "negative": 19754,
        "human lines": 12599,
        "human triples": 12573,
        "repeated lines": 26,
        "empty labels": 61,
        "padded labels": 2,
        "filtered": 8899,
        "in both": 3,
        "questions": 1745,
    }
    assert len(found.pool) == 21469
    assert len(found.pool.questions) == 1745
    assert int((found.automatic.rule == 0).sum()) == 8899
    decided = decide(found.pool, found.automatic, found.judgements, per_triple=1)
    assert Counter(STATES[state] for state in decided.state) == {"automatic": 8899, "agreed": 12509, "adjudicated": 61}
    assert Counter(decided.verdict.tolist()) == {0: 19754, 1: 1715}
    assert Counter(finding.kind for finding in found.findings) == {
        "repeated": 26,
        "empty": 61,
        "padded": 2,
        "in both": 3,
        "no line feed": 2,
    }
    padded = [finding.line for finding in found.findings if finding.kind == "padded"]
    assert padded == [185, 9091]


@pytest.mark.slow
def test_every_published_label_is_the_decision(data):
    """annotations.txt, triple by triple, is what comes out of the campaign."""
    found = read_kgc_sparsity(data / "kgc-sparsity")  # the repository will do
    decided = decide(found.pool, found.automatic, found.judgements, per_triple=1)
    lines = (data / "kgc-sparsity" / "data" / FINAL).read_text().splitlines()
    final = {tuple(line.split("\t")[:3]): line.split("\t")[3] for line in lines}
    for row, verdict in enumerate(decided.verdict):
        assert final[found.pool.triples.labels_at(row)] == VERDICTS[verdict]


def test_each_messy_line_is_told_with_its_number(tmp_path):
    """One finding per line that is not as it should be, and what was made of it."""
    found = read_kgc_sparsity(published(tmp_path))
    assert [str(finding) for finding in found.findings] == [
        "FB-Test-S/sample_idxs.txt:2: the last line ends without a line feed; it counts",
        f"{HUMAN}:2: label ' N' has blanks around it; read as 'N'",
        f"{HUMAN}:3: no label; that of {FINAL} is taken",
        f"{HUMAN}:4: also in FB-Test-S-C/supplementary/filtered.txt, line 2; both are kept, the label is N",
        f"{HUMAN}:5: says the same as line 4 of the same triple",
        f"{HUMAN}:6: the last line ends without a line feed; it counts",
        f"{HUMAN}:6: label N, but Y in {FINAL}, which is taken",
    ]


def test_what_people_said_and_what_was_settled(tmp_path):
    """Labels are an annotator's; no label is unsure; where the final label is another, an adjudicator gave it."""
    found = read_kgc_sparsity(published(tmp_path))
    said = found.judgements
    events = [
        (found.pool.triples.labels_at(row), ROLES[role], VERDICTS[verdict])
        for row, role, verdict in zip(said.triple, said.role, said.verdict, strict=True)
    ]
    assert events == [
        (("ann", "likes", "jam"), "annotator", "Y"),
        (("cat", "likes", "tea"), "annotator", "N"),
        (("dan", "likes", "tea"), "annotator", "unsure"),
        (("dan", "likes", "tea"), "adjudicator", "N"),
        (("ann", "likes", "pie"), "annotator", "N"),
        (("cat", "knows", "eve"), "annotator", "N"),
        (("cat", "knows", "eve"), "adjudicator", "Y"),
    ]
    decided = decide(found.pool, found.automatic, said, per_triple=1)
    of = {
        found.pool.triples.labels_at(row): (STATES[decided.state[row]], decided.verdict[row])
        for row in range(len(found.pool))
    }
    assert of == {
        ("ann", "likes", "jam"): ("agreed", 1),
        ("cat", "likes", "tea"): ("agreed", 0),
        ("dan", "likes", "tea"): ("adjudicated", 0),
        ("ann", "likes", "pie"): ("automatic", 0),
        ("bob", "knows", "dan"): ("automatic", 0),
        ("cat", "knows", "eve"): ("adjudicated", 1),
    }


def test_ids_are_those_of_the_topics_and_the_rank_is_the_depth(tmp_path):
    """Only the seeds' questions are there; a triple stands for each of its questions that is one of them."""
    found = read_kgc_sparsity(published(tmp_path))
    pool = found.pool
    assert list(pool.questions.ids) == ["head0", "head7", "tail1", "tail5"]
    assert pool.runs == (RUN,)
    put_in = {
        (pool.questions.ids[question], pool.triples.labels_at(row), int(rank))
        for question, row, rank in zip(pool.question, pool.triple, pool.rank, strict=True)
    }
    assert put_in == {
        ("tail1", ("ann", "likes", "jam"), 1),
        ("head0", ("cat", "likes", "tea"), 2),
        ("head0", ("dan", "likes", "tea"), 3),
        ("tail5", ("bob", "knows", "dan"), 1),
        ("tail1", ("ann", "likes", "pie"), 2),
        ("head7", ("cat", "knows", "eve"), 3),
    }
    topics = tmp_path / "other.tsv"
    topics.write_text("head3\teve\tknows\ntail2\tbob\tknows\nhead1\ttea\tlikes\ntail0\tann\tlikes\n")
    renamed = read_kgc_sparsity(tmp_path, topics=topics)
    assert list(renamed.pool.questions.ids) == ["head3", "tail2", "head1", "tail0"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"human_labeled": "ann\tlikes\tjam\tmaybe\n"}, r"human_labeled.txt:1: expected a label of 'Y', 'N', ''"),
        ({"human_labeled": "ann\tlikes\tjam\n"}, r"human_labeled.txt:1: expected 4 columns .* separated by tabs,"),
        ({"human_labeled": "ann\t\tjam\tY\n"}, r"human_labeled.txt:1: expected 4 columns .* got an empty one"),
        ({"human_labeled": "zoe\tlikes\tjam\tY\n"}, r"human_labeled.txt:1: expected a triple of .*pooling_depth.txt"),
        ({"human_labeled": ""}, r"human_labeled.txt: expected lines, found an empty file"),
        ({"filtered": "bob\tknows\tdan\tY\n"}, r"filtered.txt:1: expected a label of 'N', found 'Y'"),
        ({"filtered": "bob\tknows\tdan\tN\nann\tlikes\tjam\tN\n"}, r"filtered.txt:2: expected a triple of label N"),
        ({"filtered": "ann\tlikes\tpie\tN\n"}, r"pooling_depth.txt:4: .* found one of neither"),
        ({"pooling_depth": "ann\tlikes\tjam\t0\n"}, r"human_labeled.txt:2: expected a triple of"),
        ({"test": "ann\tlikes\ttea\n"}, r"test.txt: expected all triples of label Y"),
        ({"test": "cat\tlikes\ttea\n"}, r"test.txt:1: expected a triple of label Y in .*, found N$"),
        ({"test": "zoe\tlikes\ttea\n"}, r"test.txt:1: expected a triple of label Y in .*, found none$"),
        ({"samples": "ann\tlikes\tjam\nbob\tknows\teve\n"}, r"samples.txt:1: expected a triple that is not pooled"),
        ({"sample_idxs": "3\n"}, r"sample_idxs.txt: expected a number for each of the 2 lines"),
        ({"sample_idxs": "3\nx\n"}, r"sample_idxs.txt:2: expected a whole number, found 'x'"),
        ({"trec_queries": "head0\ttea\tlikes\n"}, r"trec_queries.txt: expected the topics of the seeds' questions"),
        ({"annotations": FILES[FINAL] + "ann\tlikes\tpie\tY\n"}, r"annotations.txt:9: expected one final label"),
        ({"annotations": FILES[FINAL] + "zoe\tlikes\tpie\tN\n"}, r"annotations.txt:9: expected a triple of"),
    ],
)
def test_what_the_files_contradict_each_other_about_is_refused(tmp_path, changed, message):
    """File, line, what was expected, what was found."""
    with pytest.raises(FormatError, match=message):
        read_kgc_sparsity(published(tmp_path, **changed))


@pytest.mark.parametrize("depth", ["0", "-1", "1.5", "ten", "", "9" * 30, "٣"])
def test_a_depth_is_a_whole_number_from_one(tmp_path, depth):
    """Anything else is refused with its line."""
    text = FILES["FB-Test-S-C/supplementary/pooling_depth.txt"].replace("\t3\n", f"\t{depth}\n", 1)
    with pytest.raises(FormatError, match=r"pooling_depth.txt:3: expected a depth from 1 to 2,147,483,647"):
        read_kgc_sparsity(published(tmp_path, pooling_depth=text))


def test_hostile_bytes_are_refused_and_harmless_ones_taken(tmp_path):
    """Broken UTF-8 and NUL name their line; a byte-order mark and CRLF change nothing; a missing file is named."""
    expected = read_kgc_sparsity(published(tmp_path)).judgements
    path = tmp_path / HUMAN
    plain = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    assert read_kgc_sparsity(tmp_path).judgements.verdict.tolist() == expected.verdict.tolist()
    for bad in (b"\xff", b"\0"):
        path.write_bytes(plain.replace(b"pie", bad))
        with pytest.raises(FormatError, match=r"human_labeled.txt:4: expected UTF-8 text"):
            read_kgc_sparsity(tmp_path)
    path.unlink()
    with pytest.raises(FormatError, match=r"human_labeled.txt: no such file"):
        read_kgc_sparsity(tmp_path)
