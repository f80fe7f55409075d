// Package native reads and writes the JSON documents of package model's nouns.
//
// # Files
//
// Each noun has a JSON document with a versioned schema: oraccl/topology/1,
// oraccl/collective/1, oraccl/problem/1, oraccl/schedule/1 (a Solution: problem,
// schedule, origin) and oraccl/certificate/1. The files in testdata show every key,
// as the writers write them:
//
//   - Units are in the keys: _ps, _bytes, _bytes_per_s. Numbers are whole.
//   - A problem without "chunks" leaves the cut to the method; with a number it has
//     that many equal chunks, as Problem.Cut makes them; else a list of [offset, size].
//   - A collective without "group" is one of all ranks, without "op" a sum. The
//     "contributions" of a condition name a rank as often as it is in the value.
//   - A transfer has the ids of its "links" in order, and "start_ps" and "end_ps",
//     "round" or "after" (indices of transfers), as the schedule's "form" says, which
//     stands before the transfers.
//
// Readers are strict: no key may be unknown, missing or there twice, and whatever
// is wrong is one line with file, line, column, place, what it is and what was
// expected. They take memory in proportion to the file, whatever it says.
package native
