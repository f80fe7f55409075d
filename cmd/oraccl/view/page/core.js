// What the page knows of a schedule: reads the columns that pack.go writes, and executes
// the transfers. It draws nothing, and runs outside a browser as well.
"use strict";
const core = (() => {
  // bytesOf decodes base64.
  function bytesOf(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const s = atob(text), b = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
    return b;
  }

  // decode returns the columns of a schedule, transfers by when they start.
  function decode(head, bytes) {
    let at = 0;
    const next = () => {
      let v = 0, m = 1, b;
      do {
        if (at >= bytes.length) throw new Error("the data of the page ends early");
        b = bytes[at++];
        v += (b & 127) * m;
        m *= 128;
      } while (b > 127);
      return v;
    };
    const nodes = head.ranks + head.switches.length, L = head.links, C = head.chunks, n = head.transfers;
    const d = { n, nodes, ranks: head.ranks, links: L, chunks: C, horizon: head.horizon, custom: head.custom, idempotent: head.idempotent };
    d.x = new Float64Array(nodes); d.y = new Float64Array(nodes);
    for (let i = 0; i < nodes; i++) { d.x[i] = next() / 65535; d.y[i] = next() / 65535; }
    d.linkSrc = new Int32Array(L); d.linkDst = new Int32Array(L); d.alpha = new Float64Array(L); d.bandwidth = new Float64Array(L);
    for (let i = 0; i < L; i++) { d.linkSrc[i] = next(); d.linkDst[i] = next(); d.alpha[i] = next(); d.bandwidth[i] = next(); }
    d.values = [];
    for (let i = next(); i > 0; i--) {
      const v = [];
      let rank = 0;
      for (let k = next(); k > 0; k--) { rank += next(); v.push(rank, next()); }
      d.values.push(v);
    }
    d.patterns = [];
    for (let i = next(); i > 0; i--) {
      const runs = [];
      let rank = 0;
      for (let k = next(); k > 0; k--) {
        rank += next();
        const count = next();
        runs.push({ from: rank, count, value: next() });
        rank += count;
      }
      d.patterns.push(runs);
    }
    d.offset = new Float64Array(C); d.size = new Float64Array(C); d.pre = new Int32Array(C); d.goal = new Int32Array(C);
    for (let i = 0; i < C; i++) { d.offset[i] = next(); d.size[i] = next(); d.pre[i] = next(); d.goal[i] = next(); }
    const lasts = new Float64Array(next());
    for (let i = 0; i < lasts.length; i++) lasts[i] = next();
    const profiles = next();
    d.hopOff = new Int32Array(profiles + 1);
    const hops = [];
    for (let i = 0; i < profiles; i++) {
      for (let k = next(); k > 0; k--) hops.push(next(), next(), next());
      d.hopOff[i + 1] = hops.length / 3;
    }
    const H = hops.length / 3;
    d.hopLink = new Int32Array(H); d.hopFrom = new Float64Array(H); d.hopLen = new Float64Array(H);
    for (let i = 0; i < H; i++) { d.hopLink[i] = hops[3 * i]; d.hopFrom[i] = hops[3 * i + 1]; d.hopLen[i] = hops[3 * i + 2]; }
    d.start = new Float64Array(n); d.end = new Float64Array(n); d.chunk = new Int32Array(n);
    d.src = new Int32Array(n); d.dst = new Int32Array(n); d.profile = new Int32Array(n); d.op = new Uint8Array(n);
    d.longest = 0;
    let time = 0;
    for (let i = 0; i < n; i++) {
      time += next();
      const lasting = lasts[next()];
      d.start[i] = time; d.end[i] = time + lasting;
      d.longest = Math.max(d.longest, lasting);
      d.chunk[i] = next(); d.src[i] = next(); d.dst[i] = next();
      const v = next();
      d.profile[i] = Math.floor(v / 2); d.op[i] = v % 2;
    }
    d.index = new Uint32Array(n); // of each in the file
    if (next() === 1) for (let i = 0; i < n; i++) d.index[i] = next();
    else for (let i = 0; i < n; i++) d.index[i] = i;
    d.streams = []; // what switches take for one: 1 + the index of that of each transfer is in d.stream
    d.stream = new Int32Array(n);
    const S = next();
    for (let i = 0; i < S; i++) d.streams.push({ link: next() - 1, from: next(), until: next(), members: [] });
    for (const s of d.streams) s.until += s.from;
    if (S) for (let i = 0; i < n; i++) { d.stream[i] = next(); if (d.stream[i]) d.streams[d.stream[i] - 1].members.push(i); }
    const P = next();
    d.path = new Int32Array(P); d.because = new Uint8Array(P);
    for (let i = 0; i < P; i++) { d.path[i] = next(); d.because[i] = next(); }
    if (at !== bytes.length) throw new Error("the data of the page does not end where it should");
    d.place = new Uint32Array(n);
    for (let i = 0; i < n; i++) d.place[d.index[i]] = i;
    d.onPath = new Uint8Array(n);
    for (const i of d.path) d.onPath[i] = 1;
    d.byEnd = sorted(d.end);
    return d;
  }

  // sorted returns the indices of whole numbers below 2^53 in ascending order; equal ones
  // keep theirs. Radix sort, 16 bits at a time.
  function sorted(keys) {
    const n = keys.length;
    let a = new Uint32Array(n), b = new Uint32Array(n), top = 0;
    for (let i = 0; i < n; i++) { a[i] = i; top = Math.max(top, keys[i]); }
    const count = new Uint32Array(65537);
    for (let scale = 1; scale <= top; scale *= 65536) {
      count.fill(0);
      for (let i = 0; i < n; i++) count[Math.floor(keys[i] / scale) % 65536 + 1]++;
      for (let i = 1; i <= 65536; i++) count[i] += count[i - 1];
      for (let i = 0; i < n; i++) b[count[Math.floor(keys[a[i]] / scale) % 65536]++] = a[i];
      [a, b] = [b, a];
    }
    return a;
  }

  // grouped returns lists of items by group, as offsets and a flat array, in the order of
  // items.
  function grouped(items, groups, of) {
    const off = new Uint32Array(groups + 1), flat = new Uint32Array(items.length);
    for (let i = 0; i < items.length; i++) off[of[items[i]] + 1]++;
    for (let g = 0; g < groups; g++) off[g + 1] += off[g];
    const to = off.slice();
    for (let i = 0; i < items.length; i++) flat[to[of[items[i]]]++] = items[i];
    return { off, flat };
  }

  // lower returns the first index from lo to hi at which a(index) >= v.
  function lower(a, lo, hi, v) {
    while (lo < hi) {
      const m = (lo + hi) >>> 1;
      if (a(m) < v) lo = m + 1; else hi = m;
    }
    return lo;
  }

  // chunkEvents prepares the ways through the transfers of one chunk.
  function chunkEvents(d) {
    if (!d.events) {
      const all = new Uint32Array(d.n);
      for (let i = 0; i < d.n; i++) all[i] = i;
      d.events = { starts: grouped(all, d.chunks, d.chunk), ends: grouped(d.byEnd, d.chunks, d.chunk) };
    }
    return d.events;
  }

  // walk executes the transfers of a chunk up to and with time t: first what ends at an
  // instant is written, then what starts at it reads. begin(i) and finish(i) are called in
  // that order; a transfer that takes no time ends after what reads at its instant.
  function walk(d, chunk, t, begin, finish) {
    const { starts, ends } = chunkEvents(d);
    let s = starts.off[chunk], e = ends.off[chunk];
    const S = starts.off[chunk + 1], E = ends.off[chunk + 1];
    while (s < S || e < E) {
      const i = s < S ? starts.flat[s] : -1, j = e < E ? ends.flat[e] : -1;
      const at = i < 0 ? Infinity : d.start[i], to = j < 0 ? Infinity : d.end[j];
      const instant = Math.min(at, to);
      if (instant > t) return;
      if (to <= at && d.start[j] < to) { finish(j); e++; continue; }
      if (at === instant) { begin(i); s++; continue; }
      finish(j); e++;
    }
  }

  // holdings returns what each rank holds of a chunk at time t: for each rank null, which is
  // undefined, or how often each rank's contribution is in it. reading is called with the
  // value that a transfer takes, when it starts.
  function holdings(d, chunk, t, reading) { return replay(d, chunk, t, { begin: reading }); }

  // replay executes the transfers of a chunk up to and with time t on vectors. It calls
  // begin with what is read, and before and after each write, where those are given. What
  // was undefined when it was read changes nothing, and nothing is added to what is undefined.
  function replay(d, chunk, t, on) {
    const held = vectors(d, d.pre[chunk]), moving = new Map();
    walk(d, chunk, t, i => {
      const v = held[d.src[i]];
      moving.set(i, v && v.slice());
      if (on.begin) on.begin(i, v);
    }, i => {
      const v = moving.get(i);
      moving.delete(i);
      if (on.before) on.before(i, held);
      if (v && d.op[i] === 0) held[d.dst[i]] = v;
      else if (v && held[d.dst[i]]) for (let r = 0, w = held[d.dst[i]]; r < d.ranks; r++) w[r] += v[r];
      if (on.after) on.after(i, held);
    });
    return held;
  }

  function terms(d, value, each) {
    const v = d.values[value - 1];
    for (let k = 0; k < v.length; k += 2) each(v[k], v[k + 1]);
  }

  // wanted returns for each rank how many contributions it must hold of a chunk at the end,
  // or -1 where that does not matter.
  function wanted(d, chunk) {
    d.wanted ||= new Map();
    let w = d.wanted.get(d.goal[chunk]);
    if (!w) {
      w = new Int32Array(d.ranks).fill(-1);
      for (const run of d.patterns[d.goal[chunk]]) {
        let n = 0;
        if (run.value === 0) n = 1; else terms(d, run.value, (_, count) => { n += d.custom && !d.idempotent ? count : 1; });
        w.fill(n, run.from, run.from + run.count);
      }
      d.wanted.set(d.goal[chunk], w);
    }
    return w;
  }

  // vectors returns what a pattern says that each rank holds: null, or how often each
  // rank's contribution is in it.
  function vectors(d, pattern) {
    const held = new Array(d.ranks).fill(null);
    for (const run of d.patterns[pattern])
      for (let r = run.from; r < run.from + run.count; r++) {
        held[r] = new Int32Array(d.ranks);
        if (run.value === 0) held[r][r] = 1;
        else terms(d, run.value, (rank, count) => { held[r][rank] = count; });
      }
    return held;
  }

  // measure returns how much of what a rank must hold it holds, with TWICE if it holds too
  // much, and -1 for undefined. Operators that are idempotent do not count how often.
  function measure(d, held, want) {
    if (!held) return -1;
    let n = 0, over = 0;
    for (let k = 0; k < d.ranks; k++) {
      let have = held[k], wanted = want ? want[k] : have;
      if (d.idempotent) { have = Math.min(have, 1); wanted = Math.min(wanted, 1); }
      n += want ? Math.min(have, wanted) : have > 0;
      if (have > wanted) over = TWICE;
    }
    return n | over;
  }

  // exactCounter is counter for collectives whose conditions may be any multisets.
  function exactCounter(d) {
    const n = d.n, c = { carried: new Int32Array(n).fill(-1), before: new Int32Array(n).fill(-1), after: new Int32Array(n).fill(-1), next: 0 };
    c.step = chunks => {
      for (; chunks > 0 && c.next < d.chunks; chunks--) {
        const q = c.next++, want = vectors(d, d.goal[q]);
        replay(d, q, Infinity, {
          begin: (i, v) => { c.carried[i] = measure(d, v, null); },
          before: (i, held) => { c.before[i] = measure(d, held[d.dst[i]], want[d.dst[i]]); },
          after: (i, held) => { c.after[i] = measure(d, held[d.dst[i]], want[d.dst[i]]); },
        });
      }
      return c.next >= d.chunks;
    };
    return c;
  }

  // counter finds how many contributions each transfer carries, and how many its destination
  // holds before and after: -1 for undefined, and with the 30th bit set where some is held
  // more than once. step(chunks) goes on for that many chunks, and reports whether it is done.
  const TWICE = 1 << 29;
  function counter(d) {
    if (d.custom) return exactCounter(d);
    const W = (d.ranks + 31) >>> 5, n = d.n;
    const c = { carried: new Int32Array(n).fill(-1), before: new Int32Array(n).fill(-1), after: new Int32Array(n).fill(-1), initial: new Map(), next: 0 };
    const bits = new Uint32Array(d.ranks * W), known = new Uint8Array(d.ranks), twice = new Uint8Array(d.ranks);
    let pool = new Uint32Array(64 * W), free = [];
    for (let i = 63; i >= 0; i--) free.push(i);
    const slotOf = new Map();
    const size = (a, o) => {
      let s = 0;
      for (let k = 0; k < W; k++) {
        let v = a[o + k];
        v -= (v >>> 1) & 0x55555555;
        v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
        s += (((v + (v >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
      }
      return s;
    };
    const state = r => known[r] ? size(bits, r * W) | (twice[r] ? TWICE : 0) : -1;
    function chunk(q) {
      known.fill(0); twice.fill(0);
      for (const run of d.patterns[d.pre[q]])
        for (let r = run.from; r < run.from + run.count; r++) {
          bits.fill(0, r * W, r * W + W);
          known[r] = 1;
          if (run.value === 0) bits[r * W + (r >>> 5)] |= 1 << (r & 31);
          else terms(d, run.value, (k, count) => { bits[r * W + (k >>> 5)] |= 1 << (k & 31); if (count > 1) twice[r] = 1; });
        }
      walk(d, q, Infinity, i => {
        const r = d.src[i];
        c.carried[i] = state(r);
        if (!known[r]) return;
        if (!free.length) {
          const have = pool.length / W, bigger = new Uint32Array(2 * pool.length);
          bigger.set(pool);
          pool = bigger;
          for (let k = 2 * have - 1; k >= have; k--) free.push(k);
        }
        const s = free.pop();
        slotOf.set(i, 2 * s + twice[r]);
        for (let k = 0; k < W; k++) pool[s * W + k] = bits[r * W + k];
      }, i => {
        const r = d.dst[i], v = slotOf.get(i);
        c.before[i] = state(r);
        if (v !== undefined) {
          const s = v >>> 1;
          if (d.op[i] === 0) {
            known[r] = 1;
            for (let k = 0; k < W; k++) bits[r * W + k] = pool[s * W + k];
            twice[r] = v & 1;
          } else if (known[r]) {
            let both = 0;
            for (let k = 0; k < W; k++) { both |= bits[r * W + k] & pool[s * W + k]; bits[r * W + k] |= pool[s * W + k]; }
            if (!d.idempotent && (both || v & 1)) twice[r] = 1;
          }
          slotOf.delete(i);
          free.push(s);
        }
        c.after[i] = state(r);
      });
    }
    c.step = chunks => {
      for (; chunks > 0 && c.next < d.chunks; chunks--) chunk(c.next++);
      return c.next >= d.chunks;
    };
    return c;
  }

  // cursor keeps what is under way at a time, and calls back for what changes when it moves:
  // writes that happen or are taken back, and transfers that set out or are not under way
  // any more. Moving costs what lies between.
  function cursor(d, on) {
    const c = { time: -1, begun: 0, ended: 0, active: new Uint32Array(d.n), count: 0 };
    const place = new Int32Array(d.n).fill(-1);
    const add = i => { if (place[i] < 0) { place[i] = c.count; c.active[c.count++] = i; on.active(i, 1); } };
    const drop = i => {
      const p = place[i];
      if (p < 0) return;
      const last = c.active[--c.count];
      c.active[p] = last; place[last] = p; place[i] = -1;
      on.active(i, -1);
    };
    c.seek = t => {
      if (t >= c.time) {
        while (c.begun < d.n && d.start[c.begun] <= t) { const i = c.begun++; if (d.end[i] > t) add(i); }
        while (c.ended < d.n && d.end[d.byEnd[c.ended]] <= t) { const i = d.byEnd[c.ended++]; drop(i); on.write(i, true); }
      } else {
        while (c.ended > 0 && d.end[d.byEnd[c.ended - 1]] > t) { const i = d.byEnd[--c.ended]; on.write(i, false); if (d.start[i] <= t) add(i); }
        while (c.begun > 0 && d.start[c.begun - 1] > t) drop(--c.begun);
      }
      c.time = t;
    };
    return c;
  }

  // laned adds to rows in how many lanes each is drawn, and in which each entry, so that
  // what is under way at one time is side by side: on a link that is wrong, or multicast; at
  // a rank it has several links. The last of many lanes takes what is left.
  const LANES = 12;
  function laned(rows) {
    const count = rows.off.length - 1;
    rows.lane = new Uint8Array(rows.transfer.length); rows.lanes = new Uint8Array(count).fill(1); rows.most = 1;
    const until = new Float64Array(LANES);
    for (let r = 0; r < count; r++) {
      until.fill(-1);
      for (let k = rows.off[r]; k < rows.off[r + 1]; k++) {
        let l = 0;
        while (l < LANES - 1 && until[l] > rows.from[k]) l++;
        until[l] = Math.max(until[l], rows.until[k]);
        rows.lane[k] = l;
        if (l >= rows.lanes[r]) rows.lanes[r] = l + 1;
      }
      rows.most = Math.max(rows.most, rows.lanes[r]);
    }
    return rows;
  }

  // linkRows returns, for each link, when it is busy, in order: the first of the transfers that pass it
  // then, of which there are several where they are a stream. rankRows does so for what each rank
  // sends (row 2r) and receives.
  function linkRows(d) {
    return rowsOf(d, d.links, use => {
      for (let i = 0; i < d.n; i++) for (let h = d.hopOff[d.profile[i]]; h < d.hopOff[d.profile[i] + 1]; h++)
        use(d.hopLink[h], i, d.start[i] + d.hopFrom[h], d.start[i] + d.hopFrom[h] + d.hopLen[h]);
      for (const s of d.streams) if (s.link >= 0) use(s.link, s.members[0], s.from, s.until);
    });
  }
  function rankRows(d) {
    return rowsOf(d, 2 * d.ranks, use => {
      for (let i = 0; i < d.n; i++) { use(2 * d.src[i], i, d.start[i], d.end[i]); use(2 * d.dst[i] + 1, i, d.start[i], d.end[i]); }
    });
  }

  // rowsOf puts what each calls use with, (row, transfer, from, until), into rows. Uses of a stream in
  // one row are one, from the first to the last instant; merged has them by row and stream.
  function rowsOf(d, rows, each) {
    const off = new Uint32Array(rows + 1), S = d.streams.length + 1, merged = new Map();
    const alone = use => each((row, i, from, until) => {
      const s = d.stream[i];
      if (!s) { use(row, i, from, until); return; }
      const m = merged.get(row * S + s);
      if (!m) merged.set(row * S + s, { row, i, from, until, done: false });
      else if (!m.done) { m.from = Math.min(m.from, from); m.until = Math.max(m.until, until); }
    });
    alone(row => { off[row + 1]++; });
    for (const m of merged.values()) { m.done = true; off[m.row + 1]++; }
    for (let r = 0; r < rows; r++) off[r + 1] += off[r];
    const total = off[rows], to = off.slice(), transfer = new Uint32Array(total), from = new Float64Array(total), until = new Float64Array(total);
    const put = (row, i, f, u) => {
      let k = to[row]++;
      for (; k > off[row] && from[k - 1] > f; k--) { transfer[k] = transfer[k - 1]; from[k] = from[k - 1]; until[k] = until[k - 1]; }
      transfer[k] = i; from[k] = f; until[k] = u;
    };
    alone(put);
    for (const m of merged.values()) put(m.row, m.i, m.from, m.until);
    const busy = new Float64Array(rows), longest = new Float64Array(rows);
    for (let r = 0; r < rows; r++) {
      let end = 0;
      for (let k = off[r]; k < off[r + 1]; k++) {
        busy[r] += Math.max(0, until[k] - Math.max(end, from[k]));
        end = Math.max(end, until[k]);
        longest[r] = Math.max(longest[r], until[k] - from[k]);
      }
    }
    // place returns where the use of a transfer is in a row.
    const place = (row, i, start) => {
      const m = d.stream[i] && merged.get(row * S + d.stream[i]);
      let k = lower(n => from[n], off[row], off[row + 1], m ? m.from : start);
      while (transfer[k] !== (m ? m.i : i)) k++;
      return k;
    };
    return laned({ off, transfer, from, until, busy, longest, place });
  }

  // inWords writes a time exactly, as the command line does, and a size; setInWords writes
  // a multiset of contributions, such as {0-3, 5 (twice)}.
  function inWords(ps, unit) {
    if (unit === "step") return "step " + ps;
    if (ps === 0) return "0s";
    for (const [size, digits, name] of [[1e12, 12, "s"], [1e9, 9, "ms"], [1e6, 6, "us"], [1e3, 3, "ns"], [1, 0, "ps"]])
      if (ps >= size) {
        const rest = String(ps % size).padStart(digits, "0").replace(/0+$/, "");
        return Math.floor(ps / size) + (digits && rest ? "." + rest : "") + name;
      }
    return ps + "ps";
  }

  function bytesInWords(b) {
    for (const [size, name] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
      if (b && b % size === 0) return b / size + " " + name;
    return b + " B";
  }

  function setInWords(v) {
    if (!v) return "undefined";
    const parts = [];
    for (let r = 0; r < v.length; r++) {
      if (!v[r]) continue;
      let to = r;
      while (to + 1 < v.length && v[to + 1] === v[r]) to++;
      const times = v[r] === 1 ? "" : v[r] === 2 ? " (twice)" : ` (${v[r]} times)`;
      parts.push((to > r + 1 ? r + "-" + to : to > r ? r + ", " + to : r) + times);
      if (parts.length > 24) { parts.push("..."); break; }
      r = to;
    }
    return "{" + parts.join(", ") + "}";
  }

  // ends returns the sources and the destinations of a transfer or, where it is of a stream, of all that
  // is; named what is written on it: the chunk and, of several, from or to how many ranks.
  function ends(d, i) {
    const list = d.stream[i] ? d.streams[d.stream[i] - 1].members : [i], sorted = a => [...new Set(a)].sort((x, y) => x - y);
    return [sorted(list.map(k => d.src[k])), sorted(list.map(k => d.dst[k]))];
  }
  function named(d, i) {
    if (!d.stream[i]) return String(d.chunk[i]);
    const s = d.streams[d.stream[i] - 1];
    if (s.name) return s.name;
    const [from, to] = ends(d, i);
    return s.name = d.chunk[i] + (from.length > 1 ? " from " + from.length : "") + (to.length > 1 ? " to " + to.length : "");
  }

  // listInWords writes numbers, in ascending order, with the name of one: "rank 3", "ranks 0-3, 5".
  function listInWords(name, list) {
    const parts = [];
    for (let k = 0, to = 0; k < list.length; k = to + 1) {
      for (to = k; list[to + 1] === list[to] + 1;) to++;
      parts.push(to > k + 1 ? list[k] + "-" + list[to] : list.slice(k, to + 1).join(", "));
      if (parts.length > 24) { parts.push("..."); break; }
    }
    return name + (list.length > 1 ? "s " : " ") + parts.join(", ");
  }

  // clockOf is the axis of time: idle time is drawn short. place tells where a time is drawn, time
  // which time is drawn at a place, and length how long all is.
  function clockOf(head) {
    const breaks = [];
    let saved = 0;
    for (const [from, until, long] of head.idle) { breaks.push({ from, until, at: from - saved, to: from - saved + long }); saved += until - from - long; }
    function place(t) {
      let by = 0;
      for (const b of breaks) {
        if (t <= b.from) break;
        if (t < b.until) return b.at + (t - b.from) / (b.until - b.from) * (b.to - b.at);
        by = b.until - b.to;
      }
      return t - by;
    }
    function time(x) {
      let by = 0;
      for (const b of breaks) {
        if (x <= b.at) break;
        if (x < b.to) return b.from + (x - b.at) / (b.to - b.at) * (b.until - b.from);
        by = b.until - b.to;
      }
      return x + by;
    }
    return { breaks, place, time, length: Math.max(1, place(head.until)) };
  }

  // shortName is what pictures call a node: a rank by its number, a switch by its name, or as the
  // rest of the program calls it if it has none.
  function shortName(head, v) {
    if (v < head.ranks) return String(v);
    const name = head.switches[v - head.ranks], own = name.replace(/^switch /, "");
    return /^\d+$/.test(own) ? name : own;
  }

  return { clockOf, shortName, bytesOf, decode, sorted, lower, walk, holdings, vectors, measure, wanted, counter, cursor, linkRows, rankRows, ends, named, listInWords, inWords, bytesInWords, setInWords, TWICE };
})();
if (typeof module !== "undefined") module.exports = core;
