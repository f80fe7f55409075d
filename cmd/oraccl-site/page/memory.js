// memoryFiles returns a file system in memory, with the functions of Node's module fs that a
// Go program calls, and "said", which gets what is written to standard output (1) and standard
// error (2). A file is { data, size }, a directory { directory: true }; there are no links.
function memoryFiles(said) {
	const now = () => Date.now();
	const nodes = new Map([['/', { directory: true, mode: 0o755, at: now() }], ['/tmp', { directory: true, mode: 0o777, at: now() }]]);
	const open = new Map();
	let next = 3;
	const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };

	const fail = code => { throw Object.assign(new Error(code), { code }); };
	const absolute = path => {
		const parts = [];
		for (const p of path.split('/')) {
			if (p === '..') parts.pop();
			else if (p !== '' && p !== '.') parts.push(p);
		}
		return '/' + parts.join('/');
	};
	const parent = path => path.slice(0, path.lastIndexOf('/')) || '/';
	const below = dir => dir === '/' ? '/' : dir + '/';
	const find = path => nodes.get(absolute(path)) || fail('ENOENT');
	const inDirectory = path => {
		const dir = nodes.get(parent(path)) || fail('ENOENT');
		if (!dir.directory) fail('ENOTDIR');
	};
	const file = fd => open.get(fd) || fail('EBADF');
	const resize = (node, size) => {
		if (size > node.data.length) {
			const grown = new Uint8Array(Math.max(size, 2 * node.data.length, 4096));
			grown.set(node.data.subarray(0, node.size));
			node.data = grown;
		} else if (size < node.size) node.data.fill(0, size, node.size);
		node.size = size;
	};
	const stat = node => ({
		dev: 1, ino: node.ino, mode: node.mode | (node.directory ? 0o040000 : 0o100000), nlink: 1, uid: 0, gid: 0, rdev: 0, size: node.directory ? 0 : node.size,
		blksize: 4096, blocks: 0, atimeMs: node.at, mtimeMs: node.at, ctimeMs: node.at, isDirectory: () => !!node.directory,
	});
	let inodes = 0;
	const add = (path, node) => { node.ino = ++inodes; node.at = now(); nodes.set(path, node); return node; };
	const empty = path => { for (const p of nodes.keys()) if (p !== path && p.startsWith(below(path))) fail('ENOTEMPTY'); };
	const functions = {
		open(path, flags, mode) {
			path = absolute(path);
			let node = nodes.get(path);
			if (node && flags & constants.O_CREAT && flags & constants.O_EXCL) fail('EEXIST');
			if (!node) {
				if (!(flags & constants.O_CREAT)) fail('ENOENT');
				inDirectory(path);
				node = add(path, { data: new Uint8Array(0), size: 0, mode: mode & 0o777 });
			}
			if (node.directory && flags & 3) fail('EISDIR');
			if (!node.directory && flags & constants.O_DIRECTORY) fail('ENOTDIR');
			if (flags & constants.O_TRUNC) resize(node, 0);
			open.set(next, { node, at: 0, append: !!(flags & constants.O_APPEND) });
			return next++;
		},
		close(fd) { file(fd); open.delete(fd); },
		read(fd, buffer, offset, length, position) {
			if (fd === 0) return 0;
			const f = file(fd);
			if (f.node.directory) fail('EISDIR');
			const from = position === null ? f.at : position, n = Math.max(0, Math.min(length, f.node.size - from));
			buffer.set(f.node.data.subarray(from, from + n), offset);
			if (position === null) f.at += n;
			return n;
		},
		write(fd, buffer, offset, length, position) {
			const bytes = buffer.subarray(offset, offset + length);
			if (fd === 1 || fd === 2) { said(fd, bytes.slice()); return length; }
			const f = file(fd), from = f.append ? f.node.size : position === null ? f.at : position;
			if (from + length > f.node.size) resize(f.node, from + length);
			f.node.data.set(bytes, from);
			if (position === null) f.at = from + length;
			f.node.at = now();
			return length;
		},
		stat: path => stat(find(path)),
		lstat: path => stat(find(path)),
		fstat: fd => fd < 3 ? stat({ directory: false, mode: 0o620, size: 0, at: 0, ino: 0 }) : stat(file(fd).node),
		readdir(path) {
			path = absolute(path);
			if (!find(path).directory) fail('ENOTDIR');
			const names = [];
			for (const p of nodes.keys()) if (p !== path && p !== '/' && parent(p) === path) names.push(p.slice(below(path).length));
			return names;
		},
		mkdir(path, mode) {
			path = absolute(path);
			if (nodes.has(path)) fail('EEXIST');
			inDirectory(path);
			add(path, { directory: true, mode: mode & 0o777 });
		},
		rmdir(path) {
			path = absolute(path);
			if (!find(path).directory) fail('ENOTDIR');
			empty(path);
			nodes.delete(path);
		},
		unlink(path) {
			if (find(path).directory) fail('EISDIR');
			nodes.delete(absolute(path));
		},
		rename(from, to) {
			from = absolute(from); to = absolute(to);
			const node = find(from);
			inDirectory(to);
			if (nodes.has(to) && nodes.get(to).directory !== node.directory) fail(node.directory ? 'ENOTDIR' : 'EISDIR');
			if (from === to) return;
			if (node.directory) {
				if (to.startsWith(below(from))) fail('EINVAL');
				if (nodes.has(to)) empty(to);
				for (const [p, n] of [...nodes]) if (p.startsWith(below(from))) { nodes.delete(p); nodes.set(to + p.slice(from.length), n); }
			}
			nodes.delete(from);
			nodes.set(to, node);
		},
		truncate(path, length) { resize(find(path), length); },
		ftruncate(fd, length) { resize(file(fd).node, length); },
		chmod(path, mode) { find(path).mode = mode & 0o777; },
		fchmod(fd, mode) { file(fd).node.mode = mode & 0o777; },
		chown(path) { find(path); },
		lchown(path) { find(path); },
		fchown(fd) { file(fd); },
		utimes(path, atime, mtime) { find(path).at = mtime * 1000; },
		fsync() {},
		link: () => fail('ENOSYS'), symlink: () => fail('ENOSYS'), readlink: path => { find(path); fail('EINVAL'); },
	};
	// What the Go runtime writes when it dies comes by writeSync, which calls nobody back.
	const fs = { constants, writeSync: (fd, bytes) => functions.write(fd, bytes, 0, bytes.length, null) };
	for (const [name, f] of Object.entries(functions)) {
		fs[name] = (...args) => {
			const done = args.pop();
			let value;
			try { value = f(...args); } catch (e) { if (!e.code) e.code = 'EIO'; done(e); return; }
			done(null, value);
		};
	}
	return {
		fs,
		put(path, data) {
			path = absolute(path);
			for (let i = path.indexOf('/', 1); i > 0; i = path.indexOf('/', i + 1)) if (!nodes.has(path.slice(0, i))) add(path.slice(0, i), { directory: true, mode: 0o755 });
			add(path, { data, size: data.length, mode: 0o644 });
		},
		get(path) {
			const node = nodes.get(absolute(path));
			return node && !node.directory ? node.data.slice(0, node.size) : null;
		},
		list: () => [...nodes].filter(([, n]) => !n.directory).map(([p]) => p),
	};
}
