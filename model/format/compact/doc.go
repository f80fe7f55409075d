// Package compact reads and writes schedules as a stream of a few bytes a transfer, for
// those that are too large for JSON or for memory. A file (".oraccl") holds the problem,
// the routes, and the transfers in order of their starts; what is incomplete or damaged is
// known as such.
//
// A file is the magic number and then blocks:
//
//	magic   89 6f 72 61 63 63 6c 0a ("\x89oraccl\n")
//	block   kind (1 byte), length of the payload (uvarint), payload, check (4 bytes)
//
// Check is the CRC-32C, little-endian, of all bytes of the file before it, so that blocks
// can be neither lost nor reordered. Numbers are unsigned varints of encoding/binary
// (uvarint); differences are zigzag-coded in them (varint). The kinds, in their order:
//
//	'H'  once: a schedule file (oraccl/schedule/1, JSON) without transfers, deflated (RFC
//	     1951) to at least a 128th of what exceeds 4 MiB. It has the problem, the origin
//	     and the form: timed or rounds
//	'R'  any number: routes, numbered from 0 over all blocks. Each is the number of its
//	     links (uvarint) and then each link as the difference (varint) to the one before it
//	     in the block, the first to 0
//	'T'  any number: groups of transfers
//	'O'  in place of all R and T: a schedule that is the same for all ranks (model.Orbit):
//	     the number of sides and each side, the number of routes and each as the number of
//	     its links and each link (uvarints), then turns to the end of the block, each the
//	     number of its route, its owner, its part (uvarints), and its start less that of the
//	     turn before (the first: less 0), doubled, and 1 more if it reduces (uvarint)
//	'E'  once, at the end: the number of transfers (uvarint), the latest end (uvarint), the
//	     number of verdicts (uvarint), and for each an engine and its outcome, both as a
//	     length (uvarint) and this many bytes
//
// A file without its block E is partial: its writer was interrupted, or did not come
// to vouch for it.
//
// A group is a set of transfers with one start, duration and operation. It begins with
// the start less that of the group before in the file (uvarint; the first: less 0), the
// duration (uvarint), a byte (1: reduce, not copy; 2: runs), and the number of transfers
// (uvarint, 1 to 2^20). Then, without runs, each transfer is its route less the one before
// in the group less 1 (varint; the first as after -1) and its chunk, little-endian, in as
// many bytes as the largest chunk needs. With runs, transfers are coded as arithmetic
// progressions: a number of transfers (uvarint), and what route and chunk differ by from
// the transfer before (two varints; the first as after route 0 and chunk 0) for each of
// them. Source and destination are the ends of the route.
//
// Random schedules on 40 000 ranks need three bytes a transfer, those that are the same
// for every rank about a twentieth of a byte.
package compact
