// Makes the page of a question faster: saves answers as they are given, keeps what was typed, and listens to keys.
// Without it the same form works by its buttons.
"use strict";

(() => {
  const RETRY = 5000; // milliseconds
  const FAREWELL = 1500; // after the last answer of a question is stored, before the next question follows
  const PATIENCE = 1200; // after an arrow key has moved an answer, before it counts as given
  const hidden = (name) => form.elements[name].value;
  const nameOf = (verdict) => (verdict ? form.querySelector(`.answer-${verdict}`).textContent.trim() : "nothing");
  const open = () => cards.filter((card) => !card.classList.contains("is-stored"));
  const isReturned = (card) => card.querySelector(".sent-back") !== null;
  // signs that turn the direction of reading are shown, not obeyed, as on the server
  const visible = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `[U+${sign.charCodeAt().toString(16).toUpperCase()}]`);
  const live = document.getElementById("live");
  const busy = new Set(); // tasks whose answers are on their way
  const again = new Set(); // and those that were changed meanwhile
  const waiting = new Set(); // tasks that were refused, and may be right with another link
  let form, cards, link, shelf; // of the question in front of the person, see begin
  let current = null; // the card that they look at
  let under = ""; // the link of the question that answers were given under
  let byArrow = 0; // when an arrow key has moved an answer
  let soon = 0;
  let leaving = 0;
  let follows = false; // whether the next question comes by itself: not if somebody is here to correct
  let unkept = null; // what the browser has no room for
  let isAway = false; // the network is gone, as far as known
  let isOut = false; // the server takes nothing from this page any more

  // what was typed and is not stored yet stays in the browser: task -> its fields

  function drafts() {
    try {
      return unkept || JSON.parse(localStorage.getItem(shelf)) || {};
    } catch {
      return {};
    }
  }

  function keep(task, fields) {
    const all = drafts();
    if (fields) all[task] = fields;
    else delete all[task];
    try {
      localStorage.setItem(shelf, JSON.stringify(all));
      unkept = null;
    } catch {
      unkept = all;
    }
  }

  const field = (card, name) => form.elements[`${name}-${card.dataset.task}`];
  const chosen = (card) => field(card, "verdict").value;

  function typed(card, isGiven) {
    const verdict = chosen(card);
    const own = field(card, "source")?.value.trim(); // there is none where the campaign asks for no links
    return {
      question: form.dataset.question,
      verdict,
      source: own || (verdict === "unsure" || !link ? "" : link.value.trim()),
      note: field(card, "note").value,
      before: field(card, "before").value,
      isGiven,
    };
  }

  function notify(card, text, kind) {
    const state = card.querySelector(".state");
    if (state.textContent === text) return; // or a reader would say it again
    const words = document.createElement("span");
    words.className = kind;
    words.textContent = text;
    state.replaceChildren(words);
    live.textContent = text;
  }

  // sending

  let send = async (question, fields) => {
    const body = new URLSearchParams({ token: hidden("token"), edition: hidden("edition"), ...fields });
    const options = { method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin" };
    const response = await fetch(`${form.dataset.path}/${question}`, options);
    let said = {};
    try {
      said = await response.json();
    } catch {
      // an answer of something between here and the server
    }
    return { status: response.status, said };
  };

  let tellSeen = (task, seconds, number) => {
    const body = new URLSearchParams({ token: hidden("token"), task, seconds, opened: number });
    fetch(`${form.dataset.path}/seen`, { method: "POST", body, keepalive: true }).catch(() => {});
  };

  // leads: whether the next question may follow
  async function save(task, leads) {
    const fields = drafts()[task];
    const card = document.getElementById(`task-${task}`);
    if (!fields || !fields.isGiven) return;
    if (busy.has(task)) {
      again.add(task);
      return;
    }
    busy.add(task);
    let isStored = false;
    try {
      const { status, said } = await send(fields.question, {
        only: task,
        [`verdict-${task}`]: fields.verdict,
        [`source-${task}`]: fields.source,
        [`note-${task}`]: fields.note,
        [`before-${task}`]: fields.before,
      });
      isAway = false;
      finish(task, card, fields, status, said);
      isStored = /stored|unchanged/.test(said.outcomes?.[0]?.kind);
    } catch {
      isAway = true;
      if (card) notify(card, "No network. Your answer is kept in this browser, and sent when the network is back.", "bad");
    } finally {
      busy.delete(task);
      if (again.delete(task)) give(card);
      else if (isStored && leads) follow();
    }
  }

  function finish(task, card, fields, status, said) {
    const outcome = (said.outcomes || [])[0];
    if (outcome && (outcome.kind === "stored" || outcome.kind === "unchanged")) {
      if (!again.has(task)) keep(task, null);
      waiting.delete(task);
      progress(said);
      if (card) show(card, outcome);
    } else if (outcome && outcome.kind === "conflict") {
      keep(task, { ...fields, isGiven: false });
      if (card) ask(card, fields, outcome);
    } else if (outcome && outcome.kind === "gone") {
      keep(task, null);
      if (card) card.classList.add("is-stored");
      if (card) notify(card, `Not stored. ${outcome.message}`, "hint");
    } else if (outcome) {
      keep(task, { ...fields, isGiven: false });
      waiting.add(task);
      const lacksLink = link && !fields.source && fields.verdict !== "unsure";
      const way = lacksLink ? " Give one above: this answer is stored then." : "";
      if (card) notify(card, `Not stored: ${outcome.message}.${way}`, "bad");
      if (card && card === current && lacksLink) link.focus();
    } else {
      isOut = status >= 400 && status < 429;
      if (card) notify(card, `Not stored. ${said.say || "The server gave no answer."} What you typed is kept in this browser.`, "bad");
    }
  }

  function show(card, outcome) {
    field(card, "before").value = outcome.digest;
    if (!again.has(card.dataset.task)) {
      field(card, "verdict").value = outcome.verdict;
      if (field(card, "source")) field(card, "source").value = outcome.source;
    }
    card.classList.add("is-stored");
    card.querySelector(".sent-back")?.remove();
    card.querySelector(".undo").hidden = false;
    const left = open().length;
    notify(card, `Stored: ${outcome.answer}`, "good");
    live.textContent = `Stored: ${outcome.answer}. ${left || "Nothing"} of this question left.`;
    if (outcome.source && link) offer(outcome.source);
  }

  function offer(source) {
    const list = document.getElementById("links");
    if ([...list.options].some((option) => option.value === source)) return;
    const option = document.createElement("option");
    option.value = source;
    list.prepend(option);
    if (!link.value.trim() && !form.querySelector(".side")) under = link.value = source;
  }

  // answers that were given under a link which is corrected now may need the new one too: ask

  const givenUnder = (former) =>
    cards.filter((card) => /[YN]/.test(chosen(card)) && field(card, "before").value && field(card, "source").value === former);

  function askAbout(last) {
    const box = document.getElementById("relink");
    const button = box.querySelector("button");
    const former = box.hidden ? last : button.value; // what was asked and not answered is asked again
    const [n, now] = [givenUnder(former).length, link.value.trim()];
    box.hidden = !(former && now && now !== former && n);
    button.value = former;
    const have = n === 1 ? "answer of this question has" : "answers of this question have";
    box.querySelector("p").textContent = `${n} ${have} the former link, ${former}.`;
  }

  function relink(former) {
    for (const card of givenUnder(former)) {
      field(card, "source").value = link.value.trim();
      give(card);
    }
    document.getElementById("relink").hidden = true;
  }

  const shortened = (text) => (text.length > 200 ? `${text.slice(0, 200)}\u2026` : text);

  function ask(card, mine, now) {
    const words = (one) => [nameOf(one.verdict), one.source, shortened(one.note)].filter(Boolean).map(visible).join(", ");
    const text = `Not stored. You have said something else meanwhile: ${words(now)}. Here it is: ${words(mine)}.`;
    notify(card, text, "bad");
    const button = (name, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = name;
      made.addEventListener("click", act);
      card.querySelector(".state").append(" ", made);
    };
    field(card, "before").value = now.digest;
    button("Store what is here", () => give(card));
    button("Keep the other one", () => {
      keep(card.dataset.task, null);
      field(card, "note").value = now.note;
      show(card, { ...now, answer: nameOf(now.verdict) });
    });
  }

  function progress(said) {
    document.getElementById("done").textContent = said.done;
    document.getElementById("left").textContent = said.left;
    document.getElementById("bar").value = said.done;
    document.getElementById("pace").textContent = said.pace;
    document.getElementById("break").hidden = !said.break;
  }

  function give(card) {
    if (!card || !chosen(card)) return;
    look(card);
    keep(card.dataset.task, typed(card, true));
    notify(card, "Storing ...", "busy");
    save(card.dataset.task, true);
  }

  function retry() {
    if (isOut || !form) return;
    for (const [task, fields] of Object.entries(drafts())) if (fields.isGiven && !busy.has(task)) save(task);
  }

  async function undo(card) {
    const task = card.dataset.task;
    if (card.querySelector(".undo").hidden || busy.has(task)) return;
    try {
      const { status, said } = await send(form.dataset.question, { undo: task, [`before-${task}`]: field(card, "before").value });
      if (said.again) {
        for (const radio of field(card, "verdict")) radio.checked = false;
        notify(card, `${said.answer} is stored until you give another answer.`, "hint");
      } else {
        finish(task, card, typed(card, false), status, said);
        if (status === 200 && said.outcomes[0]) field(card, "note").value = said.outcomes[0].note;
      }
    } catch {
      notify(card, "No network. Nothing was undone.", "bad");
    }
  }

  // how long somebody looks at a task, with the page in front of them

  let since = document.hidden ? 0 : performance.now();
  let opened = 0;

  function look(next) {
    const seconds = since ? (performance.now() - since) / 1000 : 0;
    const isSeen = seconds > 0.3 || opened || (since && current && chosen(current)); // a key that passes by is no look
    if (current && isSeen) tellSeen(current.dataset.task, Math.max(seconds, 0.1).toFixed(1), opened);
    opened = 0;
    since = document.hidden ? 0 : performance.now();
    current = next || current;
  }

  document.addEventListener("visibilitychange", () => look(null));
  window.addEventListener("pagehide", () => look(null));
  document.addEventListener("click", (event) => {
    if (event.target.closest(".searches a, .find, .side a")) opened += 1;
    if (isAway && event.target.id === "next") {
      event.preventDefault(); // there would be nothing but the browser's own words
      notify(current, "No network. The next question can be opened when it is back; your answers are kept in this browser.", "bad");
    }
    if (event.target.name === "leave") document.getElementById("relink").hidden = true;
    if (event.target.closest(".take")) take(event.target.closest(".card"), event.target.closest(".side"));
  });

  // what a person does

  function go(card) {
    if (!card) return;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }

  function onward() {
    const place = cards.indexOf(current);
    const order = [...cards.slice(place + 1), ...cards.slice(0, place + 1)];
    const next = order.find((card) => !card.classList.contains("is-stored") && (!chosen(card) || isReturned(card)));
    if (next) go(next);
    else if (busy.size) setTimeout(onward, 50);
    else if (!waiting.size) document.getElementById("next").click();
  }

  // once all is stored the next question follows, unless a key, a click or the wheel shows that somebody is not done here

  const unfinished = ".state .bad, .state .hint, #relink:not([hidden]), dialog[open]";
  const isDone = () => !open().length && !busy.size && !document.querySelector(unfinished);

  function follow() {
    stay();
    if (!follows || !isDone()) return;
    live.textContent += " The next question follows; any key stays here.";
    leaving = setTimeout(() => !document.hidden && isDone() && onward(), FAREWELL);
  }

  function stay() {
    clearTimeout(leaving);
  }

  for (const sign of ["keydown", "pointerdown", "wheel", "hashchange"]) window.addEventListener(sign, stay, { capture: true, passive: true });

  function take(card, side) {
    const own = field(card, "source");
    if (!side.dataset.source.startsWith("h")) {
      live.textContent = `${side.querySelector(".letter").textContent} has no link to take.`;
      return;
    }
    own.value = side.dataset.source;
    own.closest("details").open = true;
    if (chosen(card)) give(card);
    else keep(card.dataset.task, typed(card, false));
  }

  function answer(card, verdict) {
    field(card, "verdict").value = verdict;
    give(card);
  }

  function listen() {
    form.addEventListener("focusin", (event) => {
      const card = event.target.closest(".card");
      if (card && card !== current) look(card);
    });

    form.addEventListener("change", (event) => {
      const card = event.target.closest(".card");
      if (event.target.type === "radio") {
        clearTimeout(soon);
        if (performance.now() - byArrow < 100) soon = setTimeout(() => give(card), PATIENCE);
        else give(card);
      } else if (card) {
        give(card);
      } else if (event.target === link) {
        for (const task of waiting) give(document.getElementById(`task-${task}`));
        if (link.value.trim() !== under) askAbout(under);
        under = link.value.trim() || under;
      }
    });

    form.addEventListener("input", (event) => {
      const card = event.target.closest(".card");
      if (card && event.target.type !== "radio") keep(card.dataset.task, typed(card, false));
    });

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const button = event.submitter;
      if (button && button.name === "undo") {
        go(button.closest(".card")); // or Enter, which leads on, would undo again
        undo(button.closest(".card"));
      } else if (button && button.name === "relink") {
        relink(button.value);
      } else if (button && button.closest(".sent-back")) {
        go(button.closest(".card"));
        give(button.closest(".card"));
      } else cards.filter((card) => chosen(card) && !isReturned(card)).forEach(give);
    });
  }

  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const isText = target.matches("textarea, select, input:not([type=radio])");
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (!form) {
      const aim = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (aim && !isText && !(event.key === "Enter" && target.closest("a, button"))) aim.click();
    }
    if (!form || !form.isConnected) return;
    if (isText) {
      const leaves = event.key === "Escape" || (event.key === "Enter" && target.tagName === "INPUT");
      if (!leaves) return;
      event.preventDefault();
      target.closest("details")?.removeAttribute("open");
      go(current); // which also stores what was changed
      return;
    }
    const place = cards.indexOf(current);
    const isRadio = target.type === "radio";
    const act = {
      y: () => answer(current, "Y"),
      n: () => answer(current, "N"),
      u: () => answer(current, "unsure"),
      j: () => go(cards[Math.min(place + 1, cards.length - 1)]),
      k: () => go(cards[Math.max(place - 1, 0)]),
      "/": () => link?.select(), // so that what is pasted takes the place of another link
      m: () => {
        field(current, "note").closest("details").open = true;
        field(current, "note").focus();
      },
      z: () => undo(current),
      "?": () => document.getElementById("keys").showModal(),
    };
    act.ArrowDown = act.j;
    act.ArrowUp = act.k;
    for (const side of link ? current.querySelectorAll(".side") : []) act[side.dataset.key] ??= () => take(current, side);
    if (isRadio || !target.closest("a, button, summary")) act.Enter = onward;
    if (isRadio && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      byArrow = performance.now();
      return;
    }
    if (!Object.hasOwn(act, event.key)) return;
    event.preventDefault();
    act[event.key]();
  });

  // take up the question on the page, with what was typed before it was closed or the network went

  // stored: task -> what a page without a server has of it
  function begin(stored = new Map()) {
    form = document.getElementById("judge");
    cards = [...form.querySelectorAll(".card")];
    link = form.elements["source"];
    shelf = `kgtrec ${document.body.dataset.person} ${form.dataset.path} ${hidden("edition")}`;
    under = link ? link.value.trim() : "";
    waiting.clear();
    listen();
    for (const card of cards) {
      const words = stored.get(Number(card.dataset.task));
      if (!words) continue;
      field(card, "note").value = words.note;
      show(card, words);
    }
    current = open()[0] || cards[0];
    const aim = cards.find(({ id }) => id === location.hash.split("#").pop());
    follows = open().length > 0 && !aim?.classList.contains("is-stored");
    for (const card of cards) {
      const fields = drafts()[card.dataset.task];
      if (!fields) continue;
      for (const name of ["verdict", "source", "note"]) if (fields[name] && field(card, name)) field(card, name).value = fields[name];
      if (fields.source || fields.note) card.querySelector("details").open = true;
      if (!fields.isGiven) notify(card, "Not stored yet.", "hint");
    }
    retry();
    const bar = form.querySelector(".link"); // what has the focus is never behind it
    if (bar) new ResizeObserver(() => (document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 8}px`)).observe(bar);
    go(aim || current);
  }

  document.documentElement.classList.add("has-script");
  window.addEventListener("online", retry);
  setInterval(retry, RETRY);
  if (document.getElementById("judge")) begin();
  window.judging = { begin, visible, instead: (own) => ({ send, tellSeen } = own) }; // for a page without a server
})();
