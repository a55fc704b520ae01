"""Triples as questions that a person can answer with yes or no, and the tasks that people are given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import decisions_of, queue
from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import ANNOTATOR, VERDICTS, YES, Judgements
from kgtrec.data.questions import Questions
from kgtrec.data.tasks import Tasks
from kgtrec.data.templates import SLOTS, check_template, template_parts
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, nearest

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LAST = re.compile(r"[^/#]+(?=[/#]*$)")
_NOT_TEXT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029{}]+")


def draft_template(relation: str) -> str:
    """A template that says what the relation is called, for a person to make a sentence of.

    Whether a relation reads from head to tail or back, and with which words, is not in its name, so the draft does not
    pretend to know. It is also what people are asked where there is no template.

    Examples
    --------
    >>> draft_template("/people/person/place_of_birth")
    'Is this true: {head} | place of birth | {tail}?'
    """
    return f"Is this true: {{head}} | {readable(relation)} | {{tail}}?"


def readable(relation: str) -> str:
    """The words in the name of a relation, with the paths and joints of common KGs taken off.

    Examples
    --------
    >>> readable("http://dbpedia.org/ontology/birthPlace"), readable("_member_of_domain_usage"), readable("P22")
    ('birth place', 'member of domain usage', 'P22')
    >>> readable("/award/award_winner/awards_won./award/award_honor/award")
    'awards won, award'
    """
    parts = relation.split("./") if relation.startswith("/") else [relation]
    return ", ".join(_words(part) for part in parts)


def _words(path: str) -> str:
    last = _LAST.search(path)
    name = _NOT_TEXT.sub(" ", last[0] if last else path)
    words = _CAMEL.sub(" ", name).replace("_", " ").split()
    joined = " ".join(word if word.isupper() or not _CAMEL.search(name) else word.lower() for word in words)
    return joined or _NOT_TEXT.sub(" ", path).strip() or "related to"


__all__ = [
    "check_template",
    "names_of",
    "phrase",
    "phrase_tasks",
    "phrase_triples",
    "relations_without_template",
    "tasks_for",
    "tasks_for_adjudicator",
]


def phrase(campaign: Campaign, rows: NDArray[np.intp]) -> list[str]:
    """Triples of a campaign's pool as questions; see :func:`phrase_triples`.

    Parameters
    ----------
    campaign : Campaign
    rows : (n,) int array
        Rows in the pool's triples.

    Returns
    -------
    (n,) list of str

    Raises
    ------
    KgtrecError
        If a template that is needed is none.
    """
    triples = campaign.pool.triples.take(np.asarray(rows, np.intp))
    texts: list[str] = phrase_triples(triples, campaign.templates, campaign.names).to_pylist()
    return texts


def phrase_triples(triples: Triples, templates: Mapping[str, str], names: Mapping[str, str]) -> pa.StringArray:
    """Triples as questions, by the template of each one's relation and the names of head and tail.

    An entity without a name goes by its label. A relation without a template is asked for in general words, those of
    :func:`kgtrec.campaign.tasks.draft_template`. Names go in as they are: braces in them mean nothing.

    Parameters
    ----------
    triples : Triples
        n of them.
    templates : mapping of str to str
        Relation -> a text with ``{head}`` and ``{tail}``.
    names : mapping of str to str
        Entity -> what a person calls it.

    Returns
    -------
    (n,) string array

    Raises
    ------
    KgtrecError
        If a template that is needed is none, see :func:`kgtrec.data.templates.check_template`.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4.

    Examples
    --------
    >>> triples = Triples.of([("Q7259", "occupation", "Q82594"), ("Q7259", "P22", "Q5679")])
    >>> templates, names = {"occupation": "Was {head} a {tail}?"}, {"Q7259": "Ada {tail}", "Q82594": "programmer"}
    >>> phrase_triples(triples, templates, names).to_pylist()
    ['Was Ada {tail} a programmer?', 'Is this true: Ada {tail} | P22 | Q5679?']
    """
    head = names_of(triples.entities, triples.head, names)
    tail = names_of(triples.entities, triples.tail, names)
    order = np.argsort(triples.relation, kind="stable")
    relations, starts = np.unique(triples.relation[order], return_index=True)
    texts = []
    for relation, rows in zip(relations, np.split(order, starts[1:]), strict=bool(len(relations))):
        label = triples.relations[relation]
        try:
            parts = template_parts(templates.get(label, draft_template(label)))
        except KgtrecError as error:
            raise KgtrecError(f"relation {label!r}: {error}") from None
        chosen = arrow_of(rows)
        filled = dict(zip(SLOTS, (head.take(chosen), tail.take(chosen)), strict=True))
        pieces = [filled[part] if part in filled else pa.scalar(part) for part in parts]
        texts.append(pc.binary_join_element_wise(*pieces, ""))
    if not texts:
        return labels_of([])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return pa.concat_arrays(texts).take(arrow_of(place))


def names_of(entities: Vocabulary, codes: NDArray[np.int32], names: Mapping[str, str]) -> pa.StringArray:
    """(n,) what people call the entities of ``codes``: the name, or the label where there is none.

    Examples
    --------
    >>> names_of(Vocabulary.of(["Q64", "Q90"]), np.array([1, 0, 1]), {"Q90": "Paris", "Q1": "universe"}).to_pylist()
    ['Paris', 'Q64', 'Paris']
    """
    named = entities.encode(labels_of(list(names)))
    place = np.arange(len(entities), dtype=np.int64)
    place[named[named >= 0]] = len(entities) + np.flatnonzero(named >= 0)
    texts = pa.concat_arrays([entities.labels, labels_of(list(names.values()))])
    return texts.take(arrow_of(place[codes]))


def relations_without_template(campaign: Campaign) -> dict[str, int]:
    """Relations of the pool that people are asked about in general words -> how many triples, most first.

    They have no template, or still the draft of :func:`kgtrec.campaign.tasks.draft_template`. Triples that a rule
    judges do not count.
    """
    triples = campaign.pool.triples.take(~campaign.automatic.is_automatic)
    counts = np.bincount(triples.relation, minlength=len(triples.relations))
    found = [(relation, int(counts[row])) for row, relation in enumerate(triples.relations) if counts[row]]
    drafts = {relation: draft_template(relation) for relation, _ in found}
    lacking = [one for one in found if campaign.templates.get(one[0], drafts[one[0]]) == drafts[one[0]]]
    return dict(sorted(lacking, key=lambda one: (-one[1], one[0])))


def phrase_tasks(
    campaign: Campaign,
    rows: NDArray[np.intp],
    annotators: Sequence[tuple[str, ...]] | None = None,
    *,
    earlier: Judgements | None = None,
    shown: Mapping[str, pa.StringArray] | None = None,
) -> Tasks:
    """Triples of the pool as tasks.

    Parameters
    ----------
    campaign : Campaign
    rows : (n,) int array
        Rows in the pool's triples, in the order of the tasks.
    annotators : (n,) sequence of tuple of str, optional
        Who is asked. Default: nobody is named.
    earlier : Judgements, optional
        What the one who is asked has said before, to be filled in; at most one event a triple. Default: nothing.
    shown : mapping of str to (n,) string array, optional
        More columns to show. An annotator judges blind: none for them.
    """
    pool = campaign.pool
    triples = pool.triples.take(np.asarray(rows, np.intp))
    questions = pool.questions
    question = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)[rows]
    said = np.full(len(pool), -1, np.int64)
    verdict, source, note = labels_of([""]), labels_of([""]), labels_of([""])
    if earlier is not None:
        said[earlier.triple] = np.arange(len(earlier))
        verdict = pa.concat_arrays([labels_of(VERDICTS).take(arrow_of(earlier.verdict)), verdict])
        source = pa.concat_arrays([earlier.source, source])
        note = pa.concat_arrays([earlier.note, note])
    place = said[rows]
    filled = arrow_of(np.where(place < 0, len(verdict) - 1, place))
    return Tasks(
        (np.asarray(rows) + 1).astype(np.int32),
        tuple(annotators) if annotators is not None else ((),) * len(triples),
        phrase_triples(triples, campaign.templates, campaign.names),
        triples.entities.decode(triples.head),
        triples.relations.decode(triples.relation),
        triples.entities.decode(triples.tail),
        names_of(triples.entities, triples.head, campaign.names),
        names_of(triples.entities, triples.tail, campaign.names),
        _search_text(questions, question, campaign.names),
        verdict.take(filled),
        source.take(filled),
        note.take(filled),
        dict(shown or {}),
    )


def _search_text(questions: Questions, rows: NDArray[np.int32], names: Mapping[str, str]) -> pa.StringArray:
    """(n,) what to look up for the questions at ``rows``: anchor and relation in words, as a triple orders them."""
    anchor = names_of(questions.entities, questions.anchor[rows], names)
    code, place = np.unique(questions.relation[rows], return_inverse=True)
    words = labels_of([readable(questions.relations[int(one)]) for one in code]).take(arrow_of(place))
    both = (pc.binary_join_element_wise(*pair, " ") for pair in ((words, anchor), (anchor, words)))
    text: pa.StringArray = pc.if_else(pa.array(questions.is_head[rows]), *both)
    return text


def tasks_for(
    campaign: Campaign, annotator: str | None = None, *, everything: bool = False, first: int | None = None
) -> Tasks:
    """What the annotators are still to judge, in the order in which they should.

    Blind: no verdict of anybody else, no rank and no run is in it.

    Parameters
    ----------
    campaign : Campaign
    annotator : str, optional
        Whose tasks. Default: those of all, each triple once, with everybody who was assigned it.
    everything : bool
        Also what they have judged already; for one annotator with what they said, to be corrected.
    first : int, tasks, optional
        No more than so many, from the beginning. As the questions come in one order for everybody, what two annotators
        are given so are mostly the same triples.

    Raises
    ------
    KgtrecError
        If nobody of that name was assigned anything, or ``first`` is less than 1.
    """
    if first is not None and first < 1:
        raise KgtrecError(f"expected at least 1 task to give out, got {first}")
    assignments = campaign.assignments
    if annotator is not None and annotator not in (names := list(assignments.annotators)):
        raise KgtrecError(
            f"expected an annotator with assigned tasks, found nobody called {annotator!r}{nearest(annotator, names)}; "
            "see people.tsv and kgtrec campaign assign"
        )
    latest = campaign.judgements.latest()
    latest = latest.take(latest.role == ANNOTATOR)
    # who judged, under the codes of the assignments
    person = assignments.annotators.encode(latest.annotators.labels)[latest.annotator]
    n_people = max(len(assignments.annotators), 1)
    of_assigned = assignments.triple.astype(np.int64) * n_people + assignments.annotator
    is_done = np.isin(of_assigned, (latest.triple.astype(np.int64) * n_people + person)[person >= 0])
    if annotator is not None:
        own = assignments.annotators.encode([annotator])[0]
        kept = assignments.annotator == own
        rows = assignments.triple[kept if everything else kept & ~is_done][:first]
        return phrase_tasks(campaign, rows, ((annotator,),) * len(rows), earlier=latest.take(person == own))
    kept = np.ones(len(is_done), np.bool_) if everything else ~is_done
    triples, place = np.unique(assignments.triple[kept], return_index=True)
    rows = triples[np.argsort(place, kind="stable")][:first]
    return phrase_tasks(campaign, rows, _assigned(campaign, rows))


def _assigned(campaign: Campaign, rows: NDArray[np.int32]) -> list[tuple[str, ...]]:
    """(n,) the annotators of each triple at ``rows``, in byte order of their names."""
    assignments = campaign.assignments
    by = np.lexsort((assignments.annotators.byte_order[assignments.annotator], assignments.triple))
    names = assignments.annotators.decode(assignments.annotator[by]).to_pylist()
    triple = assignments.triple[by]
    first, last = np.searchsorted(triple, rows), np.searchsorted(triple, rows, "right")
    return [tuple(names[begin:end]) for begin, end in zip(first.tolist(), last.tolist(), strict=True)]


def tasks_for_adjudicator(campaign: Campaign, person: str | None = None) -> Tasks:
    """The triples in conflict or doubted as tasks for an adjudicator, in the order of the pool.

    Every annotator's verdict, link and note is shown, as ``verdict_1``, ``source_1``, ``note_1``, ``verdict_2`` and so
    on, those of Y first, then N, then unsure. Who said what is not told: arguments are to be weighed, not people.

    Parameters
    ----------
    campaign : Campaign
    person : str, optional
        Whose tasks: those that they judged as annotators are left out.
    """
    rows = queue(decisions_of(campaign))
    said = campaign.judgements.take(campaign.judgements.role == ANNOTATOR).latest()
    if person is not None:
        own = said.annotators.encode([person])[0]
        rows = np.setdiff1d(rows, said.triple[said.annotator == own])
    said = said.take(np.isin(said.triple, rows))
    names = said.annotators.byte_order[said.annotator]
    said = said.take(np.lexsort((names, said.verdict, said.verdict != YES, said.triple)))
    first = np.searchsorted(said.triple, rows)
    count = np.searchsorted(said.triple, rows, "right") - first
    verdicts = labels_of([*VERDICTS, ""])
    shown = {}
    for nth in range(int(count.max(initial=0))):
        # a triple that more have judged than others leaves cells of the others empty
        place = np.where(nth < count, first + nth, len(said))
        verdict = np.append(said.verdict, len(VERDICTS))[place]
        shown[f"verdict_{nth + 1}"] = verdicts.take(arrow_of(verdict))
        for name, texts in (("source", said.source), ("note", said.note)):
            shown[f"{name}_{nth + 1}"] = pa.concat_arrays([texts, labels_of([""])]).take(arrow_of(place))
    people = None if person is None else [(person,)] * len(rows)
    return phrase_tasks(campaign, rows, people, shown=shown)
