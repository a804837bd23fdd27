"use strict";
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // What stands for a thing on the page: by its kind and number, the elements to be marked.
  const shown = {};
  for (const element of all("[data-kind]")) {
    const key = element.dataset.kind + element.dataset.id;
    (shown[key] ||= []).push(element);
  }
  const kernelEquations = {}, lineEquations = {}, lineTraced = {};
  facts.equations.forEach(([line, kernels], e) => {
    (lineEquations[line] ||= []).push(e);
    for (const k of kernels) (kernelEquations[k] ||= []).push(e);
  });
  facts.traced.forEach((line, t) => (lineTraced[line] ||= []).push(t));

  // All things that belong to one, as keys. Lines: l, equations: e, of the traced jaxpr: t,
  // kernels: k, arrays in memory: b.
  function related(kind, id) {
    const keys = new Set([kind + id]);
    const ofLine = line => {
      if (line < 0) return;
      keys.add("l" + line);
      for (const t of lineTraced[line] || []) keys.add("t" + t);
    };
    const ofEquation = e => {
      const [line, kernels] = facts.equations[e];
      keys.add("e" + e);
      ofLine(line);
      for (const k of kernels) keys.add("k" + k);
    };
    const ofKernel = k => {
      keys.add("k" + k);
      const own = kernelEquations[k] || [];
      if (!own.length && facts.prepares[k] >= 0) keys.add("k" + facts.prepares[k]);
      for (const e of own) { keys.add("e" + e); ofLine(facts.equations[e][0]); }
      facts.arrays.forEach(([first], b) => { if (first === k) keys.add("b" + b); });
    };
    if (kind === "e") ofEquation(id);
    if (kind === "k") ofKernel(id);
    if (kind === "l") {
      ofLine(id);
      for (const e of lineEquations[id] || []) ofEquation(e);
    }
    if (kind === "t") {
      const line = facts.traced[id];
      if (line >= 0) { ofLine(line); for (const e of lineEquations[line] || []) ofEquation(e); }
    }
    if (kind === "b") ofKernel(facts.arrays[id][0]);
    return keys;
  }

  let marked = [], pinned = null;
  function mark(thing) {
    for (const element of marked) element.classList.remove("on");
    marked = thing ? [...related(thing.kind, thing.id)].flatMap(key => shown[key] || []) : [];
    for (const element of marked) element.classList.add("on");
  }
  // Bring what is marked into view in each pane but the one that the user is in.
  function reveal(from) {
    for (const pane of all(".pane")) {
      if (pane.hidden || pane.contains(from)) continue;
      const first = marked.find(element => pane.contains(element));
      if (!first) continue;
      const top = first.getBoundingClientRect().top - pane.getBoundingClientRect().top;
      if (top < 30 || top > pane.clientHeight - 40) pane.scrollTop += top - pane.clientHeight / 3;
    }
  }
  const thingOf = element => {
    const item = element.closest && element.closest("[data-kind]");
    return item && { kind: item.dataset.kind, id: +item.dataset.id, item };
  };
  function pin(thing) { pinned = thing; mark(thing); if (thing) reveal(thing.item); }

  document.addEventListener("mouseover", event => mark(thingOf(event.target) || pinned));
  document.addEventListener("focusin", event => {
    const thing = thingOf(event.target);
    if (thing) pin(thing);
  });
  document.addEventListener("click", event => {
    const thing = thingOf(event.target);
    if (!thing) return;
    pin(thing);
    if (!event.target.closest("a, summary")) thing.item.focus({ preventScroll: true });
  });

  // One stop of the tab key for each list; arrows move inside of it.
  const handle = item => item.matches("tr") ? item.querySelector("summary") : item;
  const items = group => all("[data-kind]", group).filter(item => item.offsetParent || item.ownerSVGElement);
  for (const group of all("[data-group]")) {
    all("[data-kind]", group).forEach((item, n) => { handle(item).tabIndex = n ? -1 : 0; });
    for (const link of all("li a", group)) link.tabIndex = -1;
    group.addEventListener("keydown", event => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const end = { Home: 0, End: -1 }[event.key];
      if (step === undefined && end === undefined) return;
      const list = items(group), now = list.indexOf(event.target.closest("[data-kind]"));
      const next = step === undefined ? list.at(end) : list[now + step];
      if (next) {
        all("[tabindex='0']", group).forEach(item => { item.tabIndex = -1; });
        handle(next).tabIndex = 0;
        handle(next).focus();
      }
      event.preventDefault();
    });
  }
  document.addEventListener("keydown", event => { if (event.key === "Escape") pin(null); });

  // Links to a kernel or a line: #k3, #l12.
  function follow() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target || !target.dataset.kind) return;
    const details = target.querySelector("details");
    if (details) details.open = true;
    handle(target).focus();
    target.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", follow);

  // The buttons of a group: one of them is pressed.
  function choice(attribute, act) {
    const buttons = all(`button[data-${attribute}]`);
    for (const button of buttons) button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      act(button.dataset[attribute]);
    });
  }
  choice("sort", how => {
    const body = document.querySelector("#time tbody");
    const rows = all("tr", body);
    rows.sort((a, b) => how === "time" ? facts.seconds[b.dataset.id] - facts.seconds[a.dataset.id]
      || a.dataset.id - b.dataset.id : a.dataset.id - b.dataset.id);
    body.append(...rows);
  });
  choice("view", which => {
    for (const id of ["compiled", "traced"]) document.getElementById(id).hidden = id !== which;
  });

  // The map of memory, by kernels of equal width or by their time.
  const total = facts.seconds.reduce((sum, s) => sum + s, 0) || 1, starts = [0];
  for (const s of facts.seconds) starts.push(starts.at(-1) + s / total);
  choice("along", how => {
    const at = k => 1000 * (how === "time" ? starts[k] : k / facts.seconds.length);
    for (const block of all("svg .b")) {
      const [first, last] = facts.arrays[block.dataset.id];
      block.setAttribute("x", at(first).toFixed(2));
      block.setAttribute("width", Math.max(1, at(last + 1) - at(first)).toFixed(2));
    }
    for (const line of all("svg .at")) {
      const middle = (at(facts.peak) + at(facts.peak + 1)) / 2;
      line.setAttribute("x1", middle);
      line.setAttribute("x2", middle);
    }
    document.getElementById("unit").textContent = how === "time" ? "end of the call" : "last kernel";
  });

  // Colours: as the system has them, light, or dark.
  const button = document.getElementById("theme"), themes = ["auto", "light", "dark"];
  const names = { auto: "as the system", light: "light", dark: "dark" };
  const signs = { auto: "◐", light: "○", dark: "●" };
  function setTheme(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `${signs[theme]} ${theme}`;
    button.setAttribute("aria-label", `Colours: ${names[theme]}`);
    button.dataset.now = theme;
  }
  const stored = () => { try { return localStorage.getItem("tanx-theme"); } catch { return null; } };
  setTheme(themes.includes(stored()) ? stored() : "auto");
  button.addEventListener("click", () => {
    const theme = themes[(themes.indexOf(button.dataset.now) + 1) % themes.length];
    setTheme(theme);
    try { localStorage.setItem("tanx-theme", theme); } catch { /* pages in frames may not store */ }
  });
  follow();
})();
