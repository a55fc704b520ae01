"""What is taken of incoming verdicts, and every reason for which one is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.accept import Accepted, RefusedError, accept
from kgtrec.campaign.check import check_judgements
from kgtrec.campaign.verdict_rules import LONGEST_NOTE, LONGEST_SOURCE, Refusal, wrong_link
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic
from kgtrec.data.judgements import ROLES, Incoming
from kgtrec.errors import KgtrecError
from tests.campaign_folders import people_of, said
from tests.campaigns_by_hand import campaign_of

NOW = "2026-11-22T08:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
PEOPLE = people_of(
    ("ann", "annotator", True),
    ("bob", "annotator", True),
    ("cleo", "annotator", False),
    ("eve", "adjudicator", True),
    ("bob", "adjudicator", True),
    ("ivy", "expert", True),
)
CONFLICT = [(0, "ann", "annotator", "Y", WIKI, ""), (0, "bob", "annotator", "N", WIKI, "")]


def campaign(events=(), **changes):
    return replace(campaign_of(events), people=PEOPLE, **changes)


def row(task=1, person="ann", verdict="Y", source=WIKI, note="", role="annotator", place="a.csv:2", labels=None):
    return Incoming(place, person, verdict, task, *(labels or (None, None, None)), source, note, role)


def refusal(given_campaign, *rows: Incoming, **policies) -> str:
    with pytest.raises(RefusedError) as caught:
        accept(given_campaign, rows, time=NOW, **policies)
    assert [str(one) for one in caught.value.refused] == str(caught.value).split("\n")
    return str(caught.value)


def taken(given_campaign, *rows: Incoming, **policies) -> Accepted:
    return accept(given_campaign, rows, time=NOW, **policies)


def labels_of_task(task):
    return campaign_of().pool.triples.labels_at(task - 1)


def test_a_verdict_becomes_an_event():
    """By task number, by labels, or by both."""
    for one in (row(3), row(None, labels=labels_of_task(3)), row(3, labels=labels_of_task(3))):
        accepted = taken(campaign(), one)
        assert said(accepted.judgements) == [(2, "ann", "annotator", 1, WIKI, "", NOW)]
        assert (accepted.repeated, accepted.corrections, accepted.refused) == (0, 0, ())


def test_events_keep_the_order_of_the_rows():
    """Those of adjudicators come last, since they are looked at last: so the record is in the order of the rules."""
    rows = [row(1, "eve", role="adjudicator"), row(2, "bob"), row(2, "ann", "unsure", ""), row(1, "ivy", role="expert")]
    assert [event[:3] for event in said(taken(campaign(CONFLICT), *rows).judgements)] == [
        (1, "bob", "annotator"),
        (1, "ann", "annotator"),
        (0, "ivy", "expert"),
        (0, "eve", "adjudicator"),
    ]


def test_unsure_needs_no_link_and_no_note_is_needed():
    """Notes hold any text, line breaks and markup too."""
    note = '<script>\n"x"\t=1+1 é'
    assert said(taken(campaign(), row(verdict="unsure", source="", note=note)).judgements)[0][3:6] == (2, "", note)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"person": None}, "name of the person who judged, found none; give it with --person"),
        ({"person": ""}, "name of the person who judged, found none; give it with --person"),
        ({"person": "Ann"}, "the campaign's people, found 'Ann'; did you mean ann?"),
        ({"person": " ann"}, "the campaign's people, found ' ann'; did you mean ann?"),
        ({"person": "\ud800"}, "the campaign's people, found '\\ud800'"),
        ({"person": "x\ny"}, "the campaign's people, found 'x\\ny'"),
        ({"role": "Annotator"}, "a role of annotator, adjudicator, expert, found 'Annotator'; did you mean annotator?"),
        ({"person": "eve"}, "an annotator, found 'eve', who is an adjudicator; kgtrec campaign adjudicate --import"),
        ({"role": "expert"}, "an expert, found 'ann', who is an annotator"),
        ({"person": "cleo"}, "an active annotator, found 'cleo', who has left"),
        *(({"task": task}, f"a task of 1 to 6, found {task}") for task in (0, 7, -1, 10**30)),
        ({"task": None}, "a task number, or head, relation and tail, found neither"),
        ({"task": None, "labels": ("fr", "capital", None)}, "all of head, relation and tail, or only a task number"),
        ({"task": None, "labels": ("paris", "capital", "fr")}, "the pool's 6, found 'paris' 'capital' 'fr'"),
        ({"task": None, "labels": ("\ud800", "capital", "")}, "the pool's 6, found '\\ud800' 'capital' ''"),
        ({"task": 9, "labels": labels_of_task(1)}, "the pool's 6, found {1} as task 9"),
        ({"task": 2, "labels": labels_of_task(1)}, "task 2 to be {2}, found {1}"),
        ({"task": 2, "labels": ("x", "y", "z")}, "task 2 to be {2}, found 'x' 'y' 'z'"),
        ({"verdict": " Y"}, "one of N, Y, unsure, found ' Y'; did you mean Y?"),
        ({"verdict": "y"}, "one of N, Y, unsure, found 'y'; did you mean Y?"),
        ({"verdict": "Unsure"}, "one of N, Y, unsure, found 'Unsure'; did you mean unsure?"),
        ({"verdict": ""}, "one of N, Y, unsure, found ''"),
        ({"verdict": "Y\n"}, "one of N, Y, unsure, found 'Y\\n'; did you mean Y?"),
        ({"verdict": "1"}, "one of N, Y, unsure, found '1'"),
        ({"source": ""}, "a link to the source of a Y, found none"),
        ({"source": "", "verdict": "N"}, "a link to the source of a N, found none"),
        ({"source": "x", "verdict": "unsure"}, "a link that begins with https://, found 'x'"),
        ({"source": WIKI + "x" * LONGEST_SOURCE}, "a link of at most 2,048 characters, found 2,083: 'https://en.wiki"),
        ({"note": "x" * (LONGEST_NOTE + 1)}, f"at most 10,000 characters, found 10,001: '{'x' * 100}...'"),
        ({"note": "half \udfff"}, "a note of Unicode text, found half a surrogate pair in 'half \\udfff'"),
        ({"note": "\x1b[2J"}, "a note without control characters, found '\\x1b' in '\\x1b[2J'"),
        ({"note": "a\0"}, "a note without control characters, found '\\x00' in 'a\\x00'"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(wrong, message):
    """One message on one line, and nothing is accepted."""
    for task in (1, 2):
        message = message.replace(f"{{{task}}}", " ".join(map(repr, labels_of_task(task))))
    told = refusal(campaign(), row(**{"place": "a.csv:17", **wrong}))
    assert told.startswith("a.csv:17: expected ")
    assert message in told
    assert "\n" not in told


def test_a_triple_that_a_rule_judged_is_refused():
    """The rule is named; an expert may tell how good the rules are."""
    automatic = Automatic(np.array([0, -1, -1, -1, -1, -1], np.int8), ("types",))
    assert refusal(campaign(automatic=automatic), row(1)) == (
        "a.csv:2: expected a triple for people to judge, found one that a rule has judged N (types)"
    )
    assert len(taken(campaign(automatic=automatic), row(1, "ivy", role="expert"))) == 1


def test_all_refusals_are_told_and_none_is_stored():
    """In the order of the rows; with keep_going the others are taken."""
    rows = [row(1), row(2, source="", place="a.csv:3"), row(3, place="a.csv:4"), row(9, place="a.csv:5")]
    told = ["a.csv:3: expected a link to the source of a Y, found none", "a.csv:5: expected a task of 1 to 6, found 9"]
    assert refusal(campaign(), *rows) == "\n".join(told)
    accepted = taken(campaign(), *rows, keep_going=True)
    assert [event[0] for event in said(accepted.judgements)] == [0, 2]
    assert [str(one) for one in accepted.refused] == told


def test_what_is_stored_already_changes_nothing():
    """Word for word, by the same person in the same role; also after the person has left or the triple is settled."""
    stored = [*CONFLICT, (0, "eve", "adjudicator", "Y", WIKI, "x")]
    accepted = taken(campaign(stored), row(1, "ann"), row(1, "eve", note="x", role="adjudicator"))
    assert (len(accepted), accepted.repeated) == (0, 2)
    left = people_of(("ann", "annotator", False), ("eve", "adjudicator", False))
    nobody = campaign(stored, sources=("example.org",))
    accepted = taken(replace(nobody, people=left), row(1, "ann"), row(1, "eve", note="x", role="adjudicator"))
    assert (len(accepted), accepted.repeated) == (0, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "N"}, "verdict 'Y' of 2026-11-21T20:00:00Z, found 'N'"),
        ({"source": WIKI + "#x"}, f"link '{WIKI}' of 2026-11-21T20:00:00Z, found '{WIKI}#x'"),
        ({"note": "x"}, "note '' of 2026-11-21T20:00:00Z, found 'x'"),
    ],
)
def test_a_second_opinion_of_one_person_is_a_correction(change, message):
    """It is refused unless it is said to be one; then it is one more event, and a third time changes nothing."""
    before = campaign(CONFLICT)
    assert refusal(before, row(1, **change)) == (
        f"a.csv:2: expected the earlier verdict of 'ann', {message}; give --correct to replace it"
    )
    accepted = taken(before, row(1, **change), correct=True)
    assert (len(accepted), accepted.corrections) == (1, 1)
    (event,) = said(accepted.judgements)
    after = campaign([*CONFLICT, (0, "ann", "annotator", "NY"[event[3]], event[4], event[5])])
    again = taken(after, row(1, **change), correct=True)
    assert (len(again), again.repeated) == (0, 1)
    assert "expected the earlier verdict of 'ann'" in refusal(after, row(1))


ALL_ROLES = [(name, role, True) for name in ("ann", "bob", "eve") for role in ROLES]


@pytest.mark.parametrize("later", ROLES)
@pytest.mark.parametrize("earlier", ROLES)
def test_one_person_judges_a_triple_in_one_role(earlier, later):
    """Whichever came first, recorded or among the same rows; other triples are free."""
    versatile = people_of(*ALL_ROLES)
    message = {
        ("annotator", "adjudicator"): "an annotator who judges blind, found 'eve', who has adjudicated this triple",
        ("annotator", "expert"): "an annotator who judges blind, found 'eve', who has judged this triple as expert",
    }.get((later, earlier), f"an {later} who has not judged the triple, found 'eve', its {earlier}")
    before = replace(campaign([*CONFLICT, (0, "eve", earlier, "Y", WIKI, "")]), people=versatile)
    if earlier == later:
        assert taken(before, row(1, "eve", role=later)).repeated == 1
    else:
        assert refusal(before, row(1, "eve", role=later)) == f"a.csv:2: expected {message}"
    assert len(taken(before, row(2, "eve", role="expert"))) == 1


def test_one_person_judges_a_triple_in_one_role_of_the_same_file():
    """The first row counts; an adjudicator's comes last wherever it stands."""
    versatile = replace(campaign(CONFLICT), people=people_of(*ALL_ROLES))
    rows = [row(1, "eve", role="adjudicator"), row(1, "eve", role="expert"), row(1, "eve", role="annotator")]
    accepted = taken(versatile, *rows, keep_going=True)
    assert [event[:3] for event in said(accepted.judgements)] == [(0, "eve", "expert")]
    assert [str(one).rpartition(", ")[2] for one in accepted.refused] == [
        "its expert",
        "who has judged this triple as expert",
    ]


def test_a_clock_that_was_set_back_refuses_no_correction():
    """It is recorded a second after what it corrects, so that times tell which is the last; what is new has its own."""
    before = campaign(CONFLICT)  # of 2026-11-21T20:00:00Z
    back = "1999-12-31T23:59:59Z"
    accepted = accept(before, [row(1, verdict="N"), row(2)], time=back, correct=True)
    assert accepted.judgements.time.to_pylist() == ["2026-11-21T20:00:01Z", back]
    assert not check_judgements(replace(before, judgements=before.judgements.joined(accepted.judgements)), "j").wrong
    later = accept(before, [row(1, verdict="N")], time="2026-11-22T20:00:00Z", correct=True)
    assert later.judgements.time.to_pylist() == ["2026-11-22T20:00:00Z"]
    assert accept(before, [row(1)], time=back).repeated == 1


def test_which_verdict_is_the_last_can_be_told_by_its_time():
    """Also of two adjudicators at once, and where the clock of a file is none."""
    judges = (("ann", "annotator"), ("bob", "annotator"), ("eve", "adjudicator"), ("ida", "adjudicator"))
    people = people_of(*((name, role, True) for name, role in judges))
    both = [row(1, name, verdict, role="adjudicator") for name, verdict in (("eve", "Y"), ("ida", "N"))]
    accepted = taken(replace(campaign(CONFLICT), people=people), *both)
    assert accepted.judgements.time.to_pylist() == [NOW, "2026-11-22T08:00:01Z"]
    odd = campaign(CONFLICT)
    odd = replace(odd, judgements=replace(odd.judgements, time=labels_of(["2026-19-39T29:59:69Z"] * 2)))
    assert taken(odd, row(1, verdict="N"), correct=True).judgements.time.to_pylist() == ["2026-19-39T29:59:69Z"]


def test_rows_that_contradict_each_other_are_all_refused():
    """Nothing tells which is meant, also with correct; the same words twice are one verdict."""
    rows = [row(1), row(1, verdict="N", place="b.csv:7"), row(2, "bob"), row(2, "bob", place="b.csv:9")]
    for policy in ({}, {"correct": True}):
        assert refusal(campaign(), *rows, **policy) == (
            "a.csv:2: expected one verdict of 'ann' on this triple, found another one at b.csv:7\n"
            "b.csv:7: expected one verdict of 'ann' on this triple, found another one at a.csv:2"
        )
    accepted = taken(campaign(), *rows, keep_going=True)
    assert said(accepted.judgements)[0][:2] == (1, "bob")
    assert (len(accepted), accepted.repeated, accepted.again) == (1, 0, 1)


def test_a_row_that_comes_twice_was_not_stored_before():
    """One that is stored already counts as such however often it comes."""
    stored = campaign([(0, "ann", "annotator", "Y", WIKI, "")])
    accepted = taken(stored, row(1), row(1), row(2), row(2), row(2))
    assert (len(accepted), accepted.repeated, accepted.again) == (1, 2, 2)


def test_a_row_that_cannot_be_read_is_refused_like_others():
    """With what is wrong, and without holding it against a row of the same triple."""
    wrong = replace(row(None, labels=labels_of_task(1), verdict="N"), wrong="expected a task's number, found 'x'")
    assert refusal(campaign(), wrong) == "a.csv:2: expected a task's number, found 'x'"
    accepted = taken(campaign(), wrong, row(1), keep_going=True)
    assert (len(accepted), len(accepted.refused)) == (1, 1)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("expected a link to the source of a Y, found none", "expected a link to the source of a Y"),
        ("expected one of the campaign's people, found 'x, y'", "expected one of the campaign's people"),
        ("expected one verdict of 'a, b' on this triple, found", "expected one verdict of ..."),
        ("expected task 12 to be 'a' 'r' 'b', found 'a'", "expected task N to be ..."),
        ("expected what \"o'n\" has said before, verdict 'Y'", "expected what ..."),
    ],
)
def test_refusals_are_of_kinds(message, reason):
    """Whatever was found in the row."""
    assert Refusal("a.csv:2", message).reason == reason


def test_what_was_not_assigned_is_refused():
    """Unless that is wanted; without any assignments everything is open to all; corrections are of one's own."""
    full = campaign(CONFLICT)
    own = full.assignments
    fewer = replace(own, annotator=own.annotator[1:6], triple=np.arange(1, 6, dtype=np.int32))
    some = replace(full, assignments=fewer)
    refused = "a.csv:2: expected a task that is assigned to 'bob', found another; give --unassigned to accept it"
    assert refusal(some, row(2, "bob")) == refused
    assert len(taken(some, row(2, "bob"), unassigned=True)) == 1
    nothing = replace(own, annotator=own.annotator[:0], triple=own.triple[:0])
    assert len(taken(replace(full, assignments=nothing), row(2, "bob"))) == 1
    assert len(taken(some, row(1, "ann", verdict="unsure"), correct=True)) == 1
    assert len(taken(some, row(1, "eve", role="adjudicator"), row(2, "ivy", role="expert"))) == 2


def test_an_adjudicator_judges_only_what_waits():
    """Conflicts, doubts and what was adjudicated before; not what is open, agreed, or their own."""
    doubted = [(1, "ann", "annotator", "unsure", "", ""), (1, "bob", "annotator", "N", WIKI, "")]
    agreed = [(2, "ann", "annotator", "N", WIKI, ""), (2, "bob", "annotator", "N", WIKI, "")]
    now = campaign([*CONFLICT, *doubted, *agreed])
    assert len(taken(now, row(1, "eve", role="adjudicator"), row(2, "eve", role="adjudicator"))) == 2
    refused = "expected a triple in conflict or doubted, found one that is"
    assert refusal(now, row(3, "eve", role="adjudicator")) == f"a.csv:2: {refused} agreed"
    assert refusal(now, row(4, "eve", role="adjudicator")) == f"a.csv:2: {refused} open"
    assert refusal(now, row(1, "bob", role="adjudicator")) == (
        "a.csv:2: expected an adjudicator who has not judged the triple, found 'bob', its annotator"
    )
    for verdict, source in (("Y", WIKI), ("unsure", "")):
        later = campaign([*CONFLICT, (0, "eve", "adjudicator", verdict, source, "")])
        assert len(taken(later, row(1, "eve", verdict="N", role="adjudicator"), correct=True)) == 1


def test_annotators_of_the_same_file_come_before_the_adjudicator():
    """So that one file of a whole campaign can be taken; its roles are checked against each other too."""
    rows = [row(1, "eve", role="adjudicator"), row(1, "ann"), row(1, "bob", verdict="N")]
    assert len(taken(campaign(), *rows)) == 3
    assert "its annotator" in refusal(campaign(), *rows, row(1, "bob", role="adjudicator"))


def test_a_time_of_another_form_is_refused():
    """A store with times of several forms could not be sorted."""
    for time in ("now", "2026-11-22 08:00:00", NOW + "\n", "2026-11-22T08:00:00+00:00", "2026-02-30T08:00:00Z", ""):
        with pytest.raises(KgtrecError, match="expected a time in UTC such as 2026-11-21T20:00:00Z, got"):
            accept(campaign(), [row()], time=time)


HOSTS = ("wikipedia.org", "imdb.com")
RIGHT_LINKS = """
    https://wikipedia.org https://wikipedia.org/ https://en.wikipedia.org/wiki/Z%C3%BCrich?action=raw&x=1#History
    https://de.wikipedia.org/wiki/Zürich https://EN.Wikipedia.ORG/wiki/Paris HTTPS://en.wikipedia.org/
    https://a.b.c.imdb.com?x https://imdb.com#x https://imdb.com/@user:443/https://evil.org
    https://xn--bcher-kva.wikipedia.org/
"""


@pytest.mark.parametrize("link", RIGHT_LINKS.split())
def test_a_link_to_a_verified_source_is_taken(link):
    """The host itself or one under it, in any case of letters."""
    assert wrong_link(link, HOSTS) == ""


NO_HTTPS = """
    http://en.wikipedia.org/ en.wikipedia.org //en.wikipedia.org https:/en.wikipedia.org https:en.wikipedia.org
    http\u017f://en.wikipedia.org javascript://en.wikipedia.org/%0aalert(1) ftp://wikipedia.org
    data:text/html,https://wikipedia.org view-source:https://wikipedia.org
"""
NO_PLAIN_HOST = f"""
    https:// https:///wikipedia.org https://?wikipedia.org https://wikipedia.org:443/ https://wikipedia.org:/
    https://wikipedia.org@evil.org/ https://evil.org@wikipedia.org/ https://user:pass@wikipedia.org/
    https://wikipedia.org./ https://.wikipedia.org/ https://en..wikipedia.org/ https://en.-.wikipedia.org/
    https://evil.org%2f.wikipedia.org/ https://evil.org%00.wikipedia.org/ https://evil.org;.wikipedia.org/
    https://evil.org,.wikipedia.org/ https://en\u3002wikipedia\u3002org/ https://\uff57ikipedia.org/
    https://wi\u212aipedia.org/ https://w\u0131kipedia.org/ https://wikiped\u0131a.wikipedia.org/
    https://bücher.wikipedia.org/ https://evil.org\u2044.wikipedia.org/ https://[::1]/ https://org/
    https://{"a." * 130}wikipedia.org/ https://{"a" * 64}.wikipedia.org/
"""
ANOTHER_HOST = """
    https://notwikipedia.org/ https://wikipedia.org.evil.org/ https://evil.org/https://wikipedia.org/
    https://evil.org?wikipedia.org https://evil.org#.wikipedia.org https://xn--wikipedi-86g.org/
    https://wikipedia.com/ https://ikipedia.org/
"""
SPECIAL_SIGNS = {
    " ": (" https://wikipedia.org", "https://wikipedia.org/a b"),
    "\n": ("https://wikipedia.org/\n", "java\nscript:x"),
    "\\": ("https://evil.org\\@wikipedia.org/", "https:\\\\wikipedia.org/"),
    **{sign: (f"https://wikipedia.org/{sign}",) for sign in "\x00\u200b\u202e\xa0"},
    "\t": ("https://wiki\tpedia.org/",),
    '"': ('https://wikipedia.org/"><script>',),
    "<": ("https://wikipedia.org/<script>",),
}


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (NO_HTTPS.split(), "a link that begins with https://, found"),
        (NO_PLAIN_HOST.split(), "a link with the plain name of a host after https://, found"),
        (ANOTHER_HOST.split(), "a link to one of the campaign's sources (wikipedia.org, imdb.com), found"),
        *((links, f"white space and special characters, found {sign!r}") for sign, links in SPECIAL_SIGNS.items()),
    ],
)
def test_any_other_link_is_refused(links, message):
    """Whatever a browser might make of it; the message is one line."""
    for link in links:
        found = wrong_link(link, HOSTS)
        assert message in found, link
        assert "\n" not in found, link


ADDRESSES = """
    https://localhost/ https://127.0.0.1/ https://2130706433/ https://0x7f.1/ https://127.0.0.0x1/ https://10.1/
    https://[::1]/ http://example.org/ https://a.b:80/
"""


@pytest.mark.parametrize("link", ADDRESSES.split())
def test_without_a_list_any_named_host_will_do(link):
    """But not an address, nor a host without a dot."""
    assert wrong_link("https://example.org/x", []) == ""
    assert wrong_link(link, []).startswith("expected a link")


def test_a_long_list_of_sources_is_shortened():
    """Five are named."""
    hosts = [f"h{i}.org" for i in range(9)]
    assert "sources (h0.org, h1.org, h2.org, h3.org, h4.org and 4 more)" in wrong_link("https://x.org/", hosts)


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_prefix_leads_away_from_the_host(before, after):
    """Whatever stands before or behind a verified host, what is accepted has it as its host by urllib's reading too."""
    from urllib.parse import urlsplit

    for link in (f"https://{before}wikipedia.org{after}", f"https://wikipedia.org{before}/{after}"):
        if not wrong_link(link, HOSTS):
            host = urlsplit(link).hostname
            assert host is not None
            assert host == "wikipedia.org" or host.endswith(".wikipedia.org")
            assert urlsplit(link).port is None


texts = st.sampled_from(["", "x", "y\nz", "<b>"])
rows = st.builds(
    row,
    task=st.integers(0, 7),
    person=st.sampled_from(["ann", "bob", "cleo", "eve", "dan", "ivy"]),
    verdict=st.sampled_from(["Y", "N", "unsure", "y"]),
    source=st.sampled_from([WIKI, "", "https://evil.org/"]),
    note=texts,
    role=st.sampled_from(ROLES),
)


@given(st.lists(rows, max_size=8), st.booleans(), st.booleans())
def test_accepting_again_changes_nothing(incoming, correct, unassigned):
    """None is new the second time, and the same are refused; each of the others was stored before.

    Also a row that stood twice in the file, of which the second was `again` the first time: by now both are stored.
    """
    before = campaign(CONFLICT)
    policies = {"correct": correct, "unassigned": unassigned, "keep_going": True}
    first = taken(before, *incoming, **policies)
    assert len(first) + first.again + first.repeated + len(first.refused) == len(incoming)
    events = [(e[0], e[1], e[2], ("N", "Y", "unsure")[e[3]], e[4], e[5]) for e in said(first.judgements)]
    again = taken(campaign([*CONFLICT, *events]), *incoming, **policies)
    assert (len(again), again.again) == (0, 0)
    assert again.repeated == len(first) + first.repeated + first.again
    assert again.refused == first.refused
