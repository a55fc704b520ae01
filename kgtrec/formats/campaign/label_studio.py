"""Label Studio: tasks and labelling configuration for import there, and its JSON export back.

Label Studio checks little: it stores any choice, any link, several annotations of one person on a task, and allows data
to be edited. So nothing in an export is trusted: a file of users says who the person is, and
:func:`kgtrec.campaign.accept` checks the rest.

References
----------
HumanSignal. Label Studio documentation: "Label Studio Task Format", "Export annotations".
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr  # nosec B406 # writes XML, and reads none

from kgtrec.data.judgements import ROLES, Incoming, Returned, Tasks
from kgtrec.errors import FormatError, KgtrecError, counted, one_of
from kgtrec.formats.files import PathLike
from kgtrec.formats.json_text import read_json
from kgtrec.formats.lines import Lines
from kgtrec.formats.output.outputs import replacing, together, write_text
from kgtrec.formats.trec.text import shown

TASKS, CONFIG, README = "tasks.json", "labelling.xml", "README.md"
CHOICES = {"Yes": "Y", "No": "N", "Unsure": "unsure"}  # as shown to people -> verdict
USER_COLUMNS = ("user", "person")
_DATA = ("question", "head", "relation", "tail", "head_name", "tail_name", "search")
_KEYS = {"verdict": "choices", "source": "text", "note": "text"}  # of a region's value
_LARGEST = 10**10

_CONFIG = """<View>
  <Header value="Question"/>
  <Text name="question" value="$question" valueType="text"/>
{guidelines}  <Choices name="verdict" toName="question" choice="single" required="true" showInline="true"
           requiredMessage="Choose Yes, No or Unsure">
    <Choice value="Yes" hotkey="y"/>
    <Choice value="No" hotkey="n"/>
    <Choice value="Unsure" hotkey="u"/>
  </Choices>
  <Header value="Link to the source that proves it (for Yes and No)" size="5"/>
  <TextArea name="source" toName="question" rows="1" maxSubmissions="1" editable="true" placeholder="https://"/>
  <Header value="Note (may stay empty)" size="5"/>
  <TextArea name="note" toName="question" rows="2" maxSubmissions="1" editable="true"/>
  <Header value="To search for, the same for all candidates of a question" size="5"/>
  <Text name="search" value="$search" valueType="text"/>
  <Header value="Head" size="5"/>
  <Text name="head_name" value="$head_name" valueType="text"/>
  <Text name="head" value="$head" valueType="text"/>
  <Header value="Tail" size="5"/>
  <Text name="tail_name" value="$tail_name" valueType="text"/>
  <Text name="tail" value="$tail" valueType="text"/>
</View>
"""

_README = """# {n} tasks for Label Studio

1. Start it: `label-studio start`. Everybody who judges signs up for an account.
2. Create a project. Settings, Labeling Interface, Code: paste labelling.xml. Settings, Instructions: paste the
   guidelines of the campaign, and have them shown before labelling. Settings, Annotation, Overlap or Task Sampling:
   leave them as they are, tasks come in their order.
3. Import tasks.json into it.
4. Everybody judges the tasks that name them under `annotators`; in the Data Manager, filter that column. The free
   edition shows everybody's annotations to everybody. For annotators that are blind to each other, write the tasks of
   each one alone (`--annotator`) and give each a project of their own.
5. Export each project as JSON (or JSON-MIN).
6. Write a file users.tsv with the owner of each account: the header line `user`, TAB, `person`; then a line per
   account, its e-mail address or its number in the export (`completed_by`, `annotator`), and the person's name in
   people.tsv. {people}
7. `kgtrec campaign import CAMPAIGN export.json --user-map users.tsv`. Every annotation is checked there: a changed task
   or label, an unknown choice, a link that leads to no verified source and two verdicts of one person on a task are
   refused, each named by its task and annotation; `--keep-going` stores the others.
"""


def write_label_studio(folder: PathLike, tasks: Tasks, *, guidelines: str | None = None, force: bool = False) -> None:
    """Write tasks.json, labelling.xml and a README.md with the steps, all of them or none.

    Parameters
    ----------
    folder : path
        Created with its parents if absent.
    tasks : Tasks
        Their verdicts, sources and notes are not written.
    guidelines : str, optional
        Link to the guidelines, shown beside each question.
    force : bool
        Whether these files are replaced if they exist.

    Raises
    ------
    KgtrecError
        If there are no tasks, the link is not an http(s) link, or a file exists.
    """
    if len(tasks) == 0:
        raise KgtrecError(f"{folder}: expected at least one task, found none; nothing is written")
    config = labelling_config(guidelines)
    columns = [getattr(tasks, name).to_pylist() for name in _DATA]
    records = []
    for task, annotators, *texts in zip(tasks.task.tolist(), tasks.annotators, *columns, strict=True):
        data = {"task": task, **dict(zip(_DATA, texts, strict=True)), "annotators": ", ".join(annotators)}
        records.append(json.dumps({"data": data}, ensure_ascii=False))
    people = sorted({person for several in tasks.annotators for person in several})
    with together(), replacing(force):
        write_text(Path(folder, TASKS), "[\n" + ",\n".join(records) + "\n]\n")
        write_text(Path(folder, CONFIG), config)
        named = f"They are: {', '.join(people)}." if people else ""
        write_text(Path(folder, README), _README.format(n=f"{len(tasks):,}", people=named))


def labelling_config(guidelines: str | None = None) -> str:
    """Write the configuration of a project's labelling interface, XML.

    It contains no names from the KG: these come from the tasks, and are shown as text.

    Raises
    ------
    KgtrecError
        If ``guidelines`` is not an http or https link.

    Examples
    --------
    >>> print(labelling_config("https://example.org/?a&b").splitlines()[3].strip()[:90])
    <HyperText name="guidelines" clickableLinks="true" value="&lt;a href=&quot;https://example
    """
    if guidelines is None:
        return _CONFIG.format(guidelines="")
    try:
        parts = urlsplit(guidelines)
        is_link = parts.scheme in ("http", "https") and bool(parts.hostname) and guidelines.isprintable()
    except ValueError:
        is_link = False
    if not is_link or " " in guidelines:
        raise KgtrecError(f"expected an https link to the guidelines, got {guidelines!r}")
    # $ marks a task's field, but a link may contain it too
    link = html.escape(guidelines.replace("$", "%24"))
    anchor = f'<a href="{link}" target="_blank" rel="noopener noreferrer">Guidelines</a>'
    value = quoteattr(anchor, {'"': "&quot;"})
    return _CONFIG.format(guidelines=f'  <HyperText name="guidelines" clickableLinks="true" value={value}/>\n')


def read_users(path: PathLike) -> dict[str, str]:
    r"""Read the owners of accounts, from `user person` lines: an e-mail address or a number -> a person's name.

    Raises
    ------
    FormatError
        For the first line that is malformed or repeats a user.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "users.tsv"
    >>> _ = path.write_text("user\tperson\nAnn@example.org\tann\n4\tbob\n")
    >>> read_users(path)
    {'ann@example.org': 'ann', '4': 'bob'}
    """
    users: dict[str, str] = {}
    for line in Lines.read(path).below_header(USER_COLUMNS).rows:
        if not line.data.strip():
            continue
        user, person = (field.strip() for field in line.fields(USER_COLUMNS))
        if not user or not person:
            raise line.error(f"expected a user and a person, got {shown(line.data)}")
        line.once(user.casefold(), repr(user), "each user")
        users[user.casefold()] = person
    return users


def read_label_studio(path: PathLike, users: Mapping[str, str], *, role: str = "annotator") -> Returned:
    """Read the verdicts in an export of Label Studio, as JSON or JSON-MIN, in the order in which they were created.

    Every submitted annotation is included, even several by one person on a task: these are refused by
    :func:`kgtrec.campaign.accept`. Skipped tasks (cancelled annotations), drafts and predictions are left out and
    counted. A missing choice is an empty verdict, several choices are joined by " + ", several texts by a line break,
    none of which is valid as a verdict or link.

    Parameters
    ----------
    path : path
        The file that Label Studio exported.
    users : mapping of str to str
        E-mail address in lower case, or number -> person, see :func:`read_users`.
    role : str
        The role in which they judged.

    Raises
    ------
    FormatError
        If the file is not such an export, or an account is not among ``users``.
    """
    one_of("a role of", role, ROLES)
    return _Export(str(path), role).returned(read_json(path), users)


#: when an annotation was created and its number, accounts of who made it (number, e-mail address, or both), its verdict
_Annotation = tuple[tuple[datetime, int], list[str], Incoming]


class _Export:
    """Reads an export without trusting any of its types."""

    def __init__(self, path: str, role: str) -> None:
        self.path, self.role = path, role
        self.left_out = {"skipped": 0, "drafts": 0, "predictions": 0}
        self.not_done = 0

    def returned(self, records: Any, users: Mapping[str, str]) -> Returned:
        annotations: list[_Annotation] = []
        for number, record in enumerate(self.typed(records, list, "the export", "a list of tasks"), 1):
            record = self.typed(record, dict, f"record {number}", "a task")
            read = next((self.forms[key] for key in self.forms if key in record), None)
            if read is None:
                expected = "annotations, or an annotation_id"
                raise self.wrong(f"record {number}", expected, "none; export the project as JSON or JSON-MIN")
            annotations += read(self, record, f"task {self.whole(record, 'id', f'record {number}')}")
        annotations.sort(key=lambda annotation: annotation[0])
        incoming, unknown = [], Counter[str]()
        for _, accounts, verdict in annotations:
            people = {users[account] for account in accounts if account in users}
            if len(people) > 1:
                found = f"{' and '.join(sorted(people))} for {' '.join(accounts)}"
                raise self.wrong(verdict.place.removeprefix(f"{self.path}: "), "one person", found)
            if not people:
                unknown[" ".join(accounts) or "no account"] += 1
            incoming += [replace(verdict, person=person) for person in people]
        if unknown:
            named = ", ".join(f"{user!r} ({counted(n, 'annotation')})" for user, n in list(unknown.items())[:10])
            raise FormatError(
                f"expected accounts of known people, found {len(unknown)} others: {named}; add a line (account, TAB, "
                "person) for each to the file of users",
                path=self.path,
            )
        return Returned(incoming, self.not_done, left_out={what: n for what, n in self.left_out.items() if n})

    def full(self, task: Mapping[str, Any], place: str) -> Iterator[_Annotation]:
        """The annotations of a task of the export as JSON."""
        for what in ("drafts", "predictions"):
            self.left_out[what] += len(self.typed(task.get(what) or [], list, place, f"a list of {what}"))
        is_done = False
        for annotation in self.typed(task["annotations"], list, place, "a list of annotations"):
            annotation = self.typed(annotation, dict, place, "an annotation")
            number = self.whole(annotation, "id", place)
            where = f"{place}, annotation {number}"
            if annotation.get("was_cancelled"):
                self.left_out["skipped"] += 1
                continue
            is_done = True
            texts: dict[str, list[str]] = {"verdict": [], "source": [], "note": []}
            for region in self.typed(annotation.get("result"), list, where, "a list as result"):
                region = self.typed(region, dict, where, "an object in result")
                name = region.get("from_name")
                if isinstance(name, str) and name in texts:
                    value = self.typed(region.get("value"), dict, where, f"an object as value of {name!r}")
                    texts[name] += self.texts(value, name, where)
            yield self.annotation(annotation, number, where, annotation.get("completed_by"), task.get("data"), texts)
        self.not_done += not is_done

    def minimal(self, record: Mapping[str, Any], place: str) -> Iterator[_Annotation]:
        """The annotation of a record of the export as JSON-MIN, which has the task's data in the same object."""
        if record["annotation_id"] is None:  # a task that nobody has judged
            self.not_done += 1
            return
        number = self.whole(record, "annotation_id", place)
        where = f"{place}, annotation {number}"
        texts: dict[str, list[str]] = {"verdict": [], "source": [], "note": []}
        for name, several in texts.items():
            value = record.get(name)
            for one in value if isinstance(value, list) else [] if value is None else [value]:
                several += self.texts(one if isinstance(one, dict) else {_KEYS[name]: [one]}, name, where)
        yield self.annotation(record, number, where, record.get("annotator"), record, texts)

    forms: ClassVar = {"annotations": full, "annotation_id": minimal}

    def annotation(
        self, record: Mapping[str, Any], number: int, place: str, user: Any, data: Any, texts: Mapping[str, list[str]]
    ) -> _Annotation:
        created = self.typed(record.get("created_at"), str, place, "text as created_at")
        try:
            time = datetime.fromisoformat(created)
        except ValueError:
            raise self.wrong(place, "a time as created_at", created) from None
        accounts = [user.get("email"), user.get("id")] if isinstance(user, dict) else [user]
        data, where = self.typed(data, dict, place, "an object as data"), f"{place}, data"
        task = self.whole(data, "task", where)
        head, relation, tail = (
            self.typed(data.get(name), str, where, f"text as {name}") for name in ("head", "relation", "tail")
        )
        verdict = Incoming(
            f"{self.path}: {place}",
            None,
            " + ".join(CHOICES.get(choice, choice) for choice in texts["verdict"]),
            *(task, head, relation, tail),
            source="\n".join(texts["source"]).strip(),
            note="\n".join(texts["note"]),
            role=self.role,
        )
        known = [str(key).casefold() for key in accounts if isinstance(key, str | int) and not isinstance(key, bool)]
        return (time if time.tzinfo else time.replace(tzinfo=UTC), number), known, verdict

    def texts(self, value: Mapping[str, Any], name: str, place: str) -> list[str]:
        """The choices or texts of a region's value."""
        texts = value.get(_KEYS[name], [])
        texts = [texts] if isinstance(texts, str) else self.typed(texts, list, place, f"a list as {name}")
        return [self.typed(text, str, place, f"text as {name}") for text in texts]

    def whole(self, record: Mapping[str, Any], name: str, place: str) -> int:
        value = record.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(_LARGEST)):
            return int(value)  # a number that passed through a table
        if type(value) is not int or not 0 <= value < _LARGEST:
            raise self.wrong(place, f"a number as {name}", value)
        return value

    def typed(self, value: Any, kind: type, place: str, expected: str) -> Any:
        if not isinstance(value, kind):
            raise self.wrong(place, expected, value)
        return value

    def wrong(self, place: str, expected: str, found: Any) -> FormatError:
        excerpt = found if isinstance(found, str) else json.dumps(found)
        return FormatError(
            f"{place}: expected {expected}, got {shown(excerpt.encode(errors='replace'))}", path=self.path
        )
