"""Facts with a time in the files of the frameworks, read without an option, and split by time as TGB does."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Splits, Triples, steps_of
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.plausibility import doubtful_triples
from kgtrec.formats.triples import find_splits, input_files, read_triples
from kgtrec.kernels.triples.time_steps import time_steps
from tests.program import printed_by, refusal


def labels(triples):
    return [triples.labels_at(row) for row in range(len(triples))]


def written(folder, text, name="train.txt"):
    (folder / name).write_text(text)
    return folder / name


def test_five_columns_padded_with_blanks_have_the_time_in_the_fourth(tmp_path):
    """ICEWS18's fields are padded; the fifth column is not read."""
    path = written(tmp_path, "459  \t1    \t471\t6480\t0\n1\t0\t2\t24\t-1\n")
    assert labels(read_triples(path)) == [("459", "1 @ 6480", "471"), ("1", "0 @ 24", "2")]


def test_four_columns_with_dates_are_facts_with_a_time(tmp_path):
    """TLogic's and tkbc's; a fourth column that is no time is an error as before."""
    path = written(tmp_path, "Aam_Party\tMake_statement\tCourt_(India)\t2014-11-11\n")
    assert labels(read_triples(path)) == [("Aam_Party", "Make_statement @ 2014-11-11", "Court_(India)")]
    with pytest.raises(KgtrecError, match="3 columns"):
        read_triples(written(tmp_path, "a\tr\tb\t0.75\n"))


@pytest.mark.parametrize("compress", [False, True])
def test_numbers_get_the_labels_of_dictionaries_beside_them(tmp_path, compress):
    """Each number below the greatest is an entity; a number without label, or with one that was before, is its own."""
    path = written(tmp_path, "0\t0\t2\t7\t0\n5\t0\t1\t8\t0\n")
    dictionary = "El Paso, Texas\t0\tmore\nrome\t2\tmore\nrome\t3\tmore\n"
    if compress:
        (tmp_path / "entity2id.txt.gz").write_bytes(gzip.compress(dictionary.encode()))
    else:
        written(tmp_path, dictionary, "entity2id.txt")
    written(tmp_path, "020\t0\n", "relation2id.txt")
    read = read_triples(path)
    assert labels(read) == [("El Paso, Texas", "020 @ 7", "rome"), ("5", "020 @ 8", "1")]
    assert list(read.entities) == ["El Paso, Texas", "1", "rome", "3", "4", "5"]
    assert [file.name.partition(".")[0] for file in input_files(path)] == ["train", "entity2id", "relation2id"]


def test_a_dictionary_names_its_wrong_line(tmp_path):
    """A repeated number, and one that is none."""
    path = written(tmp_path, "0\t0\t2\t7\t0\n")
    written(tmp_path, "in\t0\n", "relation2id.txt")
    written(tmp_path, "a\t0\nb\t0\n", "entity2id.txt")
    with pytest.raises(KgtrecError, match=r"entity2id.txt:2: expected each number once"):
        read_triples(path)
    written(tmp_path, "a\t0\nb\tx\n", "entity2id.txt")
    with pytest.raises(KgtrecError, match=r"entity2id.txt:2: expected a whole number as a number, found 'x'"):
        read_triples(path)


def test_a_file_of_tgb_has_its_own_order_of_columns(tmp_path):
    """Time, head, tail, relation, below a header; further columns are not read."""
    path = written(tmp_path, "ts,head,tail,relation_type\n7,0,1,44\n8,0,2,44\n", "a.csv")
    assert labels(read_triples(path)) == [("0", "44 @ 7", "1"), ("0", "44 @ 8", "2")]
    path = written(tmp_path, "ts,src,dst,relation_type,num_words,score\n7,0,1,r,3,4\n", "a.csv")
    assert labels(read_triples(path)) == [("0", "r @ 7", "1")]
    with pytest.raises(KgtrecError, match=r"a.csv:3: expected 4 columns \(time, head, tail, relation\)"):
        read_triples(written(tmp_path, "ts,head,tail,relation_type\n7,0,1,44\n8,0,2\n", "a.csv"))


@given(st.lists(st.integers(0, 30), min_size=4, max_size=60), st.sampled_from([(0.7, 0.85), (0.8, 0.9)]))
def test_facts_are_cut_at_the_quantiles_of_times_with_inverses(times, shares):
    """As TGB: numpy's quantiles of the doubled list, train up to the first, test after the second."""
    facts = Triples.of([("a", "r", f"e{row}", str(24 * time)) for row, time in enumerate(times)])
    first, last = np.quantile(np.array(times * 2) * 24, shares)
    expected = [sum(24 * t <= first for t in times), 0, sum(24 * t > last for t in times)]
    expected[1] = len(times) - sum(expected)
    if 0 in expected:
        with pytest.raises(KgtrecError, match="expected times enough"):
            Splits.by_time(facts, shares)
    else:
        cut = Splits.by_time(facts, shares)
        assert [len(cut.train), len(cut.valid), len(cut.test)] == expected


def test_folders_and_files_of_all_facts_make_a_collection(tmp_path, capsys):
    """A folder of tkbc without suffixes; TGB's one file, alone or in its folder; the report has the times."""
    for day, name in enumerate(("train", "valid", "test")):
        written(tmp_path, f"ann\tin\trome\t2014-01-0{day + 1}\nbob\tin\toslo\t2014-01-0{day + 1}\n", name)
    assert [path.name for path in find_splits(tmp_path)] == ["train", "valid", "test"]
    assert build_questions(tmp_path).report["time_range"]["test"] == ["2014-01-03", "2014-01-03"]
    (tmp_path / "tgb").mkdir()
    rows = "".join(f"{day},0,{day},r\n" for day in range(10))
    path = written(tmp_path / "tgb", f"ts,head,tail,relation_type\n{rows}", "tkgl-new_edgelist.csv")
    written(tmp_path / "tgb", "head,tail,relation_type\n0,1,r\n", "tkgl-new_static_edgelist.csv")
    shown = [
        printed_by(capsys, "questions", place, "--out", tmp_path / f"C{row}")
        for row, place in enumerate((path, tmp_path / "tgb"))
    ]
    assert all("times of train 0 to 6, of valid 7 to 8, of test 9" in text for text in shown)
    plain = written(tmp_path, "a\tr\tb\n", "all.tsv")
    assert "all.tsv: expected facts with a time" in refusal(capsys, "questions", plain, "--out", tmp_path / "D")


def test_questions_before_the_last_time_of_train_are_doubtful():
    """2 of 4 questions are of day 9, before day 10 of train, as numbers and not as text."""
    train = [("a", "r", "b", "8"), ("b", "r", "c", "10")]
    early = build_questions(Triples.of(train), test=Triples.of([("a", "r", "b", "9"), ("a", "r", "b", "11")]))
    assert doubtful_triples(early)[0].startswith("2 of 4 questions are of a time before the last of train, such as 9")
    late = build_questions(Triples.of(train), test=Triples.of([("a", "r", "b", "11")]))
    assert doubtful_triples(late) == []
    without = build_questions(Triples.of([("a", "r", "b")]), test=Triples.of([("a", "r", "b", "11")]))
    assert doubtful_triples(without)[0].startswith("test facts have a time and train facts have none")


@given(st.lists(st.integers(-50, 50), min_size=1), st.integers(1, 5))
def test_steps_of_numbers_and_dates_are_in_proportion_to_them(numbers, step):
    """Differences are those of the numbers, of days for dates, over their greatest common divisor."""
    found = time_steps([str(step * number) for number in numbers])
    days = time_steps(np.datetime_as_string(np.datetime64("2014-03-01") + step * np.array(numbers)).tolist())
    apart = np.array(numbers) - min(numbers)
    expected = apart // max(np.gcd.reduce(apart), 1)
    assert found.tolist() == days.tolist() == expected.tolist()


def test_numbers_of_any_length_are_ordered_as_numbers():
    """Nanoseconds and longer; where the steps between them do not fit into 64 bits, they are counted."""
    assert time_steps(["1700000000000000000000", "1700000000000000000008", "1700000000000000000004"]).tolist() == [
        0,
        2,
        1,
    ]
    assert time_steps(["9", "1" + 30 * "0", "10"]).tolist() == [0, 2, 1]


def test_other_times_are_ordered_as_text():
    """A day that the calendar lacks, and a mixture, are not counted."""
    assert time_steps(["2014-02-30", "2014-02-01"]).tolist() == [1, 0]
    assert time_steps(["10", "9", "x"]).tolist() == [0, 1, 2]
    assert steps_of(Triples.of([("a", "r", "b")]).relations).tolist() == [-1]
    assert time_steps([]).tolist() == []
