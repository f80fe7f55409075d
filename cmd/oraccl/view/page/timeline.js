// The timeline: a row a link, or two a rank (sends above receives). What is thinner than a
// pixel is merged, so that a frame costs the pixels and not the transfers.
function timelineOf(head, d, clock, linkRows, rankRows, colour, canvas, marked) {
  const ruler = head.arrivals.length ? 40 : 22; // where ranks arrive, a second line tells
  let gutter = 150, w = 0, h = 0, ratio = 1, mode = "links", top = 0, path = true, rowHeight = 18, cursorRow = 0, chosen = -1;
  const span = clock.length, whole = Math.max(1, head.horizon), view = { from: 0, to: span }; // places of the clock
  let order = [];

  const rows = () => mode === "links" ? linkRows : rankRows();
  const rowsOfMode = () => mode === "links" ? d.links : 2 * d.ranks;
  function arrangeRows(by) {
    const all = rows();
    order = [];
    for (let r = 0; r < rowsOfMode(); r++) if (mode === "ranks" || all.off[r + 1] > all.off[r]) order.push(r);
    if (by === "use") order.sort((a, b) => all.busy[b] - all.busy[a] || a - b);
    top = 0;
    cursorRow = 0;
  }
  const node = v => core.shortName(head, v);
  function label(r) {
    if (mode === "links") return `${node(d.linkSrc[r])} \u2192 ${node(d.linkDst[r])}`;
    return r % 2 ? `\u00a0\u00a0rank ${r >> 1} receives` : `rank ${r >> 1} sends`;
  }
  const X = t => gutter + (clock.place(t) - view.from) / (view.to - view.from) * (w - gutter);
  const P = x => view.from + (x - gutter) / (w - gutter) * (view.to - view.from);
  const T = x => clock.time(P(x));

  function resize() {
    ratio = window.devicePixelRatio || 1;
    w = canvas.clientWidth; h = canvas.clientHeight;
    const g = canvas.getContext("2d"), step = Math.max(1, Math.floor(order.length / 1000));
    g.font = "11px system-ui, sans-serif";
    let widest = 0;
    for (let k = 0; k < order.length; k += step) widest = Math.max(widest, g.measureText(label(order[k])).width);
    gutter = Math.round(Math.min(widest + 58, Math.max(110, 0.35 * w)));
    canvas.width = Math.max(1, w * ratio); canvas.height = Math.max(1, h * ratio);
  }
  // A row has the height of its text or of its lanes at least; where there are few rows, the
  // picture is as high as they are at most.
  const TALLEST = 34, least = () => Math.max(18, Math.min(44, 4 + 7 * rows().most));
  const tallest = () => ruler + order.length * Math.max(TALLEST, least()) + 4;
  function clampTop() { top = Math.max(0, Math.min(top, order.length * rowHeight - (h - ruler))); }

  function draw() {
    const g = canvas.getContext("2d"), all = rows();
    rowHeight = order.length * least() > h - ruler ? least() : Math.max(least(), Math.min(TALLEST, Math.floor((h - ruler) / Math.max(1, order.length))));
    clampTop();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const first = Math.floor(top / rowHeight), last = Math.min(order.length, Math.ceil((top + h - ruler) / rowHeight));
    for (let k = first; k < last; k++) {
      const r = order[k], y = ruler + k * rowHeight - top;
      if (k === cursorRow && document.activeElement === canvas) { g.fillStyle = colour("panel"); g.fillRect(0, y, w, rowHeight); }
      row(g, all, r, y + 2, rowHeight - 4);
      g.clearRect(0, y, gutter - 2, rowHeight);
      g.fillStyle = colour("line");
      g.fillRect(4, y + rowHeight - 4, gutter - 12, 2);
      g.fillStyle = colour("accent");
      g.fillRect(4, y + rowHeight - 4, (gutter - 12) * all.busy[r] / whole, 2);
      g.fillStyle = k === cursorRow ? colour("accent") : colour("fg");
      g.textAlign = "left";
      g.fillText(label(r), 4, y + rowHeight / 2 - 1, gutter - 48);
      g.textAlign = "right";
      g.fillStyle = colour("dim");
      g.fillText((100 * all.busy[r] / whole).toFixed(1) + "%", gutter - 8, y + rowHeight / 2 - 1);
    }
    breaks(g);
    ticks(g);
    arrivals(g);
    if (order.length * rowHeight > h - ruler) {
      g.fillStyle = colour("dim");
      const size = Math.max(12, (h - ruler) ** 2 / (order.length * rowHeight));
      g.fillRect(w - 4, ruler + top / (order.length * rowHeight) * (h - ruler), 3, size);
    }
  }
  // breaks marks where idle time is drawn short.
  function breaks(g) {
    for (const b of clock.breaks) {
      const x0 = Math.max(gutter, X(b.from)), x1 = Math.min(w, X(b.until));
      if (x1 <= x0) continue;
      g.fillStyle = colour("panel");
      g.fillRect(x0, ruler, x1 - x0, h - ruler);
      g.strokeStyle = colour("line");
      for (const x of [x0, x1]) {
        g.beginPath(); g.moveTo(x, ruler);
        for (let y = ruler, k = 0; y < h; y += 6, k++) g.lineTo(x + (k % 2 ? 2 : -2), y);
        g.stroke();
      }
      if (x1 - x0 < 12) continue;
      g.save();
      g.translate((x0 + x1) / 2, h - 8); g.rotate(-Math.PI / 2);
      g.fillStyle = colour("dim"); g.textAlign = "left";
      g.fillText("idle for " + core.inWords(b.until - b.from, head.unit), 0, 0);
      g.restore();
    }
  }
  // arrivals marks when late ranks arrive.
  function arrivals(g) {
    const marks = new Map();
    for (const a of head.arrivals) marks.set(a.at, (marks.get(a.at) || []).concat(a.rank));
    for (const [at, ranks] of marks) {
      const x = X(at);
      if (x < gutter || x > w) continue;
      g.strokeStyle = g.fillStyle = colour("odd");
      g.setLineDash([5, 4]);
      g.beginPath(); g.moveTo(x, 22); g.lineTo(x, h); g.stroke();
      g.setLineDash([]);
      const text = ranks.length === 1 ? `rank ${ranks[0]} arrives` : `${ranks.length} ranks arrive`, left = x + 8 + g.measureText(text).width > w;
      g.textAlign = left ? "right" : "left";
      g.fillText(text, x + (left ? -4 : 4), 31);
    }
  }
  function ticks(g) {
    g.clearRect(0, 0, w, ruler);
    g.fillStyle = colour("panel");
    g.fillRect(gutter, 0, w - gutter, ruler);
    const rough = (view.to - view.from) / Math.max(2, (w - gutter) / 110), ten = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
    const step = Math.max(1, [1, 2, 5, 10].find(m => m * ten >= rough) * ten);
    g.fillStyle = colour("dim");
    g.textAlign = "left";
    const end = clock.time(view.to);
    for (let t = Math.ceil(clock.time(view.from) / step) * step; t <= end; t += step) {
      const b = clock.breaks.find(b => t > b.from && t < b.until);
      if (b) { t = Math.ceil(b.until / step) * step - step; continue; }
      g.fillRect(X(t), 16, 1, 6);
      const next = clock.breaks.find(b => b.from >= t && X(b.from) < X(t) + 60);
      if (!next) g.fillText(core.inWords(t, head.unit), X(t) + 3, 11);
    }
  }
  // row draws one row. Where it has many more transfers in view than pixels, it goes from
  // pixel to pixel by bisection.
  function row(g, all, r, y, height) {
    const lo = all.off[r], hi = all.off[r + 1], from = i => all.from[i];
    let k = core.lower(from, lo, hi, clock.time(view.from) - all.longest[r]);
    const end = core.lower(from, k, hi, clock.time(view.to));
    const crowded = end - k > 3 * (w - gutter), pixel = (view.to - view.from) / (w - gutter);
    let painted = gutter;
    while (k < end) {
      const i = all.transfer[k], x0 = Math.max(gutter, X(all.from[k])), x1 = Math.min(w, X(all.until[k]));
      if (x1 - x0 < 1.2) {
        if (x1 >= painted) {
          const x = Math.max(painted, Math.floor(x0));
          g.fillStyle = colour("dense");
          g.fillRect(x, y, Math.max(1, Math.ceil(x1) - x), height);
          painted = Math.max(painted, Math.ceil(x1));
        }
        if (crowded) { k = Math.max(k + 1, core.lower(from, k, end, T(painted) - pixel)); continue; }
      } else if (x1 > gutter) {
        const tall = height / all.lanes[r], at = y + all.lane[k] * tall, gap = tall > 4 && all.lanes[r] > 1 ? 1 : 0;
        g.fillStyle = colour.chunk(d.chunk[i]);
        g.fillRect(x0, at, x1 - x0 - (x1 - x0 > 3 ? 1 : 0), tall - gap);
        if (d.op[i]) { g.fillStyle = colour("fg"); g.fillRect(x0, at, x1 - x0 - 1, Math.min(2, tall / 3)); }
        if (x1 - x0 > 26 && tall > 9) {
          const name = core.named(d, i);
          g.fillStyle = colour.onChunk(d.chunk[i]);
          g.textAlign = "left";
          g.fillText(6 * name.length < x1 - x0 - 4 ? name : d.chunk[i], x0 + 3, at + tall / 2, x1 - x0 - 4);
        }
      }
      k++;
    }
    if (path) for (const i of shownOnPath(r)) outline(g, i, r, y, height, colour("path"), 2);
    if (chosen >= 0 && inRow(chosen, r)) outline(g, chosen, r, y - 1, height + 2, colour("accent"), 5);
    for (const i of marked) if (inRow(i, r)) { hatch(g, i, r, y, height); outline(g, i, r, y, height, colour("bad"), 3); }
  }
  // extent is where a transfer is drawn in a row: from, to, and which part of its height.
  function extent(i, r, y, height) {
    let from = d.start[i];
    if (mode === "links") for (let k = d.hopOff[d.profile[i]]; k < d.hopOff[d.profile[i] + 1]; k++)
      if (d.hopLink[k] === r) { from += d.hopFrom[k]; break; }
    const all = rows(), k = all.place(r, i, from), tall = height / all.lanes[r];
    return [Math.max(gutter, X(all.from[k])), Math.min(w, X(all.until[k])), y + all.lane[k] * tall, tall];
  }
  // hatch strikes a transfer through, so that a mark does not depend on colours alone.
  function hatch(g, i, r, y, height) {
    const [x0, x1, at, tall] = extent(i, r, y, height);
    if (x1 < gutter || x0 > w) return;
    g.save();
    g.beginPath(); g.rect(x0, at, Math.max(2, x1 - x0), tall); g.clip();
    g.strokeStyle = colour("bad"); g.lineWidth = 2;
    g.beginPath();
    for (let x = x0 - height; x < x1; x += 8) { g.moveTo(x, y + height); g.lineTo(x + height, y); }
    g.stroke();
    g.restore();
  }
  const alone = r => rows().lanes[r] === 1;
  function outline(g, i, r, y, height, style, width) {
    const [x0, x1, at, tall] = extent(i, r, y, height);
    if (x1 < gutter || x0 > w) return;
    g.strokeStyle = style;
    g.lineWidth = x1 - x0 < 8 && style === colour("path") ? Math.min(width, 1) : width; // so that it does not cover what it is about
    g.strokeRect(x0 + 0.5, Math.round(at) - 0.5, Math.max(2, x1 - x0 - 2), Math.round(tall) + (alone(r) ? 1 : 0));
  }
  let byRow = null, byRowMode = "";
  function shownOnPath(r) {
    if (byRowMode !== mode) {
      byRowMode = mode;
      byRow = new Map();
      for (const i of d.path) for (const k of rowsOf(i)) { if (!byRow.has(k)) byRow.set(k, []); byRow.get(k).push(i); }
    }
    const list = byRow.get(r) || [];
    return list.length > 4000 ? list.slice(0, 4000) : list;
  }
  function rowsOf(i) {
    if (mode === "ranks") return [2 * d.src[i], 2 * d.dst[i] + 1];
    return Array.from(d.hopLink.subarray(d.hopOff[d.profile[i]], d.hopOff[d.profile[i] + 1]));
  }
  const inRow = (i, r) => rowsOf(i).includes(r);

  function zoom(factor, x) {
    const t = x === undefined ? (view.from + view.to) / 2 : P(x);
    let size = Math.min(span, Math.max(span < 20 ? 1 : 20, (view.to - view.from) * factor));
    const f = (t - view.from) / (view.to - view.from);
    view.from = Math.max(0, Math.min(t - f * size, span - size));
    view.to = view.from + size;
  }
  function pan(part) {
    const size = view.to - view.from;
    view.from = Math.max(0, Math.min(view.from + part * size, span - size));
    view.to = view.from + size;
  }
  // find returns the transfer at a point, or the row.
  function find(x, y) {
    const k = Math.floor((y - ruler + top) / rowHeight);
    if (y < ruler || k < 0 || k >= order.length) return null;
    const r = order[k], all = rows(), t = T(x), slack = 2 * (view.to - view.from) / (w - gutter);
    if (x < gutter) return { row: r, transfer: -1, link: mode === "links" ? r : -1 };
    const lane = Math.floor((y - ruler + top - k * rowHeight - 2) / (rowHeight - 4) * all.lanes[r]);
    let best = -1, near = slack;
    for (let q = core.lower(i => all.from[i], all.off[r], all.off[r + 1], t - all.longest[r] - slack), n = 0; q < all.off[r + 1] && all.from[q] <= t + slack && n < 20000; q++, n++) {
      const away = t < all.from[q] ? all.from[q] - t : t >= all.until[q] ? t - all.until[q] : 0;
      if (away < near || away === 0 && (best < 0 || all.lane[q] === lane)) { near = away; best = all.transfer[q]; }
      if (away === 0 && all.lane[q] === lane) break;
    }
    return { row: r, transfer: best, link: mode === "links" ? r : -1 };
  }
  // middle is where a transfer is drawn, in its first row.
  function middle(i) {
    const k = order.findIndex(r => inRow(i, r));
    const [x0, x1, at, tall] = extent(i, order[k], ruler + k * rowHeight - top + 2, rowHeight - 4);
    return [(x0 + x1) / 2, at + tall / 2];
  }
  // step chooses the next or the previous transfer in the row that the keys are on.
  function step(by) {
    const r = order[cursorRow], all = rows();
    if (r === undefined || all.off[r + 1] === all.off[r]) return -1;
    const list = all.transfer.subarray(all.off[r], all.off[r + 1]), now = chosen < 0 ? -1 : list.indexOf(chosen);
    const at = now >= 0 ? now + by : core.lower(i => all.from[i], all.off[r], all.off[r + 1], view.from) - all.off[r];
    chosen = list[Math.max(0, Math.min(list.length - 1, at))];
    return chosen;
  }
  // show brings a transfer into view, both ways.
  function show(i) {
    chosen = i;
    const k = order.findIndex(r => inRow(i, r));
    if (k >= 0) {
      cursorRow = k;
      if (k * rowHeight < top || (k + 1) * rowHeight > top + h - ruler) top = k * rowHeight - (h - ruler) / 2;
    }
    const size = view.to - view.from, start = clock.place(d.start[i]), end = clock.place(d.end[i]), long = end - start;
    if (start < view.from || end > view.to || long < size / 500) {
      const wide = Math.min(span, Math.max(20 * long, Math.min(size, 200 * long), 20));
      view.from = Math.max(0, Math.min(start - wide / 2, span - wide));
      view.to = view.from + wide;
    }
    clampTop();
  }
  function moveRow(by) {
    cursorRow = Math.max(0, Math.min(order.length - 1, cursorRow + by));
    chosen = -1;
    if (cursorRow * rowHeight < top) top = cursorRow * rowHeight;
    if ((cursorRow + 1) * rowHeight > top + h - ruler) top = (cursorRow + 1) * rowHeight - (h - ruler);
  }
  return {
    range: () => [clock.time(view.from), clock.time(view.to)],
    resize, draw, zoom, pan, find, middle, step, show, moveRow, arrangeRows, X, T, view, ruler, tallest,
    get gutter() { return gutter; },
    fit: () => { view.from = 0; view.to = span; },
    scroll: by => { top += by; clampTop(); },
    setMode: m => { mode = m; }, mode: () => mode,
    setPath: on => { path = on; },
    chosen: () => chosen, rowsShown: () => order.length, row: () => order[cursorRow], label: () => order.length ? label(order[cursorRow]) : "", top: () => top, rowHeight: () => rowHeight,
  };
}
