"use strict";
// Tables are sorted by a click or a key on a heading. Without this script they keep their order.
const sortable = (() => {
  const text = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const said = document.getElementById("said");
  const turned = { ascending: "descending", descending: "ascending" };

  function compared(a, b, sign) {
    if (a.key === undefined) return sign * text.compare(a.text, b.text);
    if (a.key === "" || b.key === "") return (a.key === "") - (b.key === ""); // undefined values stay last
    return sign * Math.sign(Number(a.key) - Number(b.key)) || 0;
  }

  function reorder(table, place, compare) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => {
      const cell = row.cells[place];
      return { row, key: cell.dataset.key, text: cell.textContent };
    });
    rows.sort(compare); // stable: equal rows keep their order
    body.append(...rows.map((each) => each.row));
  }

  function sort(table, heads, place, reordered) {
    const head = heads[place];
    const way = turned[head.getAttribute("aria-sort")] || head.dataset.first || "ascending";
    reordered(table, place, (a, b) => compared(a, b, way === "ascending" ? 1 : -1));
    for (const other of heads) other.setAttribute("aria-sort", other === head ? way : "none");
    said.textContent = `sorted by ${head.textContent}, ${way}`;
  }

  // a table that shows a part of its rows is given what puts them in order
  return (table, reordered = reorder) => {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, heads, place, reordered));
    });
  };
})();
document.querySelectorAll("table.sortable").forEach((table) => sortable(table));
