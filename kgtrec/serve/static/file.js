// The page without a server: shows the tasks that the file holds, and keeps the verdicts in the browser.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("tasks").textContent);
  const { questions, home } = data;
  const shelf = `kgtrec ${data.edition} ${data.role} ${data.person} `;
  const placed = questions.flatMap(({ cards }, place) => cards.map((card) => ({ ...card, place })));
  const tasks = new Map(placed.map((card) => [card.task, card]));
  const said = new Map(); // task -> what the person has said of it, oldest first
  let isKept = true; // whether the browser keeps it
  let isSaved = true; // whether all of it is in a download

  const last = (task) => said.get(task).at(-1);
  const given = () => [...said.keys()].filter((task) => last(task).time); // without what the file came with
  const digest = ({ verdict, source, note }) => JSON.stringify([verdict, source, note]);

  function shelved(name, value) {
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem(shelf + name));
      localStorage.setItem(shelf + name, JSON.stringify(value));
    } catch {
      isKept = false;
    }
    return null;
  }

  function put(task, all) {
    said.set(task, all);
    shelved(task, all);
    isSaved = false;
    count();
  }

  function count() {
    element("n-given").textContent = given().length;
    element("warning").hidden = isKept;
  }

  // what a server would answer

  function wrong({ verdict, source }) {
    if (!source) return data.missing[verdict];
    const broken = data.rules.find(([rule]) => !new RegExp(`^(?:${rule})$`, "i").test(source));
    return broken ? broken[1] : "";
  }

  function stored(task) {
    const words = last(task);
    const answer = data.answers[words.verdict] + (isKept ? "" : ", until this page is closed");
    return { ...words, digest: digest(words), answer, kind: "stored" };
  }

  function take(task, fields) {
    const now = said.has(task) ? stored(task) : {};
    const text = (name) => fields[`${name}-${task}`].trim().replace(/\p{Cs}/gu, "");
    if (fields.undo) put(task, said.get(task).slice(0, -1));
    else {
      const words = { verdict: text("verdict"), source: text("source"), note: text("note"), time: new Date().toISOString() };
      if (now.digest === digest(words)) return { ...now, kind: "unchanged" };
      if (now.digest && now.digest !== fields[`before-${task}`]) return { ...now, kind: "conflict" };
      if (wrong(words)) return { ...now, kind: "refused", message: wrong(words) };
      put(task, [...(said.get(task) || []), words]);
    }
    return stored(task);
  }

  async function send(_, fields) {
    const task = Number(fields.only || fields.undo);
    if (fields.undo && said.get(task).length < 2) return { status: 200, said: { outcomes: [], again: task, answer: stored(task).answer } };
    const outcomes = [{ task, ...take(task, fields) }];
    return { status: 200, said: { outcomes, done: said.size, left: tasks.size - said.size, pace: "" } };
  }

  // pages: templates in which [[name]] stands for a text

  function fill(node, values = {}) {
    const value = (all, name) => (Object.hasOwn(values, name) ? (values[name] ?? all) : all);
    const put = (text) => text.replace(/\[\[([a-z_]+)\]\]/gi, value);
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let one = walker.currentNode; one; one = walker.nextNode()) {
      if (one.nodeType === Node.TEXT_NODE) one.data = put(one.data);
      for (const attribute of one.attributes || []) attribute.value = put(attribute.value);
    }
    return node;
  }

  function each(page, selector, rows) {
    const one = page.querySelector(selector);
    one.replaceWith(...rows.map((values) => fill(one.cloneNode(true), values)));
  }

  const made = (name, values) => fill(element(`page-${name}`).content.cloneNode(true), values);

  function show(page) {
    for (const one of page.querySelectorAll("a[href=''], time[datetime=''], .side[data-source=''] .scripted")) one.remove();
    for (const one of page.querySelectorAll(".label, .about, .note")) {
      const text = one.textContent.trim();
      if (!text) one.remove();
      else if (one.matches(".note") && (text.length > 400 || text.split("\n").length > 9)) fold(one, text);
    }
    const isLink = (one) => /^(https:|#)/i.test(one.getAttribute("href"));
    for (const one of page.querySelectorAll("a")) if (!isLink(one)) one.removeAttribute("href");
    element("main").replaceChildren(page);
    document.title = element("main").querySelector("h1")?.textContent || "Guidelines";
    scrollTo(0, 0);
    element("main").focus();
  }

  function fold(note, text) {
    const folded = document.createElement("details");
    folded.className = "note";
    folded.append(document.createElement("summary"), ...note.childNodes);
    folded.firstChild.textContent = `${text.slice(0, 200)}\u2026 (${text.length.toLocaleString("en")} characters)`;
    note.replaceWith(folded);
  }

  function entity(place, of) {
    const [label, name = label, text = ""] = data.entities[place];
    const shown = [name, name === label ? "" : label, text].map(judging.visible);
    return { [`${of}name`]: shown[0], [`${of}label`]: shown[1], [`${of}text`]: shown[2] };
  }

  function open(after) {
    const order = questions.map((_, n) => (after + 1 + n) % questions.length).filter((place) => place !== after);
    return order.find((place) => questions[place].cards.some(({ task }) => !said.has(task)));
  }

  function showQuestion(place) {
    const { title, varies, search, known, cards } = questions[place];
    const [previous, next] = [place, open(place)];
    const counts = { n_known: known.length, done: said.size, left: tasks.size - said.size, total: tasks.size };
    const anchor = entity(cards[0][varies === "head" ? "tail" : "head"], "anchor_");
    const page = made("question", { title, number: place + 1, previous, next: next + 1, ...anchor, ...counts });
    each(page, ".known li", known.map((one) => entity(one, "known_")));
    const sources = cards.flatMap(({ sides }) => sides || []).map((side) => ({ link: side.side_source }));
    each(page, "option", sources.filter(({ link }) => link));
    each(page, ".searches a", data.searches.map(([host, url]) => ({ host, url: url + encodeURIComponent(search) })));
    const asked = cards.map((card) => ({ ...card, ...entity(card[varies], "entity_") }));
    const [host, url] = data.searches[0];
    each(page, ".card", asked.map((one) => ({ ...one, host, find: url + encodeURIComponent(`${search} ${one.entity_name}`) })));
    for (const own of [...page.querySelectorAll(".side")].map((side) => side.closest(".card")))
      each(own, ".side", tasks.get(Number(own.dataset.task)).sides.map((side) => ({ ...side, side_note: judging.visible(side.side_note) })));
    page.querySelector(".known").open = known.length <= 8;
    if (known.length === 1) {
      page.querySelector(".known summary").textContent = "1 answer is known already";
      page.querySelector(".known p").textContent = "You are not asked about it.";
    }
    if (!known.length) page.querySelector(".known").remove();
    if (!place) page.querySelector(".before").remove();
    if (!anchor.anchor_text) page.querySelector(".anchor").remove();
    if (next === undefined) page.querySelector("#next").href = home;
    show(page);
    judging.begin(new Map(cards.filter(({ task }) => said.has(task)).map(({ task }) => [task, stored(task)])));
  }

  function showVerdicts(query) {
    const [verdict, text, nth] = [query.get("verdict") || "", query.get("text") || "", Number(query.get("page")) || 1];
    const found = [...said.keys()]
      .map((task) => ({ task, ...last(task), question: tasks.get(task).question, number: tasks.get(task).place + 1 }))
      .filter((one) => !verdict || one.verdict === verdict)
      .filter((one) => `${one.question}\n${one.source}\n${one.note}`.toLowerCase().includes(text.toLowerCase()))
      .sort((one, other) => (one.time < other.time ? 1 : -1));
    const n_pages = Math.ceil(found.length / data.page) || 1;
    const page = made("verdicts", { n_found: found.length, nth, n_pages });
    const rows = found.slice((nth - 1) * data.page, nth * data.page);
    const shown = (one) => ({ note: judging.visible(one.note), answer: data.answers[one.verdict], time: one.time.slice(0, 16).replace("T", " ") });
    each(page, ".verdicts li", rows.map((one) => ({ ...one, ...shown(one) })));
    page.querySelector("#verdict").value = verdict;
    page.querySelector("#text").value = text;
    const steps = [...page.querySelectorAll(".steps a")];
    [nth - 1, nth + 1].forEach((number, n) => {
      steps[n].href = `${home}/verdicts?${new URLSearchParams({ verdict, text, page: number })}`;
      if (number < 1 || number > n_pages) steps[n].remove();
    });
    show(page);
  }

  function route() {
    const [address, query] = `#${location.hash.split("#")[1]}`.split("?");
    const here = address.replace(/[/][0-9]+$/, "");
    for (const link of document.querySelectorAll("header nav a")) link.ariaCurrent = link.hash === here ? "page" : null;
    const place = address === home ? open(-1) : Number(address.slice(home.length + 1)) - 1;
    if (address === "#/guidelines") show(made("guidelines"));
    else if (address === `${home}/verdicts`) showVerdicts(new URLSearchParams(query));
    else if (address === home && place !== undefined) location.replace(`${home}/${place + 1}`);
    else if (address.startsWith(home)) questions[place] ? showQuestion(place) : show(made("done"));
    else if (document.querySelector("noscript")) location.replace(shelved("read") === data.read ? home : "#/guidelines");
  }

  // away, and in again

  function labels({ head, relation, tail }) {
    return { head: data.entities[head][0], relation: data.relations[relation], tail: data.entities[tail][0] };
  }

  function download() {
    const lines = given().map((task) => {
      const [card, { verdict, source, note, time }] = [tasks.get(task), last(task)];
      const row = { task: card.number, annotator: data.person, ...labels(card), verdict, source, note, time };
      return `${JSON.stringify(row)}\n`;
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.download = `${data.person}-${lines.length}.jsonl`;
    link.click();
    isSaved = true;
  }

  async function load(file) {
    const key = (one) => JSON.stringify([one.head, one.relation, one.tail, one.annotator]);
    const own = new Map([...tasks.values()].map((card) => [key({ ...labels(card), annotator: data.person }), card.task]));
    let text;
    try {
      const rows = (await file.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
      const mine = rows.filter((one) => own.has(key(one)) && Object.hasOwn(data.answers, one.verdict));
      const newer = mine.filter((one) => !said.has(own.get(key(one))) || last(own.get(key(one))).time < one.time);
      for (const one of newer) {
        const [task, [source, note]] = [own.get(key(one)), [one.source, one.note].map((text) => String(text ?? ""))];
        const time = String(one.time || new Date().toISOString());
        put(task, [...(said.get(task) || []), { verdict: one.verdict, source, note, time }]);
      }
      const [old, others] = [mine.length - newer.length, rows.length - mine.length];
      text = `${newer.length} taken, ${old} not newer than here, ${others} of other tasks.`;
    } catch {
      text = "This is not a file that was downloaded here.";
    }
    for (const where of [element("loaded"), element("live")]) where.textContent = text;
    element("load").value = ""; // so that the same file can be chosen again
  }

  document.addEventListener("click", (event) => event.target.closest(".download") && download());
  document.addEventListener("change", (event) => event.target.id === "load" && load(event.target.files[0]));
  document.addEventListener("submit", (event) => {
    const isFilter = event.target.matches(".filter");
    if (!isFilter && !event.target.matches("[action='/guidelines']")) return;
    event.preventDefault();
    if (!isFilter) shelved("read", data.read);
    location.hash = isFilter ? `${home}/verdicts?${new URLSearchParams(new FormData(event.target))}` : home;
  });
  window.addEventListener("storage", ({ key }) => {
    const task = key && key.startsWith(shelf) ? Number(key.slice(shelf.length)) : 0;
    if (tasks.has(task)) said.set(task, shelved(task));
  });
  window.addEventListener("beforeunload", (event) => isKept || isSaved || event.preventDefault());
  window.addEventListener("hashchange", route);

  judging.instead({ send, tellSeen: () => {} });
  shelved("open", true); // finds out whether the browser keeps anything
  for (const [task, { before }] of tasks) {
    const all = shelved(task) || (before ? [{ ...before, time: "" }] : []);
    if (all.length) said.set(task, all);
  }
  count();
  route();
})();
