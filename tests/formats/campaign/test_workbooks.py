"""Workbooks of tasks: what a spreadsheet program does with them, and what nobody may do with us."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from time import perf_counter

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl.worksheet.worksheet import Worksheet

from kgtrec.campaign import accept, tasks_for, tasks_for_adjudicator
from kgtrec.cli import main
from kgtrec.data.arrow import labels_of
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign import workbooks
from kgtrec.formats.campaign.filled_tasks import read_tasks
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.tasks import write_tasks
from kgtrec.formats.campaign.workbooks import Column, escaped, rows_of_workbook, unescaped, write_workbook
from tests.campaign_folders import folder_of
from tests.campaigns_by_hand import campaign_of
from tests.examples import examples
from tests.formats.campaign.test_tasks import cells, rows_of, tasks_of

NOW = "2026-11-22T08:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS, _TARGET = "xl/_rels/workbook.xml.rels", r'Target="/?(xl/)?worksheets/sheet1.xml"'
TASKS = tasks_of([(7, "de", "capital", "berlin", "Y", WIKI, "seen"), (8, "de", "capital", "=lyon", "", "", "")])


@pytest.fixture
def book(tmp_path: Path) -> Path:
    write_tasks(tmp_path / "ann.xlsx", TASKS)
    return tmp_path / "ann.xlsx"


def changed(path: Path, **parts: bytes | None) -> Path:
    """The workbook with some parts replaced, added, or (None) taken out; ``__`` in a name stands for a slash."""
    with zipfile.ZipFile(path) as old:
        found = {name: old.read(name) for name in old.namelist()}
    found |= {name.replace("__", "/"): data for name, data in parts.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in found.items():
            if data is not None:
                new.writestr(name, data)
    return path


def sheet_of(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read("xl/worksheets/sheet1.xml")


def with_sheet(path: Path, old: str, new: str) -> Path:
    """The workbook with its sheet's XML edited."""
    text = sheet_of(path).decode()
    assert re.search(old, text), text
    return changed(path, **{"xl/worksheets/sheet1.xml": re.sub(old, lambda _: new, text, count=1).encode()})


def filled_in(path: Path, edits) -> None:
    """What somebody does in a spreadsheet program: it reads all, and writes all anew, with shared strings."""
    book = openpyxl.load_workbook(path)
    names = [cell.value for cell in book["tasks"][1]]
    for (row, name), value in edits.items():
        cell = book["tasks"].cell(row, names.index(name) + 1)
        cell.value = value
        if isinstance(value, str):
            cell.data_type = "s"
    book.save(path)


@contextmanager
def edited(path: Path) -> Iterator[Worksheet]:
    """The sheet of tasks, to be changed by hand."""
    book = openpyxl.load_workbook(path)
    yield book["tasks"]
    book.save(path)


# --- out and back


@given(st.lists(st.tuples(st.integers(1, 9), cells, cells, cells, st.just("Y"), cells, cells), min_size=1))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_workbook_holds_every_text_to_the_letter(tmp_path_factory: pytest.TempPathFactory, rows):
    """And says what a CSV file of the same tasks says."""
    folder = tmp_path_factory.mktemp("books")
    tasks = tasks_of(rows)
    write_tasks(folder / "ann.xlsx", tasks)
    write_tasks(folder / "ann.csv", tasks)
    expected = rows_of(read_tasks(folder / "ann.csv"))
    assert rows_of(read_tasks(folder / "ann.xlsx")) == expected
    assert [row[:4] for row in expected] == [row[:4] for row in rows]


@given(cells | st.text("_x04AfF1\x00\x1f\r\n\ufffe"))
def test_escaping_is_undone_exactly(text: str):
    """Control characters, and what looks like an escape itself."""
    assert unescaped(escaped(text)) == text
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", escaped(text))


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["Y", "N", "unsure", "yes", ""]), st.sampled_from(["", WIKI]), cells).filter(
            lambda row: row[0] in ("unsure", "") or row[1]
        ),
        min_size=6,
        max_size=6,
    )
)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
def test_a_workbook_that_was_filled_in_is_stored_as_a_csv_file_is(tmp_path_factory: pytest.TempPathFactory, said):
    """Exported, filled in by another program, imported: the same judgements.jsonl, byte for byte."""
    said = [
        (verdict, source, re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\r]", "", note)) for verdict, source, note in said
    ]
    stored = {}
    for form in ("csv", "xlsx"):
        folder = tmp_path_factory.mktemp(form)
        campaign = folder_of(campaign_of(), folder / "campaign")
        out = folder / f"ann.{form}"
        if form == "xlsx":
            main(["campaign", "export", str(campaign), "--annotator", "ann", "--out", str(out)])
            edits = {
                (row, name): text
                for row, texts in enumerate(said, 2)
                for name, text in zip(("verdict", "source", "note"), texts, strict=True)
            }
            filled_in(out, {place: escaped(text) or None for place, text in edits.items()})
        else:
            columns = (labels_of(list(column)) for column in zip(*said, strict=True))
            tasks = tasks_for(read_campaign(campaign), "ann")
            write_tasks(out, replace(tasks, **dict(zip(("verdict", "source", "note"), columns, strict=True))))
        main(["campaign", "import", str(campaign), str(out), "--time", NOW])
        stored[form] = (campaign / "judgements.jsonl").read_bytes()
    assert stored["xlsx"] == stored["csv"]


def test_what_a_program_reads_of_it(book: Path):
    """Texts all of them, verdict first with a list to choose from, a heading that stays, links that open."""
    sheet = openpyxl.load_workbook(book)["tasks"]
    heading = [cell.value for cell in sheet[1]]
    assert heading[:4] == ["verdict", "question", "source", "note"]
    for row in sheet.iter_rows(min_row=2):
        assert all(cell.data_type in "sn" and (cell.value is None or isinstance(cell.value, str)) for cell in row)
        assert all(cell.number_format == "@" for cell in row)
    assert sheet.cell(3, heading.index("tail") + 1).value == "=lyon"
    assert sheet.freeze_panes == "B2"
    (choice,) = sheet.data_validations.dataValidation
    assert (choice.type, choice.formula1, str(choice.sqref)) == ("list", '"Y,N,unsure"', "A2:A3")
    links = [cell for row in sheet.iter_rows() for cell in row if cell.hyperlink]
    assert [(cell.coordinate, cell.hyperlink.target) for cell in links] == [("C2", WIKI)]
    assert sheet.auto_filter.ref == "A1:L3"


def test_a_line_stands_above_each_question(tmp_path: Path):
    """Its candidates are together below it."""
    write_tasks(tmp_path / "ann.xlsx", tasks_for(campaign_of(), "ann"))
    sheet = openpyxl.load_workbook(tmp_path / "ann.xlsx")["tasks"]
    lines = [sheet.cell(row, 2).border.top for row in range(2, 8)]
    assert [line is not None and line.style == "thin" for line in lines] == [True, True, False, True, False, False]
    assert [sheet.cell(row, 5).value for row in (3, 4)] == ["Germany {tail} capital"] * 2


def test_an_adjudicator_sees_links_that_open(tmp_path: Path):
    """Beside each side's verdict; a text that is no https link stays one."""
    events = [(1, "ann", "annotator", "Y", WIKI, ""), (1, "bob", "annotator", "N", f"{WIKI}#2", "=1+1")]
    write_tasks(tmp_path / "eve.xlsx", tasks_for_adjudicator(campaign_of(events), "eve"))
    sheet = openpyxl.load_workbook(tmp_path / "eve.xlsx")["tasks"]
    names = [cell.value for cell in sheet[1]]
    assert names[2:8] == ["verdict_1", "source_1", "note_1", "verdict_2", "source_2", "note_2"]
    assert [cell.hyperlink.target for cell in sheet[2] if cell.hyperlink] == [f"{WIKI}#2", WIKI]
    assert sheet.cell(2, 5).value == "=1+1"
    assert sheet.cell(2, 5).data_type == "s"


def test_equal_tasks_are_equal_bytes(tmp_path: Path):
    for name in ("a.xlsx", "b.xlsx"):
        write_tasks(tmp_path / name, TASKS)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_there_is_no_place_for_links_where_none_is_asked_for(tmp_path: Path):
    """In both forms for spreadsheets, and only as long as none was given."""
    made = campaign_of([(0, "ann", "annotator", "Y", WIKI, "")])
    made = replace(made, settings={"seed": 0, "links": {"annotator": "none"}})
    for form in ("csv", "xlsx"):
        write_tasks(tmp_path / f"ann.{form}", tasks_for(made, "ann"))
        write_tasks(tmp_path / f"all.{form}", tasks_for(made, "ann", everything=True))
        assert read_tasks(tmp_path / f"all.{form}").incoming[0].source == WIKI
    assert "source" not in (tmp_path / "ann.csv").read_text("utf-8-sig").splitlines()[0]
    assert "source" not in [cell.text for cell in rows_of_workbook(tmp_path / "ann.xlsx")[0][1].values()]


def test_no_tasks_are_a_workbook_too(tmp_path: Path):
    none = replace(tasks_for(campaign_of(), "ann", first=1))
    empty = tasks_for(campaign_of([(row, "ann", "annotator", "unsure", "", "") for row in range(6)]), "ann")
    assert (len(none), len(empty)) == (1, 0)
    write_tasks(tmp_path / "ann.xlsx", empty)
    assert read_tasks(tmp_path / "ann.xlsx").incoming == []


def test_a_text_that_no_cell_holds_is_not_cut(tmp_path: Path):
    """32,767 characters do; nothing is written of one more."""
    write_tasks(tmp_path / "a.xlsx", tasks_of([(1, "a" * 32767, "r", "b", "Y", "", "")]))
    assert len(read_tasks(tmp_path / "a.xlsx").incoming[0].head) == 32767
    with pytest.raises(KgtrecError, match=r"at most 32,767 characters, got one of 32,768: .*; write \.csv or \.jsonl"):
        write_tasks(tmp_path / "b.xlsx", tasks_of([(1, "a" * 32768, "r", "b", "Y", "", "")]))
    assert not (tmp_path / "b.xlsx").exists()


def test_more_tasks_than_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workbooks, "MOST_ROWS", 2)
    with pytest.raises(KgtrecError, match="expected at most 1 tasks in a workbook, got 2; write"):
        write_tasks(tmp_path / "b.xlsx", TASKS)


def test_without_openpyxl_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Before anything is written or read."""
    write_tasks(tmp_path / "a.xlsx", TASKS)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    message = r'expected openpyxl and defusedxml for workbooks; pip install "kgtrec\[xlsx\]"'
    with pytest.raises(KgtrecError, match=message):
        write_tasks(tmp_path / "b.xlsx", TASKS)
    assert not (tmp_path / "b.xlsx").exists()
    with pytest.raises(KgtrecError, match=message):
        read_tasks(tmp_path / "a.xlsx")


def test_workbooks_are_not_read_by_a_parser_that_expands_entities(book: Path, monkeypatch: pytest.MonkeyPatch):
    """openpyxl alone would."""
    monkeypatch.setattr(openpyxl, "DEFUSEDXML", False)
    with pytest.raises(KgtrecError, match="expected openpyxl and defusedxml"):
        read_tasks(book)


# --- what programs make of it


def test_numbers_and_truth_values_are_taken_as_they_are_shown(book: Path):
    """A task number that became 7.0, a label that became a number, a note that became TRUE."""
    filled_in(book, {(2, "task"): 7.0, (3, "task"): 8, (2, "head"): 2024, (2, "note"): True, (3, "verdict"): "No"})
    first, second = read_tasks(book).incoming
    assert (first.task, first.head, first.note) == (7, "2024", "TRUE")
    assert (second.task, second.verdict) == (8, "N")


@pytest.mark.parametrize("name", ["verdict", "source", "note", "head", "task"])
@pytest.mark.parametrize(
    "value", [datetime(2026, 5, 1, tzinfo=UTC).replace(tzinfo=None), time(10, 30), timedelta(hours=30)]
)
def test_a_date_that_was_made_of_a_text_is_refused(book: Path, name: str, value):
    """With row and column; what was typed cannot be known. The other rows are taken."""
    filled_in(book, {(2, name): value, (3, "verdict"): "N"})
    first, second = read_tasks(book).incoming
    assert f"{first.place}: {first.wrong}".startswith(
        f"{book}:2: expected text as {name}, found a date that the program made of"
    )
    assert (second.verdict, second.wrong) == ("N", "")


@pytest.mark.parametrize(
    ("code", "is_date"),
    [
        *((code, True) for code in ("yyyy-mm-dd", "[h]:mm")),
        *((code, False) for code in ("0.00", "General", "@", '0 "days"', "[Red]0", "0\\h", "#,##0_ ;[Red]-#,##0")),
    ],
)
def test_a_number_is_a_date_by_what_its_format_shows(book: Path, code: str, is_date: bool):
    """Not by words in quotes, colours or escaped signs."""
    with edited(book) as sheet:
        sheet["D2"].value, sheet["D2"].number_format = 45000, code
    (found,) = read_tasks(book).incoming
    assert ("found a date" in found.wrong) == is_date
    assert (found.note == "45000") or is_date


def test_columns_of_ones_own_are_skipped(book: Path):
    """Whatever they hold, with a heading or without; so are empty rows, and another order of columns does no harm."""
    with edited(book) as sheet:
        sheet.insert_cols(1)
        for place, text in {"A1": "my colour", "A2": "=1+1", "Z2": "=NOW()", "B9": " "}.items():
            sheet[place] = text
    assert rows_of(read_tasks(book)) == [(7, "de", "capital", "berlin", "Y", WIKI, "seen")]


def test_the_sheet_of_tasks_is_found_among_others(book: Path):
    """By its name; a sheet alone may be called anything."""
    made = openpyxl.load_workbook(book)
    made.create_sheet("notes", 0)["A1"] = "mine"
    made.save(book)
    assert len(read_tasks(book).incoming) == 1
    del made["notes"]
    made["tasks"].title = "Tabelle1"
    made.save(book)
    assert len(read_tasks(book).incoming) == 1
    made.create_sheet("other")
    made.save(book)
    with pytest.raises(FormatError, match="expected a workbook with a sheet called 'tasks', found 'Tabelle1', 'other'"):
        read_tasks(book)


def test_what_was_typed_in_parts_is_one_text(book: Path):
    """Letters of several looks, and how to pronounce them."""
    runs = "<is><r><rPr><b/></rPr><t>se</t></r><r><t>en _x0041_</t></r><rPh sb='0' eb='1'><t>SEEN</t></rPh></is>"
    with_sheet(book, "<is><t>seen</t></is>", runs)
    assert read_tasks(book).incoming[0].note == "seen A"


def test_texts_that_cells_share_keep_what_looks_like_an_escape(book: Path):
    """As Excel writes them; openpyxl's own reader of them drops a part."""
    shared = f'<sst xmlns="{MAIN}"><si><t>_x005F_x0041_ x005F_</t></si></sst>'
    with_shared(book, shared, "0")
    assert read_tasks(book).incoming[0].note == "_x0041_ x005F_"


def with_shared(path: Path, shared: str, value: str) -> Path:
    """The workbook with a note from among the texts that cells share."""
    with zipfile.ZipFile(path) as archive:
        types = archive.read("[Content_Types].xml").decode()
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    types = types.replace("</Types>", f'<Override PartName="/xl/shared.xml" ContentType="{kind}"/></Types>')
    with_sheet(path, r't="inlineStr"><is><t>seen</t></is>', f't="s"><v>{value}</v>')
    return changed(path, **{"xl/shared.xml": shared.encode(), "[Content_Types].xml": types.encode()})


@pytest.mark.parametrize("value", ["1", "-1", "x"])
def test_a_text_that_is_not_there_is_refused(book: Path, value: str):
    """A number that counts from the end is none."""
    shared = f'<sst xmlns="{MAIN}"><si><t>seen</t></si></sst>'
    assert "found another file or a damaged one" in refusal(with_shared(book, shared, value))


@pytest.mark.parametrize("number", [31, 55])
def test_dates_of_eastern_formats_are_dates(book: Path, number: int):
    """Formats that a Chinese or Japanese Excel makes of what was typed, and openpyxl does not know as dates."""
    with edited(book) as sheet:
        sheet["D2"].value, sheet["D2"].number_format = 45000, "0.000"
    with zipfile.ZipFile(book) as archive:
        styles = archive.read("xl/styles.xml").decode()
    styles = re.sub(r"<numFmts.*</numFmts>", "", styles).replace('numFmtId="164"', f'numFmtId="{number}"')
    changed(book, **{"xl/styles.xml": styles.encode()})
    assert "found a date" in read_tasks(book).incoming[0].wrong


# --- hostile workbooks


def refusal(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read_tasks(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)


@pytest.mark.parametrize("name", ["verdict", "source", "note", "head", "relation", "tail", "task", "annotator"])
@pytest.mark.parametrize("value", ['=HYPERLINK("https://evil.example","Y")', "#N/A"])
def test_formulas_and_errors_refuse_their_row_alone(book: Path, name: str, value: str):
    """In every column that is read, whatever value the program had worked out; the other rows are taken."""
    with edited(book) as sheet:
        names = [cell.value for cell in sheet[1]]
        for column, text in {"verdict": "N", name: value}.items():
            sheet.cell(3, names.index(column) + 1).value = text
    first, second = read_tasks(book).incoming
    assert (first.verdict, first.wrong) == ("Y", "")
    found = "a formula" if value[0] == "=" else "the error #N/A"
    assert (
        f"{second.place}: {second.wrong}" == f"{book}:3: expected text as {name}, found {found}; type the text itself"
    )


def test_a_formula_is_never_taken_over_into_another_file(book: Path):
    """What was typed there cannot be known, so the file that holds it is not replaced."""
    with edited(book) as sheet:
        sheet.cell(3, [cell.value for cell in sheet[1]].index("note") + 1).value = "=1+1"
    with pytest.raises(FormatError, match=r"ann\.xlsx:3: expected text as note, found a formula"):
        write_tasks(book, TASKS, merge=True)


def test_one_formula_in_a_note_keeps_no_other_verdict_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """campaign import --keep-going names its row and stores the rest."""
    folder = folder_of(campaign_of(), tmp_path / "campaign")
    campaign = read_campaign(folder)
    write_tasks(path := tmp_path / "ann.xlsx", tasks_for(campaign, "ann"))
    with edited(path) as sheet:
        names = [cell.value for cell in sheet[1]]
        for row in range(2, sheet.max_row + 1):
            sheet.cell(row, names.index("verdict") + 1).value = "unsure"
        sheet.cell(2, names.index("note") + 1).value = "=A1"
    with pytest.raises(SystemExit):
        main(["campaign", "import", str(folder), str(path), "--person", "ann", "--keep-going"])
    said = capsys.readouterr().err
    assert "ann.xlsx:2: expected text as note, found a formula; type the text itself" in said
    assert len(read_campaign(folder).judgements) == sheet.max_row - 2


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("xl/vbaProject.bin", "macros"),
        ("xl/macrosheets/sheet1.xml", "macros"),
        ("xl/externalLinks/externalLink1.xml", "links to other workbooks"),
        ("xl/embeddings/oleObject1.bin", "embedded files"),
        ("xl/activeX/activeX1.xml", "controls"),
        ("xl/connections.xml", "connections to data elsewhere"),
        ("XL/VBAPROJECT.BIN", "macros"),
    ],
)
def test_what_is_more_than_cells_is_refused(book: Path, part: str, what: str):
    assert f"expected a workbook with cells alone, found {what} ('{part}')" in refusal(changed(book, **{part: b"x"}))


def test_merged_cells_are_refused(book: Path):
    """They would leave tasks without the verdict that their first cell seems to give them."""
    with edited(book) as sheet:
        sheet.merge_cells("A2:A3")
    assert "expected a workbook with no merged cells, found A2:A3" in refusal(book)


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(book: Path):
    """Neither one part of many bytes, nor many parts."""
    size = (1 << 28) + 1
    with zipfile.ZipFile(book, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/big.xml", "w") as stream:
        for _ in range(size >> 20):
            stream.write(bytes(1 << 20))
    assert book.stat().st_size < 1 << 20
    assert "at most 256 MiB when unpacked, found 256 MiB" in refusal(book)


def test_many_parts_are_refused(book: Path):
    assert "expected a workbook with at most 2,000 parts" in refusal(
        changed(book, **{f"xl/{n}": b"" for n in range(2000)})
    )


def test_a_part_that_is_there_twice_is_refused(book: Path):
    """Programs take one or the other."""
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(book, "a") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", sheet_of(book))
    assert "parts of different names" in refusal(book)


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"])
def test_entities_are_refused(book: Path, part: str):
    """So none is ever expanded or fetched, in whichever encoding the part is."""
    with zipfile.ZipFile(book) as archive:
        text = re.sub(r"<\?xml[^>]*\?>", "", archive.read(part).decode())
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>' + text
    for data in (bomb.encode(), b"\xff\xfe" + bomb.encode("utf-16-le")):
        assert "damaged one (EntitiesForbidden" in refusal(changed(book, **{part: data}))


@pytest.mark.parametrize("place", ["</sheetData>", "</is>"])
def test_deep_elements_do_no_harm(book: Path, place: str):
    """Nobody reads them."""
    deep = "<a>" * 100_000 + "</a>" * 100_000
    assert len(read_tasks(with_sheet(book, place, deep + place)).incoming) == 1


@pytest.mark.parametrize("row", ["99999999", "1048576"])
def test_rows_that_are_far_away_cost_nothing(book: Path, row: str):
    """The gap is not filled, nor are columns."""
    with_sheet(book, r'<row r="3">', f'<row r="{row}"><c r="ZZZ{row}" t="b"><v>1</v></c></row><row r="3">')
    with_sheet(book, "<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    started = perf_counter()
    assert len(read_tasks(book).incoming) == 1
    assert perf_counter() - started < 2


@pytest.mark.parametrize(
    ("old", "new"), [(r'<c r="B2"', '<c r="ZZZZ2"'), (r'<c r="B2"', '<c r="B"'), (r"</sheetData>", "")]
)
def test_a_sheet_that_no_program_writes_is_refused(book: Path, old: str, new: str):
    assert "found another file or a damaged one" in refusal(with_sheet(book, old, new))


def test_what_is_no_workbook_is_refused(tmp_path: Path, book: Path):
    """Another file, a damaged one, an older or a protected workbook, one with no sheet or an empty one."""
    data = book.read_bytes()
    for wrong in (b"", b"verdict,task\n", data[: len(data) // 2], b"PK\x03\x04" + bytes(100)):
        book.write_bytes(wrong)
        assert "expected an Excel workbook (.xlsx), found another file or a damaged one" in refusal(book)
    book.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
    assert "found an older one or one with a password" in refusal(book)
    book.write_bytes(data)
    assert "There is no item named 'xl/worksheets/sheet1.xml' in the archive" in refusal(
        changed(book, **{"xl/worksheets/sheet1.xml": None})
    )
    book.write_bytes(data)
    assert "contains no valid workbook part" in refusal(
        changed(book, **{"[Content_Types].xml": b'<Types xmlns="x"></Types>'})
    )
    made = openpyxl.Workbook()
    made.save(book)
    assert "found an empty sheet" in refusal(book)


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ('Target="https://evil.example/s.xml" TargetMode="External"', "https://evil.example/s.xml"),
        ('Target="../../../../etc/passwd"', "../../../etc/passwd"),
    ],
)
def test_a_sheet_elsewhere_is_not_fetched(book: Path, target: str, named: str):
    """Relations to what is outside of the file, or of the archive, lead nowhere."""
    with zipfile.ZipFile(book) as archive:
        text = archive.read(_RELATIONS).decode()
    outside = re.sub(_TARGET, target, text)
    assert outside != text
    told = refusal(changed(book, **{_RELATIONS: outside.encode()}))
    assert f"There is no item named '{named}' in the archive" in told


def test_an_encrypted_part_is_refused(book: Path):
    """Its flag alone is looked at by ZIP readers."""
    data = bytearray(book.read_bytes())
    place = data.index(b"PK\x01\x02")
    while place >= 0:
        data[place + 8] |= 1
        place = data.find(b"PK\x01\x02", place + 1)
    book.write_bytes(bytes(data))
    assert "found another file or a damaged one" in refusal(book)


def test_a_workbook_goes_through_the_checks_of_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A wrong verdict is refused with its row, by import and by adjudicate."""
    campaign = folder_of(campaign_of(), tmp_path / "campaign")
    main(["campaign", "export", str(campaign), "--annotator", "ann", "--format", "xlsx", "--out", str(tmp_path / "x")])
    (tmp_path / "x").rename(tmp_path / "ann.xlsx")
    filled_in(tmp_path / "ann.xlsx", {(4, "verdict"): "maybe", (5, "verdict"): "N", (5, "source"): "http://x.org"})
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(["campaign", "import", str(campaign), str(tmp_path / "ann.xlsx")])
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert f"{tmp_path}/ann.xlsx:4: expected one of N, Y, unsure, found 'maybe'" in told
    assert f"{tmp_path}/ann.xlsx:5: expected a link that begins with https://" in told
    assert (campaign / "judgements.jsonl").read_bytes() == b""
    assert accept(read_campaign(campaign), [], time=NOW).refused == ()


def test_a_compressed_workbook_is_read_to_its_limit(book: Path, monkeypatch: pytest.MonkeyPatch):
    import gzip

    packed = book.with_name("ann.xlsx.gz")
    packed.write_bytes(gzip.compress(book.read_bytes()))
    assert len(read_tasks(packed).incoming) == 1
    monkeypatch.setattr(workbooks, "_MOST_BYTES", 1 << 10)
    assert "expected a workbook of at most" in refusal(packed)
    assert io.BytesIO(book.read_bytes()).getbuffer().nbytes > 1 << 10


def test_a_row_of_endless_cells_is_refused(tmp_path: Path):
    """Some kilobytes that would fill the memory, since a parser holds a whole row."""
    path = tmp_path / "x.xlsx"
    with path.open("wb") as stream:
        write_workbook(stream, path, [Column("verdict", 10)], [["Y"]], [True])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (sheet,) = (name for name in parts if name.startswith("xl/worksheets/") and name.endswith(".xml"))
    parts[sheet] = parts[sheet].replace(b"</row>", b"<c/>" * (1 << 22) + b"</row>", 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(FormatError, match="rows of at most 8 MiB, found one of 16 MiB"):
        rows_of_workbook(path)
