// Package model holds the nouns of collective communication: Topology,
// Collective, Problem, Schedule, Certificate and the cost models, with their
// native JSON. Everything else in oraccl speaks in these types, and this
// package knows nothing of the rest: it solves nothing and verifies nothing.
//
// # Units
//
// Time is a whole number of picoseconds, size a whole number of bytes,
// bandwidth a whole number of bytes a second. There is no floating point.
//
// # Nodes
//
// A topology with R ranks and W switches has the nodes 0..R-1, which are the
// ranks, and R..R+W-1, which are the switches. Ranks, nodes, links, chunks and
// transfers are identified by their index.
//
// # State
//
// A schedule is executed on the state S[r][k][j]: how often rank j's
// contribution is contained in what rank r holds of chunk k. A slot (r, k) that
// was never written and is not part of the precondition is undefined, which is
// not the same as holding nothing. A transfer of chunk k from u to v reads
// S[u][k] as it stands when it starts, and writes S[v][k] when it ends: Copy
// sets it, Reduce adds to it.
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
package model
