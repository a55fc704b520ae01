"""Triples as questions that a person can answer with yes or no, and the tasks that people are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.adjudicate import by_question, queue_of, sides_of
from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.wording import JOINTED, draft_template, readable, relations_in, template_of
from kgtrec.data.arrow import arrow_of, labels_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import NOT_ASKED, SLOTS, Assignments, Campaign, template_parts
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, ROLES, VERDICTS, Judgements, Tasks
from kgtrec.data.questions import Questions
from kgtrec.data.triples import BETWEEN, Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, nearest


def phrase(campaign: Campaign, rows: NDArray[np.intp]) -> list[str]:
    """Phrase triples of a campaign's pool as questions; see :func:`phrase_triples`.

    Parameters
    ----------
    campaign : Campaign
        With the pool and the question templates.
    rows : (n,) int array
        Rows in the pool's triples.

    Returns
    -------
    (n,) list of str

    Raises
    ------
    KgtrecError
        If a needed template is invalid.
    """
    triples = campaign.pool.triples.take(rows)
    return list(phrase_triples(triples, campaign.templates, campaign.names).to_pylist())


def phrase_triples(triples: Triples, templates: Mapping[str, str], names: Mapping[str, str]) -> pa.StringArray:
    """Phrase triples as questions, by the templates of their relations and the names of head and tail.

    An entity without a name goes by the words of its label, see
    :func:`kgtrec.campaign.wording.readable`. A relation without a template is asked for in general words, those of
    :func:`kgtrec.campaign.wording.draft_template`. Names go in as they are: braces in them mean nothing.

    Parameters
    ----------
    triples : Triples
        n of them.
    templates : mapping of str to str
        Relation -> a text with ``{head}`` and ``{tail}``.
    names : mapping of str to str
        Entity -> its name in plain language.

    Returns
    -------
    (n,) string array

    Raises
    ------
    KgtrecError
        If a needed template is invalid, see :func:`kgtrec.data.campaign.template_parts`.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4.

    Examples
    --------
    >>> triples = Triples.of([("Q7259", "occupation", "Q82594"), ("Q7259", "P22", "Q5679")])
    >>> templates, names = {"occupation": "Was {head} a {tail}?"}, {"Q7259": "Ada {tail}", "Q82594": "programmer"}
    >>> phrase_triples(triples, templates, names).to_pylist()
    ['Was Ada {tail} a programmer?', 'On a fact sheet about Ada {tail}, is the line “P22: Q5679” true?']
    """
    head = names_of(triples.entities, triples.head, names)
    tail = names_of(triples.entities, triples.tail, names)
    order = np.argsort(triples.relation, kind="stable")
    relations, starts = np.unique(triples.relation[order], return_index=True)
    texts = []
    for relation, rows in zip(relations, np.split(order, starts[1:]), strict=bool(len(relations))):
        label = triples.relations[relation]
        try:
            parts = template_parts(template_of(templates, label, names=names))
        except KgtrecError as error:
            raise KgtrecError(f"relation {label!r}: {error}") from None
        chosen = arrow_of(rows)
        filled = dict(zip(SLOTS, (head.take(chosen), tail.take(chosen)), strict=True))
        pieces = [filled[part] if part in filled else labels_of([part])[0] for part in parts]
        texts.append(pc.binary_join_element_wise(*pieces, ""))
    if not texts:
        return labels_of([])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return pa.concat_arrays(texts).take(arrow_of(place))


def names_of(entities: Vocabulary, codes: NDArray[np.int32], names: Mapping[str, str]) -> pa.StringArray:
    """Find what people call the entities of ``codes``, (n,): the name, or the words of the label where there is none.

    Examples
    --------
    >>> names_of(Vocabulary.of(["Q64", "Q90"]), np.array([1, 0, 1]), {"Q90": "Paris", "Q1": "universe"}).to_pylist()
    ['Paris', 'Q64', 'Paris']
    >>> names_of(Vocabulary.of(["acquired_abnormality"]), np.array([0]), {}).to_pylist()
    ['acquired abnormality']
    """
    named = entities.encode(labels_of(list(names)))
    place = np.arange(len(entities), dtype=np.int64)
    place[named[named >= 0]] = len(entities) + np.flatnonzero(named >= 0)
    bare = np.unique(codes)
    bare = bare[place[bare] < len(entities)]
    jointed = bare[values_of(pc.match_substring_regex(entities.labels.take(arrow_of(bare)), JOINTED))]
    place[jointed] = len(entities) + len(names) + np.arange(len(jointed))
    words = [readable(label, is_entity=True) for label in entities.labels.take(arrow_of(jointed)).to_pylist()]
    texts = pa.concat_arrays([entities.labels, labels_of(list(names.values())), labels_of(words)])
    return texts.take(arrow_of(place[codes]))


def relations_without_template(campaign: Campaign) -> dict[str, int]:
    """Count the triples of each relation that people are asked about in general words, most first.

    They have no template, or still the draft of :func:`kgtrec.campaign.wording.draft_template`. Triples that a rule
    judges do not count.
    """
    lacking: Counter[str] = Counter()
    for relation, count in relation_counts(campaign.pool.triples.take(campaign.automatic.for_people)).items():
        own = campaign.templates.get(relation)
        for part in relations_in(relation) if own in (None, draft_template(relation)) else ():
            if campaign.templates.get(part) in (None, draft_template(part)):
                lacking[part] += count
    return dict(sorted(lacking.items(), key=lambda item: (-item[1], item[0])))


def relation_counts(triples: Triples) -> dict[str, int]:
    """Count the triples of each relation, with its qualifier."""
    used, counts = np.unique(triples.relation, return_counts=True)
    return dict(zip(triples.relations.decode(used).to_pylist(), counts.tolist(), strict=True))


def phrase_tasks(
    campaign: Campaign,
    rows: NDArray[np.intp] | NDArray[np.int32],
    annotators: Sequence[tuple[str, ...]] | None = None,
    *,
    role: str = ROLES[ANNOTATOR],
    shown: Mapping[str, pa.StringArray] | None = None,
    earlier: Judgements | None = None,
) -> Tasks:
    """Make tasks of triples of the pool.

    Parameters
    ----------
    campaign : Campaign
    rows : (n,) int array
        Rows in the pool's triples, in the order of the tasks.
    annotators : (n,) sequence of tuple of str, optional
        The annotators of each task. Default: none.
    role : str
        The role in which they judge.
    shown : mapping of str to (n,) string array, optional
        More columns to show. Not for annotators, who judge blind.
    earlier : Judgements, optional
        What the one who is asked has said before, to be filled in, at most one event a triple.
    """
    rows = np.asarray(rows, np.int64)
    question = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)[rows]
    triples = campaign.pool.triples
    earlier = earlier or Judgements.none()
    event_of = np.full(len(triples), len(earlier), np.int64)  # the last one of the texts below, which is empty
    event_of[earlier.triple] = np.arange(len(earlier))
    before = labels_of(VERDICTS).take(arrow_of(earlier.verdict)), earlier.source, earlier.note
    verdict, source, note = (
        pa.concat_arrays([texts, labels_of([""])]).take(arrow_of(event_of[rows])) for texts in before
    )
    triples = triples.take(rows)
    return Tasks(
        (rows + 1).astype(np.int32),
        tuple(annotators) if annotators is not None else ((),) * len(triples),
        phrase_triples(triples, campaign.templates, campaign.names),
        triples.entities.decode(triples.head),
        triples.relations.decode(triples.relation),
        triples.entities.decode(triples.tail),
        names_of(triples.entities, triples.head, campaign.names),
        names_of(triples.entities, triples.tail, campaign.names),
        search_text(campaign.pool.questions, question, campaign.names),
        verdict,
        source,
        note,
        dict(shown or {}),
        question,
        campaign.links(role) != NOT_ASKED,
    )


def search_text(questions: Questions, rows: NDArray[np.integer], names: Mapping[str, str]) -> pa.StringArray:
    """Write what to look up for the questions at ``rows``, (n,): anchor and relation in words, as a triple orders them.

    Parameters
    ----------
    questions : Questions
    rows : (n,) int array
        Rows in ``questions``.
    names : mapping of str to str
        Entity -> what a person calls it.

    Examples
    --------
    >>> asked = Questions(
    ...     Vocabulary.of(["tail0"]), np.array([False]), np.array([0]), np.array([0]),
    ...     Vocabulary.of(["Q142"]), Vocabulary.of(["capital_of"]))
    >>> search_text(asked, np.array([0]), {"Q142": "France"}).to_pylist()
    ['France capital of']
    """
    anchor = names_of(questions.entities, questions.anchor[rows], names)
    code, place = np.unique(questions.relation[rows], return_inverse=True)
    words = labels_of([readable(questions.relations[int(one)]).replace(BETWEEN, " ") for one in code]).take(
        arrow_of(place)
    )
    both = (pc.binary_join_element_wise(*pair, " ") for pair in ((words, anchor), (anchor, words)))
    return pc.if_else(pa.array(questions.is_head[rows]), *both)


def tasks_for(
    campaign: Campaign, annotator: str | None = None, *, everything: bool = False, first: int | None = None
) -> Tasks:
    """Make the tasks that annotators still have to judge, in their order.

    Blind: they contain no verdict of others, no rank and no run, and nothing of them depends on which triples are gold.

    Parameters
    ----------
    campaign : Campaign
        With its assignments and its judgements so far.
    annotator : str, optional
        Whose tasks. Default: those of all, each triple once, with all its annotators.
    everything : bool
        Include judged tasks; for one annotator with the verdicts, to be corrected.
    first : int, tasks, optional
        At most so many, from the beginning. As the order of questions is the same for everybody, two annotators get
        mostly the same triples.

    Raises
    ------
    KgtrecError
        If no annotator of that name has assigned tasks, or ``first`` is less than 1.
    """
    if first is not None and first < 1:
        raise KgtrecError(f"expected at least 1 task to export, got {first}")
    annotators = campaign.assignments.annotators
    if annotator is not None and annotator not in (names := list(annotators)):
        raise KgtrecError(
            f"expected an annotator with assigned tasks, found nobody called {annotator!r}{nearest(annotator, names)}; "
            "see people.tsv and kgtrec campaign assign"
        )
    assignments = campaign.assignments
    latest = campaign.judgements.latest()
    latest = latest.take(latest.role == ANNOTATOR)
    # who judged, under the codes of the assignments
    person = annotators.encode(latest.annotators.labels)[latest.annotator]
    n_people = max(len(annotators), 1)
    assigned = assignments.triple.astype(np.int64) * n_people + assignments.annotator
    is_done = np.isin(assigned, (latest.triple.astype(np.int64) * n_people + person)[person >= 0])
    kept = np.ones(len(is_done), np.bool_) if everything else ~is_done
    if annotator is not None:
        own = annotators.encode([annotator])[0]
        triples = assignments.triple[kept & (assignments.annotator == own)][:first]
        return phrase_tasks(campaign, triples, [(annotator,)] * len(triples), earlier=latest.take(person == own))
    triples = assignments.triple[kept]
    _, place = np.unique(triples, return_index=True)
    triples = triples[np.sort(place)][:first]
    return phrase_tasks(campaign, triples, _assigned_to(assignments, triples))


def _assigned_to(assignments: Assignments, triples: NDArray[np.int32]) -> list[tuple[str, ...]]:
    """(n,) who is asked to judge each of the triples, in byte order of their names."""
    by = np.lexsort((assignments.annotators.byte_order[assignments.annotator], assignments.triple))
    names, triple = assignments.take(by).decoded("annotator").to_pylist(), assignments.triple[by]
    first, last = np.searchsorted(triple, triples), np.searchsorted(triple, triples, "right")
    return [tuple(names[begin:end]) for begin, end in zip(first.tolist(), last.tolist(), strict=True)]


def tasks_for_adjudicator(campaign: Campaign, person: str | None = None) -> Tasks:
    """Make tasks for an adjudicator of the triples in conflict or doubted, candidates of one question together.

    Every annotator's verdict, link and note is shown, as ``verdict_1``, ``source_1``, ``note_1``, ``verdict_2`` and so
    on, without names and in the order of :func:`kgtrec.campaign.adjudicate.sides_of`.

    Parameters
    ----------
    campaign : Campaign
        With its judgements so far.
    person : str, optional
        The adjudicator, to leave out what the person may not adjudicate: see
        :func:`kgtrec.campaign.adjudicate.queue_of`.
    """
    rows = by_question(campaign, queue_of(campaign, person))
    sides = sides_of(campaign, rows)
    first = np.searchsorted(sides.place, np.arange(len(rows)))
    count = np.diff(np.append(first, len(sides)))
    verdicts = labels_of([*VERDICTS, ""])
    shown = {}
    for nth in range(int(count.max(initial=0))):
        # triples with fewer verdicts than others have empty cells
        place = np.where(nth < count, first + nth, len(sides))
        verdict = np.append(sides.verdict, len(VERDICTS))[place]
        shown[f"verdict_{nth + 1}"] = verdicts.take(arrow_of(verdict))
        for name, texts in (("source", sides.source), ("note", sides.note)):
            shown[f"{name}_{nth + 1}"] = pa.concat_arrays([texts, labels_of([""])]).take(arrow_of(place))
    people = None if person is None else [(person,)] * len(rows)
    return phrase_tasks(campaign, rows, people, role=ROLES[ADJUDICATOR], shown=shown)
