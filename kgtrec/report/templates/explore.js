// The page of kgtrec explore. Labels become text nodes, never markup; an address is the whole state of a view.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("explore").textContent);
  const { systems, measures, labels, n_questions: N } = data;
  const [content, said] = [byId("content"), byId("said")];

  // Data: see kgtrec/explore/page.py for their form

  const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
  const [kept, formats] = [new Map(), new Map()]; // slices that were asked for; formats of numbers by digits
  let index, entities;

  async function unpack(name) {
    const text = atob(byId(`slice-${name}`).textContent);
    const packed = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) packed[at] = text.charCodeAt(at);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    let place = 4 + new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, place - 4)));
    const take = (Kind, n) => {
      const array = new Kind(buffer, Math.ceil(place / 8) * 8, n);
      place = array.byteOffset + array.byteLength;
      return array;
    };
    const columns = {};
    for (const { name: column, type, shape, length, levels, delta, from, decimals } of header) {
      if (type === "text") {
        const [ends, decoder] = [take(Uint32Array, length + 1), new TextDecoder()];
        const bytes = take(Uint8Array, ends[length]);
        columns[column] = { length, at: (row) => decoder.decode(bytes.subarray(ends[row], ends[row + 1])) };
      } else {
        const [Kind, n] = [KINDS[type], shape.reduce((product, each) => product * each, 1)];
        const distinct = levels === undefined ? null : take(Float64Array, levels);
        const isWhole = type !== "f64" && !distinct && decimals === undefined; // then all lowest bytes come first, all next ones, ...
        const values = isWhole ? new Kind(n) : take(Kind, n);
        if (isWhole) take(Uint8Array, n * Kind.BYTES_PER_ELEMENT).forEach((byte, at) => { values[at % n] += byte << (8 * Math.floor(at / n)); });
        if (delta) for (let at = 1; at < n; at += 1) values[at] += values[at - 1];
        columns[column] = distinct ? Float64Array.from(values, (code) => distinct[code]) : decimals === undefined ? values : Float64Array.from(values, (code) => (from + code) / 10 ** decimals);
      }
    }
    return columns;
  }

  function slice(name) {
    if (kept.size > 24) kept.clear();
    if (!kept.has(name)) kept.set(name, unpack(name));
    return kept.get(name);
  }

  async function question(row) {
    const block = await slice(`block-${Math.floor(row / data.block)}`);
    const at = row % data.block;
    const part = (ends, name) => block[name] && block[name].subarray(block[ends][at], block[ends][at + 1]);
    const each = (s, ends, names) => Object.fromEntries(names.map((name) => [name, part(ends, `${name}.${s}`)]));
    return {
      pool: part("pool_at", "pool"),
      status: labels.map((_, l) => part("pool_at", `status.${l}`)),
      lists: systems.map((_, s) => each(s, `list_at.${s}`, ["list", "score", "tie"])),
      answer: part("answer_at", "answer"),
      ranks: systems.map((_, s) => each(s, "answer_at", ["rank", "low", "high"])),
      known: part("known_at", "known"),
      split: part("known_at", "known_split"),
    };
  }

  const rowsOf = () => Array.from({ length: N }, (_, row) => row);
  const valueOf = (state, s, row, l = state.l) => index[`value.${l}.${state.m}`][s * N + row];
  const gap = (state, row, l = state.l) => valueOf(state, state.a, row, l) - valueOf(state, state.b, row, l);
  const partOf = (state, row, l = state.l) => index[`weight.${l}.${state.m}`][row] * gap(state, row, l) || 0; // in the difference of the means
  const nameOf = (entity) => entities.name.at(entity) || entities.label.at(entity);

  function words(row) {
    const [anchor, relation, isHead] = [nameOf(index.anchor[row]), index.relation[row], index.side[row] === 0];
    const template = data.relation_words[relation];
    const [head, tail] = isHead ? [template ? "…" : "?", anchor] : [anchor, template ? "…" : "?"];
    if (!template) return `${head} | ${data.relations[relation]} | ${tail}`;
    return template.replace(/\{head\}|\{tail\}/g, (hole) => (hole === "{head}" ? head : tail));
  }

  // questions in order of influence on the difference of the means, or on its change from another label set
  let influences = { key: "" };

  function influential(state, from) {
    const key = [state.a, state.b, state.m, state.l, from].join();
    if (influences.key !== key) {
      const parts = Float64Array.from({ length: N }, (_, row) => partOf(state, row) - (from === undefined ? 0 : partOf(state, row, from)));
      influences = { key, parts, order: rowsOf().sort((x, y) => Math.abs(parts[y]) - Math.abs(parts[x]) || x - y) };
    }
    return influences;
  }

  // Text

  function number(value, digits) {
    if (value === null || Number.isNaN(value)) return "-";
    const places = { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven" };
    if (!formats.has(digits)) formats.set(digits, new Intl.NumberFormat("en-US", places));
    return formats.get(digits).format(value).replace(/^-(?=[0.,]*$)/, "").replace("-", "−");
  }

  function difference(value) { // three significant digits at least, as in all results
    const [own, power] = Math.abs(value).toExponential(2).split("e-");
    if (value && Math.abs(value) < 1e-3) return `${value < 0 ? "−" : "+"}${own}e-${power.padStart(2, "0")}`;
    return signed(value, Math.abs(value) >= 10 ? 2 : 4);
  }

  const signed = (value, digits) => (value > 0 ? "+" : "") + number(value, digits);
  const count = (value) => number(value, 0);
  const some = (n, one) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;
  const valueText = (text) => (/\d/.test(text) ? Number(text.replace("−", "-").replace(/,/g, "")) : NaN);
  const scoreOf = (l, m, s) => valueText(data.scores[l][m][s].text);
  const pText = (p) => (p === null || Number.isNaN(p) ? "-" : p < 1e-4 ? "<0.0001" : p.toFixed(4));
  const rankText = (rank) => number(rank, Number.isInteger(rank) ? 0 : 1);
  const set = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => value !== null && node.setAttribute(name, value));
  const maker = (namespace) => (tag, attributes = {}, ...children) => {
    const node = document.createElementNS(namespace, tag);
    set(node, attributes);
    node.append(...children.filter((child) => child !== null));
    return node;
  };
  const [make, draw] = ["http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"].map(maker);
  const note = (text) => make("span", { class: "note" }, ` ${text}`);
  const unseen = (text) => make("span", { class: "hidden" }, text);

  // Addresses

  const VIEWS = ["overview", "find", "labels"];
  const ranked = (l, m) => [...systems.keys()].sort((x, y) => (scoreOf(l, m, y) - scoreOf(l, m, x)) * (measures[m].higher ? 1 : -1) || 0);
  const best = ranked(0, 0);

  function read(hash) {
    const parameters = new URLSearchParams(hash.slice(1));
    const wrong = [];
    const chosen = (key, names, otherwise) => {
      const found = names.indexOf(parameters.get(key));
      if (parameters.has(key) && found < 0) wrong.push(`The address has ${key}=${parameters.get(key)}; here are ${names.join(", ")}.`);
      return found < 0 ? otherwise : found;
    };
    const state = { parameters, wrong, a: chosen("a", systems, best[0]), m: chosen("m", measures.map(({ name }) => name), 0) };
    state.l = chosen("l", labels.map(({ name }) => name), 0);
    state.b = chosen("b", systems, best.find((s) => s !== state.a) ?? state.a);
    state.also = (parameters.get("also") || "").split(",").map((name) => systems.indexOf(name)).filter((s) => s >= 0);
    const isPair = (parameters.has("a") || parameters.has("b")) && state.a !== state.b;
    state.view = parameters.has("q") ? "question" : VIEWS.find((view) => parameters.has(view) && (view !== "labels" || labels.length > 1)) || (isPair ? "pair" : "overview");
    if (state.view === "labels") state.l ||= 1; // others are compared with the first
    return state;
  }

  function address(state, view, more = {}) {
    const { a, b, m, l, q, ...rest } = { a: state.a, b: state.b, m: state.m, l: state.l, ...more };
    const named = { q, a: systems[a], b: systems[b], m: measures[m].name, l: labels[l].name, ...rest };
    if (q && rest.also === undefined) named.also = state.also.map((s) => systems[s]).join();
    const parts = new URLSearchParams(Object.entries(named).filter(([, value]) => value !== undefined && value !== ""));
    return `#${[...VIEWS.filter((each) => each === view), String(parts).replace(/%2F/g, "/")].join("&")}`;
  }

  const link = (href, ...children) => make("a", { href }, ...children);
  const asked = (state, row, text) => link(address(state, "question", { q: index.question.at(row) }), text);

  // Tables: a column has a label, the cell of a row, and a key to sort by if it is a number

  const column = (label, key, text, first = "descending") => ({ label, key, first, cell: (row) => text(key(row), row) });

  const boxed = (title, heads, body) => make("div", { class: "scroll", role: "region", "aria-label": `Table: ${title}`, tabindex: 0 },
    make("table", { "aria-label": title }, make("thead", {}, make("tr", {}, ...heads)), body));

  function table(title, columns, rows, { caption = "", size = 25, empty = "none" } = {}) {
    const [body, where] = [make("tbody"), make("span")];
    const heads = columns.map(({ label, key, first }) => make("th", { scope: "col", class: `${key ? "number-cell" : ""}${label.length < 25 ? " whole" : ""}`, "data-first": (key && first) || null }, label));
    const box = boxed(title, heads, body);
    const card = make("div", { class: "card" }, make("h3", {}, title), caption ? make("p", { class: "caption" }, caption) : null, box);
    let [order, page] = [[...rows], 0];
    const last = Math.ceil(order.length / size) - 1;
    const keyOf = (key, row) => (key(row) === null || Number.isNaN(key(row)) ? "" : key(row));
    const fill = () => {
      const shown = order.slice(page * size, (page + 1) * size);
      body.replaceChildren(...shown.map((row) => make("tr", {}, ...columns.map(({ cell, key, isLong }, place) => {
        if (key) return make("td", { class: "number-cell", "data-key": keyOf(key, row) }, cell(row));
        return make(place ? "td" : "th", { scope: place ? null : "row", class: isLong ? "long" : null }, cell(row));
      }))));
      if (!order.length) body.append(make("tr", {}, make("td", { colspan: columns.length }, empty)));
      where.textContent = `${count(page * size + 1)} to ${count(page * size + shown.length)} of ${count(order.length)}`;
    };
    const turn = (text, step) => {
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", () => {
        page = Math.max(0, Math.min(last, page + step));
        fill();
        said.textContent = where.textContent;
      });
      return button;
    };
    fill();
    if (last > 0) card.append(make("p", { class: "pages" }, turn("First", -Infinity), turn("Previous", -1), where, turn("Next", 1)));
    if (order.length > 1) {
      sortable(box.firstChild, (_, place, compare) => {
        const { cell, key, text = (row) => make("p", {}, cell(row)).textContent } = columns[place];
        order = order.map((row) => (key ? { row, key: keyOf(key, row) } : { row, text: text(row) })).sort(compare).map((each) => each.row);
        page = 0;
        fill();
      });
    }
    return card;
  }

  const questionColumn = (state) => ({ label: "question", text: words, isLong: true, cell: (row) => make("span", {}, asked(state, row, words(row)), note(index.question.at(row))) });

  // questions with the values of a and b
  function listing(state, title, rows, options) {
    const { digits, higher, adds } = measures[state.m];
    const most = rows.reduce((far, row) => Math.max(far, Math.abs(partOf(state, row))), 1e-6);
    const places = Math.max(4, 2 - Math.floor(Math.log10(most)));
    const values = [...new Set([state.a, state.b])].map((s) => column(systems[s], (row) => valueOf(state, s, row), (value) => number(value, digits), higher ? "descending" : "ascending"));
    if (values.length > 1) values.push(column(`${systems[state.a]} − ${systems[state.b]}`, (row) => gap(state, row), (value) => signed(value, digits)));
    if (values.length > 1 && adds) values.push(column("moves the difference by", (row) => Math.abs(partOf(state, row)), (_, row) => signed(partOf(state, row), places)));
    return table(title, [questionColumn(state), ...values], rows, options);
  }

  // Views: each fills a node and returns its title

  function overview(state, view) {
    const scores = data.scores[state.l];
    view.append(heading("Overview"), make("p", { class: "lead" }, `${some(systems.length, "system")}. ${labels[state.l].name}: ${labels[state.l].about}`));
    const score = (m) => (_, s) => {
      const { text, interval, letters } = scores[m][s];
      return make("span", {}, make("span", { class: "value" }, text), make("span", { class: "groups" }, letters || ""), interval ? make("span", { class: "interval" }, interval) : null);
    };
    const named = { label: "system", cell: (s) => systems[s] };
    const order = ranked(state.l, state.m);
    view.append(table(`Scores: ${labels[state.l].name}`, [named, ...measures.map(({ name, higher }, m) => column(name, (s) => scoreOf(state.l, m, s), score(m), higher ? "descending" : "ascending"))], order,
      { caption: "Systems that share a letter do not differ significantly in that measure (p < .05, Holm). In brackets: 95% interval." }));
    if (systems.length < 2 || isUnscored(state, view)) return "Overview";
    const versus = (other) => (_, s) => {
      const pair = pairOf({ ...state, a: s, b: other });
      if (!pair) return "";
      const [kind, mark, text] = { 0: ["better", "▲", `${systems[s]} is better`], 1: ["worse", "▼", `${systems[other]} is better`] }[pair.better] || ["open", "·", "not significant"];
      return make("a", { class: kind, href: address(state, "pair", { a: s, b: other }) }, `${difference(pair.difference)} `, make("span", { "aria-hidden": "true" }, mark), unseen(text));
    };
    view.append(table(`Pairs in ${measures[state.m].name}: row minus column`,
      [named, ...order.map((other) => column(systems[other], (s) => pairOf({ ...state, a: s, b: other })?.difference ?? NaN, versus(other)))], order,
      { caption: "▲ the row is better, ▼ the column is better, · not significant. Choose a difference to see the questions that make it." }));
    return "Overview";
  }

  // whether there is nothing to show; then the view says why, and links the measures that have values
  function isUnscored(state, view) {
    const scored = [...measures.keys()].filter((m) => data.scores[state.l][m].some(({ text }) => text !== "-"));
    if (!scored.includes(state.m)) view.append(make("p", { class: "steps" }, `${measures[state.m].name} has no value under ${labels[state.l].name}. A measure over answers needs answer ranks of all answers of a label set (kgtrec rank --judged). Measures with values:`, ...scored.map((m) => link(address(state, state.view, { m }), measures[m].name))));
    return !scored.includes(state.m);
  }

  // a pair as the address has it: the data have each in one order
  function pairOf({ a, b, l, m }) {
    const place = data.pairs.findIndex((pair) => pair.a === Math.min(a, b) && pair.b === Math.max(a, b) && pair.label === l && pair.measure === m);
    const [pair, turn] = [data.pairs[place], a < b ? 1 : -1];
    return pair && { ...pair, place, difference: pair.difference && turn * pair.difference, better: turn > 0 || pair.better < 0 ? pair.better : 1 - pair.better };
  }

  async function pairView(state, view) {
    const [a, b, { name, adds, digits }] = [systems[state.a], systems[state.b], measures[state.m]];
    const [pair, { parts, order }] = [pairOf(state), influential(state)];
    const title = `${a} and ${b}: ${name}, ${labels[state.l].name}`;
    const both = order.filter((row) => !Number.isNaN(gap(state, row)));
    view.append(heading(title), make("p", { class: "lead" }, pair ? pair.sentence : ""));
    if (!pair && isUnscored(state, view)) return title;
    const [more, less] = [1, -1].map((side) => both.filter((row) => side * gap(state, row) > 0));
    const [up, down] = [more, less].map((rows) => rows.reduce((total, row) => total + Math.abs(parts[row]), 0));
    const share = (rows, total) => `${some(rows.length, "question")}${adds ? ` (${number(total, digits)} of the mean in all)` : ""}`;
    view.append(make("p", {}, `${a} has a higher value on ${share(more, up)}, ${b} on ${share(less, down)}, and ${count(both.length - more.length - less.length)} are equal. `,
      adds && pair ? `What remains is ${difference(up - down)}. ${some(pair.n90, "question")} of ${count(both.length)} (${number((100 * pair.n90) / both.length, 1)}%) make 90% of the sum of the two.` : ""));
    view.append(make("div", { class: "figures" }, ...(both.length ? [histogram(state, both), scatter(state, both)] : [])),
      listing(state, "The questions that make the difference", both, { caption: "In order of their influence on the difference of the means.", size: 10 }));
    if (pair && byId("slice-strata")) view.append(...strata(state, pair, await slice("strata")));
    return title;
  }

  function strata(state, pair, all) {
    const [a, b, { digits, higher, items }, turn] = [systems[state.a], systems[state.b], measures[state.m], state.a < state.b ? 1 : -1];
    const weight = (row) => all.n[row] * Math.abs(all.difference[row]) || 0;
    const [first, second, wins, losses] = turn > 0 ? [all.first, all.second, all.wins, all.losses] : [all.second, all.first, all.losses, all.wins];
    const rows = [...all.pair.keys()].filter((row) => all.pair[row] === pair.place);
    const verdict = (row) => (Number.isNaN(all.p[row]) ? "not tested" : all.p[row] < 0.05 ? `${all.difference[row] * turn > 0 === higher ? a : b} better` : "not significant");
    const value = (text) => number(text, digits);
    return data.strata.map(({ kind, labels: names }, place) => [kind, names, rows.filter((row) => all.kind[row] === place).sort((x, y) => (names.length > 10 ? weight(y) - weight(x) : 0))]).filter(([, , own]) => own.length)
      .map(([kind, names, own]) => table(`By ${kind}`, [
        { label: kind, isLong: names.some((name) => name.length > 30), cell: (row) => link(address(state, "find", { [`g.${kind}`]: names[all.group[row]] }), names[all.group[row]]) },
        column(items, (row) => all.n[row], count),
        column(a, (row) => first[row], value),
        column(b, (row) => second[row], value),
        column(`${a} − ${b}`, (row) => turn * all.difference[row], difference),
        column("p", (row) => all.p[row], pText, "ascending"),
        { label: "verdict", cell: verdict },
        column(`${a} ahead`, (row) => wins[row], count),
        column(`${b} ahead`, (row) => losses[row], count),
      ], own, { size: 10, caption: `${names.length > 10 ? "Groups that contribute most to the difference come first. " : ""}p is adjusted for the ${some(own.length, "group")} of this table${data.adjusted ? ` (${data.adjusted})` : ""}; a verdict needs p < .05. A group leads to its questions.` }));
  }

  // Figures

  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 380, 78, 430, 14, 322];
  const TENS = [1, 10, 100, 1e3, 1e4, 1e5];
  const LINEAR = { to: (value) => value, back: (value) => value };
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const figure = (title, caption, ...parts) => make("figure", { class: "card" }, make("h3", {}, title), parts[0], make("figcaption", { class: "caption" }, caption), ...parts.slice(1));

  function ticks(low, high) {
    const [raw, power] = [(high - low) / 4, 10 ** Math.floor(Math.log10((high - low) / 4))];
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.99);
    return Array.from({ length: 12 }, (_, at) => (Math.ceil(low / step - 1e-9) + at) * step).filter((mark) => mark <= high + step / 1e6);
  }

  function axis(low, high, from, to, marks, bend = LINEAR.to) {
    const place = (value) => from + ((bend(value) - bend(low)) / (bend(high) - bend(low))) * (to - from);
    return { place, marks: marks.filter((mark) => mark >= low && mark <= high) };
  }

  function framed(x, y, xLabel, yLabel, attributes) {
    const text = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 4 }).replace("-", "−");
    const write = (at, own, anchor, more = {}) => draw("text", { x: at[0], y: at[1], "text-anchor": anchor, ...more }, own);
    const rule = (x1, x2, y1, y2) => draw("line", { x1, x2, y1, y2, class: "rule" });
    const middle = (TOP + BOTTOM) / 2;
    return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, ...attributes },
      ...x.marks.flatMap((mark) => [rule(x.place(mark), x.place(mark), TOP, BOTTOM), write([x.place(mark), BOTTOM + 20], text(mark), "middle")]),
      ...y.marks.flatMap((mark) => [rule(LEFT, RIGHT, y.place(mark), y.place(mark)), write([LEFT - 8, y.place(mark) + 5], text(mark), "end")]),
      write([(LEFT + RIGHT) / 2, HEIGHT - 10], short(xLabel, 48), "middle", { class: "axis" }),
      write([16, middle], short(yLabel, 38), "middle", { class: "axis", transform: `rotate(-90 16 ${middle})` }));
  }

  function histogram(state, rows) {
    const [a, b, { name, higher }] = [systems[state.a], systems[state.b], measures[state.m]];
    const all = rows.map((row) => gap(state, row)).filter((d) => d);
    const most = all.reduce((far, d) => Math.max(far, Math.abs(d)), 0.05);
    const isWide = most > 20; // of ranks: bins by powers of ten, on both sides
    const { to, back } = isWide ? { to: (d) => Math.sign(d) * Math.log10(1 + Math.abs(d)), back: (d) => Math.sign(d) * (10 ** Math.abs(d) - 1) } : LINEAR;
    const [half, end, bins] = [20, isWide ? to(most) : Math.ceil(most * 20 - 1e-9) / 20, new Array(40).fill(0)];
    const edge = (at) => back(((at - half) / half) * end);
    for (const d of all) { // a difference on an edge belongs to the bin nearer to 0
      const steps = Math.min(half, Math.max(1, Math.ceil((Math.abs(to(d)) / end) * half - 1e-9)));
      bins[d > 0 ? half - 1 + steps : half - steps] += 1;
    }
    const x = axis(-back(end), back(end), LEFT, RIGHT, isWide ? [-1e5, -1e3, -10, 0, 10, 1e3, 1e5] : ticks(-end, end), to);
    const tallest = Math.max(1, ...bins);
    const y = axis(0, tallest, BOTTOM, TOP, [0, ...[1, 5, 25, 100, 250, 1e3, 2500, 5e3, 1e4, 2e4].filter((mark) => mark > tallest / 150)], Math.sqrt);
    const inner = (at, side) => Number((edge(at) + side * 1e-9).toPrecision(12)); // just outside the neighbour
    const range = (at) => address(state, "find", at < half ? { d0: edge(at), d1: inner(at + 1, -1) } : { d0: inner(at, 1), d1: edge(at + 1) });
    const picture = framed(x, y, `${a} − ${b}: ${name} of a question`, "questions (square-root scale)", { role: "img", "aria-label": `Histogram of ${some(all.length, "difference")}; its numbers are below.` });
    const shown = [...bins.keys()].filter((at) => bins[at]);
    for (const at of shown) {
      const size = { x: x.place(edge(at)) + 0.5, width: x.place(edge(at + 1)) - x.place(edge(at)) - 1, y: y.place(bins[at]), height: BOTTOM - y.place(bins[at]) };
      const bar = draw("rect", { ...size, class: at >= half === higher ? "fill-1" : "fill-2" }, draw("title", {}, `${some(bins[at], "question")} from ${number(edge(at), 3)} to ${number(edge(at + 1), 3)}`));
      bar.addEventListener("click", () => { location.hash = range(at); });
      picture.append(bar);
    }
    const numbers = table("Differences per question", [
      column("from", edge, (value, at) => link(range(at), number(value, 3)), "ascending"),
      column("to", (at) => edge(at + 1), (value) => number(value, 3), "ascending"),
      column("questions", (at) => bins[at], count),
    ], shown, { size: 2 * half });
    const [left, right, equal] = [...(higher ? [b, a] : [a, b]), rows.length - all.length];
    return figure("How far apart the two are, question by question", `Left of 0 ${left} is better, right of 0 ${right}. Not drawn: ${some(equal, "question")} without a difference.`,
      picture, make("details", {}, make("summary", {}, "The numbers of this figure"), numbers));
  }

  function scatter(state, rows) {
    const [a, b, { name, higher, digits }] = [systems[state.a], systems[state.b], measures[state.m]];
    const at = (row) => [valueOf(state, state.a, row), valueOf(state, state.b, row)];
    const [least, most] = rows.reduce(([low, high], row) => [Math.min(low, ...at(row)), Math.max(high, ...at(row))], [1, 1]);
    const isLog = least >= 1 && most > 20;
    const [low, high] = [isLog ? 1 : Math.min(0, least), most];
    const [x, y] = [[LEFT + 8, RIGHT - 8], [BOTTOM - 8, TOP + 8]].map(([from, to]) => axis(low, high, from, to, isLog ? TENS : ticks(low, high), isLog ? Math.log10 : LINEAR.to));
    const placed = (row) => [x.place(at(row)[0]), y.place(at(row)[1])];
    const dots = new Map(); // place -> ranks of its questions, the most influential first
    rows.forEach((row, rank) => {
      const key = placed(row).map((each) => Math.round(each / 3) * 3).join();
      if (!dots.has(key)) dots.set(key, []);
      dots.get(key).push(rank);
    });
    const [xLabel, yLabel] = [a, b].map((system) => `${system}: ${name}${isLog ? ", log scale" : ""}`);
    const picture = framed(x, y, xLabel, yLabel, { "aria-hidden": "true", class: "scatter" });
    picture.append(draw("line", { x1: x.place(low), y1: y.place(low), x2: x.place(high), y2: y.place(high), class: "diagonal" }));
    for (const [key, own] of dots) {
      const [[cx, cy], d] = [key.split(","), gap(state, rows[own[0]])];
      picture.append(draw("circle", { cx, cy, r: (dots.size > 800 ? 1.8 : 3.2) + 1.2 * Math.log10(own.length), class: `fill-${d === 0 ? "none" : d > 0 === higher ? 1 : 2}`, "data-dot": key }));
    }
    const [ring, chosen] = [draw("circle", { r: 8, class: "ring" }), make("p", { class: "chosen" })];
    const box = make("div", { class: "dots", role: "slider", tabindex: 0, "aria-label": "Question, in order of influence", "aria-valuemin": 1, "aria-valuemax": rows.length }, picture);
    picture.append(ring);
    let now = 0;
    const choose = (rank, own = []) => {
      now = Math.max(0, Math.min(rows.length - 1, rank));
      const [row, [cx, cy]] = [rows[now], placed(rows[now])];
      const text = `${words(row)} ${a}: ${number(at(row)[0], digits)}, ${b}: ${number(at(row)[1], digits)}`;
      set(ring, { cx, cy });
      set(box, { "aria-valuenow": now + 1, "aria-valuetext": `${now + 1} of ${rows.length}: ${text}` });
      chosen.replaceChildren(`${count(now + 1)} of ${count(rows.length)} by influence: `, asked(state, row, text));
      if (own.length < 2) return;
      const bounds = [0, 1].map((side) => own.map((each) => at(rows[each])[side]).sort((v, w) => v - w));
      chosen.append(". ", link(address(state, "find", { a0: bounds[0][0], a1: bounds[0].at(-1), b0: bounds[1][0], b1: bounds[1].at(-1) }), `All ${count(own.length)} of this dot`));
    };
    choose(0);
    picture.addEventListener("click", ({ target: { dataset: { dot } } }) => dots.has(dot) && choose(dots.get(dot)[0], dots.get(dot)));
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
      if (event.key === "Enter") chosen.querySelector("a").click();
      if (!step) return;
      event.preventDefault();
      choose(now + step);
    });
    return figure("What each of the two makes of a question", `A dot is a question, a larger one several (by the logarithm of their number). On the line both are equal, above it ${higher ? b : a} is better. Click a dot, or move through the questions with the arrow keys; Enter opens one.`, box, chosen);
  }

  // A question

  const STATUS = ["○ unjudged", "★ test answer", "✓ judged yes", "✗ judged no", "✓ yes by rule", "✗ no by rule", "? unsure", "▪ known from train", "▫ known from valid"];
  const status = (code) => make("span", { class: `status status-${code}` }, STATUS[code]);

  const named = (state, entity) => make("a", { href: address(state, "find", { text: entities.label.at(entity) }), title: entities.label.at(entity) }, nameOf(entity));
  const candidate = (state, entity) => make("span", {}, named(state, entity), entities.name.at(entity) ? note(entities.label.at(entity)) : null);

  async function questionView(state, view) {
    const [id, { digits, name, adds }] = [state.parameters.get("q"), measures[state.m]];
    const row = rowsOf().find((each) => index.question.at(each) === id);
    if (row === undefined) {
      view.append(heading("No such question"), make("p", {}, `There is no question ${id} in this collection. `, link(address(state, "find"), "Search the questions")));
      return "No such question";
    }
    const own = await question(row);
    const [title, anchor, relation] = [words(row), entities.label.at(index.anchor[row]), data.relations[index.relation[row]]];
    const triple = index.side[row] ? [anchor, relation, "?"] : ["?", relation, anchor];
    view.append(make("p", { class: "eyebrow" }, [id, ...triple].join(" · ")), heading(title));
    const shown = [...new Set([state.a, state.b, ...state.also])];
    if (state.a !== state.b && adds) {
      const { order } = influential(state);
      const rank = order.indexOf(row);
      const step = (at, text) => (order[at] === undefined ? "" : asked(state, order[at], text));
      view.append(make("p", { class: "steps" }, step(rank - 1, "← more influential"), step(rank + 1, "less influential →"),
        `${count(rank + 1)} of ${count(N)} by influence on ${systems[state.a]} − ${systems[state.b]} in ${name}; moves the difference by ${difference(partOf(state, row))}.`));
    }
    const known = [...own.known.keys()].map((at) => make("li", {}, nameOf(own.known[at]), note(["train", "valid", "test"][own.split[at]])));
    view.append(make("details", {}, make("summary", {}, `Known already: ${some(known.length, "answer")}`), make("ul", { class: "known" }, ...known)));
    const others = [...systems.keys()].filter((s) => s !== state.a && s !== state.b).map((s) => {
      const also = state.also.includes(s) ? state.also.filter((other) => other !== s) : [...state.also, s];
      return link(address(state, "question", { q: id, also: also.map((other) => systems[other]).join() }), `${also.includes(s) ? "+" : "without"} ${systems[s]}`);
    });
    if (others.length) view.append(make("p", { class: "steps" }, "Lists beside them:", ...others));
    const listed = shown.filter((s) => own.lists[s].list);
    const codes = [...new Set(own.status.flatMap((each) => [...each]))].sort();
    if (listed.length) view.append(make("p", { class: "legend" }, ...codes.map(status), note("A bracket joins equal stored scores; the scores shown are rounded.")), make("div", { class: "lists" }, ...listed.map((s) => listOf(state, own, s, shown.indexOf(s)))));
    const exact = shown.filter((s) => own.ranks[s].rank);
    const rank = (s) => (value, at) => {
      const { low, high } = own.ranks[s];
      return low && low[at] < high[at] ? `${rankText(value)} [${rankText(low[at])}, ${rankText(high[at])}]` : rankText(value);
    };
    view.append(table("Answers and their exact ranks", [{ label: "answer", cell: (at) => candidate(state, own.pool[own.answer[at]]) },
      ...exact.map((s) => column(systems[s], (at) => own.ranks[s].rank[at], rank(s), "ascending"))], own.answer.keys(),
    { caption: exact.length ? "Among all entities, without other known answers. In brackets: the best and the worst rank over ties." : "Without answer ranks there are no exact ranks." }));
    const cells = measures.flatMap((measure, m) => labels.map((label, l) => ({ m, l, measure, label })));
    view.append(table("What each label set makes of it", [{ label: "measure", cell: (at) => at.measure.name }, { label: "labels", cell: (at) => at.label.name },
      ...shown.map((s) => column(systems[s], (at) => valueOf(at, s, row), (value, at) => number(value, at.measure.digits)))], cells));
    if (labels.length < 2) return title;
    const isYes = (at) => own.status.some((each) => [2, 4].includes(each[at]));
    const changed = [...own.pool.keys()].filter((at) => own.status.some((each) => each[at] !== own.status[0][at]));
    view.append(table("Candidates with another label in another set", [{ label: "candidate", cell: (at) => candidate(state, own.pool[at]) },
      ...labels.map((label, l) => ({ label: label.name, cell: (at) => status(own.status[l][at]) })),
      ...listed.map((s) => column(`place: ${systems[s]}`, (at) => own.lists[s].list.indexOf(at) + 1 || NaN, count, "ascending"))],
    changed.filter((at) => isYes(at) || listed.some((s) => own.lists[s].list.includes(at))), { empty: "none: the label sets agree", caption: "Those in the lists, and those with a yes." }));
    return title;
  }

  function listOf(state, own, s, column) {
    const [{ list, score, tie }, { rank: exact }] = [own.lists[s], own.ranks[s]];
    const decimals = Math.min(6, Math.max(0, ...[...score].map((each) => (String(each).split(".")[1] || "").length)));
    let rank = 0;
    const line = (at, place, end) => {
      const codes = own.status.map((each) => each[at]);
      const others = codes.flatMap((code, l) => (code === codes[state.l] ? [] : [note(`${labels[l].name}: ${STATUS[code]}`)]));
      return make("tr", { class: `row-${codes[state.l]}`, "data-entity": own.pool[at] }, make("td", { class: "number-cell" }, place),
        make("th", { scope: "row" }, named(state, own.pool[at])), make("td", {}, status(codes[state.l]), ...others), end);
    };
    const rows = [...list].map((at, place) => {
      const isKnown = own.status[state.l][at] >= 7; // which ranks do not count
      const [before, after] = [place > 0 && tie[place - 1] === tie[place], tie[place + 1] === tie[place]];
      const bracket = { class: `number-cell${before || after ? " tied" : ""}${before ? "" : " tie-first"}${after ? "" : " tie-last"}` };
      return line(at, isKnown ? "–" : String((rank += 1)), make("td", bracket, number(score[place], decimals), before || after ? unseen(" tied") : null));
    });
    const below = [...own.answer.keys()].filter((each) => !list.includes(own.answer[each])).sort((x, y) => (exact ? exact[x] - exact[y] : 0));
    const across = (text) => make("tr", { class: "below" }, make("td", { colspan: 4 }, note(text)));
    if (below.length) rows.push(across("answers below the list, by exact rank (other answers do not count)"));
    for (const each of below.slice(0, 5)) rows.push(line(own.answer[each], exact ? rankText(exact[each]) : "-", make("td")));
    if (below.length > 5) rows.push(across(`and ${some(below.length - 5, "answer")} more; all are in the table of exact ranks`));
    const heads = ["place", "candidate", "label", "score"].map((text, at) => make("th", { scope: "col", class: at % 3 ? null : "number-cell" }, text));
    return make("section", { class: "card list" }, make("h3", { class: `system-${(column % 8) + 1}` }, systems[s]),
      boxed(`list of ${systems[s]}`, heads, make("tbody", {}, ...rows)));
  }

  for (const name of ["mouseover", "mouseout", "focusin", "focusout"]) {
    content.addEventListener(name, ({ target }) => {
      const own = target.closest("tr[data-entity]")?.dataset.entity;
      for (const row of content.querySelectorAll(`tr[data-entity="${own}"]`)) row.classList.toggle("linked", /over|in$/.test(name));
    });
  }

  // What a label set changes

  function labelsView(state, view) {
    const [a, b, { digits, adds, name }, from, to] = [systems[state.a], systems[state.b], measures[state.m], labels[0].name, labels[state.l].name];
    const title = `${to} instead of ${from}: ${name}`;
    const change = (s, row) => valueOf(state, s, row) - valueOf(state, s, row, 0) || 0;
    const changed = systems.map((_, s) => rowsOf().filter((row) => change(s, row)));
    const score = (l) => column(labels[l].name, (s) => scoreOf(l, state.m, s), (_, s) => data.scores[l][state.m][s].text);
    const shared = rowsOf().filter((row) => !Number.isNaN(valueOf(state, state.a, row)));
    const total = (rows, value) => rows.reduce((sum, row) => sum + (index[`weight.0.${state.m}`][row] * value(row) || 0), 0);
    const same = column(`${from}, questions of ${to}`, (s) => total(shared, (row) => valueOf(state, s, row, 0)) / total(shared, () => 1), (each) => number(each, digits));
    const swapped = data.swapped.filter((each) => each.label === state.l && each.measure === state.m)
      .map((each) => make("li", {}, `${each.sentence} `, link(address(state, "labels", { a: each.a, b: each.b }), `Questions that move ${systems[each.a]} − ${systems[each.b]}`)));
    view.append(heading(title), make("p", { class: "lead" }, labels[state.l].about));
    if (isUnscored(state, view)) return title;
    view.append(table("How much changes, by system", [{ label: "system", cell: (s) => link(address(state, "labels", { a: s }), systems[s]) }, score(0), ...(adds && shared.length < N && Math.abs(total(rowsOf(), () => 1) - 1) < 1e-9 ? [same] : []), score(state.l), column("questions changed", (s) => changed[s].length, count)], systems.keys(),
        { caption: `Each mean is over the questions of its label set: ${[0, state.l].map((l) => count(rowsOf().filter((row) => !Number.isNaN(valueOf(state, state.a, row, l))).length)).join(" and ")}.` }),
      make("div", { class: "card" }, make("h3", {}, "Pairs in another order"), swapped.length ? make("ul", {}, ...swapped) : make("p", {}, `None in ${name}.`)));
    const responsible = (shown) => (row) => {
      if (Number.isNaN(valueOf(state, state.a, row))) return `no question of ${to}`;
      const cell = make("span", {}, "…");
      question(row).then(({ lists, pool, status: codes }) => {
        const found = shown.flatMap((s) => [...(lists[s].list || [])].map((at, place) => ({ at, place, where: shown.length > 1 ? ` of ${systems[s]}` : "" }))).filter(({ at }) => codes[0][at] !== codes[state.l][at]).sort((x, y) => x.place - y.place)
          .map(({ at, place, where }) => `${nameOf(pool[at])} (place ${place + 1}${where}): ${STATUS[codes[state.l][at]]}`);
        cell.textContent = [...found.slice(0, 3), ...(found.length > 3 ? [`${found.length - 3} more`] : [])].join("; ") || "none listed";
      });
      return cell;
    };
    if (state.a !== state.b && adds) {
      const { parts, order } = influential(state, 0);
      const gaps = (l) => column(`${a} − ${b}: ${labels[l].name}`, (row) => gap(state, row, l), (each) => signed(each, digits));
      view.append(table(`Questions that move ${a} − ${b}`, [questionColumn(state), gaps(0), gaps(state.l), column("moves the difference by", (row) => Math.abs(parts[row]), (_, row) => signed(parts[row], 6)), { label: "candidates with another label", cell: responsible([state.a, state.b]), text: words, isLong: true }],
        order.filter((row) => parts[row]), { size: 10, caption: `In order of how far they move the difference of the means from that of ${from} to that of ${to}.` }));
    }
    const value = (l) => column(labels[l].name, (row) => valueOf(state, state.a, row, l), (each) => number(each, digits));
    view.append(table(`Questions whose value changes most: ${a}`, [questionColumn(state), value(0), value(state.l), column("change", (row) => Math.abs(change(state.a, row)), (_, row) => signed(change(state.a, row), digits)), { label: `candidates of ${a} with another label`, cell: responsible([state.a]), text: words, isLong: true }],
      changed[state.a].sort((x, y) => Math.abs(change(state.a, y)) - Math.abs(change(state.a, x)) || x - y), { size: 10 }));
    return title;
  }

  // Search

  let texts;

  function findView(state, view) {
    const [a, b] = [systems[state.a], systems[state.b]];
    const field = (name, label, control, more = {}, ...children) => {
      const input = make(control, { id: `find-${name}`, name, ...more }, ...children);
      input.value = state.parameters.get(name) || "";
      return make("div", { class: "field" }, make("label", { for: input.id }, label), input);
    };
    const ranges = [["a", a], ["b", b], ["d", `${a} − ${b}`]].slice(0, a === b ? 1 : 3);
    const options = (names) => ["", ...names].map((value) => make("option", { value }, value || "any"));
    const form = make("form", { class: "card search", role: "search", "aria-label": "Search the questions" }, field("text", "Words, entity, relation or id", "input", { type: "search", autocomplete: "off" }),
      ...data.strata.map(({ kind, labels: names }) => field(`g.${kind}`, kind, "select", {}, ...options(names))),
      field("least", "Same unjudged candidate at rank 1 of at least … systems", "input", { type: "number", min: 0, max: systems.length }),
      ...ranges.map(([key, name]) => make("fieldset", {}, make("legend", {}, name), ...["at least", "at most"].map((text, end) => field(key + end, text, "input", { inputmode: "decimal", size: 6 })))));
    const results = make("div");
    const filters = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
    const update = () => {
      const [found, least] = [matching(state, filters()), Number(filters().least) || 1];
      said.textContent = `${some(found.length, "question")} found`;
      results.replaceChildren(exported(state, found, least), listing(state, said.textContent, found, { caption: a === b ? "" : `In order of their influence on ${a} − ${b} in ${measures[state.m].name}.` }));
    };
    let waiting;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        history.replaceState(history.state, "", address(state, "find", filters()));
        state.parameters = read(location.hash).parameters;
        bar(state);
        update();
      }, 150);
    });
    view.append(heading("Questions"), form, results);
    update();
    return "Questions";
  }

  function matching(state, filters) {
    const labelled = (row) => [index.question.at(row), words(row), entities.label.at(index.anchor[row]), data.relations[index.relation[row]]].join(" ").toLowerCase();
    texts = texts || (filters.text && rowsOf().map(labelled));
    const tests = (filters.text || "").toLowerCase().split(/\s+/).filter(Boolean).map((part) => (row) => texts[row].includes(part));
    for (const { kind, labels: names } of data.strata) {
      const [wanted, own] = [filters[`g.${kind}`], index[`stratum.${kind}`] || index[kind]];
      if (wanted) tests.push((row) => names[own[row]] === wanted);
    }
    const values = { a: (row) => valueOf(state, state.a, row), b: (row) => valueOf(state, state.b, row), d: (row) => gap(state, row) };
    for (const [key, value] of Object.entries(values)) {
      const [low, high] = [0, 1].map((end) => valueText(filters[key + end] || ""));
      if (!Number.isNaN(low)) tests.push((row) => value(row) >= low - 1e-12);
      if (!Number.isNaN(high)) tests.push((row) => value(row) <= high + 1e-12);
    }
    if (filters.least > 0) tests.push((row) => index.top_unjudged[row] >= filters.least);
    return influential(state).order.filter((row) => tests.every((test) => test(row)));
  }

  // the unjudged candidates at rank 1 of enough systems, as a run, which kgtrec pool reads
  function exported(state, rows, least) {
    const own = rows.filter((row) => index.top_unjudged && index.top_unjudged[row] >= least);
    const candidatesOf = async (row) => { // and how many systems have each at rank 1
      const [{ pool, status: codes, lists }, at] = [await question(row), new Map()];
      for (const { list } of lists) if (list && list.length && codes.every((each) => each[list[0]] === 0)) at.set(list[0], (at.get(list[0]) || 0) + 1);
      return [...at].filter(([, n]) => n >= least).sort((x, y) => y[1] - x[1] || x[0] - y[0]).map(([place, n]) => [pool[place], n]);
    };
    const button = make("button", { type: "button" }, "Save unjudged.run");
    const most = [...own].sort((x, y) => index.top_unjudged[y] - index.top_unjudged[x]).slice(0, 5);
    const items = most.map((row) => make("li", {}, asked(state, row, words(row))));
    most.forEach(async (row, at) => (await candidatesOf(row)).slice(0, 1).forEach(([entity, n]) => items[at].prepend(`${nameOf(entity)} (${some(n, "system")}): `)));
    const card = make("div", { class: "card" }, make("h3", {}, "Judge these next"), make("p", {}, `Of these questions, ${count(own.length)} have at rank 1 of ${least > 1 ? `at least ${least} systems the same candidate` : "a system a candidate"} that no label set judges.`, own.length ? " First those of most systems, then of most influence:" : ""));
    if (own.length) card.append(make("ol", {}, ...items), make("p", {}, button, note("for kgtrec pool, which begins a campaign")));
    button.addEventListener("click", async () => {
      said.textContent = button.textContent = "Collecting…";
      const [lines, depths] = [[], [1]];
      for (const row of [...own].sort((x, y) => x - y)) { // block by block
        const found = await candidatesOf(row);
        found.forEach(([entity, n], rank) => lines.push(`${index.question.at(row)} Q0 ${entities.label.at(entity)} ${rank + 1} ${n} unjudged\n`));
        depths.push(found.length);
      }
      const saved = make("a", { href: URL.createObjectURL(new Blob([lines.join("")], { type: "text/plain" })), download: "unjudged.run" }, "unjudged.run");
      saved.click();
      const unfit = lines.some((line) => line.split(/\s/).length > 7) ? " Labels with spaces cannot be in a run: see kgtrec questions --ids." : "";
      said.textContent = `saved ${some(lines.length, "candidate")}`;
      card.replaceChildren(card.firstChild, make("p", {}, saved, ` has ${some(lines.length, "candidate")}; the score is the number of systems.${unfit} A campaign begins with`),
        make("pre", {}, make("code", {}, `${data.commands.pool} unjudged.run --depth ${Math.max(...depths)} --out campaign`)));
      saved.focus(); // the button is gone
    });
    return card;
  }

  // The page

  const shows = { overview, pair: pairView, question: questionView, labels: labelsView, find: findView };
  const heading = (text) => make("h2", { id: "heading", tabindex: -1 }, text);
  let last = null;

  function bar(state) {
    const tabs = [["overview", "Overview"], ["pair", `${systems[state.a]} and ${systems[state.b]}`], ["find", "Questions"], ["labels", "Labels"]]
      .filter(([view]) => (view !== "labels" || labels.length > 1) && (view !== "pair" || state.a !== state.b))
      .map(([view, text]) => make("li", {}, make("a", { href: address(state, view), "aria-current": state.view === view ? "page" : null }, text)));
    byId("views").replaceChildren(make("ol", {}, ...tabs));
    const fields = [["a", "System A", systems], ["b", "System B", systems], ["m", "Measure", measures.map(({ name }) => name)], ["l", "Labels", labels.map(({ name }) => name)]];
    byId("bar").replaceChildren(...fields.filter(([, , names]) => names.length > 1).map(([key, text, names]) => {
      const input = make("select", { id: `bar-${key}` }, ...names.map((name, value) => make("option", { value }, name)).slice(key === "l" && state.view === "labels" ? 1 : 0));
      input.value = state[key];
      input.addEventListener("change", () => {
        const [other, rest] = [{ a: "b", b: "a" }[key], Object.fromEntries([...state.parameters].filter(([name]) => ![...VIEWS, "a", "b", "m", "l"].includes(name)))];
        const isTaken = other && state[other] === Number(input.value); // then the two change places
        location.hash = address(state, state.view, { ...rest, [key]: Number(input.value), ...(isTaken ? { [other]: state[key] } : {}) });
      });
      return make("div", { class: "field" }, make("label", { for: input.id }, text), input);
    }));
  }

  async function show() {
    const [state, view, before] = [read(location.hash), make("div"), last];
    last = state;
    view.append(...state.wrong.map((text) => make("p", { class: "note" }, text)));
    const title = await shows[state.view](state, view);
    if (last !== state) return; // another address by now
    const focused = document.activeElement && document.activeElement.id;
    bar(state);
    content.replaceChildren(view);
    document.title = `${title} · ${data.title}`;
    if (!before) return;
    const isSame = before.view === state.view && before.parameters.get("q") === state.parameters.get("q");
    (isSame && focused && byId(focused) ? byId(focused) : byId("heading")).focus({ preventScroll: isSame || Boolean(history.state) });
    if (!isSame && history.state) scrollTo(0, history.state.y);
    said.textContent = title;
  }

  async function start() {
    const words = "This browser cannot unpack the page's data. Chromium from 80, Firefox from 113 and Safari from 16.4 can. These are the scores.";
    if (typeof DecompressionStream === "undefined") return content.prepend(make("p", { class: "lead" }, words));
    byId("bar").hidden = false;
    [index, entities] = await Promise.all([unpack("index"), unpack("entities")]);
    addEventListener("hashchange", show);
    addEventListener("click", ({ target }) => { // the back button returns to where a view was left
      if (target.closest("a[href^='#']")) history.replaceState({ y: scrollY }, "");
    }, true);
    await show();
  }

  start();
})();
