// The page of two pictures: a clock for both. Each is a page of its own in a frame without rights,
// which is told the time, and tells when its user chose another.
(() => {
  const $ = id => document.getElementById(id), head = JSON.parse($("head").textContent), clock = core.clockOf(head);
  const frames = [$("one"), $("two")], drawn = new Set();
  let time = head.opens, playing = false, last = 0;
  $("title").textContent = head.title;
  for (const text of head.lines) { const e = document.createElement("li"); e.textContent = text; $("lines").append(e); }
  const tell = (message, except) => { for (const f of frames) if (f.contentWindow !== except) f.contentWindow.postMessage(message, "*"); };
  function set(t, from) {
    time = Math.max(0, Math.min(head.until, t));
    $("now").textContent = core.inWords(Math.round(time), head.unit);
    $("time").value = String(Math.round(2000 * clock.place(time) / clock.length));
    tell({ time }, from);
  }
  function play(on) {
    playing = on;
    $("play").textContent = on ? "\u23f8" : "\u25b6";
    if (!on) return;
    if (time >= head.until) set(0);
    last = performance.now();
    requestAnimationFrame(frame);
  }
  function frame(at) {
    if (!playing) return;
    const passed = Math.max(0, Math.min(100, at - last));
    last = at;
    set(clock.time(clock.place(time) + clock.length / 12000 * passed * Number($("speed").value)));
    if (time >= head.until) play(false); else requestAnimationFrame(frame);
  }
  function theme(name) { document.documentElement.dataset.theme = name; tell({ theme: name }); }
  $("play").addEventListener("click", () => play(!playing));
  $("time").addEventListener("input", () => { play(false); set(clock.time(Number($("time").value) / 2000 * clock.length)); });
  $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  document.addEventListener("keydown", e => { if (e.key === " " && !e.target.matches("button, select, input")) { e.preventDefault(); play(!playing); } });
  addEventListener("message", e => {
    const k = frames.findIndex(f => f.contentWindow === e.source);
    if (k < 0) return;
    if (e.data === "drawn") {
      drawn.add(k);
      if (drawn.size === 2 && !document.documentElement.dataset.ready) { theme(document.documentElement.dataset.theme); set(time); document.documentElement.dataset.ready = "1"; }
    } else if (e.data && e.data.play) play(!playing);
    else if (e.data && Number.isFinite(e.data.time)) { play(false); set(e.data.time, e.source); }
  });
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  frames.forEach((f, k) => { f.title = head.names[k]; f.srcdoc = new TextDecoder().decode(core.bytesOf($(k ? "second" : "first").textContent.trim())); });
  window.oracclComparison = { time: () => time, set, play }; // for programs that drive the page
})();
