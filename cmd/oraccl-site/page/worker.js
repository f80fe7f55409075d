// The worker runs command lines of oraccl, each in an instance of its own of the same compiled
// module: no line sees what another one left, and its memory goes with it. It is told
//
//   { packed }                     the program, as unlzma reads it, in base64, or { module }
//   { id, args, files, want }      a command line; files, each { name, data }, data being a Blob
//                                  or bytes; and the names of the files that are wanted
//
// and answers { module }, then { id, said } for each line on standard error, and at last
// { id, status, out, err, files, failed }.
'use strict';
let compiled;

onmessage = async ({ data: m }) => {
	if (m.packed || m.module) {
		try {
			compiled = m.module || await WebAssembly.compile(unlzma(fromBase64(m.packed)));
			postMessage({ module: compiled });
		} catch (e) {
			postMessage({ broken: String(e) });
		}
		return;
	}
	const answer = { id: m.id, status: 2, out: '', err: '', files: [] };
	try {
		await execute(m, answer);
	} catch (e) {
		answer.failed = String(e && e.message || e);
	}
	postMessage(answer);
};

async function execute(m, answer) {
	const text = [null, new TextDecoder(), new TextDecoder()], all = [null, [], []];
	let line = '';
	const memory = memoryFiles((fd, bytes) => {
		const said = text[fd].decode(bytes, { stream: true });
		all[fd].push(said);
		if (fd !== 2) return;
		line += said;
		const end = line.lastIndexOf('\n');
		if (end >= 0) {
			postMessage({ id: m.id, said: line.slice(0, end) });
			line = line.slice(end + 1);
		}
	});
	for (const f of m.files) memory.put(f.name, new Uint8Array(f.data instanceof Blob ? await f.data.arrayBuffer() : f.data));
	globalThis.fs = memory.fs;
	globalThis.process.cwd = () => '/';
	const go = new Go();
	go.argv = ['oraccl', ...m.args];
	go.env = { ORACCL_PROGRESS: 'lines', TMPDIR: '/tmp', HOME: '/', PATH: '' };
	go.exit = status => { answer.status = status; };
	try {
		await go.run(await WebAssembly.instantiate(compiled, go.importObject));
	} finally {
		for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer); // which would wake a program that has ended
		answer.out = all[1].join('');
		answer.err = all[2].join('');
	}
	for (const name of m.want || []) {
		const data = memory.get(name);
		if (data) answer.files.push({ name, data });
	}
}

function fromBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const s = atob(text), b = new Uint8Array(s.length);
	for (let i = 0; i < b.length; i++) b[i] = s.charCodeAt(i);
	return b;
}
