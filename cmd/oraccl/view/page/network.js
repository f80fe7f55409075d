// The network with what is under way, and what each rank holds, at the slider's time. What
// does not change with time is drawn once, below and above what does.
function networkOf(head, d, rows, colour, canvas, marked) {
  const base = document.createElement("canvas"), top = document.createElement("canvas"), active = new Int32Array(d.links);
  const pairs = new Map(); // links between the same nodes are drawn side by side
  const offset = new Float64Array(d.links);
  for (let l = 0; l < d.links; l++) {
    const key = d.linkSrc[l] * d.nodes + d.linkDst[l], k = pairs.get(key) || 0;
    pairs.set(key, k + 1);
    offset[l] = 3 + 4 * Math.min(k, 5);
  }
  let w = 0, h = 0, ratio = 1, chosen = -1, r = 2, plain = false, path = true;
  const onPath = new Set(); // links of the critical path
  for (const i of d.path) for (let hop = d.hopOff[d.profile[i]]; hop < d.hopOff[d.profile[i] + 1]; hop++) onPath.add(d.hopLink[hop]);
  // closes tells which links of a torus join the two ends of a row, in the numbering in which
  // the last dimension varies fastest.
  const closes = new Uint8Array(d.links);
  if (head.grid) for (let l = 0; l < d.links; l++) {
    let u = d.linkSrc[l], v = d.linkDst[l];
    for (const size of [...head.grid].reverse()) {
      if (size > 2 && Math.abs(u % size - v % size) === size - 1) closes[l] = 1;
      u = Math.floor(u / size); v = Math.floor(v / size);
    }
  }
  const x = new Float64Array(d.nodes), y = new Float64Array(d.nodes), bowX = new Float64Array(d.links), bowY = new Float64Array(d.links);

  const half = new Float64Array(d.nodes - d.ranks); // of the width of a switch
  const font = () => `${Math.max(8, Math.min(12, r))}px system-ui, sans-serif`;

  // radius is such that no two nodes overlap: below half of what is between the nearest two
  // of those in neighbouring cells.
  function radius() {
    const cell = Math.max(4, Math.min(40, Math.sqrt(w * h / d.nodes))), across = Math.ceil(w / cell) + 2, cells = new Map();
    for (let v = 0; v < d.nodes; v++) {
      const k = Math.floor(y[v] / cell) * across + Math.floor(x[v] / cell);
      if (cells.has(k)) cells.get(k).push(v); else cells.set(k, [v]);
    }
    let near = cell;
    for (const [k, list] of cells) for (const v of list) for (const by of [0, 1, across - 1, across, across + 1])
      for (const u of cells.get(k + by) || []) if (u !== v && (by || u > v)) near = Math.min(near, Math.hypot(x[u] - x[v], y[u] - y[v]));
    return Math.max(0.5, Math.min(13, 0.42 * near));
  }
  // place finds where nodes are and how links bow, so that the two ways are apart, and more
  // where they pass over other nodes, as those that close a torus.
  function place() {
    const margin = head.whole ? 22 : 16;
    let width = w - 2 * margin, height = h - 2 * margin;
    if (head.whole) { width = Math.min(width, height * head.aspect); height = Math.min(height, width / head.aspect); }
    for (let v = 0; v < d.nodes; v++) { x[v] = (w - width) / 2 + d.x[v] * width; y[v] = (h - height) / 2 + d.y[v] * height; }
    r = radius();
    for (let l = 0; l < d.links; l++) {
      const x0 = x[d.linkSrc[l]], y0 = y[d.linkSrc[l]], x1 = x[d.linkDst[l]], y1 = y[d.linkDst[l]];
      const far = Math.hypot(x1 - x0, y1 - y0) || 1;
      const bow = Math.min(offset[l] * 2, far / 3) + (head.layout === "grid" && !closes[l] || ["levels", "machines"].includes(head.layout) && Math.abs(y1 - y0) < 1 ? Math.max(0, far * 0.12 - 8) : 0);
      bowX[l] = (x0 + x1) / 2 - (y1 - y0) / far * bow;
      bowY[l] = (y0 + y1) / 2 + (x1 - x0) / far * bow;
    }
    // A switch is as wide as its name, where there is room.
    const g = top.getContext("2d");
    g.font = font();
    for (let v = d.ranks; v < d.nodes; v++) {
      let room = r;
      if (r >= 6 && d.nodes <= 600) {
        room = Math.min(x[v], w - x[v]) - 2;
        for (let u = 0; u < d.nodes; u++) if (u !== v && Math.abs(y[u] - y[v]) < 1.8 * r) room = Math.min(room, u < d.ranks ? Math.abs(x[u] - x[v]) - r - 2 : 0.47 * Math.abs(x[u] - x[v]));
      }
      half[v - d.ranks] = Math.max(r, Math.min(room, g.measureText(core.shortName(head, v)).width / 2 + 4));
    }
    plain = d.links > 1500 && r < 6; // there, what bows a little is straight
  }
  // end is where a link that closes a row leaves the picture, or enters it, beside a node.
  function end(from, to) {
    const far = Math.hypot(x[to] - x[from], y[to] - y[from]) || 1, out = Math.min(20, r + 9);
    return [x[from] - (x[to] - x[from]) / far * out, y[from] - (y[to] - y[from]) / far * out];
  }
  function stroke(g, l) {
    const u = d.linkSrc[l], v = d.linkDst[l];
    if (closes[l]) {
      g.moveTo(x[u], y[u]); g.lineTo(...end(u, v));
      g.moveTo(...end(v, u)); g.lineTo(x[v], y[v]);
      return;
    }
    g.moveTo(x[u], y[u]);
    if (plain && Math.abs(bowX[l] - (x[u] + x[v]) / 2) + Math.abs(bowY[l] - (y[u] + y[v]) / 2) < 12) g.lineTo(x[v], y[v]);
    else g.quadraticCurveTo(bowX[l], bowY[l], x[v], y[v]);
  }
  function at(l, f) {
    const e = 1 - f, u = d.linkSrc[l], v = d.linkDst[l];
    if (closes[l]) {
      const n = f < 0.5 ? u : v, [a, b] = end(n, f < 0.5 ? v : u), s = f < 0.5 ? 2 * f : 2 - 2 * f;
      return [x[n] + (a - x[n]) * s, y[n] + (b - y[n]) * s];
    }
    return [e * e * x[u] + 2 * e * f * bowX[l] + f * f * x[v], e * e * y[u] + 2 * e * f * bowY[l] + f * f * y[v]];
  }
  function shape(g, v, by) {
    if (v >= d.ranks) g.rect(x[v] - half[v - d.ranks] - by, y[v] - r * 0.7 - by, 2 * (half[v - d.ranks] + by), 1.4 * r + 2 * by);
    else { g.moveTo(x[v] + r + by, y[v]); g.arc(x[v], y[v], r + by, 0, 2 * Math.PI); }
  }
  function resize() {
    ratio = window.devicePixelRatio || 1;
    w = canvas.clientWidth; h = canvas.clientHeight;
    for (const c of [canvas, base, top]) { c.width = Math.max(1, Math.round(w * ratio)); c.height = Math.max(1, Math.round(h * ratio)); }
    place();
    let g = base.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.strokeStyle = colour("line"); g.fillStyle = colour("bg");
    for (const list of head.boxes) {
      let x0 = w, y0 = h, x1 = 0, y1 = 0;
      for (const v of list) { x0 = Math.min(x0, x[v]); x1 = Math.max(x1, x[v]); y0 = Math.min(y0, y[v]); y1 = Math.max(y1, y[v]); }
      const by = r + Math.max(1, Math.min(7, 0.4 * r));
      g.beginPath(); g.rect(x0 - by, y0 - by, x1 - x0 + 2 * by, y1 - y0 + 2 * by); g.fill(); g.stroke();
    }
    g.strokeStyle = colour("idle");
    g.globalAlpha = d.links > 4000 ? Math.max(0.05, 400 / d.links) : 0.8;
    g.beginPath();
    for (let l = 0, step = Math.max(1, Math.ceil(d.links / 60000)); l < d.links; l += step) stroke(g, l);
    g.stroke();
    if (path && onPath.size) {
      g.strokeStyle = colour("path"); g.globalAlpha = 0.22; g.lineWidth = plain ? 4 : 8;
      g.beginPath();
      for (const l of onPath) stroke(g, l);
      g.stroke();
    }
    g.globalAlpha = 1; g.lineWidth = 1;
    g = top.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = font();
    g.textAlign = "center"; g.textBaseline = "middle"; g.lineWidth = r < 4 ? 0.5 : 1;
    g.fillStyle = colour("bg"); g.strokeStyle = colour("dim");
    g.beginPath();
    for (let v = 0; v < d.nodes; v++) shape(g, v, 0);
    g.fill(); g.stroke();
    g.fillStyle = colour("fg");
    if (r >= 6) for (let v = 0; v < d.nodes; v++) g.fillText(core.shortName(head, v), x[v], y[v], 2 * (v < d.ranks ? r : half[v - d.ranks]) - 2);
  }
  // draw costs a path a colour, whatever is under way.
  function draw(cursor, complete) {
    const g = canvas.getContext("2d");
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.drawImage(base, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const shown = Math.min(cursor.count, 6000), byColour = new Map(), seen = new Uint8Array(d.links);
    for (let k = 0; k < shown; k++) {
      const i = cursor.active[k], c = d.chunk[i] % colour.chunks;
      let list = byColour.get(c);
      if (!list) byColour.set(c, list = []);
      list.push(i);
    }
    g.lineWidth = plain ? 1.5 : 2.5;
    for (const [c, list] of byColour) {
      g.strokeStyle = colour.chunk(c);
      g.beginPath();
      for (const i of list) for (let hop = d.hopOff[d.profile[i]]; hop < d.hopOff[d.profile[i] + 1]; hop++) {
        const l = d.hopLink[hop];
        if (!seen[l]) { seen[l] = 1; stroke(g, l); }
      }
      g.stroke();
    }
    const size = plain ? Math.max(1, Math.min(3, r)) : Math.max(1.5, Math.min(4, 0.5 * r));
    for (const [c, list] of byColour) {
      const reduced = [], drawn = new Set(); // of a stream there is one on a link
      g.fillStyle = colour.chunk(c);
      g.beginPath();
      for (const i of list) {
        const from = d.hopOff[d.profile[i]], hops = d.hopOff[d.profile[i] + 1] - from;
        if (!hops || d.end[i] <= d.start[i]) continue;
        const f = (cursor.time - d.start[i]) / (d.end[i] - d.start[i]) * hops, hop = Math.min(hops - 1, Math.floor(f));
        const p = at(d.hopLink[from + hop], f - hop);
        if (d.stream[i]) {
          const key = d.hopLink[from + hop] * (d.streams.length + 1) + d.stream[i];
          if (drawn.has(key)) continue;
          drawn.add(key);
        }
        if (plain) { g.rect(p[0] - size, p[1] - size, 2 * size, 2 * size); continue; }
        g.moveTo(p[0] + size, p[1]);
        g.arc(p[0], p[1], size, 0, 2 * Math.PI);
        if (d.op[i]) reduced.push(p);
      }
      g.fill();
      if (!reduced.length) continue;
      g.strokeStyle = colour("fg"); g.lineWidth = 1.2;
      g.beginPath();
      for (const p of reduced) { g.moveTo(p[0] + size, p[1]); g.arc(p[0], p[1], size, 0, 2 * Math.PI); }
      g.stroke();
    }
    g.strokeStyle = colour("bad"); g.lineWidth = 3; g.setLineDash([6, 4]);
    for (const i of marked) for (let hop = d.hopOff[d.profile[i]]; hop < d.hopOff[d.profile[i] + 1]; hop++) { g.beginPath(); stroke(g, d.hopLink[hop]); g.stroke(); }
    g.setLineDash([]);
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.drawImage(top, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (complete && r < 4) { // too small for an arc: it fills up
      g.fillStyle = colour("whole");
      g.beginPath();
      for (let v = 0; v < d.ranks; v++) { const c = complete(v); if (c > 0) g.rect(x[v] - r, y[v] + r - 2 * r * c, 2 * r, 2 * r * c); }
      g.fill();
    } else if (complete) {
      g.strokeStyle = colour("whole"); g.lineWidth = Math.min(3, r / 2);
      g.beginPath();
      for (let v = 0; v < d.ranks; v++) { const c = complete(v); if (c > 0) { g.moveTo(x[v], y[v] - r); g.arc(x[v], y[v], r, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * c); } }
      g.stroke();
    }
    if (chosen >= 0) { g.strokeStyle = colour("accent"); g.lineWidth = 3; g.beginPath(); shape(g, chosen, 3); g.stroke(); }
  }
  // find returns the node or the link at a point.
  function find(px, py) {
    let best = Math.max(6, r), node = -1, link = -1;
    for (let v = 0; v < d.nodes; v++) {
      const far = Math.hypot(x[v] - px, y[v] - py);
      if (far <= best) { best = far; node = v; }
    }
    if (node >= 0) return { node };
    best = 7;
    if (d.links <= 20000) for (let l = 0; l < d.links; l++) {
      for (let f = 0.1; f < 0.95; f += 0.1) {
        const p = at(l, f), far = Math.hypot(p[0] - px, p[1] - py);
        if (far < best) { best = far; link = l; }
      }
    }
    return link < 0 ? null : { link };
  }
  return { resize, draw, find, active, setPath: on => { path = on; }, choose: v => { chosen = v; }, chosen: () => chosen, where: v => [x[v], y[v]], radius: () => r };
}

// heldOf draws a matrix of ranks by chunks, once it is known what they hold.
function heldOf(d, colour, canvas, counts) {
  const cells = d.ranks * d.chunks, small = cells <= 1 << 24;
  const state = small ? new Int32Array(cells).fill(-1) : null, want = small ? new Int32Array(cells).fill(-1) : null;
  const done = new Int32Array(d.ranks), goals = new Int32Array(d.ranks), part = document.createElement("canvas");
  let picked = null;
  const good = (have, w) => have !== -1 && have === w;
  for (let c = 0; c < d.chunks && small; c++) {
    const w = core.wanted(d, c);
    for (let r = 0; r < d.ranks; r++) { want[r * d.chunks + c] = w[r]; if (w[r] >= 0) goals[r]++; }
    const pre = d.custom ? core.vectors(d, d.pre[c]) : null, goal = d.custom ? core.vectors(d, d.goal[c]) : null;
    for (const run of d.patterns[d.pre[c]]) for (let r = run.from; r < run.from + run.count; r++) {
      const n = d.custom ? core.measure(d, pre[r], goal[r]) : run.value ? d.values[run.value - 1].length / 2 : 1;
      state[r * d.chunks + c] = n;
      if (good(n, w[r])) done[r]++;
    }
  }
  function set(i, value) {
    if (!small) return;
    const r = d.dst[i], at = r * d.chunks + d.chunk[i];
    done[r] += good(value, want[at]) - good(state[at], want[at]);
    state[at] = value;
  }
  function draw() {
    const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const g = canvas.getContext("2d");
    g.clearRect(0, 0, canvas.width, canvas.height);
    const cols = Math.min(d.chunks, canvas.width), lines = Math.min(d.ranks, canvas.height);
    if (!small || !counts.ready || cols < 1 || lines < 1) return; // a window may have no room for it
    part.width = cols; part.height = lines;
    const p = part.getContext("2d"), image = p.createImageData(cols, lines), px = new Uint32Array(image.data.buffer);
    const some = colour.rgb("part"), whole = colour.rgb("whole"), bad = colour.rgb("bad"), idle = colour.rgb("idle");
    for (let y = 0; y < lines; y++) for (let x = 0; x < cols; x++) {
      const r = Math.floor(y * d.ranks / lines), c = Math.floor(x * d.chunks / cols), s = state[r * d.chunks + c], wanted = want[r * d.chunks + c];
      if (s < 0) continue;
      const rgb = s & core.TWICE || wanted >= 0 && s > wanted ? bad : wanted < 0 ? idle : s === wanted ? whole : some;
      const opaque = rgb === some ? 80 + Math.round(175 * s / Math.max(1, wanted)) : 255;
      px[y * cols + x] = rgb | opaque << 24;
    }
    p.putImageData(image, 0, 0);
    g.imageSmoothingEnabled = false;
    g.drawImage(part, 0, 0, canvas.width, canvas.height);
    if (picked) {
      const cw = canvas.width / d.chunks, ch = canvas.height / d.ranks;
      g.strokeStyle = colour("accent"); g.lineWidth = 3 * ratio;
      g.strokeRect(picked.chunk * cw, picked.rank * ch, Math.max(3, cw), Math.max(3, ch));
      g.lineWidth = ratio;
    }
    g.strokeStyle = colour("line");
    if (canvas.height / d.ranks > 6) for (let r = 1; r < d.ranks; r++) { g.beginPath(); const y = Math.round(r * canvas.height / d.ranks) + 0.5; g.moveTo(0, y); g.lineTo(canvas.width, y); g.stroke(); }
    if (canvas.width / d.chunks > 6) for (let c = 1; c < d.chunks; c++) { g.beginPath(); const x = Math.round(c * canvas.width / d.chunks) + 0.5; g.moveTo(x, 0); g.lineTo(x, canvas.height); g.stroke(); }
  }
  const find = (x, y) => ({ rank: Math.min(d.ranks - 1, Math.max(0, Math.floor(y / canvas.clientHeight * d.ranks))), chunk: Math.min(d.chunks - 1, Math.max(0, Math.floor(x / canvas.clientWidth * d.chunks))) });
  const within = (v, n) => Math.max(0, Math.min(n - 1, v));
  const move = (ranks, chunks) => picked ? { rank: within(picked.rank + ranks, d.ranks), chunk: within(picked.chunk + chunks, d.chunks) } : { rank: 0, chunk: 0 };
  return { set, draw, find, move, choose: f => { picked = f; }, small, complete: r => goals[r] ? done[r] / goals[r] : 0, done, goals };
}
