// unlzma unpacks a file in the format "LZMA alone": five bytes of properties, the length in
// eight, and the compressed data, as "xz --format=lzma" writes it (the length is filled in by
// what makes this page). The names are those of the LZMA specification (LZMA SDK, lzma.txt).
function unlzma(src) {
	const props = src[0], lc = props % 9, lp = (props / 9 | 0) % 5, pb = props / 45 | 0;
	const size = src[5] + src[6] * 2 ** 8 + src[7] * 2 ** 16 + src[8] * 2 ** 24;
	const out = new Uint8Array(size);
	const probs = new Uint16Array(1984 + (768 << lc + lp)).fill(1024);
	const IS_REP = 192, IS_REP0 = 204, IS_REP1 = 216, IS_REP2 = 228, REP0LONG = 240, SLOT = 432, SPEC = 688, ALIGN = 802, LEN = 818, REPLEN = 1332, LIT = 1846;
	let range = -1, code = 0, at = 13, n = 0, state = 0, rep0 = 0, rep1 = 0, rep2 = 0, rep3 = 0;
	at++; for (let i = 0; i < 4; i++) code = code << 8 | src[at++];
	const bit = p => {
		const q = probs[p], bound = Math.imul(range >>> 11, q);
		let b;
		if ((code >>> 0) < (bound >>> 0)) { range = bound; probs[p] = q + (2048 - q >> 5); b = 0; }
		else { range = range - bound | 0; code = code - bound | 0; probs[p] = q - (q >> 5); b = 1; }
		if ((range >>> 0) < 0x1000000) { range <<= 8; code = code << 8 | src[at++]; }
		return b;
	};
	const tree = (p, bits) => { let m = 1; for (let i = 0; i < bits; i++) m = m << 1 | bit(p + m); return m - (1 << bits); };
	const reverse = (p, bits) => { let m = 1, v = 0; for (let i = 0; i < bits; i++) { const b = bit(p + m); m = m << 1 | b; v |= b << i; } return v; };
	const len = (p, pos) => bit(p) === 0 ? tree(p + 2 + (pos << 3), 3) : bit(p + 1) === 0 ? 8 + tree(p + 130 + (pos << 3), 3) : 16 + tree(p + 258, 8);
	const pm = (1 << pb) - 1, lm = (1 << lp) - 1;
	while (n < size) {
		const pos = n & pm;
		if (bit(state << 4 | pos) === 0) {
			const prev = n > 0 ? out[n - 1] : 0;
			const p = LIT + 768 * (((n & lm) << lc) + (prev >> 8 - lc));
			let m = 1;
			if (state >= 7) {
				let match = out[n - rep0 - 1];
				do { const mb = match >> 7 & 1; match <<= 1; const b = bit(p + (1 + mb << 8) + m); m = m << 1 | b; if (mb !== b) break; } while (m < 256);
			}
			while (m < 256) m = m << 1 | bit(p + m);
			out[n++] = m;
			state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
			continue;
		}
		let l;
		if (bit(IS_REP + state)) {
			if (bit(IS_REP0 + state) === 0) {
				if (bit(REP0LONG + (state << 4) + pos) === 0) { out[n] = out[n - rep0 - 1]; n++; state = state < 7 ? 9 : 11; continue; }
			} else {
				let d;
				if (bit(IS_REP1 + state) === 0) d = rep1;
				else { if (bit(IS_REP2 + state) === 0) d = rep2; else { d = rep3; rep3 = rep2; } rep2 = rep1; }
				rep1 = rep0; rep0 = d;
			}
			l = len(REPLEN, pos); state = state < 7 ? 8 : 11;
		} else {
			rep3 = rep2; rep2 = rep1; rep1 = rep0;
			l = len(LEN, pos); state = state < 7 ? 7 : 10;
			const slot = tree(SLOT + (Math.min(l, 3) << 6), 6);
			if (slot < 4) rep0 = slot;
			else {
				const direct = (slot >> 1) - 1;
				rep0 = (2 | slot & 1) << direct;
				if (slot < 14) rep0 += reverse(SPEC + rep0 - slot - 1, direct);
				else {
					let v = 0;
					for (let i = direct - 4; i > 0; i--) {
						range = range >>> 1; code = code - range | 0; const t = code >> 31; code = code + (range & t) | 0; v = v << 1 | t + 1;
						if ((range >>> 0) < 0x1000000) { range <<= 8; code = code << 8 | src[at++]; }
					}
					rep0 += v << 4; rep0 += reverse(ALIGN, 4);
				}
				if (rep0 === -1) break;
			}
		}
		l += 2;
		const from = n - rep0 - 1;
		if (from < 0) throw new Error('damaged');
		for (let i = 0; i < l; i++) out[n + i] = out[from + i];
		n += l;
	}
	return out;
}
