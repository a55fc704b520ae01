// The page of kgtrec explore. All text from data becomes text nodes; the state of a view is its address.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("explore").textContent);
  const { systems, measures, labels } = data;
  const content = byId("content");
  const said = byId("said");
  const N = data.n_questions;

  // Data

  const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

  async function unpack(name) {
    const text = atob(byId(`slice-${name}`).textContent);
    const packed = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) packed[at] = text.charCodeAt(at);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    let place = 4 + length;
    const take = (Kind, n) => {
      place += (8 - (place % 8)) % 8;
      const array = new Kind(buffer, place, n);
      place += array.byteLength;
      return array;
    };
    const columns = {};
    for (const { name: column, type, shape, length: rows, levels } of header) {
      if (type === "text") {
        const ends = take(Uint32Array, rows + 1);
        const bytes = take(Uint8Array, ends[rows]);
        const decoder = new TextDecoder();
        columns[column] = { length: rows, at: (row) => decoder.decode(bytes.subarray(ends[row], ends[row + 1])) };
      } else {
        const distinct = levels === undefined ? null : take(Float64Array, levels);
        const values = take(KINDS[type], shape.reduce((product, n) => product * n, 1));
        columns[column] = distinct ? Float64Array.from(values, (code) => distinct[code]) : values;
      }
    }
    return columns;
  }

  const kept = new Map(); // slices, the one used last at the end

  function slice(name) {
    const found = kept.get(name) || unpack(name);
    kept.delete(name);
    kept.set(name, found);
    if (kept.size > 24) kept.delete(kept.keys().next().value);
    return found;
  }

  let index, entities, groups;

  async function question(row) {
    const block = await slice(`block-${Math.floor(row / data.block)}`);
    const at = row % data.block;
    const part = (ends, name) => block[name] && block[name].subarray(block[ends][at], block[ends][at + 1]);
    return {
      pool: part("pool_at", "pool"),
      status: labels.map((_, label) => part("pool_at", `status.${label}`)),
      lists: systems.map((_, s) => ({
        place: part(`list_at.${s}`, `list.${s}`),
        score: part(`list_at.${s}`, `score.${s}`),
        tie: part(`list_at.${s}`, `tie.${s}`),
      })),
      answer: part("answer_at", "answer"),
      ranks: systems.map((_, s) => ["rank", "low", "high"].map((name) => part("answer_at", `${name}.${s}`))),
      known: part("known_at", "known"),
      split: part("known_at", "known_split"),
    };
  }

  const valueOf = (state, s, row, label = state.l) => index[`value.${label}.${state.m}`][s * N + row];
  const weightOf = (state, row, label = state.l) => index[`weight.${label}.${state.m}`][row];

  // the part of a question in the difference of a and b
  function partOf(state, row, label = state.l) {
    const part = weightOf(state, row, label) * (valueOf(state, state.a, row, label) - valueOf(state, state.b, row, label));
    return Number.isNaN(part) ? 0 : part;
  }

  const nameOf = (entity) => entities.name.at(entity) || entities.label.at(entity);

  function words(row) {
    const [anchor, relation] = [nameOf(index.anchor[row]), index.relation[row]];
    const [head, tail] = index.side[row] === 0 ? ["…", anchor] : [anchor, "…"];
    const template = data.relation_words[relation];
    if (!template) return `${head} | ${data.relations[relation]} | ${tail}`.replace("…", "?");
    return template.replace(/\{head\}|\{tail\}/g, (hole) => (hole === "{head}" ? head : tail));
  }

  // Text

  const formats = new Map();

  function number(value, digits) {
    if (value === null || Number.isNaN(value)) return "-";
    if (!formats.has(digits)) {
      const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
      formats.set(digits, new Intl.NumberFormat("en-US", { ...places, roundingMode: "halfEven" }));
    }
    return formats.get(digits).format(value).replace(/^-(?=[0.,]*$)/, "").replace("-", "−");
  }

  const count = (value) => number(value, 0);
  const some = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;
  const signed = (value, digits) => (value > 0 ? "+" : "") + number(value, digits);

  function difference(value) {
    if (value && Math.abs(value) < 1e-3) {
      const [own, power] = Math.abs(value).toExponential(2).split("e");
      return `${value < 0 ? "−" : "+"}${own}e-${power.slice(1).padStart(2, "0")}`;
    }
    return signed(value, Math.abs(value) >= 10 ? 2 : 4);
  }

  const pText = (p) => (p === null || Number.isNaN(p) ? "-" : p < 1e-4 ? "<0.0001" : p.toFixed(4));

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  function draw(tag, attributes = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // Addresses

  const VIEWS = ["overview", "find", "labels"];
  const encoded = (text) => encodeURIComponent(text).replace(/%(2F|3A|2C|20)/g, (code) => (code === "%20" ? "+" : decodeURIComponent(code)));
  let best;

  function read(hash) {
    const parameters = new Map();
    for (const part of hash.slice(1).split("&").filter(Boolean)) {
      const [name, ...value] = part.split("=");
      try {
        parameters.set(name, decodeURIComponent(value.join("=").replace(/\+/g, " ")));
      } catch {
        parameters.set(name, value.join("="));
      }
    }
    const wrong = [];
    const named = (key, names, otherwise) => {
      if (!parameters.has(key)) return otherwise;
      const found = names.indexOf(parameters.get(key));
      if (found < 0) wrong.push(`Here is no ${parameters.get(key)}; there are ${names.join(", ")}.`);
      return found < 0 ? otherwise : found;
    };
    const state = { parameters, wrong, l: labels[Number(parameters.get("l"))] ? Number(parameters.get("l")) : 0 };
    state.a = named("a", systems, best[0]);
    state.b = named("b", systems, best.find((s) => s !== state.a) ?? state.a);
    state.m = named("m", measures.map((measure) => measure.name), 0);
    state.also = (parameters.get("also") || "").split(",").map((name) => systems.indexOf(name)).filter((s) => s >= 0);
    if (parameters.has("q")) state.view = "question";
    else state.view = VIEWS.find((view) => parameters.has(view)) || (parameters.has("a") || parameters.has("b") ? "pair" : "overview");
    if (state.view === "pair" && state.a === state.b) state.view = "overview";
    if (state.view === "labels" && state.l === 0) state.l = Math.min(1, labels.length - 1);
    return state;
  }

  function address(state, view, more = {}) {
    const { a, b, m, l } = { ...state, ...more };
    const parts = VIEWS.includes(view) ? [view] : [];
    const rest = Object.fromEntries(Object.entries(more).filter(([name]) => !["a", "b", "m", "l"].includes(name)));
    const named = { q: rest.q, a: systems[a], b: systems[b], m: measures[m].name, l, ...rest };
    if (view === "question" && state.also.length && !("also" in more)) named.also = state.also.map((s) => systems[s]).join(",");
    for (const [name, value] of Object.entries(named)) {
      if (value !== undefined && value !== "") parts.push(`${name}=${encoded(String(value))}`);
    }
    return `#${parts.join("&")}`;
  }

  const link = (href, ...children) => make("a", { href }, ...children);
  const asked = (state, row, ...children) => link(address(state, "question", { q: index.question.at(row) }), ...children);

  // Parts of views

  // columns: {label, cell(row) -> text or node, key(row) -> number; texts have none, first: way of the first click}
  function table(title, columns, rows, { caption = "", size = 25, empty = "no rows", classes = null } = {}) {
    const body = make("tbody");
    const heads = columns.map(({ label, key, first }) => {
      const head = make("th", { scope: "col", class: key ? "number-cell" : null }, label);
      if (first) head.dataset.first = first;
      return head;
    });
    const grid = make("table", { "aria-label": title }, make("thead", {}, make("tr", {}, ...heads)), body);
    const card = make("div", { class: classes ? `card ${classes}` : "card" }, make("h3", {}, title));
    if (caption) card.append(make("p", { class: "caption" }, caption));
    card.append(make("div", { class: "scroll", role: "region", "aria-label": `Table: ${title}`, tabindex: 0 }, grid));
    let order = Array.from(rows);
    let page = 0;
    const pages = Math.ceil(order.length / size);
    const where = make("span");
    const fill = () => {
      const shown = order.slice(page * size, (page + 1) * size);
      body.replaceChildren(...shown.map((row) => make("tr", {}, ...columns.map(({ cell, key }, place) => {
        const value = key && key(row);
        if (!key) return make(place === 0 ? "th" : "td", place === 0 ? { scope: "row" } : {}, cell(row));
        return make("td", { class: "number-cell", "data-key": Number.isNaN(value) || value === null ? "" : value }, cell(row));
      }))));
      if (!order.length) body.append(make("tr", {}, make("td", { colspan: columns.length }, empty)));
      where.textContent = `${count(page * size + 1)} to ${count(page * size + shown.length)} of ${count(order.length)}`;
    };
    fill();
    if (order.length > 1) {
      sortable(grid, (_, place, compare) => {
        const { cell, key } = columns[place];
        const keyed = order.map((row) => {
          if (!key) return { row, text: columns[place].text ? columns[place].text(row) : String(cell(row).textContent ?? cell(row)) };
          const value = key(row);
          return { row, key: Number.isNaN(value) || value === null ? "" : value };
        });
        order = keyed.sort(compare).map((each) => each.row);
        page = 0;
        fill();
      });
    }
    if (pages > 1) {
      const turn = (label, step) => {
        const button = make("button", { type: "button" }, label);
        button.addEventListener("click", () => {
          page = Math.max(0, Math.min(pages - 1, page + step));
          fill();
          said.textContent = where.textContent;
        });
        return button;
      };
      card.append(make("p", { class: "pages" }, turn("First", -Infinity), turn("Previous", -1), where, turn("Next", 1)));
    }
    return card;
  }

  // questions with the values of a and b
  function listing(state, title, rows, options = {}) {
    const [a, b, digits] = [systems[state.a], systems[state.b], measures[state.m].digits];
    const parts = rows.map((row) => Math.abs(partOf(state, row)));
    const places = Math.max(4, 2 - Math.floor(Math.log10(parts.reduce((most, part) => Math.max(most, part), 1e-9))));
    const value = (s) => ({
      label: systems[s],
      cell: (row) => number(valueOf(state, s, row), digits),
      key: (row) => valueOf(state, s, row),
      first: measures[state.m].higher ? "descending" : "ascending",
    });
    const columns = [
      { label: "question", cell: (row) => make("span", {}, asked(state, row, words(row)), make("span", { class: "note" }, ` ${index.question.at(row)}`)), text: words },
      value(state.a),
    ];
    if (state.a !== state.b) {
      const d = (row) => valueOf(state, state.a, row) - valueOf(state, state.b, row);
      columns.push(value(state.b), { label: `${a} − ${b}`, cell: (row) => signed(d(row), digits), key: d, first: "descending" });
      if (measures[state.m].adds) columns.push({ label: "moves the mean by", cell: (row) => signed(partOf(state, row), places), key: (row) => Math.abs(partOf(state, row)), first: "descending" });
    }
    return table(title, [...columns, ...(options.more || [])], rows, options);
  }

  const heading = (text) => make("h2", { id: "heading", tabindex: -1 }, text);
  const rowsOf = () => Array.from({ length: N }, (_, row) => row);
  const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
  const influences = new Map();

  // questions in order of influence, that on the difference or on its change from the first label set
  function influential(state, label) {
    const key = [state.a, state.b, state.m, state.l, label].join();
    if (!influences.has(key)) {
      const parts = Float64Array.from({ length: N }, (_, row) => partOf(state, row) - (label === undefined ? 0 : partOf(state, row, label)));
      influences.clear();
      influences.set(key, { parts, order: rowsOf().sort((x, y) => Math.abs(parts[y]) - Math.abs(parts[x]) || x - y) });
    }
    return influences.get(key);
  }

  // Views: each fills a node and returns its title

  function overview(state, view) {
    const measure = measures[state.m].name;
    view.append(heading("Overview"), make("p", { class: "lead" }, `${some(systems.length, "system")}, ${some(N, "question")}. ${labels[state.l].about}`));
    const cellOf = (m, s) => data.scores[state.l][m][s];
    const key = (text) => (/\d/.test(text) ? Number(text.replace("−", "-").replace(/[,%]/g, "")) : NaN);
    view.append(table(`Scores: ${labels[state.l].name}`, [
      { label: "system", cell: (s) => systems[s] },
      ...measures.map(({ name, higher }, m) => ({
        label: name,
        first: higher ? "descending" : "ascending",
        key: (s) => key(cellOf(m, s).text),
        cell: (s) => {
          const { text, interval, letters } = cellOf(m, s);
          const own = make("span", {}, make("span", { class: "value" }, text));
          if (letters) own.append(make("span", { class: "groups" }, letters));
          if (interval) own.append(make("span", { class: "interval" }, interval));
          return own;
        },
      })),
    ], systems.keys(), { caption: "Systems that share a letter are not shown to differ in that measure. In brackets: the interval." }));
    if (systems.length < 2) return "Overview";
    const order = [...systems.keys()].sort((x, y) => (key(cellOf(state.m, y).text) - key(cellOf(state.m, x).text)) * (measures[state.m].higher ? 1 : -1) || 0);
    view.append(table(`Pairs in ${measure}: row minus column`, [
      { label: "system", cell: (s) => systems[s] },
      ...order.map((other) => ({
        label: systems[other],
        first: "descending",
        key: (s) => (s === other ? NaN : pairOf({ ...state, a: s, b: other })?.difference ?? NaN),
        cell: (s) => {
          const pair = s !== other && pairOf({ ...state, a: s, b: other });
          if (!pair) return "";
          const [sign, mark] = { 0: ["better", "▲"], 1: ["worse", "▼"], "-1": ["open", "·"] }[pair.better];
          const said = { better: `${systems[s]} is better`, worse: `${systems[other]} is better`, open: "not shown to differ" }[sign];
          const own = link(address(state, "pair", { a: s, b: other }), `${difference(pair.difference)} `, make("span", { "aria-hidden": "true" }, mark), make("span", { class: "hidden" }, said));
          own.className = sign;
          return own;
        },
      })),
    ], order, { caption: "▲ the row is better, ▼ the column is better, · not shown to differ. Choose a difference to see the questions that make it." }));
    return "Overview";
  }

  // a pair as the address has it: pairs are kept in one order only
  function pairOf(state) {
    const { a, b, l, m } = state;
    const place = data.pairs.findIndex((pair) => pair.a === Math.min(a, b) && pair.b === Math.max(a, b) && pair.label === l && pair.measure === m);
    const pair = data.pairs[place];
    if (!pair || a < b) return pair && { ...pair, place };
    const { difference: d, low, high, wins, losses, better } = pair;
    const minus = (value) => (value === null ? null : -value);
    return { ...pair, place, a, b, difference: minus(d), low: minus(high), high: minus(low), wins: losses, losses: wins, better: better < 0 ? better : 1 - better };
  }

  async function pairView(state, view) {
    const measure = measures[state.m];
    const [a, b] = [systems[state.a], systems[state.b]];
    const pair = pairOf(state);
    const title = `${a} and ${b}: ${measure.name}, ${labels[state.l].name}`;
    view.append(heading(title));
    if (pair) view.append(make("p", { class: "lead" }, pair.sentence));
    const { parts, order } = influential(state);
    const both = order.filter((row) => !Number.isNaN(valueOf(state, state.a, row) - valueOf(state, state.b, row)));
    const better = (row) => Math.sign(valueOf(state, state.a, row) - valueOf(state, state.b, row)) * (measure.higher ? 1 : -1);
    const [wins, losses] = [1, -1].map((side) => both.filter((row) => better(row) === side));
    const facts = [["better for " + a, count(wins.length)], ["better for " + b, count(losses.length)], ["equal", count(both.length - wins.length - losses.length)]];
    if (pair) facts.unshift([`${a} − ${b}`, difference(pair.difference)]);
    if (pair && pair.low !== null) facts.splice(1, 0, ["interval", `${difference(pair.low)} to ${difference(pair.high)}`]);
    if (pair && pair.p !== null) facts.splice(2, 0, ["p", pText(pair.p)]);
    view.append(make("dl", { class: "facts" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
    const whole = sum(both.map((row) => Math.abs(parts[row])));
    if (measure.adds && whole > 0) {
      let [n, reached] = [0, 0];
      while (n < both.length && reached < 0.9 * whole) reached += Math.abs(parts[both[n++]]);
      const [up, down] = [1, -1].map((side) => sum(both.map((row) => Math.max(0, side * parts[row]))));
      view.append(make("p", {}, `On some questions ${a} has more, in all ${number(up, 4)}; on others ${b}, in all ${number(down, 4)}; the difference is what remains, ${difference(up - down)}. `
        + `${some(n, "question")} of ${count(both.length)} (${number((100 * n) / both.length, 1)}%) make 90% of the sum of both.`));
    }
    view.append(make("div", { class: "figures" }, histogram(state, both), scatter(state, both)));
    view.append(listing(state, "The questions that make the difference", both, { caption: "In order of their influence on the mean." }));
    if (pair) await strata(state, pair, view);
    return title;
  }

  async function strata(state, pair, view) {
    const all = await slice("strata").catch(() => null);
    if (!all) return;
    const [a, b] = [systems[state.a], systems[state.b]];
    const [digits, turn] = [measures[state.m].digits, state.a < state.b ? 1 : -1];
    const rows = [...all.pair.keys()].filter((row) => all.pair[row] === pair.place);
    const [first, second] = turn > 0 ? [all.first, all.second] : [all.second, all.first];
    const [wins, losses] = turn > 0 ? [all.wins, all.losses] : [all.losses, all.wins];
    data.strata.forEach(({ kind, labels: names }, place) => {
      const own = rows.filter((row) => all.kind[row] === place);
      if (!own.length) return;
      const verdict = (row) => {
        if (!(all.p[row] < 0.05)) return "not shown";
        return (all.difference[row] * turn > 0) === measures[state.m].higher ? `${a} better` : `${b} better`;
      };
      const name = (row) => names[all.group[row]];
      const numbers = (label, cell, key) => ({ label, cell: (row) => cell(key(row)), key, first: "descending" });
      view.append(table(`By ${kind}`, [
        { label: kind, cell: (row) => link(address(state, "find", { [`g.${kind}`]: name(row) }), name(row)) },
        numbers("questions", count, (row) => all.n[row]),
        numbers(a, (value) => number(value, digits), (row) => first[row]),
        numbers(b, (value) => number(value, digits), (row) => second[row]),
        numbers(`${a} − ${b}`, difference, (row) => turn * all.difference[row]),
        { ...numbers("p", pText, (row) => all.p[row]), first: "ascending" },
        { label: "verdict", cell: verdict },
        numbers(`${a} ahead`, count, (row) => wins[row]),
        numbers(`${b} ahead`, count, (row) => losses[row]),
      ], own, { caption: `p is adjusted for the ${some(own.length, "group")} of this table${data.adjusted ? ` (${data.adjusted})` : ""}; a verdict needs p < .05. A group links to its questions.` }));
    });
  }

  // Figures

  const BOX = { width: 440, height: 380, left: 64, right: 14, top: 14, bottom: 58 };

  function ticks(low, high) {
    const raw = (high - low) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.99);
    return Array.from({ length: Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1 }, (_, at) => (Math.ceil(low / step - 1e-9) + at) * step);
  }

  // an axis from low to high; `by` bends it
  function axis(low, high, from, to, by = (value) => value, marks = ticks(low, high)) {
    const place = (value) => from + ((by(value) - by(low)) / (by(high) - by(low) || 1)) * (to - from);
    return { low, high, place, marks: marks.filter((mark) => mark >= low && mark <= high) };
  }

  function frame(x, y, xLabel, yLabel, write = (mark) => String(Number(mark.toPrecision(4))).replace("-", "−"), writeY = write) {
    const { width, height, left, right, top, bottom } = BOX;
    const parts = draw("g", { class: "frame" });
    for (const mark of x.marks) {
      parts.append(draw("line", { x1: x.place(mark), x2: x.place(mark), y1: top, y2: height - bottom, class: "rule" }),
        draw("text", { x: x.place(mark), y: height - bottom + 20, "text-anchor": "middle" }, write(mark)));
    }
    for (const mark of y.marks) {
      parts.append(draw("line", { x1: left, x2: width - right, y1: y.place(mark), y2: y.place(mark), class: "rule" }),
        draw("text", { x: left - 8, y: y.place(mark) + 5, "text-anchor": "end" }, writeY(mark)));
    }
    const middle = (height - bottom + top) / 2;
    parts.append(draw("text", { x: (left + width - right) / 2, y: height - 10, "text-anchor": "middle", class: "axis" }, short(xLabel, 46)),
      draw("text", { x: 16, y: middle, transform: `rotate(-90 16 ${middle})`, "text-anchor": "middle", class: "axis" }, short(yLabel, 38)));
    return parts;
  }

  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  function figure(title, caption, picture, ...more) {
    return make("figure", { class: "card" }, make("h3", {}, title), picture, make("figcaption", { class: "caption" }, caption), ...more);
  }

  function histogram(state, rows) {
    const measure = measures[state.m];
    const [a, b] = [systems[state.a], systems[state.b]];
    const differences = rows.map((row) => valueOf(state, state.a, row) - valueOf(state, state.b, row)).filter((d) => d !== 0);
    const most = differences.reduce((far, d) => Math.max(far, Math.abs(d)), 0) || 1;
    const bend = most > 20 ? (d) => Math.sign(d) * Math.log10(1 + Math.abs(d)) : (d) => d;
    const back = most > 20 ? (t) => Math.sign(t) * (10 ** Math.abs(t) - 1) : (t) => t;
    const half = 20;
    const bins = new Array(2 * half).fill(0);
    const end = bend(most > 20 ? most : Math.ceil(most * 20) / 20);
    for (const d of differences) bins[Math.min(2 * half - 1, d > 0 ? half + Math.ceil((bend(d) / end) * half - 1e-9) - 1 : half - Math.ceil((bend(-d) / end) * half - 1e-9))] += 1;
    const { width, height, left, right, top, bottom } = BOX;
    const tens = [1, 10, 100, 1000, 10000].filter((mark) => mark < back(end));
    const x = axis(-back(end), back(end), left, width - right, bend, most > 20 ? [...tens.map((mark) => -mark), 0, ...tens] : undefined);
    const tallest = Math.max(1, ...bins);
    const marks = [1, 5, 25, 100, 250, 1000, 2500, 5000, 10000, 25000, 100000].filter((mark) => mark <= tallest && mark >= tallest / 150);
    const y = axis(0, tallest, height - bottom, top, Math.sqrt, [0, ...marks]);
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Histogram of the differences of ${some(differences.length, "question")}; the table below has its numbers.` });
    picture.append(frame(x, y, `${a} − ${b}: ${measure.name} of a question`, "questions (square-root scale)", undefined, count));
    const edge = (at) => back(((at - half) / half) * end);
    bins.forEach((n, at) => {
      if (!n) return;
      const [from, to] = [x.place(edge(at)), x.place(edge(at + 1))];
      const system = (at >= half) === measure.higher ? state.a : state.b;
      const bar = draw("rect", { x: from + 0.5, width: to - from - 1, y: y.place(n), height: height - bottom - y.place(n), class: `fill-${(system % 8) + 1}` },
        draw("title", {}, `${some(n, "question")}: ${number(edge(at), 3)} to ${number(edge(at + 1), 3)}`));
      bar.addEventListener("click", () => { location.hash = range(at); });
      picture.append(bar);
    });
    const range = (at) => address(state, "find", { d0: Number(edge(at).toPrecision(6)), d1: Number(edge(at + 1).toPrecision(6)) });
    const shown = [...bins.keys()].filter((at) => bins[at]);
    const numbers = make("details", {}, make("summary", {}, "The numbers of this figure"));
    numbers.addEventListener("toggle", () => {
      if (numbers.children.length === 1) numbers.append(table("Differences per question", [
        { label: "from", cell: (at) => link(range(at), number(edge(at), 3)), key: edge },
        { label: "to", cell: (at) => number(edge(at + 1), 3), key: (at) => edge(at + 1) },
        { label: "questions", cell: (at) => count(bins[at]), key: (at) => bins[at], first: "descending" },
      ], shown, { size: 40 }));
    });
    const [lower, upper] = measure.higher ? [b, a] : [a, b];
    return figure("How far apart the two are, question by question",
      `Left of 0 ${lower} is better, right of 0 ${upper}. ${some(rows.length - differences.length, "question")} without a difference ${rows.length - differences.length === 1 ? "is" : "are"} not drawn.`, picture, numbers);
  }

  function scatter(state, rows) {
    const measure = measures[state.m];
    const [a, b] = [systems[state.a], systems[state.b]];
    const { width, height, left, right, top, bottom } = BOX;
    const at = (s, row) => valueOf(state, s, row);
    let [low, high] = [Infinity, -Infinity];
    for (const row of rows) for (const s of [state.a, state.b]) [low, high] = [Math.min(low, at(s, row)), Math.max(high, at(s, row))];
    if (!rows.length) [low, high] = [0, 1];
    const isLog = low >= 1 && high > 20;
    [low, high] = isLog ? [1, high] : [Math.min(0, low), Math.max(high, low + 1e-9)];
    const marks = isLog ? [1, 10, 100, 1000, 10000, 100000] : ticks(low, high);
    const by = isLog ? Math.log10 : (value) => value;
    const x = axis(low, high, left + 8, width - right - 8, by, marks);
    const y = axis(low, high, height - bottom - 8, top + 8, by, marks);
    const cells = new Map(); // place -> its questions, the most influential first
    for (const row of rows) {
      const key = `${Math.round(x.place(at(state.a, row)) / 3)},${Math.round(y.place(at(state.b, row)) / 3)}`;
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(row);
    }
    const scale = isLog ? ", log scale" : "";
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", class: "scatter" });
    picture.append(frame(x, y, `${a}: ${measure.name}${scale}`, `${b}: ${measure.name}${scale}`),
      draw("line", { x1: x.place(low), y1: y.place(low), x2: x.place(high), y2: y.place(high), class: "diagonal" }));
    const places = [...cells.keys()].map((key) => key.split(",").map((each) => each * 3));
    [...cells.values()].forEach((own, place) => {
      const [d, r] = [at(state.a, own[0]) - at(state.b, own[0]), 1.6 + 1.2 * Math.log10(own.length)];
      const kind = d === 0 ? "none" : ((d > 0) === measure.higher ? state.a : state.b) % 8 + 1;
      picture.append(draw("circle", { cx: places[place][0], cy: places[place][1], r, class: `fill-${kind}` }));
    });
    const ring = draw("circle", { r: 8, class: "ring" });
    picture.append(ring);
    const box = make("div", { class: "dots", role: "slider", tabindex: 0, "aria-label": "Question, in order of influence", "aria-valuemin": 1, "aria-valuemax": Math.max(1, rows.length) });
    const chosen = make("p", { class: "chosen" });
    let now = 0;
    const choose = (place, own) => {
      now = place;
      const row = rows[now];
      const text = `${words(row)}: ${a} ${number(at(state.a, row), measure.digits)}, ${b} ${number(at(state.b, row), measure.digits)}`;
      ring.setAttribute("cx", x.place(at(state.a, row)));
      ring.setAttribute("cy", y.place(at(state.b, row)));
      box.setAttribute("aria-valuenow", now + 1);
      box.setAttribute("aria-valuetext", `${now + 1} of ${rows.length}: ${text}`);
      chosen.replaceChildren(`${count(now + 1)} of ${count(rows.length)} by influence: `, asked(state, row, text));
      if (own && own.length > 1) {
        const span = (s, name) => {
          const values = own.map((each) => at(s, each));
          return { [`${name}0`]: values.reduce((x1, x2) => Math.min(x1, x2)), [`${name}1`]: values.reduce((x1, x2) => Math.max(x1, x2)) };
        };
        chosen.append(". ", link(address(state, "find", { ...span(state.a, "a"), ...span(state.b, "b") }), `All ${count(own.length)} of this dot`));
      }
    };
    if (rows.length) choose(0);
    const nearest = (event) => {
      const area = picture.getBoundingClientRect();
      const [px, py] = [((event.clientX - area.left) / area.width) * width, ((event.clientY - area.top) / area.height) * height];
      let [found, least] = [null, 400];
      for (const [key, own] of cells) {
        const [cx, cy] = key.split(",");
        const far = (cx * 3 - px) ** 2 + (cy * 3 - py) ** 2;
        if (far < least) [found, least] = [own, far];
      }
      return found;
    };
    const rankOf = new Map(rows.map((row, place) => [row, place]));
    picture.addEventListener("click", (event) => {
      const own = nearest(event);
      if (own) choose(rankOf.get(own[0]), own);
    });
    box.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
      if (event.key === "Enter") chosen.querySelector("a").click();
      if (!(event.key in steps) || !rows.length) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(rows.length - 1, now + steps[event.key])));
    });
    box.append(picture);
    return figure("Where each of the two finds the answer",
      "A dot is a question; larger dots are several, by the logarithm of their number. On the line both are equal. Click a dot, or move through the questions with the arrow keys; Enter opens one.", box, chosen);
  }

  // A question

  const STATUS = [["unjudged", "○"], ["test answer", "★"], ["judged yes", "✓"], ["judged no", "✗"], ["yes by rule", "✓"], ["no by rule", "✗"], ["unsure", "?"], ["known from train", "▪"], ["known from valid", "▫"]];

  function status(code) {
    return make("span", { class: `status status-${code}` }, make("span", { "aria-hidden": "true" }, STATUS[code][1]), ` ${STATUS[code][0]}`);
  }

  function candidate(state, entity) {
    const [label, name] = [entities.label.at(entity), entities.name.at(entity)];
    const own = link(address(state, "find", { text: label }), name || label);
    own.dataset.entity = entity;
    return name && name !== label ? make("span", {}, own, make("span", { class: "note" }, ` ${label}`)) : own;
  }

  async function questionView(state, view) {
    const id = state.parameters.get("q");
    const row = rowNamed(id);
    if (row < 0) {
      view.append(heading("No such question"), make("p", {}, `The collection has no question ${id}. `, link(address(state, "find"), "Search the questions")));
      return "No such question";
    }
    const own = await question(row);
    const title = words(row);
    const [anchor, relation] = [index.anchor[row], data.relations[index.relation[row]]];
    const ends = index.side[row] === 0 ? ["?", entities.label.at(anchor)] : [entities.label.at(anchor), "?"];
    view.append(make("p", { class: "eyebrow" }, `${id} · ${ends[0]} · ${relation} · ${ends[1]}`), heading(title));
    const shown = [...new Set([state.a, state.b, ...state.also])];
    const { order } = influential(state);
    if (shown.length > 1 && measures[state.m].adds) {
      const rank = order.indexOf(row);
      const step = (at, text) => (order[at] === undefined ? null : asked(state, order[at], text));
      view.append(make("p", { class: "steps" }, step(rank - 1, "← More influential"), `${count(rank + 1)} of ${count(N)} by influence on ${systems[state.a]} − ${systems[state.b]} in ${measures[state.m].name}; moves the mean by ${difference(partOf(state, row))}. `, step(rank + 1, "Less influential →")));
    }
    if (systems.length > 2) {
      const boxes = systems.map((name, s) => {
        const box = make("input", { type: "checkbox", id: `show-${s}` });
        box.checked = shown.includes(s);
        box.disabled = s === state.a || s === state.b;
        box.addEventListener("change", () => {
          const also = shown.filter((other) => other !== s && other !== state.a && other !== state.b).concat(box.checked ? [s] : []);
          location.hash = address(state, "question", { q: id, also: also.map((other) => systems[other]).join(",") });
        });
        return make("label", {}, box, ` ${name}`);
      });
      view.append(make("fieldset", { class: "choose" }, make("legend", {}, "Systems shown"), ...boxes));
    }
    const seen = [...new Set(own.status.flatMap((each) => Array.from(each)))].sort();
    const lists = shown.filter((s) => own.lists[s].place);
    if (lists.length) {
      view.append(make("p", { class: "legend" }, ...seen.flatMap((code) => [status(code), " "])),
        make("div", { class: "lists" }, ...lists.map((s) => listOf(state, own, s))));
    } else view.append(make("p", {}, "There are no lists, only ranks: kgtrec explore was given no run."));
    const answers = [...own.answer.keys()];
    view.append(table("Answers and their exact ranks", [
      { label: "answer", cell: (at) => candidate(state, own.pool[own.answer[at]]) },
      ...shown.filter((s) => own.ranks[s][0]).map((s) => ({ label: systems[s], cell: (at) => rankText(own.ranks[s], at), key: (at) => own.ranks[s][0][at] })),
    ], answers, { caption: "Rank among all entities, without other known answers. In brackets: best and worst rank over ties." }));
    view.append(table("What each label set makes of it", [
      { label: "measure", cell: ([, m]) => measures[m].name },
      { label: "labels", cell: ([l]) => labels[l].name },
      ...shown.map((s) => {
        const value = ([l, m]) => valueOf({ l, m }, s, row);
        return { label: systems[s], cell: (at) => number(value(at), measures[at[1]].digits), key: value };
      }),
    ], measures.flatMap((_, m) => labels.map((_, l) => [l, m]))));
    const changed = [...own.pool.keys()].filter((at) => own.status.some((each) => each[at] !== own.status[0][at]));
    if (labels.length > 1) {
      view.append(table("Candidates with another label in another set", [
        { label: "candidate", cell: (at) => candidate(state, own.pool[at]) },
        ...labels.map(({ name }, l) => ({ label: name, cell: (at) => status(own.status[l][at]) })),
        ...lists.map((s) => ({ label: `place: ${systems[s]}`, cell: (at) => placeText(own.lists[s].place.indexOf(at)), key: (at) => own.lists[s].place.indexOf(at) + 1 || NaN })),
      ], changed, { empty: "none: the label sets agree on every candidate" }));
    }
    const known = make("ul", { class: "known" }, ...[...own.known.keys()].map((at) => make("li", {}, nameOf(own.known[at]), make("span", { class: "note" }, ` ${own.split[at] ? "valid" : "train"}`))));
    const facts = make("details", { class: "card" }, make("summary", {}, `Known already: ${some(own.known.length, "answer")} in train and valid`), known);
    facts.open = own.known.length > 0 && own.known.length <= 12;
    view.append(facts);
    return title;
  }

  const placeText = (at) => (at < 0 ? "-" : count(at + 1));
  const plainRank = (rank) => number(rank, Number.isInteger(rank) ? 0 : 1);

  function rankText([rank, low, high], at) {
    return low && low[at] !== high[at] ? `${plainRank(rank[at])} [${plainRank(low[at])}, ${plainRank(high[at])}]` : plainRank(rank[at]);
  }

  function listOf(state, own, s) {
    const { place, score, tie } = own.lists[s];
    const tied = (x, y) => x >= 0 && y < place.length && tie[x] === tie[y];
    const scores = new Intl.NumberFormat("en-US", { minimumSignificantDigits: 5, maximumSignificantDigits: 5, useGrouping: false });
    let rank = 0;
    const rows = [...place.keys()].map((at) => {
      const codes = own.status.map((each) => each[place[at]]);
      const isKnown = codes[state.l] >= 7;
      if (!isKnown) rank += 1;
      const [before, after] = [tied(at - 1, at), tied(at, at + 1)];
      const bracket = before && after ? "│" : before ? "╯" : after ? "╮" : "";
      const told = status(codes[state.l]);
      codes.forEach((code, l) => {
        if (code !== codes[state.l]) told.append(make("span", { class: "note" }, `${labels[l].name}: ${STATUS[code][1]} ${STATUS[code][0]}`));
      });
      return make("tr", { class: `row-${codes[state.l]}`, "data-entity": own.pool[place[at]] },
        make("td", { class: "number-cell" }, isKnown ? "–" : String(rank)),
        make("th", { scope: "row" }, candidate(state, own.pool[place[at]])),
        make("td", {}, told),
        make("td", { class: "number-cell" }, scores.format(score[at]).replace("-", "−"), make("span", { class: "tie", "aria-hidden": "true" }, bracket), before || after ? make("span", { class: "hidden" }, " tied") : null));
    });
    const below = [...own.answer.keys()].filter((at) => !place.includes(own.answer[at]));
    for (const at of own.ranks[s][0] ? below.sort((x, y) => own.ranks[s][0][x] - own.ranks[s][0][y]) : below) {
      rows.push(make("tr", { class: "below row-1", "data-entity": own.pool[own.answer[at]] },
        make("td", { class: "number-cell" }, own.ranks[s][0] ? plainRank(own.ranks[s][0][at]) : "-"),
        make("th", { scope: "row" }, candidate(state, own.pool[own.answer[at]])),
        make("td", {}, status(1)), make("td", {}, make("span", { class: "note" }, "below the list: exact rank"))));
    }
    const heads = ["place", "candidate", "label", "score"].map((text, at) => make("th", { scope: "col", class: at % 3 ? null : "number-cell" }, text));
    const grid = make("table", { "aria-label": `List of ${systems[s]}` }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    const card = make("section", { class: "card list" }, make("h3", { class: `system-${(s % 8) + 1}` }, systems[s]),
      make("div", { class: "scroll", role: "region", "aria-label": `List: ${systems[s]}`, tabindex: 0 }, grid));
    return card;
  }

  for (const [start, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    const mark = (event, on) => {
      const row = event.target.closest && event.target.closest("tr[data-entity]");
      if (row) for (const other of content.querySelectorAll(`tr[data-entity="${row.dataset.entity}"]`)) other.classList.toggle("linked", on);
    };
    content.addEventListener(start, (event) => mark(event, true));
    content.addEventListener(end, (event) => mark(event, false));
  }

  let rowByName;

  function rowNamed(id) {
    rowByName = rowByName || new Map(rowsOf().map((row) => [index.question.at(row), row]));
    return rowByName.get(id) ?? -1;
  }

  // What a label set changes

  function labelsView(state, view) {
    const [a, b, digits] = [systems[state.a], systems[state.b], measures[state.m].digits];
    const title = `${labels[state.l].name} instead of ${labels[0].name}: ${measures[state.m].name}`;
    view.append(heading(title));
    if (labels.length < 2) {
      view.append(make("p", {}, "There is one label set only; kgtrec explore --labels adds others."));
      return title;
    }
    view.append(make("p", { class: "lead" }, labels[state.l].about));
    const change = (s, row) => valueOf(state, s, row) - valueOf(state, s, row, 0);
    const changed = (s) => rowsOf().filter((row) => change(s, row));
    view.append(table("How much changes, by system", [
      { label: "system", cell: (s) => link(address(state, "labels", { a: s }), systems[s]) },
      ...[0, state.l].map((l) => ({ label: labels[l].name, cell: (s) => data.scores[l][state.m][s].text, key: (s) => Number(data.scores[l][state.m][s].text.replace(/,/g, "")) })),
      { label: "questions changed", cell: (s) => count(changed(s).length), key: (s) => changed(s).length, first: "descending" },
    ], systems.keys()));
    const swapped = data.swapped.filter((each) => each.label === state.l && each.measure === state.m);
    const list = make("ul", {}, ...swapped.map((each) => make("li", {}, `${each.sentence} `, link(address(state, "labels", { a: each.a, b: each.b }), "The questions that do it"))));
    view.append(make("div", { class: "card" }, make("h3", {}, "Pairs in another order"), swapped.length ? list : make("p", {}, "None in this measure.")));
    const responsible = (row) => {
      const cell = make("span", {}, "…");
      question(row).then((own) => {
        const place = own.lists[state.a].place || [];
        const found = [...place.keys()].filter((at) => own.status[0][place[at]] !== own.status[state.l][place[at]]);
        const texts = found.slice(0, 3).map((at) => `${nameOf(own.pool[place[at]])} (place ${at + 1}): ${STATUS[own.status[state.l][place[at]]].join(" ")}`);
        cell.textContent = texts.concat(found.length > 3 ? [`${found.length - 3} more`] : []).join("; ") || "none in the list";
      });
      return cell;
    };
    const who = { label: "candidates with another label", cell: responsible, text: words };
    const values = (l) => ({ label: labels[l].name, cell: (row) => number(valueOf(state, state.a, row, l), digits), key: (row) => valueOf(state, state.a, row, l), first: "descending" });
    view.append(table(`Questions whose value changes most: ${a}`, [
      { label: "question", cell: (row) => asked(state, row, words(row)), text: words },
      values(0), values(state.l),
      { label: "change", cell: (row) => signed(change(state.a, row), digits), key: (row) => change(state.a, row), first: "descending" },
      who,
    ], changed(state.a).sort((x, y) => Math.abs(change(state.a, y)) - Math.abs(change(state.a, x)) || x - y), { size: 10, empty: "none" }));
    if (state.a !== state.b && measures[state.m].adds) {
      const { parts, order } = influential(state, 0);
      view.append(listing(state, `Questions that move ${a} − ${b}`, order.filter((row) => parts[row]), {
        caption: `In order of how far ${labels[state.l].name} instead of ${labels[0].name} moves the difference of the means; the values are those of ${labels[state.l].name}.`,
        size: 10,
        more: [{ label: "change", cell: (row) => signed(parts[row], 6), key: (row) => Math.abs(parts[row]), first: "descending" }, who],
      }));
    }
    return title;
  }

  // Search

  let texts;

  function findView(state, view) {
    const [a, b] = [systems[state.a], systems[state.b]];
    view.append(heading("Questions"));
    const field = (name, label, more = {}) => {
      const input = make("input", { id: `find-${name}`, name, value: state.parameters.get(name) || null, autocomplete: "off", ...more });
      return make("div", { class: "field" }, make("label", { for: input.id }, label), input);
    };
    const select = (name, label, names) => {
      const input = make("select", { id: `find-${name}`, name }, make("option", { value: "" }, "any"), ...names.map((each) => make("option", { value: each }, each)));
      input.value = state.parameters.get(name) || "";
      return make("div", { class: "field" }, make("label", { for: input.id }, label), input);
    };
    const between = { inputmode: "decimal", size: 8 };
    const form = make("form", { class: "card find", role: "search", "aria-label": "Search the questions" },
      field("text", "Words, entity, relation or id", { type: "search" }),
      ...data.strata.map(({ kind, labels: names }) => select(`g.${kind}`, kind, names)),
      ...(a === b ? [["a", a]] : [["a", a], ["b", b], ["d", `${a} − ${b}`]]).flatMap(([key, name]) => [field(`${key}0`, `${name}: at least`, between), field(`${key}1`, `${name}: at most`, between)]),
      field("least", "Systems with the same unjudged candidate at rank 1: at least", { type: "number", min: 0, max: systems.length }));
    const results = make("div");
    view.append(form, results);
    const filters = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
    const update = () => {
      const found = matching(state, filters());
      results.replaceChildren(exported(found, Number(filters().least) || 0), listing(state, `${some(found.length, "question")} found`, found, { empty: "no question is like that" }));
      said.textContent = `${some(found.length, "question")} found`;
    };
    let waiting;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        history.replaceState(history.state, "", address(state, "find", filters()));
        state.parameters = read(location.hash).parameters;
        update();
      }, 150);
    });
    update();
    return "Questions";
  }

  function matching(state, filters) {
    const tests = [];
    if (filters.text) {
      texts = texts || rowsOf().map((row) => [index.question.at(row), words(row), entities.label.at(index.anchor[row]), data.relations[index.relation[row]]].join(" ").toLowerCase());
      for (const part of filters.text.toLowerCase().split(/\s+/)) tests.push((row) => texts[row].includes(part));
    }
    for (const { kind, labels: names } of data.strata) {
      const wanted = names.indexOf(filters[`g.${kind}`]);
      const column = index[`stratum.${kind}`] || index[kind];
      if (filters[`g.${kind}`] !== undefined) tests.push((row) => column[row] === wanted);
    }
    const values = { a: (row) => valueOf(state, state.a, row), b: (row) => valueOf(state, state.b, row) };
    values.d = (row) => values.a(row) - values.b(row);
    for (const [key, value] of Object.entries(values)) {
      const [low, high] = [0, 1].map((end) => filters[key + end] && Number(filters[key + end].replace("−", "-")));
      if (low !== undefined) tests.push((row) => value(row) >= low - 1e-9);
      if (high !== undefined) tests.push((row) => value(row) <= high + 1e-9);
    }
    if (Number(filters.least)) tests.push((row) => index.top_unjudged[row] >= Number(filters.least));
    return influential(state).order.filter((row) => tests.every((test) => test(row)));
  }

  // the unjudged candidates at rank 1 of enough systems, as a run that kgtrec pool reads
  function exported(rows, least) {
    const wanted = Math.max(1, least);
    const own = rows.filter((row) => index.top_unjudged && index.top_unjudged[row] >= wanted);
    const card = make("div", { class: "card" }, make("h3", {}, "Judge these next"));
    if (!own.length) {
      card.append(make("p", {}, "None of these questions has an unjudged candidate at rank 1."));
      return card;
    }
    const button = make("button", { type: "button" }, "Save unjudged.run");
    card.append(make("p", {}, `${some(own.length, "question")} of these ${own.length === 1 ? "has" : "have"} an unjudged candidate at rank 1 of at least ${some(wanted, "system")}. `, button));
    button.addEventListener("click", async () => {
      const lines = [];
      let depth = 0;
      for (const row of own) {
        const { pool, status: codes, lists } = await question(row);
        const at = new Map();
        for (const { place } of lists) if (place && place.length && codes.every((each) => each[place[0]] === 0)) at.set(place[0], (at.get(place[0]) || 0) + 1);
        const found = [...at].filter(([, n]) => n >= wanted).sort((x, y) => y[1] - x[1] || x[0] - y[0]);
        found.forEach(([place, n], rank) => lines.push(`${index.question.at(row)} Q0 ${entities.label.at(pool[place])} ${rank + 1} ${n} unjudged\n`));
        depth = Math.max(depth, found.length);
      }
      const saved = make("a", { href: URL.createObjectURL(new Blob([lines.join("")], { type: "text/plain" })), download: "unjudged.run" }, "unjudged.run");
      saved.click();
      const command = `${data.commands.pool} unjudged.run --depth ${depth} --out campaign`;
      button.parentNode.replaceWith(make("p", {}, saved, ` has ${some(lines.length, "candidate")}; their score is the number of systems. A campaign begins with`), make("pre", {}, make("code", {}, command)));
      said.textContent = `saved ${some(lines.length, "candidate")}`;
    });
    return card;
  }

  // The page

  const shows = { overview, pair: pairView, question: questionView, labels: labelsView, find: findView };
  let last = null;

  function bar(state) {
    const tabs = [["overview", "Overview"], ["pair", `${systems[state.a]} and ${systems[state.b]}`], ["find", "Questions"], ["labels", "Labels"]]
      .filter(([view]) => (view !== "labels" || labels.length > 1) && (view !== "pair" || state.a !== state.b))
      .map(([view, text]) => make("li", {}, make("a", { href: address(state, view), "aria-current": state.view === view ? "page" : null }, text)));
    byId("views").replaceChildren(make("ol", {}, ...tabs));
    const select = (name, label, names, chosen) => {
      const input = make("select", { id: `bar-${name}` }, ...names.map((each, at) => make("option", { value: at }, each)));
      input.value = chosen;
      input.addEventListener("change", () => {
        const more = { [name]: Number(input.value) };
        if (name === "a" && more.a === state.b) more.b = state.a;
        if (name === "b" && more.b === state.a) more.a = state.b;
        const rest = Object.fromEntries([...state.parameters].filter(([key]) => !["a", "b", "m", "l", ...VIEWS].includes(key)));
        location.hash = address(state, state.view, { ...rest, ...more });
      });
      return make("div", { class: "field" }, make("label", { for: input.id }, label), input);
    };
    byId("bar").hidden = false;
    byId("bar").replaceChildren(
      ...(systems.length > 1 ? [select("a", "System A", systems, state.a), select("b", "System B", systems, state.b)] : []),
      select("m", "Measure", measures.map((measure) => measure.name), state.m),
      ...(labels.length > 1 ? [select("l", "Labels", labels.map((label) => label.name), state.l)] : []));
  }

  async function show() {
    const state = read(location.hash);
    const view = make("div", { class: `view ${state.view}` });
    last = { state, before: last && last.state };
    const own = last;
    for (const text of state.wrong) view.append(make("p", { class: "note" }, text));
    const title = await shows[state.view](state, view);
    if (own !== last) return; // another address by now
    const focused = document.activeElement && document.activeElement.id;
    bar(state);
    content.replaceChildren(view);
    document.title = `${title} · ${data.title}`;
    if (!own.before) return;
    const isSame = own.before.view === state.view && own.before.parameters.get("q") === state.parameters.get("q");
    const target = (isSame && focused && byId(focused)) || byId("heading");
    target.focus({ preventScroll: isSame || Boolean(history.state) });
    if (!isSame && history.state) scrollTo(0, history.state.y);
    said.textContent = title;
  }

  async function start() {
    if (typeof DecompressionStream === "undefined") {
      content.prepend(make("p", { class: "lead" }, "This browser cannot unpack the page's data. Chromium from 80, Firefox from 113 and Safari from 16.4 can. These are the scores."));
      return;
    }
    const value = (s) => Number(data.scores[0][0][s].text.replace("−", "-").replace(/,/g, ""));
    best = [...systems.keys()].sort((x, y) => (value(y) - value(x)) * (measures[0].higher ? 1 : -1) || 0);
    [index, entities] = await Promise.all([unpack("index"), unpack("entities")]);
    addEventListener("hashchange", show);
    // where a view was left, so that the back button returns there
    addEventListener("click", (event) => {
      if (event.target.closest && event.target.closest("a[href^='#']")) history.replaceState({ y: scrollY }, "");
    }, true);
    await show();
  }

  start();
})();
