"""Steps of long work are computed once for the same inputs, and never half."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgtrec.study.steps import STEP, Steps, damaged_files


def writing(text):
    def make(folder: Path) -> None:
        (folder / "result.txt").write_text(text)

    return make


def failing(folder: Path) -> None:
    (folder / "half.txt").write_text("half")
    raise RuntimeError("the disk is on fire")


def test_a_step_is_computed_once(tmp_path):
    first, again = Steps(tmp_path), Steps(tmp_path)
    place = first.do("score", writing("1"), inputs={"run": "abc"}, options={"seed": 1})
    assert (place / "result.txt").read_text() == "1"
    assert again.do("score", failing, inputs={"run": "abc"}, options={"seed": 1}) == place
    assert (first.done, again.done) == (1, 0)
    assert first.record == again.record


def test_an_editor_may_put_a_byte_order_mark_before_a_step(tmp_path):
    """What was checked with it is read with it."""
    first, again = Steps(tmp_path), Steps(tmp_path)
    place = first.do("score", writing("1"))
    (place / STEP).write_bytes(b"\xef\xbb\xbf" + (place / STEP).read_bytes())
    assert again.do("score", failing) == place
    assert again.record == first.record


@pytest.mark.parametrize(
    "other", [{"inputs": {"run": "abd"}}, {"inputs": {}}, {"options": {"seed": 2}}, {"options": {"seed": "1"}}]
)
def test_other_inputs_or_options_are_another_step(tmp_path, other):
    steps = Steps(tmp_path)
    asked = {"inputs": {"run": "abc"}, "options": {"seed": 1}}
    assert steps.do("score", writing("1"), **asked) != steps.do("score", writing("2"), **(asked | other))
    assert steps.done == 2


def test_the_order_of_options_does_not_matter(tmp_path):
    steps = Steps(tmp_path)
    place = steps.do("score", writing("1"), options={"a": 1, "b": [2]})
    assert steps.do("score", failing, options={"b": [2], "a": 1}) == place


@pytest.mark.parametrize("text", ["[" * 200_000, "{", "[]", "{}", '{"files": 1}', "\ud800"])
def test_what_a_step_says_of_itself_may_be_damaged(tmp_path, text):
    """That is one finding, however the file is damaged."""
    place = Steps(tmp_path).do("score", writing("1"))
    assert damaged_files(place) == []
    (place / STEP).write_text(text, errors="surrogatepass")
    (error,) = damaged_files(place)
    assert str(error) == (
        f"{place / STEP}: expected a study's record of a step, found something else; run kgtrec study again"
    )


@pytest.mark.parametrize("harm", ["change", "remove", "add", "spoil", "cut"])
def test_a_step_that_somebody_has_changed_is_computed_again(tmp_path, harm):
    steps = Steps(tmp_path)
    place = steps.do("score", writing("1"))
    if harm == "change":
        (place / "result.txt").write_text("2")
    elif harm == "remove":
        (place / "result.txt").unlink()
    elif harm == "add":
        (place / "more.txt").write_text("2")
    elif harm == "spoil":
        (place / STEP).write_text("[]")
    else:
        (place / STEP).write_text("{")
    assert (steps.do("score", writing("1")) / "result.txt").read_text() == "1"
    assert steps.done == 2
    assert sorted(path.name for path in place.iterdir()) == ["result.txt", STEP]


def test_a_step_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError):
        Steps(tmp_path / "steps").do("score", failing)
    assert list(tmp_path.rglob("*.txt")) == []


def test_a_killed_program_leaves_whole_steps_and_goes_on(tmp_path):
    """Killed while it makes its second step: the first one is there, the second one is made anew."""
    script = tmp_path / "work.py"
    script.write_text(
        "import sys, time\n"
        "from kgtrec.study.steps import Steps\n"
        "def quick(folder): (folder / 'a').write_text('a')\n"
        "def slow(folder):\n"
        "    (folder / 'b').write_text('half')\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "steps = Steps(sys.argv[1]); steps.do('quick', quick); steps.do('slow', slow)\n"
    )
    with subprocess.Popen([sys.executable, script, tmp_path / "steps"], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        time.sleep(0.1)
        process.kill()
    steps = Steps(tmp_path / "steps")
    steps.do("quick", failing)
    place = steps.do("slow", writing("whole"))
    assert steps.done == 1
    assert sorted(path.name for path in place.iterdir()) == ["result.txt", STEP]


def test_what_was_not_asked_for_can_be_removed(tmp_path):
    steps = Steps(tmp_path)
    steps.do("score", writing("1"), options={"seed": 1})
    later = Steps(tmp_path)
    kept = later.do("score", writing("2"), options={"seed": 2})
    assert later.remove_others() == 1
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]


def test_a_step_in_which_somebody_put_a_link_stays(tmp_path):
    """Also one that leads to a folder, or nowhere."""
    steps = Steps(tmp_path / "steps")
    for seed, leads_to in ((1, "notes"), (2, "nowhere")):
        (steps.do("old", writing("1"), options={"seed": seed}) / "mine").symlink_to(tmp_path / leads_to)
    (tmp_path / "notes").mkdir()
    assert Steps(tmp_path / "steps").remove_others() == 0
    assert sum((place / "mine").is_symlink() for place in (tmp_path / "steps").iterdir()) == 2
