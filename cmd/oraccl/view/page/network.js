// The network with what is under way, and what each rank holds, at the slider's time.
function networkOf(head, d, rows, colour, canvas, marked) {
  const base = document.createElement("canvas"), active = new Int32Array(d.links);
  const pairs = new Map(); // links between the same nodes are drawn side by side
  const offset = new Float64Array(d.links);
  for (let l = 0; l < d.links; l++) {
    const key = d.linkSrc[l] * d.nodes + d.linkDst[l], k = pairs.get(key) || 0;
    pairs.set(key, k + 1);
    offset[l] = 3 + 4 * Math.min(k, 5);
  }
  let w = 0, h = 0, ratio = 1, chosen = -1;
  const X = v => 10 + d.x[v] * (w - 20), Y = v => 10 + d.y[v] * (h - 20);
  const radius = () => Math.max(2, Math.min(13, 0.35 * Math.sqrt(w * h / d.nodes)));

  // curve gives the middle of a link: links bow, so that the two ways are apart, and more
  // where they pass over other nodes, as those that close a torus.
  function curve(l) {
    const x0 = X(d.linkSrc[l]), y0 = Y(d.linkSrc[l]), x1 = X(d.linkDst[l]), y1 = Y(d.linkDst[l]);
    const far = Math.hypot(x1 - x0, y1 - y0) || 1;
    const bow = offset[l] * 2 + (head.layout === "grid" || head.layout === "levels" && Math.abs(y1 - y0) < 1 ? Math.max(0, far * 0.12 - 8) : 0);
    return [x0, y0, (x0 + x1) / 2 - (y1 - y0) / far * bow, (y0 + y1) / 2 + (x1 - x0) / far * bow, x1, y1];
  }
  function stroke(g, l) {
    const c = curve(l);
    g.moveTo(c[0], c[1]);
    g.quadraticCurveTo(c[2], c[3], c[4], c[5]);
  }
  function at(c, f) {
    const e = 1 - f;
    return [e * e * c[0] + 2 * e * f * c[2] + f * f * c[4], e * e * c[1] + 2 * e * f * c[3] + f * f * c[5]];
  }
  function resize() {
    ratio = window.devicePixelRatio || 1;
    w = canvas.clientWidth; h = canvas.clientHeight;
    for (const c of [canvas, base]) { c.width = Math.max(1, w * ratio); c.height = Math.max(1, h * ratio); }
    const g = base.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.strokeStyle = colour("idle");
    g.globalAlpha = d.links > 4000 ? Math.max(0.05, 400 / d.links) : 0.8;
    g.beginPath();
    for (let l = 0, step = Math.max(1, Math.ceil(d.links / 60000)); l < d.links; l += step) stroke(g, l);
    g.stroke();
  }
  function draw(cursor, complete) {
    const g = canvas.getContext("2d");
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.drawImage(base, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.lineWidth = 2.5;
    const shown = Math.min(cursor.count, 4000);
    const seen = new Set();
    for (let k = 0; k < shown; k++) {
      const i = cursor.active[k];
      g.strokeStyle = colour.chunk(d.chunk[i]);
      for (let hop = d.hopOff[d.profile[i]]; hop < d.hopOff[d.profile[i] + 1]; hop++) {
        const l = d.hopLink[hop];
        if (seen.has(l)) continue;
        seen.add(l);
        g.beginPath(); stroke(g, l); g.stroke();
      }
    }
    for (let k = 0; k < Math.min(shown, 1500); k++) {
      const i = cursor.active[k], from = d.hopOff[d.profile[i]], hops = d.hopOff[d.profile[i] + 1] - from;
      if (!hops || d.end[i] <= d.start[i]) continue;
      const f = (cursor.time - d.start[i]) / (d.end[i] - d.start[i]) * hops, hop = Math.min(hops - 1, Math.floor(f));
      const p = at(curve(d.hopLink[from + hop]), f - hop);
      g.fillStyle = colour.chunk(d.chunk[i]);
      g.beginPath();
      g.arc(p[0], p[1], 4, 0, 7);
      g.fill();
      if (d.op[i]) { g.strokeStyle = colour("fg"); g.lineWidth = 1.2; g.stroke(); }
    }
    g.strokeStyle = colour("bad"); g.lineWidth = 3; g.setLineDash([6, 4]);
    for (const i of marked) for (let hop = d.hopOff[d.profile[i]]; hop < d.hopOff[d.profile[i] + 1]; hop++) { g.beginPath(); stroke(g, d.hopLink[hop]); g.stroke(); }
    g.setLineDash([]);
    const r = radius();
    g.font = `${Math.max(8, Math.min(12, r))}px system-ui, sans-serif`;
    g.textAlign = "center"; g.textBaseline = "middle"; g.lineWidth = 1;
    for (let v = 0; v < d.nodes; v++) {
      const isSwitch = v >= d.ranks;
      g.beginPath();
      if (isSwitch) g.rect(X(v) - r, Y(v) - r * 0.7, 2 * r, 1.4 * r); else g.arc(X(v), Y(v), r, 0, 7);
      g.fillStyle = colour("bg"); g.fill();
      g.strokeStyle = v === chosen ? colour("accent") : colour("dim");
      g.lineWidth = v === chosen ? 3 : 1;
      g.stroke();
      if (!isSwitch && complete) {
        g.beginPath();
        g.arc(X(v), Y(v), r, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * complete(v));
        g.strokeStyle = colour("whole"); g.lineWidth = 3; g.stroke();
      }
      if (r >= 6) { g.fillStyle = colour("fg"); g.fillText(isSwitch ? "S" + (v - d.ranks) : v, X(v), Y(v)); }
    }
  }
  // find returns the node or the link at a point.
  function find(x, y) {
    const r = Math.max(6, radius());
    for (let v = 0; v < d.nodes; v++) if (Math.hypot(X(v) - x, Y(v) - y) <= r) return { node: v };
    let best = 7, link = -1;
    if (d.links <= 20000) for (let l = 0; l < d.links; l++) {
      const c = curve(l);
      for (let f = 0.1; f < 0.95; f += 0.1) {
        const p = at(c, f), far = Math.hypot(p[0] - x, p[1] - y);
        if (far < best) { best = far; link = l; }
      }
    }
    return link < 0 ? null : { link };
  }
  return { resize, draw, find, active, choose: v => { chosen = v; }, chosen: () => chosen, where: v => [X(v), Y(v)] };
}

// heldOf draws a matrix of ranks by chunks, once it is known what they hold.
function heldOf(d, colour, canvas, counts) {
  const cells = d.ranks * d.chunks, small = cells <= 1 << 24;
  const state = small ? new Int32Array(cells).fill(-1) : null, want = small ? new Int32Array(cells).fill(-1) : null;
  const done = new Int32Array(d.ranks), goals = new Int32Array(d.ranks), part = document.createElement("canvas");
  const good = (have, w) => have !== -1 && have === w;
  for (let c = 0; c < d.chunks && small; c++) {
    const w = core.wanted(d, c);
    for (let r = 0; r < d.ranks; r++) { want[r * d.chunks + c] = w[r]; if (w[r] >= 0) goals[r]++; }
    for (const run of d.patterns[d.pre[c]]) for (let r = run.from; r < run.from + run.count; r++) {
      let n = 1;
      if (run.value) {
        const v = d.values[run.value - 1];
        n = v.length / 2;
        for (let k = 1; k < v.length; k += 2) if (v[k] > 1) n |= core.TWICE;
      }
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
    if (!small || !counts.ready) return;
    const cols = Math.min(d.chunks, canvas.width), lines = Math.min(d.ranks, canvas.height);
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
    g.strokeStyle = colour("line");
    if (canvas.height / d.ranks > 6) for (let r = 1; r < d.ranks; r++) { g.beginPath(); const y = Math.round(r * canvas.height / d.ranks) + 0.5; g.moveTo(0, y); g.lineTo(canvas.width, y); g.stroke(); }
    if (canvas.width / d.chunks > 6) for (let c = 1; c < d.chunks; c++) { g.beginPath(); const x = Math.round(c * canvas.width / d.chunks) + 0.5; g.moveTo(x, 0); g.lineTo(x, canvas.height); g.stroke(); }
  }
  const find = (x, y) => ({ rank: Math.min(d.ranks - 1, Math.max(0, Math.floor(y / canvas.clientHeight * d.ranks))), chunk: Math.min(d.chunks - 1, Math.max(0, Math.floor(x / canvas.clientWidth * d.chunks))) });
  return { set, draw, find, small, complete: r => goals[r] ? done[r] / goals[r] : 0, done, goals };
}
