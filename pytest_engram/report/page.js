// The list of questions: filter, sort, page, open. Everything is written with textContent, never as markup.
"use strict";
(async () => {
  const PAGE = 50;
  const STATES = ["hit", "miss", "not scored", "violation", "error", "not run"];
  const HIT = 0, MISS = 1;
  // The same alphabet as questions.PLACES.
  const PLACES = Array.from({ length: 79 }, (_, i) => String.fromCharCode(48 + i)).filter((c) => !"<>\\`".includes(c));
  const PLACE = Object.fromEntries(PLACES.map((c, i) => [c, i]));

  const get = (id) => document.getElementById(id);

  // On paper nothing can be opened.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });

  /** What a script element holds: JSON, compressed with gzip, in base64. */
  async function unpacked(id) {
    const packed = atob(get(id).textContent);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  // What the list needs is told until it is known to be there, and again where it was not.
  const needs = get("needs");
  needs.hidden = true;
  get("count").textContent = "Reading the questions…";
  const data = await unpacked("data").catch(() => null);
  if (!data) {
    needs.hidden = false;
    get("count").textContent = "";
    return;
  }
  const { strings, methods, suites } = data;

  /** An element with a class and children; strings become text. */
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children) if (child !== null && child !== undefined && child !== "") node.append(child);
    return node;
  }

  // One object a question, with what the filters ask for.
  const questions = data.questions.map((q, index) => {
    const [suite, id, query, haystack, gold, excluded, entries, golden, kase, outcomes] = q;
    const cells = methods.map(() => null);
    for (const o of outcomes) {
      const cell = (cells[o[0]] ||= { hits: 0, misses: 0, count: 0, states: new Set(), ms: 0, lost: false, dropped: false });
      cell.count += 1;
      cell.states.add(STATES[o[2]]);
      cell.hits += o[2] === HIT;
      cell.misses += o[2] === MISS;
      cell.ms = Math.max(cell.ms, o[3]);
      cell.lost ||= Boolean(o[6] && o[6].l);
      cell.dropped ||= Boolean(o[6] && o[6].d);
    }
    return {
      index, suite, id: strings[id], query: strings[query], haystack, gold, excluded: strings[excluded],
      entries, golden: new Set(golden), kase, outcomes, cells, found: null,
      asked: outcomes.some((o) => STATES[o[2]] !== "not run"),
    };
  });
  const collator = new Intl.Collator("en", { numeric: true });

  const state = { suite: "", method: "", outcome: "", sort: "run", text: "", page: 0 };
  const open = new Set();
  let shown = questions;

  function searchable(q) {
    q.found ??= [q.id, q.query, ...q.gold.map((g) => strings[g])].join("\n").toLowerCase();
    return q.found;
  }

  /** Whether methods (or this one and any other) decided differently: one has a hit where another has a miss. */
  function disagree(cells, method) {
    const pair = (a, b) => (a.hits && b.misses) || (a.misses && b.hits);
    const seen = cells.filter(Boolean);
    if (method === "") return seen.some((a, i) => seen.some((b, j) => i < j && pair(a, b)));
    const own = cells[method];
    return Boolean(own) && seen.some((other) => other !== own && pair(own, other));
  }

  function matches(q, words) {
    if (state.suite !== "" && q.suite !== state.suite) return false;
    const cells = state.method === "" ? q.cells : [q.cells[state.method]];
    if (!cells.some(Boolean)) return false;
    const asked = state.outcome;
    if (asked === "disagree") {
      if (!disagree(q.cells, state.method)) return false;
    } else if (asked === "lost" || asked === "dropped") {
      if (!cells.some((cell) => cell && cell[asked])) return false;
    } else if (asked && !cells.some((cell) => cell && cell.states.has(asked))) return false;
    return words.every((word) => searchable(q).includes(word));
  }

  const cellsOf = (q) => (state.method === "" ? q.cells : [q.cells[state.method]]).filter(Boolean);
  const share = (q) => {
    let hits = 0, all = 0;
    for (const cell of cellsOf(q)) { hits += cell.hits; all += cell.hits + cell.misses; }
    return all ? hits / all : null;
  };
  const slowest = (q) => Math.max(0, ...cellsOf(q).map((cell) => cell.ms));
  // What can't be ranked stands last in either direction; keys are computed once, not at every comparison.
  function ranked(found, key, sign) {
    const keyed = found.map((q) => ({ q, key: key(q) }));
    keyed.sort((a, b) => {
      if (a.key === b.key) return a.q.index - b.q.index;
      return a.key === null ? 1 : b.key === null ? -1 : sign * (a.key - b.key);
    });
    return keyed.map(({ q }) => q);
  }
  const spelled = (found, key) => found.sort((a, b) => collator.compare(key(a), key(b)) || a.index - b.index);
  const SORT = {
    run: (found) => found,
    fewest: (found) => ranked(found, share, 1),
    most: (found) => ranked(found, share, -1),
    slow: (found) => ranked(found, slowest, -1),
    id: (found) => spelled(found, (q) => q.id),
    text: (found) => spelled(found, (q) => q.query),
  };

  function update() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    shown = SORT[state.sort](questions.filter((q) => matches(q, words)));
    state.page = 0;
    draw();
  }

  // --- the list

  /** Short, with a shape and a word: never by colour alone. */
  function mark(cell) {
    if (!cell) return el("span", { class: "mark off" }, "–");
    if (cell.hits && cell.hits + cell.misses > 1) {
      const kind = cell.misses ? "mixed" : "hit";
      return el("span", { class: `mark ${kind}` }, `${cell.hits}/${cell.hits + cell.misses}`);
    }
    const [first] = ["violation", "error", "hit", "miss", "not run", "not scored"].filter((name) => cell.states.has(name));
    const kind = { hit: "hit", miss: "miss", violation: "bad", error: "bad" }[first] || "off";
    return el("span", { class: `mark ${kind}` }, first);
  }

  function row(q) {
    const button = el("button", { type: "button", class: "open", "aria-expanded": String(open.has(q.index)), "data-q": q.index },
      el("span", { class: "query", dir: "auto" }, q.query || "(the question’s text was not at hand)"));
    const first = el("th", { scope: "row" }, button,
      el("span", { class: "meta" }, el("span", {}, suites[q.suite][0]), " · ", el("bdi", {}, q.id)));
    return el("tr", { class: "q" }, first,
      ...q.cells.map((cell, m) => el("td", { "data-label": methods[m][0], class: cell ? "" : "absent" }, mark(cell))));
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const from = state.page * PAGE;
    const body = el("tbody");
    for (const q of shown.slice(from, from + PAGE)) {
      body.append(row(q));
      if (open.has(q.index)) body.append(detail(q));
    }
    get("list").querySelector("tbody").replaceWith(body);
    const number = (n) => n.toLocaleString("en");
    const idle = shown.filter((q) => !q.asked).length;
    get("count").textContent = (shown.length === questions.length ? "" : `${number(shown.length)} of `)
      + `${number(questions.length)} questions${idle ? `, ${number(idle)} not run` : ""}`;
    get("pager").hidden = pages < 2;
    get("where").textContent = `${number(from + 1)}–${number(Math.min(from + PAGE, shown.length))} of ${number(shown.length)}`;
    const [previous, next] = get("pager").querySelectorAll("button");
    previous.disabled = state.page === 0;
    next.disabled = state.page === pages - 1;
  }

  // --- one question

  // What entries say, read when a question is first opened; until then entries are shown by their ids.
  let excerpts = { texts: [], shared: suites.map(() => ({})), own: {} }, reading = false;
  async function readExcerpts() {
    if (reading) return;
    reading = true;
    list.setAttribute("aria-busy", "true");
    try {
      excerpts = await unpacked("excerpts");
      for (const line of list.querySelectorAll(".detail")) line.replaceWith(detail(questions[line.dataset.of]));
    } finally {
      list.removeAttribute("aria-busy");
    }
  }

  /** The beginning of an entry, or undefined where its text was not at hand. */
  function textOf(q, place) {
    return excerpts.texts[excerpts.own[q.index]?.[place] ?? excerpts.shared[q.suite][q.entries[place]]];
  }

  function entry(q, place, ...further) {
    const id = strings[q.entries[place]];
    const text = textOf(q, place);
    const gold = q.golden.has(place);
    return el("li", { class: gold ? "gold" : false },
      text === undefined ? el("code", { dir: "auto" }, id) : el("span", { dir: "auto" }, text),
      text === undefined || text.startsWith(`${id}. `) ? null : el("code", { class: "id" }, id),
      gold ? el("span", { class: "badge" }, "gold") : null, ...further);
  }

  function placesOf(packed) {
    return typeof packed === "string" ? Array.from(packed, (c) => PLACE[c]) : packed;
  }

  function outcome(q, o, several) {
    const [method, seed, code, ms, packed, values, further = {}] = o;
    const names = suites[q.suite][2];
    const places = placesOf(packed);
    const kind = ["hit", "miss", "off", "bad", "bad", "off"][code];
    const card = el("section", { class: "card" },
      el("h4", {}, methods[method][1], several ? el("span", { class: "soft" }, ` seed ${seed}`) : null, " ",
        el("span", { class: `mark ${kind}` }, STATES[code])));
    const facts = names.map((name, i) => (values[i] === null || values[i] === undefined ? null : `${name}: ${values[i]}`)).filter(Boolean);
    if (further.w !== undefined) facts.push(`winner: ${strings[further.w]}`);
    if (ms !== null) facts.push(`${ms} ms`);
    card.append(el("p", { class: "numbers" }, facts.join(" · ")));
    if (further.r !== undefined) card.append(el("p", { class: "reason", dir: "auto" }, strings[further.r]));
    if (places.length) card.append(el("ol", { class: "ids" }, ...places.map((place) => entry(q, place))));
    else if (code < 3) card.append(el("p", { class: "soft" }, further.u ? "What was returned is not known." : "Nothing was returned."));
    if (further.d) {
      card.append(el("h5", {}, "Dropped in a conflict", further.l ? el("span", { class: "mark bad" }, "the answer was lost") : null));
      card.append(el("ul", { class: "ids dropped" }, ...further.d.map(([place, by, why, rank]) => {
        return entry(q, place, el("span", { class: "why" }, rank === undefined ? "for " : `at rank ${rank}, for `,
          el("q", { dir: "auto" }, textOf(q, by) ?? strings[q.entries[by]]),
          strings[why] ? ": " : "", strings[why]));
      })));
    }
    if (further.a !== undefined) card.append(el("p", { class: "answer" }, el("span", { class: "soft" }, "Reader’s answer: "), el("bdi", {}, strings[further.a])));
    for (const [name, why] of Object.entries(further.m || {})) {
      card.append(el("p", { class: "soft" }, `${names[name]} not measured: ${strings[why]}`));
    }
    return card;
  }

  function detail(q) {
    const facts = el("dl", { class: "about" });
    const fact = (name, value) => value && facts.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    fact("Gold", q.gold.length ? el("bdi", {}, q.gold.map((g) => strings[g]).join("; ")) : null);
    fact("Haystack", q.haystack ? `${q.haystack.toLocaleString("en")} entries` : null);
    if (q.kase) {
      const [family, name, web, backers, expected] = q.kase;
      fact("Case", `${strings[family]} · ${strings[name]}`);
      if (web !== null) fact("Web", `${web} behind the belief`);
      if (backers !== null) fact("Backers", `${backers} behind the update`);
      fact("Expected", strings[expected] || "no winner: left out of the score");
    }
    fact("Left out of the means", q.excluded);
    const counts = {};
    for (const o of q.outcomes) counts[o[0]] = (counts[o[0]] || 0) + 1;
    const cards = el("div", { class: "cards" }, ...q.outcomes.map((o) => outcome(q, o, counts[o[0]] > 1)));
    return el("tr", { class: "detail", "data-of": q.index },
      el("td", { colspan: methods.length + 1 }, facts, cards));
  }

  function toggle(button, wanted) {
    const index = Number(button.dataset.q);
    const now = wanted ?? !open.has(index);
    if (now === open.has(index)) return;
    const line = button.closest("tr");
    button.setAttribute("aria-expanded", String(now));
    if (now) {
      open.add(index);
      line.after(detail(questions[index]));
      readExcerpts();
    } else {
      open.delete(index);
      line.nextElementSibling.remove();
    }
  }

  // --- events

  const form = get("filters");
  const list = get("list");
  suites.forEach(([name], i) => form.elements.suite.append(el("option", { value: i }, name)));
  methods.forEach(([name, label], i) => form.elements.method.append(el("option", { value: i }, label === name ? name : `${label} (${name})`)));
  list.append(
    el("caption", { class: "unseen" }, "Questions, and what each method found"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Question"),
      ...methods.map(([name, label]) => el("th", { scope: "col", title: label }, el("span", {}, name))))),
    el("tbody"));

  const place = (value) => (value === "" ? "" : Number(value));
  function read() {
    const fields = form.elements;
    Object.assign(state, {
      suite: place(fields.suite.value), method: place(fields.method.value), outcome: fields.outcome.value,
      sort: fields.sort.value, text: fields.text.value,
    });
    update();
  }
  form.addEventListener("input", read);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(read));
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button.open");
    if (button) toggle(button);
  });
  // Escape closes the question that holds the focus, from anywhere inside it, and gives the focus back to its button.
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const line = event.target.closest("tr");
    const button = (line.classList.contains("detail") ? line.previousElementSibling : line).querySelector("button.open");
    toggle(button, false);
    button.focus();
  });
  get("pager").addEventListener("click", (event) => {
    const step = Number(event.target.dataset.step);
    if (!step) return;
    state.page += step;
    draw();
    get("questions").scrollIntoView();
    list.querySelector("button.open")?.focus({ preventScroll: true });
  });

  form.hidden = get("legend").hidden = list.hidden = false;
  read(); // a browser may have kept the fields of an earlier visit
  if (location.hash === "#questions") get("questions").scrollIntoView(); // the list was not there yet
})();
