// The page: head, slider, keys, pointer, and when to draw again.
(() => {
  const began = performance.now();
  const $ = id => document.getElementById(id);
  const state = { ready: false, errors: [], firstPaint: 0, counted: false, frames: 0 };
  window.oracclView = state; // for programs that drive the page
  window.addEventListener("error", e => { state.errors.push(String(e.message)); document.documentElement.dataset.error = String(e.message); if (!state.ready) $("claim").textContent = "This page is damaged: " + e.message; });
  const head = JSON.parse($("head").textContent);
  const element = (name, text, parent) => { const e = document.createElement(name); e.textContent = text; if (parent) parent.append(e); return e; };

  // ready tells programs that drive the page, and the page in whose frame it is, that all is drawn.
  const ready = () => {
    if (document.documentElement.dataset.ready === "1") return;
    document.documentElement.dataset.ready = "1";
    if (parent !== window) parent.postMessage("drawn", "*");
  };
  if (["dark", "light"].includes(location.hash.slice(1))) document.documentElement.dataset.theme = location.hash.slice(1); // the theme of the page in whose frame it is

  $("title").textContent = head.title;
  $("verdict").textContent = head.verdict;
  $("verdict").classList.add(head.verdict);
  if (head.error) {
    $("claim").textContent = "There is nothing to see: " + head.error;
    $("main").hidden = true;
    state.ready = true;
    ready();
    return;
  }
  const d = core.decode(head, core.bytesOf($("data").textContent.trim()));
  $("data").textContent = "";
  const links = core.linkRows(d), clock = core.clockOf(head);
  // busyShare is how much of the time the links that are used are busy, in the mean.
  function busyShare() {
    const used = [...links.busy.keys()].filter(l => links.off[l + 1] > links.off[l]);
    if (!used.length || !head.horizon) return "";
    return (100 * used.reduce((sum, l) => sum + links.busy[l], 0) / used.length / head.horizon).toFixed(1) + "% of the time" + (used.length < d.links ? `, ${used.length} of them used` : "");
  }
  // late names the ranks that arrive late, a few of them.
  const late = () => head.arrivals.length === 0 ? [] : [["late", head.arrivals.slice(0, 3).map(a => `rank ${a.rank} at ${core.inWords(a.at, "ps")}`).join(", ") + (head.arrivals.length > 3 ? `, and ${head.arrivals.length - 3} more` : "")]];
  $("claim").textContent = (head.engine ? head.engine + ": " : "") + head.claim + (head.reason ? " (" + head.reason + ")" : "");
  for (const [k, v] of [["makespan", head.makespan || "none: the schedule has no times"], ["bound", head.bound && `${head.bound} by ${head.bound_kind}${head.bound_holds && `, ${head.bound_holds}`}`], ["gap", head.gap && head.gap + (head.bound_holds && `, ${head.bound_holds}`)], ["transfers", head.transfers.toLocaleString("en") + (head.streams && ` in ${head.streams}`)],
    ["chunks", head.chunks.toLocaleString("en")], ["ranks", head.ranks], ["links", head.links], ["busy", busyShare()], ["form", head.form], ...head.facts.map(f => [f.name, f.value]), ...late()]) {
    if (v === "" || v === undefined) continue;
    const e = element("div", "", $("numbers"));
    element("dt", k, e);
    element("dd", v, e);
  }
  if (!head.bound) { const e = element("div", "", $("numbers")); element("dt", "bound", e); element("dd", "none known", e); }
  if (head.bound_detail) element("li", head.bound_detail, $("notes"));
  for (const n of head.notes) element("li", n, $("notes"));
  $("layout").textContent = "(" + head.layout + ")";

  let ranks = null;
  const rankRows = () => ranks ||= core.rankRows(d);
  const marked = [...new Set(head.violations.filter(v => v.transfer >= 0 && v.transfer < d.n).map(v => d.place[v.transfer]))];

  // Colours: those of the theme, and one per chunk.
  let styles = {}, palette = [];
  const colour = name => styles[name] ||= getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  // Few are told apart by those who do not tell red from green, too (Okabe and Ito).
  const few = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442", "#a0522d", "#d55e00"];
  colour.chunks = d.chunks <= few.length ? few.length : 97;
  colour.chunk = c => palette[c % colour.chunks];
  colour.onChunk = c => d.chunks <= few.length && [1, 3, 4, 5].includes(c) ? "#000" : "#fff";
  colour.rgb = name => {
    const g = document.createElement("canvas").getContext("2d");
    g.fillStyle = colour(name);
    const v = parseInt(g.fillStyle.slice(1), 16);
    return (v >> 16 & 255) | (v & 0xff00) | (v & 255) << 16;
  };
  function theme(t) {
    document.documentElement.dataset.theme = t;
    styles = {};
    palette = d.chunks <= few.length ? few : Array.from({ length: 97 }, (_, c) => {
      const light = t === "dark" ? 46 + c * 5 % 14 : 38 + c * 5 % 14, hue = 25 + (175 + c * 191.59) % 310; // red is for what is wrong
      return `hsl(${hue} ${55 + c * 7 % 25}% ${light}%)`;
    });
  }
  theme(document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", e => { theme(e.matches ? "dark" : "light"); resize(); });

  const counts = { ready: false };
  const network = networkOf(head, d, links, colour, $("network"), marked);
  const held = heldOf(d, colour, $("held"), counts);
  const timeline = timelineOf(head, d, clock, links, rankRows, colour, $("timeline"), marked);
  timeline.arrangeRows("id");
  const cursor = core.cursor(d, {
    active: () => {},
    write: (i, happens) => { if (counts.ready) held.set(i, happens ? counts.after[i] : counts.before[i]); },
  });

  // Frames are drawn when something has changed.
  let time = 0, playing = false, dirty = 0, asked = false, lastFrame = 0;
  const TIME = 1, ROWS = 2, SIZE = 4;
  function ask(what) {
    dirty |= what;
    if (!asked) { asked = true; requestAnimationFrame(frame); }
  }
  function frame(at) {
    asked = false;
    if (playing) {
      const passed = Math.min(100, at - lastFrame);
      time = Math.min(head.until, clock.time(clock.place(time) + clock.length / 12000 * passed * Number($("speed").value)));
      dirty |= TIME;
      if (time >= head.until) play(false);
    }
    lastFrame = at;
    if (dirty & (SIZE | ROWS)) {
      const high = timeline.tallest(), lane = $("lane").style;
      lane.maxHeight = high + "px";
      lane.minHeight = Math.min(260, high) + "px";
      timeline.resize();
    }
    if (dirty & SIZE) network.resize();
    if (dirty & (TIME | SIZE)) {
      cursor.seek(time);
      network.draw(cursor, counts.ready && held.small ? held.complete : null);
      held.draw();
      $("now").textContent = core.inWords(Math.round(time), head.unit);
      $("time").value = String(Math.round(2000 * clock.place(time) / clock.length));
      $("time").setAttribute("aria-valuetext", $("now").textContent);
      follow();
    }
    if (dirty & (ROWS | SIZE)) {
      timeline.draw();
      $("range").textContent = `${timeline.rowsShown().toLocaleString("en")} rows, ${core.inWords(Math.round(timeline.range()[0]), head.unit)} to ${core.inWords(Math.round(timeline.range()[1]), head.unit)}`;
    }
    playhead();
    dirty = 0;
    state.frames++;
    if (state.counted) ready(); // drawn with all that is known
    if (!state.firstPaint) { state.firstPaint = performance.now(); state.setup = state.firstPaint - began; }
    if (playing) ask(0);
  }
  function playhead() {
    const c = $("over"), ratio = window.devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
    if (c.width !== Math.round(w * ratio) || c.height !== Math.round(h * ratio)) { c.width = Math.round(w * ratio); c.height = Math.round(h * ratio); }
    const g = c.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    const x = timeline.X(time);
    if (x < timeline.gutter || x > w) return;
    g.fillStyle = colour("accent");
    g.fillRect(x - 0.75, 0, 1.5, h);
    g.beginPath(); g.moveTo(x - 6, 0); g.lineTo(x + 6, 0); g.lineTo(x, 9); g.fill();
  }
  // setTime moves the slider; others who share the clock are told, if it was not they who did.
  function setTime(t, told) {
    time = Math.max(0, Math.min(head.until, t));
    if (head.shared && !told && state.ready) parent.postMessage({ time }, "*");
    ask(TIME);
  }
  if (head.shared) {
    document.documentElement.dataset.shared = "1";
    window.addEventListener("message", e => {
      if (e.source !== parent || !e.data) return;
      if (Number.isFinite(e.data.time)) setTime(e.data.time, true);
      if (["dark", "light"].includes(e.data.theme)) { theme(e.data.theme); resize(); }
    });
  }
  function play(on) {
    if (head.shared) { if (on) parent.postMessage({ play: true }, "*"); return; }
    playing = on;
    if (on && time >= head.until) time = 0;
    lastFrame = performance.now();
    $("play").textContent = on ? "\u23f8" : "\u25b6";
    ask(TIME);
  }
  function resize() { ask(SIZE); }
  window.addEventListener("resize", resize);

  // What is known of a transfer, a link, a rank.
  const name = v => v < d.ranks ? "rank " + v : head.switches[v - d.ranks];
  const reasons = ["nothing before it: it is the first", "it sends what the one before it brought", "the one before it kept a link busy", "the round before had to end", "the schedule lets it wait"];
  const reasonOf = new Map();
  d.path.forEach((i, k) => reasonOf.set(i, d.because[k]));
  let lastSet = [-1, ""];
  function contributions(i) {
    if (lastSet[0] === i) return lastSet[1];
    let text = "";
    core.holdings(d, d.chunk[i], d.start[i], (j, v) => { if (j === i) text = core.setInWords(v); });
    lastSet = [i, text];
    return text;
  }
  // sumOf is what a rank at the end of a sum holds when it has come.
  function sumOf(members) {
    const i = members[0], end = Math.max(...members.map(k => d.end[k]));
    return core.setInWords(core.holdings(d, d.chunk[i], end)[d.dst[i]]);
  }
  function transferText(i) {
    const members = d.stream[i] ? d.streams[d.stream[i] - 1].members : [i], [from, to] = core.ends(d, i);
    const what = from.length > 1 ? "sum of" : to.length > 1 ? "multicast of" : d.op[i] ? "reduce" : "copy";
    const start = Math.min(...members.map(k => d.start[k])), end = Math.max(...members.map(k => d.end[k]));
    const numbers = members.map(k => d.index[k]).sort((a, b) => a - b);
    const lines = [`${core.listInWords("transfer", numbers)}: ${what} chunk ${d.chunk[i]}, ${core.bytesInWords(d.size[d.chunk[i]])}`,
      `${core.listInWords("rank", from)} \u2192 ${core.listInWords("rank", to)}`,
      `${core.inWords(start, head.unit)} to ${core.inWords(end, head.unit)}` + (head.unit === "ps" ? `, ${core.inWords(end - start, head.unit)}` : ""),
      from.length > 1 ? `contributions with that of rank ${to[0]}: ${sumOf(members)}` : `contributions: ${contributions(i)}`];
    if (d.hopOff[d.profile[i] + 1] - d.hopOff[d.profile[i]] > 1) {
      const way = [];
      for (let k = d.hopOff[d.profile[i]]; k < d.hopOff[d.profile[i] + 1]; k++) way.push(name(d.linkDst[d.hopLink[k]]));
      lines.push("by " + way.slice(0, -1).join(", "));
    }
    if (d.onPath[i]) lines.push("on the critical path: " + reasons[reasonOf.get(i)]);
    for (const v of head.violations) if (v.transfer === d.index[i]) lines.push(`${v.code}: ${v.message}`);
    return lines;
  }
  function linkText(l) {
    const lines = [`link ${l}: ${name(d.linkSrc[l])} \u2192 ${name(d.linkDst[l])}`, `latency ${core.inWords(d.alpha[l], "ps")}, ${(d.bandwidth[l] / 1e9).toFixed(3)} GB/s`,
      `busy ${(100 * links.busy[l] / Math.max(1, head.horizon)).toFixed(2)}% of the time, ${links.off[l + 1] - links.off[l]} transfers`];
    for (let k = core.lower(i => links.from[i], links.off[l], links.off[l + 1], time - links.longest[l]); k < links.off[l + 1] && links.from[k] <= time; k++)
      if (links.until[k] > time) lines.push(`now: chunk ${d.chunk[links.transfer[k]]}, transfer ${d.index[links.transfer[k]]}`);
    return lines;
  }
  const SHOWN = Math.max(4, Math.min(40, Math.floor(5e6 * d.chunks / Math.max(1, d.ranks * d.n)))); // of a rank's chunks: each costs a replay
  function rankText(r, chunk) {
    const lines = [`rank ${r} at ${core.inWords(Math.round(time), head.unit)}`];
    if (counts.ready && held.small) lines.push(`${held.done[r]} of ${held.goals[r]} chunks complete`);
    const from = chunk === undefined ? 0 : chunk, to = chunk === undefined ? Math.min(d.chunks, SHOWN) : chunk + 1;
    for (let c = from; c < to; c++) lines.push(`chunk ${c}: ${core.setInWords(core.holdings(d, c, time)[r])}`);
    if (chunk === undefined && d.chunks > SHOWN) lines.push(`and ${d.chunks - SHOWN} chunks more; point at one in the matrix`);
    return lines;
  }
  let followed = null; // the rank, or the slot, whose details follow the slider
  function detail(title, lines) {
    const box = $("detailtext");
    box.textContent = "";
    element("h2", title, box);
    for (const l of lines) element("p", l, box);
  }
  function follow() { if (followed && !playing) { const t = rankText(followed.rank, followed.chunk); detail(t[0], t.slice(1)); } }
  function showTransfer(i) {
    if (i < 0) return;
    followed = null;
    const t = transferText(i);
    detail(t[0], t.slice(1));
    ask(ROWS);
  }
  function tip(lines, e) {
    const box = $("tip");
    box.hidden = !lines;
    if (!lines) return;
    box.textContent = lines.join("\n");
    box.style.left = Math.max(0, Math.min(e.clientX + 14, innerWidth - box.offsetWidth - 6)) + "px";
    box.style.top = Math.max(0, e.clientY + 18 + box.offsetHeight > innerHeight ? e.clientY - box.offsetHeight - 8 : e.clientY + 18) + "px";
  }

  // Slider and buttons.
  $("time").addEventListener("input", () => { play(false); setTime(clock.time(Number($("time").value) / 2000 * clock.length)); });
  $("play").addEventListener("click", () => play(!playing));
  function event(by) {
    const starts = i => d.start[i], ends = i => d.end[d.byEnd[i]];
    let best = by > 0 ? head.horizon : 0;
    for (const a of [starts, ends]) {
      const k = by > 0 ? core.lower(a, 0, d.n, Math.floor(time) + 1) : core.lower(a, 0, d.n, Math.ceil(time)) - 1;
      if (k >= 0 && k < d.n) best = by > 0 ? Math.min(best, a(k)) : Math.max(best, a(k));
    }
    play(false);
    setTime(best);
  }
  $("back").addEventListener("click", () => event(-1));
  $("forth").addEventListener("click", () => event(1));
  const rowsAre = m => { $("rows").value = m; timeline.setMode(m); timeline.arrangeRows($("order").value); ask(ROWS); };
  $("rows").addEventListener("change", () => rowsAre($("rows").value));
  $("order").addEventListener("change", () => { timeline.arrangeRows($("order").value); ask(ROWS); });
  const pathIs = on => { $("path").checked = on; timeline.setPath(on); network.setPath(on); ask(SIZE); };
  $("path").addEventListener("change", () => pathIs($("path").checked));
  const zoom = (f, x) => { timeline.zoom(f, x); ask(ROWS); };
  $("in").addEventListener("click", () => zoom(0.5));
  $("out").addEventListener("click", () => zoom(2));
  $("fit").addEventListener("click", () => { timeline.fit(); ask(ROWS); });
  $("find").addEventListener("change", () => { const i = Number($("find").value); if ($("find").value !== "" && i >= 0 && i < d.n && Number.isInteger(i)) goTo(d.place[i]); });
  $("theme").addEventListener("click", () => { theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); resize(); });
  function goTo(i) {
    timeline.show(i);
    play(false);
    setTime((d.start[i] + d.end[i]) / 2);
    showTransfer(i);
  }
  let violation = -1;
  if (head.violations.length > 50) element("p", `and ${head.violations.length - 50} more`, $("violations"));
  head.violations.slice(0, 50).reverse().forEach(v => {
    const at = v.transfer >= 0 && v.transfer < d.n, b = element("button", `${v.code}: ${v.where}: ${v.message}` + (at ? ` (transfer ${v.transfer})` : ""));
    $("violations").prepend(b);
    if (at) b.addEventListener("click", () => goTo(d.place[v.transfer])); else b.disabled = true;
  });
  $("pathlist").addEventListener("toggle", () => {
    const list = $("pathlist").querySelector("ol");
    if (list.childElementCount) return;
    d.path.forEach((i, k) => {
      if (k > 500) return;
      const b = element("button", `transfer ${d.index[i]}: chunk ${d.chunk[i]}, ${d.src[i]} \u2192 ${d.dst[i]}, ${core.inWords(d.start[i], head.unit)}; ${reasons[d.because[k]]}`, element("li", "", list));
      b.addEventListener("click", () => goTo(i));
    });
    if (d.path.length > 501) element("li", `and ${d.path.length - 501} more`, list);
  });

  // The timeline with the pointer.
  const canvas = $("timeline");
  let drag = null;
  const point = e => { const b = e.currentTarget.getBoundingClientRect(); return [e.clientX - b.left, e.clientY - b.top]; };
  canvas.addEventListener("pointerdown", e => {
    const [x, y] = point(e);
    canvas.setPointerCapture(e.pointerId);
    drag = { x, y, ruler: y < timeline.ruler, moved: false };
    if (drag.ruler) { play(false); setTime(timeline.T(x)); }
  });
  canvas.addEventListener("pointermove", e => {
    const [x, y] = point(e);
    if (drag && drag.ruler) { setTime(timeline.T(x)); return; }
    if (drag) {
      drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > 3;
      if (drag.moved) {
        timeline.pan((drag.x - x) / (canvas.clientWidth - timeline.gutter));
        timeline.scroll(drag.y - y);
        drag.x = x; drag.y = y;
        tip(null);
        ask(ROWS);
      }
      return;
    }
    const f = timeline.find(x, y);
    tip(f && f.transfer >= 0 ? transferText(f.transfer) : f && f.link >= 0 ? linkText(f.link) : null, e);
  });
  canvas.addEventListener("pointerup", e => {
    const [x, y] = point(e), was = drag;
    drag = null;
    if (!was || was.moved || was.ruler) return;
    const f = timeline.find(x, y);
    if (f && f.transfer >= 0) { timeline.show(f.transfer); showTransfer(f.transfer); } else if (f && f.link >= 0) detail(`link ${f.link}`, linkText(f.link));
  });
  canvas.addEventListener("pointerleave", () => tip(null));
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    if (e.ctrlKey || e.metaKey || e.altKey) zoom(Math.exp(e.deltaY * 0.004), point(e)[0]);
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { timeline.pan((e.deltaX || e.deltaY) / 1000); ask(ROWS); }
    else { timeline.scroll(e.deltaY); ask(ROWS); }
  }, { passive: false });
  canvas.addEventListener("focus", () => ask(ROWS));
  canvas.addEventListener("blur", () => ask(ROWS));
  canvas.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = { ArrowLeft: () => timeline.pan(-0.1), ArrowRight: () => timeline.pan(0.1), ArrowUp: () => timeline.moveRow(-1), ArrowDown: () => timeline.moveRow(1), PageUp: () => timeline.moveRow(-10), PageDown: () => timeline.moveRow(10),
      "+": () => timeline.zoom(0.5), "=": () => timeline.zoom(0.5), "-": () => timeline.zoom(2), 0: () => timeline.fit(), n: () => choose(1), p: () => choose(-1), Enter: () => { if (timeline.chosen() >= 0) goTo(timeline.chosen()); } }[e.key];
    if (!act) return;
    act();
    e.preventDefault();
    e.stopPropagation();
    if (e.key.startsWith("Arrow") && timeline.chosen() < 0 && timeline.rowsShown()) detail(timeline.label(), timeline.mode() === "links" ? linkText(timeline.row()) : []);
    ask(ROWS);
  });
  function choose(by) {
    const i = timeline.step(by);
    if (i >= 0) { timeline.show(i); showTransfer(i); }
  }

  // The network and the matrix.
  function chooseRank(r) {
    followed = { rank: r };
    network.choose(r);
    ask(TIME);
  }
  $("network").addEventListener("pointermove", e => {
    const f = network.find(...point(e));
    tip(!f ? null : f.link !== undefined ? linkText(f.link) : f.node < d.ranks ? rankText(f.node).slice(0, 12) : [name(f.node)], e);
  });
  $("network").addEventListener("pointerleave", () => tip(null));
  $("network").addEventListener("click", e => {
    const f = network.find(...point(e));
    if (f && f.node < d.ranks) chooseRank(f.node); else if (f && f.link >= 0) { followed = null; detail(`link ${f.link}`, linkText(f.link)); }
  });
  $("network").addEventListener("keydown", e => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[e.key];
    if (!by) return;
    e.preventDefault();
    chooseRank(network.chosen() < 0 ? (by > 0 ? 0 : d.ranks - 1) : (network.chosen() + by + d.ranks) % d.ranks);
  });
  $("held").addEventListener("keydown", e => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -d.chunks], End: [0, d.chunks] }[e.key];
    if (!by || !d.chunks) return;
    e.preventDefault();
    chooseSlot(held.move(...by));
  });
  function chooseSlot(f) {
    held.choose(f);
    followed = { rank: f.rank, chunk: f.chunk };
    ask(TIME);
  }
  $("held").addEventListener("pointermove", e => { const f = held.find(...point(e)); tip(rankText(f.rank, f.chunk), e); });
  $("held").addEventListener("pointerleave", () => tip(null));
  $("held").addEventListener("click", e => chooseSlot(held.find(...point(e))));

  // Keys that work everywhere but where text is written.
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input[type=text], select")) return;
    const act = { ",": () => event(-1), ".": () => event(1), t: () => $("time").focus(), l: () => rowsAre("links"), r: () => rowsAre("ranks"), c: () => pathIs(!$("path").checked), d: () => $("theme").click(),
      " ": () => play(!playing), x: () => { const at = head.violations.filter(v => v.transfer >= 0 && v.transfer < d.n); if (at.length) { violation = (violation + 1) % at.length; goTo(d.place[at[violation].transfer]); } } }[e.key];
    if (!act || e.key === " " && e.target.matches("button, summary, input[type=checkbox]")) return;
    e.preventDefault();
    act();
  });

  // What ranks hold is counted after the first picture, some chunks at a time.
  function count() {
    const c = core.counter(d), began = performance.now();
    const go = () => {
      const until = performance.now() + 25;
      let done = false;
      while (!done && performance.now() < until) done = c.step(4);
      if (!done) {
        $("counting").textContent = `(counting, ${Math.round(100 * c.next / d.chunks)}%)`;
        setTimeout(go);
        return;
      }
      counts.carried = c.carried; counts.before = c.before; counts.after = c.after;
      const at = time;
      cursor.seek(-1);
      counts.ready = true;
      cursor.seek(at);
      $("counting").textContent = held.small ? "" : "(too large to draw; choose a rank)";
      state.counted = true;
      state.counting = performance.now() - began;
      ask(TIME);
    };
    setTimeout(go);
  }
  Object.assign(state, { data: d, head, timeline, cursor, held, network, setTime, time: () => time, goTo, middle: i => timeline.middle(d.place[i]) });
  state.ready = true;
  // Sums look alike until something is added: what has sums opens at the transfer in the middle.
  if (!marked.length && d.op.some(op => op)) { const i = d.n >> 1; setTime((d.start[i] + d.end[i]) / 2); }
  if (marked.length) { timeline.setMode("links"); const i = marked[0]; setTime((d.start[i] + d.end[i]) / 2); timeline.show(i); timeline.fit(); showTransfer(i); }
  ask(SIZE);
  count();
})();
