// Package model holds the nouns of collective communication: Topology,
// Collective, Problem, Schedule, Certificate and the cost models. Everything else in
// oraccl speaks in these types, and this package knows nothing of the rest: it solves
// nothing and verifies nothing. Package native reads and writes them.
//
// # Units
//
// Time is a whole number of picoseconds, size a whole number of bytes,
// bandwidth a whole number of bytes per second. There is no floating point.
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
package model
