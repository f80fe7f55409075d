'use strict';
const $ = id => document.getElementById(id);
const site = JSON.parse($('data').textContent);
const LINE = 18;                    // pixels a line, as in page.css
const EDITABLE = 256 << 10;         // bytes up to which a text is edited in whole; of a larger one a window is shown
const MOST = 512 << 20;             // bytes of a file at most
const TAKEN = 10;                   // bytes of memory for each of a file, about
const HAD = 2 ** 32;                // bytes of memory that a page has for the program
const DRAWN = 2 << 20;              // bytes up to which a picture is drawn without being asked for
const LINKED = 16 << 10;            // characters of a link at most

function element(name, text, kind) {
	const e = document.createElement(name);
	if (text !== undefined) e.textContent = text;
	if (kind) e.className = kind;
	return e;
}

// --- the worker ----------------------------------------------------------------------------

const worker = { port: null, module: null, ready: null, job: null, next: 1 };

function startWorker() {
	const address = URL.createObjectURL(new Blob([site.worker], { type: 'text/javascript' }));
	const port = worker.port = new Worker(address);
	URL.revokeObjectURL(address);
	worker.ready = new Promise((done, failed) => {
		port.onmessage = ({ data: m }) => {
			if (port !== worker.port) return;
			if (m.module) { worker.module = m.module; done(); return; }
			if (m.broken) { failed(new Error('this page is damaged: ' + m.broken)); return; }
			const job = worker.job;
			if (!job || job.id !== m.id) return;
			if (m.said !== undefined) { job.said(m.said); return; }
			worker.job = null;
			job.done(m);
		};
		port.onerror = e => { failed(new Error(e.message)); if (worker.job) worker.job.failed(new Error(e.message)); };
	});
	worker.ready.catch(e => { $('status').textContent = String(e.message || e); });
	if (worker.module) port.postMessage({ module: worker.module });
	else port.postMessage({ packed: $('packed').textContent });
}

// stopWorker ends what runs; what it has found is lost.
function stopWorker() {
	if (!worker.job) return;
	const job = worker.job;
	worker.job = null;
	worker.port.terminate();
	startWorker();
	job.failed(new Error('stopped'));
}

// shortage returns how a command line said that it had too little memory, or '': the browser
// says so, or the Go runtime, which writes it to standard error and ends with status 2.
function shortage(m) {
	if (m.failed) return /memory|unreachable|allocation/i.test(m.failed) ? m.failed : '';
	const died = m.status === 2 && /^fatal error: .*\bmemory\b.*$/m.exec(m.err);
	return died ? died[0] : '';
}

// oraccl runs a command line of oraccl on files, each { name, data }, and returns
// { status, out, err, files }, files being those of want that it wrote. One line runs at a
// time: a new one ends the one before it.
async function oraccl(args, files = [], want = []) {
	stopWorker();
	const id = worker.next++, began = performance.now();
	const job = worker.job = { id };
	const answer = new Promise((done, failed) => { job.done = done; job.failed = failed; });
	let phase = 'starting';
	job.said = text => { phase = text.split('\n').pop().replace(/^oraccl: /, ''); };
	const show = () => { $('status').textContent = `${phase} … ${((performance.now() - began) / 1000).toFixed(1)} s`; $('stop').hidden = false; };
	const clock = setInterval(show, 200);
	try {
		await worker.ready;
		if (worker.job === job) worker.port.postMessage({ id, args, files, want });
		const m = await answer;
		const lack = shortage(m);
		if (lack) throw Object.assign(new Error(`it needs more memory than a page has (${lack}); the installed program has no such limit`), { limit: true });
		if (m.failed) throw new Error(m.failed);
		$('status').textContent = `${((performance.now() - began) / 1000).toFixed(2)} s`;
		return m;
	} catch (e) {
		if (worker.job === job || !worker.job) $('status').textContent = e.message;
		throw e;
	} finally {
		clearInterval(clock);
		if (worker.job === null) $('stop').hidden = true;
	}
}

// --- the text ------------------------------------------------------------------------------

// source is what is verified: a Blob, the others that were opened with it, and what is known of
// its lines. Of a text that is too large to be edited the window [from, from + shown) is shown.
const source = { blob: new Blob([]), others: [], marks: new Map(), starts: null, from: 0, edited: true, serial: 0 };

const readable = n => n < 10000 ? n + ' bytes' : n < 10 << 20 ? (n / 1024).toFixed(0) + ' KiB' : (n / 1048576).toFixed(0) + ' MiB';

// wanted says before a run how much of the memory of a page it takes, if that is much.
const wanted = bytes => TAKEN * bytes < 256 << 20 ? '' : `, takes about ${readable(TAKEN * bytes)} of memory` + (TAKEN * bytes > HAD ? ', which is more than a page has: the installed program has no such limit' : '');

function about() {
	$('about').textContent = source.blob.size === 0 ? '' : readable(source.blob.size) +
		(source.edited ? '' : ', shown in parts') + wanted(source.blob.size) + (source.others.length ? `, with ${source.others.length} other ${source.others.length > 1 ? 'files' : 'file'}` : '');
}

function cleanName(name) {
	return name.replace(/[^\p{L}\p{N}._+-]/gu, '_').replace(/^[.-]+/, '') || 'schedule';
}

// take makes a text, or a file, what is verified.
async function take(name, blob, others = []) {
	const serial = ++source.serial;
	if (blob.size > MOST) { forget(); $('status').textContent = `${name} has ${readable(blob.size)}: this page takes ${readable(MOST)} at most; the installed program has no such limit`; return false; }
	Object.assign(source, { blob, others, starts: null, from: 0, edited: blob.size <= EDITABLE });
	$('name').value = cleanName(name);
	forget();
	const head = new Uint8Array(await blob.slice(0, 4096).arrayBuffer());
	const binary = head.includes(0) || head[0] === 0x1f && head[1] === 0x8b || head.length >= 6 && String.fromCharCode(...head.subarray(0, 6)) === 'oraccl';
	if (binary) source.edited = false;
	if (serial !== source.serial) return false;
	$('text').blur(); // so that the verdict may bring its line into sight
	$('text').readOnly = !source.edited;
	if (source.edited) $('text').value = await blob.text();
	else if (binary) { $('text').value = ''; $('text').placeholder = 'a binary file'; source.starts = [0]; }
	else await lines(0);
	about();
	gutter();
	return serial === source.serial;
}

// STEP is of how many lines one start is kept.
const STEP = 256, WINDOW = 2048;

// index finds where each STEP-th line begins, in pieces, so that the page stays alive.
async function index() {
	if (source.starts) return;
	const serial = source.serial, starts = [0], piece = 1 << 20;
	let line = 0;
	for (let at = 0; at < source.blob.size; at += piece) {
		const b = new Uint8Array(await source.blob.slice(at, at + piece).arrayBuffer());
		if (serial !== source.serial) return;
		for (let i = b.indexOf(10); i >= 0; i = b.indexOf(10, i + 1)) if (++line % STEP === 0) starts.push(at + i + 1);
	}
	source.starts = starts;
}

// lines shows the part of a large text in which a line is, counted from 0.
async function lines(line) {
	const serial = source.serial;
	await index();
	if (serial !== source.serial || !source.starts) return;
	const block = Math.max(0, Math.min(source.starts.length - 1, Math.floor(line / STEP)) - 2);
	const from = source.starts[block], end = source.starts[block + WINDOW / STEP] || source.blob.size;
	const text = await source.blob.slice(from, Math.min(end, from + (1 << 20))).text();
	if (serial !== source.serial) return;
	source.from = block * STEP;
	$('text').value = text.split('\n').map(l => l.length > 2000 ? l.slice(0, 2000) + ' …' : l).join('\n');
}

// gutter draws the numbers of the lines that are in sight, with their marks.
function gutter() {
	const text = $('text'), g = $('gutter'), top = text.scrollTop, first = Math.max(0, Math.floor(top / LINE));
	const count = Math.ceil(text.clientHeight / LINE) + 1;
	const rows = [];
	let total = 0;
	for (let i = -1; (i = text.value.indexOf('\n', i + 1)) >= 0 && total < first + count;) total++;
	for (let i = first; i <= Math.min(total, first + count); i++) {
		const n = source.from + i + 1, mark = source.marks.get(n), row = element('div', n);
		row.style.top = i * LINE - top + 'px';
		if (mark) { row.className = mark.level; row.title = mark.text; row.onclick = () => mark.item.scrollIntoView({ block: 'nearest' }); }
		rows.push(row);
	}
	g.replaceChildren(...rows);
}

// show brings a line into sight, counted from 1, and selects it.
async function show(line) {
	if (!source.edited) await lines(line - 1);
	const text = $('text'), value = text.value;
	let from = 0;
	for (let i = source.from + 1; i < line && from >= 0; i++) from = value.indexOf('\n', from) + 1 || -1;
	if (from < 0) return;
	const end = value.indexOf('\n', from);
	text.scrollTop = Math.max(0, (line - source.from - 4) * LINE);
	text.setSelectionRange(from, end < 0 ? value.length : end);
	text.focus({ preventScroll: true });
	gutter();
}

// lineOfTransfer finds the line on which a transfer of a schedule of ours begins, or 0. It reads
// texts up to 64 MiB.
async function linesOfTransfers(wanted) {
	const found = new Map();
	if (wanted.size === 0 || source.blob.size > 64 << 20) return found;
	const text = await source.blob.text();
	let i = text.indexOf('"transfers"');
	i = i < 0 ? -1 : text.indexOf('[', i);
	if (i < 0) return found;
	const most = Math.max(...wanted);
	let line = 1;
	for (let k = text.indexOf('\n'); k >= 0 && k < i; k = text.indexOf('\n', k + 1)) line++;
	for (let depth = 0, n = 0, quoted = false; i < text.length && n <= most; i++) {
		const c = text.charCodeAt(i);
		if (c === 10) line++;
		else if (quoted) { if (c === 92) i++; else if (c === 34) quoted = false; } else if (c === 34) quoted = true;
		else if (c === 123 || c === 91) { if (c === 123 && depth === 1) { if (wanted.has(n)) found.set(n, line); n++; } depth++; } else if (c === 125 || c === 93) { if (--depth === 0) break; }
	}
	return found;
}

// --- verdicts ------------------------------------------------------------------------------

function forget() {
	source.marks.clear();
	$('verdict').hidden = true; $('raw').hidden = true; $('alone').hidden = true;
	$('findings').replaceChildren(); $('facts').replaceChildren(); $('frame').replaceChildren(); $('results').replaceChildren();
	for (const id of ['claim', 'summary', 'printed', 'drawn', 'converted']) $(id).textContent = '';
	gutter();
}

const given = {
	truth: [['topology', '--topology'], ['collective', '--collective'], ['size', '--size'], ['root', '--root'], ['chunks', '--chunks']],
	deployed: [['runtime', '--runtime'], ['inplace', '--inplace'], ['engine', '--engine']],
};

function flags(names) {
	const all = [];
	for (const [id, flag] of names) {
		let value = $(id).value.trim();
		if (value === '') continue;
		if (id === 'topology' && source.others.some(f => f.name === value)) value = '/in/' + value;
		all.push(flag + '=' + value);
	}
	return all;
}

const path = () => '/in/' + cleanName($('name').value);
const inputs = () => [{ name: path(), data: source.blob }, ...source.others.map(f => ({ name: '/in/' + f.name, data: f.data }))];

// commandLine is a line as one would type it.
const commandLine = args => 'oraccl ' + args.map(a => a.replaceAll('/in/', '')).map(a => /^[\w.,:=/+-]+$/.test(a) ? a : "'" + a.replaceAll("'", "'\\''") + "'").join(' ');

async function verify() {
	if (source.blob.size === 0) { $('status').textContent = 'there is nothing to verify yet'; return null; }
	forget();
	const serial = source.serial, args = source.others.dossier ? ['check', '/in', '--json'] : ['verify', path(), '--json', ...flags(given.truth), ...flags(given.deployed)];
	let m;
	try { m = await oraccl(args, inputs()); } catch (e) { return failed(e); }
	if (serial !== source.serial) return null;
	let judged = null;
	try { judged = JSON.parse(m.out); } catch { /* an error has no JSON */ }
	await judge(judged, m);
	$('raw').hidden = false;
	$('line').textContent = commandLine(args);
	$('printed').textContent = m.out + m.err.split('\n').filter(l => !/^oraccl: (verify|check)$/.test(l)).join('\n');
	if (!source.others.dossier && source.blob.size <= DRAWN && judged && !$('picture').hidden) await draw();
	return m;
}

function failed(e) {
	if (e.message !== 'stopped') badge(e.limit ? 'unknown' : 'unreadable', e.message);
	return null;
}

function badge(verdict, claim) {
	$('verdict').hidden = false;
	$('verdict').textContent = verdict;
	$('verdict').className = 'badge ' + (['proved', 'refuted', 'unreadable'].includes(verdict) ? verdict : '');
	$('claim').textContent = claim;
}

const duration = ps => ps >= 1e12 ? (ps / 1e12).toPrecision(4) + ' s' : ps >= 1e9 ? (ps / 1e9).toPrecision(4) + ' ms' : ps >= 1e6 ? (ps / 1e6).toPrecision(4) + ' us' : ps >= 1e3 ? (ps / 1e3).toPrecision(4) + ' ns' : ps + ' ps';

// judge shows what verify or check answered.
async function judge(d, m) {
	if (!d) {
		const text = m.err.split('\n').filter(l => /^oraccl: (error|hint): /.test(l)).map(l => l.replace(/^oraccl: (error: )?/, '').replaceAll('/in/', '')).join('\n');
		badge('unreadable', text || m.err || 'no answer');
		const at = /:(\d+):(\d+): /.exec(text) || /line (\d+)/.exec(text);
		if (at) mark(+at[1], 'error', text, finding('error', 'unreadable', '', text, +at[1]));
		return gutter();
	}
	if (d.dossiers) return checked(d, m);
	badge(d.verdict, (d.claim || '').replaceAll('/in/', ''));
	const parts = [];
	if (d.tool) parts.push('written by ' + d.tool);
	if (d.makespan_ps > 0) parts.push('makespan ' + duration(d.makespan_ps));
	for (const [engine, verdict] of Object.entries(d.engines || {})) if (!(engine === 'smt' && verdict === 'unknown')) parts.push(`${engine} ${verdict}`);
	if (d.kind && d.verdict === 'refuted') parts.push('kind: ' + d.kind);
	const list = d.findings || unique(d.violations || []), found = new Set(list.map(v => v.code + ':'));
	const notes = (d.notes || []).map(n => n.text || n).filter(n => !found.has(n.slice(0, n.indexOf(' ')))); // a warning stands among the findings
	$('summary').textContent = [parts.join(', '), d.reason && !/Z3 is not in this build/.test(d.reason) ? d.reason : '', ...notes].filter(Boolean).join('\n');
	const wanted = new Set();
	for (const v of list) { const t = /\btransfer (\d+)/.exec(v.where + ' ' + v.message); if (t && !v.line) { v.transfer = +t[1]; wanted.add(v.transfer); } }
	const at = await linesOfTransfers(wanted);
	for (const v of list) {
		const line = v.line || at.get(v.transfer) || +(/\bline (\d+)/.exec(v.message) || [])[1] || 0;
		const item = finding(v.level || 'error', v.code, v.where, v.message, line);
		for (const n of new Set([line, ...[...(v.message || '').matchAll(/\bline (\d+)\)/g)].map(x => +x[1])])) if (n > 0) mark(n, v.level || 'error', `${v.code}: ${v.message}`, item);
	}
	facts(d);
	gutter();
	const first = [...source.marks.keys()].sort((a, b) => a - b)[0];
	if (first && document.activeElement !== $('text')) await show(first);
}

// checked shows what check answered of a dossier: its claims, each with what it rests on, and what
// is wrong.
function checked(d, m) {
	const clean = text => (text || '').replaceAll('/in/', ''), all = d.dossiers.flatMap(x => x.claims), right = all.filter(c => c.verdict === 'proved').length;
	badge(['proved', 'refuted', 'unreadable', 'unknown'][m.status] || 'unknown', `${right} of ${all.length} ${all.length === 1 ? 'claim is' : 'claims are'} proved: ${d.problems.map(p => p.about).join('; ')}`);
	for (const e of d.errors) finding('error', 'contradiction', '', clean(e), 0);
	for (const x of d.dossiers) {
		for (const f of x.faults) finding('error', 'fault', clean(f.file), clean(f.reason), 0);
		for (const f of x.unchecked) finding('warning', 'unchecked', clean(f), 'no claim is about it', 0);
		for (const f of x.documents) for (const v of f.violations || []) finding('error', v.code, clean(f.file) + ': ' + v.where, v.message, 0);
		for (const r of x.rows || []) if (r.verdict !== 'proved') finding('error', r.verdict, 'row ' + r.row + ' of the table', r.reason, 0);
	}
	for (const f of d.files) if (f.error) finding('error', 'unreadable', clean(f.file), f.error, 0);
	$('facts').replaceChildren(table(['claim', 'schedule', 'certificate', 'verdict', 'why'], all.map(c => [c.claim, c.schedule || '', c.certificate || '', c.verdict, clean(c.reason)])));
}

function unique(violations) {
	const seen = new Set();
	return violations.filter(v => { const k = v.code + '\n' + v.where; return !seen.has(k) && seen.add(k); });
}

function mark(line, level, text, item) {
	const old = source.marks.get(line);
	if (!old || old.level !== 'error') source.marks.set(line, { level, text, item });
}

function finding(level, code, where, message, line) {
	const item = element('li', undefined, level);
	if (line > 0) {
		const go = element('button', 'line ' + line);
		go.onclick = () => show(line);
		item.append(go);
	}
	item.append(element('code', (level === 'error' ? '' : level + ' ') + code), ' ', where ? where + ': ' : '', message || '');
	if (site.explanations[code]) {
		const more = element('details');
		more.append(element('summary', 'explain'), element('pre', site.explanations[code]));
		item.append(more);
	}
	$('findings').append(item);
	return item;
}

function table(head, rows) {
	const t = element('table'), tr = element('tr');
	for (const h of head) tr.append(element('th', h.replace(/^#/, ''), h[0] === '#' ? 'n' : ''));
	t.append(tr);
	for (const row of rows) {
		const r = element('tr');
		row.forEach((cell, i) => { const td = cell instanceof Node ? element('td') : element('td', cell, head[i][0] === '#' ? 'n' : ''); if (cell instanceof Node) td.append(cell); r.append(td); });
		t.append(r);
	}
	return t;
}

// facts shows which runtimes load a file of MSCCL-IR, and for which calls.
function facts(d) {
	if (!d.runtimes) return;
	const bytes = n => n === null || n === undefined ? 'no limit' : n;
	$('facts').replaceChildren(table(['runtime', 'loads it', 'picked for', 'bytes', 'elements'], d.runtimes.map(r => [r.runtime, r.loads ? 'yes' : 'no: ' + (r.refusals[0] ? `line ${r.refusals[0].line}: ${r.refusals[0].message}` : ''),
		[r.in_place && 'in place', r.out_of_place && 'out of place'].filter(Boolean).join(', '), `${bytes(r.min_bytes)} to ${bytes(r.max_bytes)}`, 'a multiple of ' + r.elements_multiple_of])));
}

// --- picture, conversion, bounds -------------------------------------------------------------

const addresses = [];
function address(data, type) {
	const a = URL.createObjectURL(new Blob([data], { type }));
	addresses.push(a);
	while (addresses.length > 16) URL.revokeObjectURL(addresses.shift());
	return a;
}

// draw shows the page of view in a frame without any rights but to run its own script.
async function draw() {
	if (source.blob.size === 0 || source.others.dossier) return;
	const args = ['view', path(), '-o', '/picture.html', ...flags(given.truth), ...($('bound').checked ? [] : ['--no-bound'])];
	let m;
	try { m = await oraccl(args, inputs(), ['/picture.html']); } catch (e) { $('drawn').textContent = e.message; return; }
	const file = m.files[0];
	$('frame').replaceChildren();
	$('alone').hidden = !file;
	if (!file) { $('drawn').textContent = errors(m); return; }
	$('drawn').textContent = '';
	const frame = element('iframe');
	frame.title = 'the schedule as a picture';
	frame.setAttribute('sandbox', 'allow-scripts');
	const still = !new TextDecoder().decode(file.data.subarray(0, 1024)).includes('script-src'); // it has no script that would tell when it is drawn
	if (still) frame.className = 'still';
	frame.onload = () => { if (still) frame.dataset.drawn = '1'; };
	$('alone').href = address(file.data, 'text/html');
	frame.src = $('alone').href + '#' + document.documentElement.dataset.theme;
	$('alone').download = $('name').value.replace(/\.\w+$/, '') + '.html';
	$('frame').append(frame);
}

const errors = m => m.err.split('\n').filter(l => l && !/^oraccl: (?!error|hint)/.test(l)).join('\n').replaceAll('/in/', '');

async function convert() {
	const to = $('to').value, base = $('name').value.replace(/\.\w+$/, '');
	const out = '/' + base + { oraccl: '.json', msccl: '.xml', mscclpp: '.plan.json', chrome: '.trace.json', goal: '.goal', chakra: '' }[to];
	const want = to === 'chakra' ? Array.from({ length: 1024 }, (_, r) => `${out}.${r}.et`) : [out];
	$('results').replaceChildren();
	let m;
	try { m = await oraccl(['convert', path(), '--to', to, '-o', out, ...flags(given.truth)], inputs(), want); } catch (e) { $('converted').textContent = e.message; return; }
	$('converted').textContent = [m.out, errors(m)].filter(Boolean).join('\n').replaceAll('/in/', '');
	for (const f of m.files) {
		const a = element('a', f.name.slice(1) + ', ' + readable(f.data.length));
		a.download = f.name.slice(1);
		a.href = address(f.data, 'application/octet-stream');
		$('results').append(a);
	}
	if (['oraccl', 'msccl', 'mscclpp'].includes(to)) for (const f of m.files) $('results').append(opener(f.name.slice(1), f.data));
}

// opener is a button that has a file verified here.
function opener(name, data) {
	const b = element('button', 'Verify it here');
	b.onclick = async () => { clearAsked(); if (await take(name, new Blob([data]))) { scrollTo({ top: 0 }); await verify(); } };
	return b;
}

function instance() {
	const files = [], args = [];
	let topology = $('ntopology').value.trim();
	if ($('nfile').value.trim() !== '') { topology = '/in/topology'; files.push({ name: topology, data: new Blob([$('nfile').value]) }); }
	args.push(topology, '--collective=' + $('ncollective').value);
	for (const [id, flag] of [['nsize', '--size'], ['nroot', '--root'], ['straggler', '--straggler'], ['delay', '--delay'], ['limit', '--time-limit']]) if ($(id).value.trim() !== '') args.push(flag + '=' + $(id).value.trim());
	return { args, files };
}

async function ask(verb) {
	const { args, files } = instance();
	$('table').replaceChildren();
	let m;
	try { m = await oraccl([verb, ...args, '--json'], files); } catch (e) { $('table').replaceChildren(element('p', e.message)); return null; }
	try { return { d: JSON.parse(m.out), args, files, m }; } catch { $('table').replaceChildren(element('p', errors(m))); return null; }
}

const percent = x => x === null || x === undefined ? '' : (100 * x).toPrecision(3) + ' %';
const boundText = b => b ? `No schedule ends before ${duration(b.value_ps)}, ${b.chunks === null ? 'for every number of chunks' : `with ${b.chunks} chunks`} (${b.kind}: ${b.detail}; certificate checked).` : 'No bound was found.';

async function bounds() {
	const a = await ask('bound');
	if (!a) return;
	$('table').replaceChildren(element('p', boundText(a.d.bound)), table(['#bound', 'kind', 'holds', 'because'], (a.d.all || []).map(b => [duration(b.value_ps), b.kind, b.chunks === null ? 'for every number of chunks' : `with ${b.chunks} chunks`, b.detail])));
}

async function methods() {
	const a = await ask('gap');
	if (!a) return;
	const rows = (a.d.rows || []).map(r => {
		const open = element('button', 'Open');
		open.onclick = async () => {
			const out = `/${r.method}.json`;
			let m;
			try { m = await oraccl(['solve', ...a.args, '--method=' + r.method, '-o', out], a.files, [out]); } catch (e) { $('status').textContent = e.message; return; }
			if (!m.files[0]) { $('status').textContent = errors(m) || m.out; return; }
			clearAsked();
			if (await take(out.slice(1), new Blob([m.files[0].data]))) { scrollTo({ top: 0 }); await verify(); }
		};
		return [r.method, r.chunks, r.transfers, duration(r.makespan_ps), r.algbw_gbps ? r.algbw_gbps.toPrecision(4) : '', r.optimal ? 'optimal' : percent(r.gap), r.engines && r.engines.replay || r.verdict, r.note || '', open];
	});
	$('table').replaceChildren(element('p', boundText(a.d.bound)), table(['method', '#chunks', '#transfers', '#makespan', '#algbw GB/s', '#above the bound', 'replay', 'note', ''], rows));
	if (a.m.status === 3) $('table').append(element('p', 'The time limit was reached: there may be better ones.', 'dim'));
}

// --- links ---------------------------------------------------------------------------------

const remembered = ['topology', 'collective', 'size', 'root', 'chunks', 'runtime', 'inplace', 'engine'];
const clearAsked = () => { for (const id of remembered) $(id).value = ''; askedText(); };
function askedText() {
	const said = remembered.filter(id => $(id).value.trim() !== '').map(id => `${id} ${$(id).value.trim()}`);
	$('askedtext').textContent = said.join(', ') || 'what the file states';
}

async function squeeze(bytes, Through) {
	return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new Through('deflate-raw'))).arrayBuffer());
}
const toBase64 = b => { let s = ''; for (let i = 0; i < b.length; i += 8192) s += String.fromCharCode(...b.subarray(i, i + 8192)); return btoa(s).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''); };
const fromBase64 = t => Uint8Array.from(atob(t.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));

async function makeLink() {
	if (!source.edited || source.blob.size === 0) throw new Error('only a text that is small enough to be edited goes into a link');
	const state = { name: $('name').value, text: $('text').value };
	for (const id of remembered) if ($(id).value.trim() !== '') state[id] = $(id).value.trim();
	const packed = toBase64(await squeeze(new TextEncoder().encode(JSON.stringify(state)), CompressionStream));
	if (packed.length > LINKED) throw new Error(`the link would have ${packed.length} characters, want at most ${LINKED}`);
	return location.href.replace(/#.*/, '') + '#s=' + packed;
}

// follow opens what the fragment of the address holds.
async function follow() {
	const hash = location.hash;
	if (hash.startsWith('#example=')) {
		const e = site.examples.find(x => x.name === decodeURIComponent(hash.slice(9)));
		if (!e) { $('status').textContent = 'the link names an example that there is not'; return; }
		await example(e);
	} else if (hash.startsWith('#s=')) {
		let state;
		try {
			if (hash.length > LINKED + 3) throw new Error('it is too long');
			// What is small when packed may be large: a text that could not have been linked is refused.
			const bytes = await limited(fromBase64(hash.slice(3)), 4 * EDITABLE);
			state = JSON.parse(new TextDecoder().decode(bytes));
			if (typeof state.text !== 'string' || typeof state.name !== 'string') throw new Error('it lacks a text');
		} catch (e) { $('status').textContent = 'the link is damaged: ' + e.message; return; }
		for (const id of remembered) $(id).value = typeof state[id] === 'string' ? state[id] : '';
		askedText();
		if (await take(state.name, new Blob([state.text]))) await verify();
	}
}

async function limited(packed, most) {
	const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader(), parts = [];
	let n = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		if ((n += value.length) > most) { reader.cancel(); throw new Error('its text is too long'); }
		parts.push(value);
	}
	return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function example(e) {
	clearAsked();
	$('example').value = site.examples.indexOf(e);
	for (const [id, value] of Object.entries(e.asked || {})) $(id).value = value;
	askedText();
	if (await take(e.file, new Blob([e.text]))) return verify();
}

// --- what the user does ----------------------------------------------------------------------

// open takes files: one, a schedule with its topology, or a dossier with its manifest.
async function open(list) {
	const all = [...list].filter(f => f.size > 0 || list.length === 1);
	if (all.length === 0) return;
	const place = f => { const p = (f.webkitRelativePath || f.name).split('/').slice(f.webkitRelativePath ? 1 : 0).map(cleanName); return p.join('/'); };
	const total = all.reduce((n, f) => n + f.size, 0);
	if (total > MOST) { $('status').textContent = `${all.length} files of ${readable(total)}: this page takes ${readable(MOST)} at most; the installed program has no such limit`; return; }
	const manifest = all.find(f => place(f) === 'manifest.json');
	const first = manifest || all.find(f => !/topo/i.test(f.name)) || all[0];
	const others = all.filter(f => f !== first).map(f => ({ name: place(f), data: f }));
	others.dossier = !!manifest;
	clearAsked();
	const topology = others.length === 1 && /topo/i.test(others[0].name) ? others[0].name : '';
	$('topology').value = topology;
	askedText();
	if (await take(first.name, first, others)) await verify();
}

let pending = 0;
$('text').addEventListener('input', () => {
	if (!source.edited) return;
	source.serial++;
	source.blob = new Blob([$('text').value]);
	source.others = [];
	source.from = 0;
	about();
	forget();
	const head = $('text').value.trimStart().slice(0, 1);
	if (/^schedule(\.(xml|json))?$/.test($('name').value)) $('name').value = 'schedule' + (head === '<' ? '.xml' : head === '{' ? '.json' : '');
	clearTimeout(pending);
	if ($('text').value.trim() !== '') pending = setTimeout(verify, 500);
});
$('text').addEventListener('scroll', async () => {
	gutter();
	const text = $('text');
	if (source.edited || !source.starts || source.starts.length * STEP <= WINDOW || source.moving) return;
	const down = text.scrollTop + text.clientHeight >= text.scrollHeight - 2 * LINE, up = text.scrollTop < 2 * LINE && source.from > 0;
	if (!down && !up) return;
	source.moving = true;
	const at = source.from + Math.floor(text.scrollTop / LINE), before = source.from;
	await lines(at);
	if (source.from !== before) text.scrollTop = (at - source.from) * LINE;
	source.moving = false;
	gutter();
});
for (const id of remembered) $(id).addEventListener('change', () => { askedText(); if (source.blob.size > 0) verify(); });
$('verify').onclick = verify;
$('stop').onclick = stopWorker;
$('draw').onclick = draw;
$('converts').onclick = convert;
$('bounds').onclick = bounds;
$('methods').onclick = methods;
$('file').onchange = e => { open(e.target.files); e.target.value = ''; };
$('directory').onchange = e => { open(e.target.files); e.target.value = ''; };
$('example').onchange = e => { const x = site.examples[+e.target.value]; if (e.target.value !== '') { history.replaceState(null, '', '#example=' + encodeURIComponent(x.name)); example(x); } };
$('link').onclick = async () => {
	try {
		const link = await makeLink();
		history.replaceState(null, '', link);
		try { await navigator.clipboard.writeText(link); $('status').textContent = `a link of ${link.length} characters was copied`; } catch { $('status').textContent = 'the link is the address of this page now'; }
	} catch (e) { $('status').textContent = e.message; }
};
for (const tab of document.querySelectorAll('[role=tab]')) tab.onclick = () => {
	for (const t of document.querySelectorAll('[role=tab]')) { const on = t === tab; t.setAttribute('aria-selected', on); $(t.dataset.tab).hidden = !on; }
	if (tab.dataset.tab === 'picture' && !$('verdict').hidden && $('frame').childElementCount === 0 && source.blob.size <= DRAWN) draw();
};
const dark = matchMedia('(prefers-color-scheme: dark)');
const theme = name => { document.documentElement.dataset.theme = name; };
theme(dark.matches ? 'dark' : 'light');
$('theme').onclick = () => theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
addEventListener('dragover', e => { e.preventDefault(); $('editor').classList.add('over'); });
addEventListener('dragleave', () => $('editor').classList.remove('over'));
addEventListener('drop', e => { e.preventDefault(); $('editor').classList.remove('over'); if (e.dataTransfer.files.length) open(e.dataTransfer.files); });
addEventListener('resize', gutter);
addEventListener('hashchange', follow);
addEventListener('message', e => { const frame = $('frame').firstChild; if (frame && e.source === frame.contentWindow && e.data === 'drawn') frame.dataset.drawn = '1'; });

$('version').textContent = site.version === 'devel' ? '' : site.version;
const groups = new Map();
site.examples.forEach((e, i) => {
	if (!groups.has(e.group)) { const g = element('optgroup'); g.label = e.group; groups.set(e.group, g); $('example').append(g); }
	const o = element('option', e.title);
	o.value = i;
	groups.get(e.group).append(o);
});
for (const t of site.topologies) { const o = element('option'); o.value = t; $('topologies').append(o); }
for (const c of site.collectives) { $('ncollective').append(element('option', c)); $('collective').append(element('option', c)); }
$('ncollective').value = 'allgather';
startWorker();
gutter();
follow();
worker.ready.then(() => { document.documentElement.dataset.ready = '1'; }, () => {});
