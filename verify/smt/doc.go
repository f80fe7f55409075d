// Package smt states the claim "every rank ends with exactly the contributions
// that it must have" as formulas, one query a chunk, and lets a solver decide
// them. It builds and prints terms; a Backend, such as package z3, solves. It
// shares nothing with package replay but model and verify's types.
//
// # What is claimed
//
// Check answers for the contributions alone: no transfer reads or adds to an
// undefined slot, no outcome depends on the order of simultaneous or unordered
// accesses, and every slot with a goal ends with exactly what is wanted. The
// order of events is the one that the schedule's times, rounds or waits fix.
// Whether transfers last as long as the cost model says, fit their links and
// ports, follow their routes and respect release times is not claimed here.
//
// # The formula
//
// The unknowns of a query are the contributions themselves: x3 is rank 3's input
// for the chunk, any integer. What a rank holds after each write to its slot is
// a definition over the versions before it: a copy is the version that was read,
// a reduction the sum of the two. The claim is refuted by inputs for which some
// rank ends with another number than the wanted sum. Both are linear in the
// inputs, with the multisets' counts as coefficients, and two linear forms that
// agree on all integers have the same coefficients; so the query is
// unsatisfiable exactly if every count is right. Counts are never bounded. The sum
// stands for any operator that is not idempotent: it adds up multisets.
//
// For idempotent operators (min, max) only the set of contributions counts. The
// inputs are Booleans then, a reduction is a disjunction, and two disjunctions of
// inputs agree on all of them exactly if they are over the same inputs.
//
// A flag beside each version reports whether the slot is defined there. To read an
// undefined slot, or to reduce into one, refutes by itself; after that, a copy of
// what is undefined is undefined, and a reduction leaves the flag as it was.
//
// # The order of events
//
// Timed and in rounds: a transfer reads at its start, when every write that ended
// by then is in, and writes at its end. The encoder sorts the accesses to each
// slot, and this order is not trusted but part of the claim: for each two
// neighbours the query asks whether their times contradict it. A copy that ends
// together with another write to the same slot does, and is a race. Simultaneous
// reductions commute, so either order serves. No transfer starts and ends at one
// instant (model.Schedule.Validate), so the order is not circular.
//
// Ordered: one more query asks about the order of events. Its unknowns say of the
// start and the end of each transfer whether they have happened at some instant of
// some execution; such a set holds with a start the ends that it waits for, and
// with an end the start. Every set like that is one at an instant of an execution,
// and two events come in a fixed order in all executions exactly if no such set
// holds the later without the earlier. So the claim is refuted by a set that holds
// an access to a slot without one that must come before it in one linear order,
// which the encoder chooses; each such pair is a case by itself, because a solver
// propagates its way through a case and would search through their disjunction
// (64 ranks: 0.5 s and 76 s; unknown integer times: minutes for 32 ranks).
// If there is none, every read sees in every execution the same last copy, followed
// by the same set of reductions, so that every execution moves the same values as
// the chosen one, for which the queries about the chunks are stated. Accesses that are unordered but harmless, reads among
// themselves and reductions among themselves, need no order; only neighbouring
// runs of such accesses are compared, as order is transitive. MaxOrder bounds the
// size of that query; beyond it the answer is Unknown.
//
// # Why unsat can be believed
//
// A query whose assertions contradict each other would be unsatisfiable for the
// wrong reason. Queries over contributions assert nothing but the negated claim:
// all else is definitions, which exclude nothing. The query over the order does
// assert the waits; before it is asked, the solver must find these alone
// satisfiable, or the answer is Unknown. (Waits in a circle, which would make all
// orders true, are malformed: model.Schedule.Validate.)
// If the solver says sat, its model is evaluated here, exactly, and must make the
// negated claim true; what is reported is computed from the query's own terms.
//
// # Why one answer serves several chunks
//
// Ranks are numbered by their first appearance in the chunk's order of events. Of times only the order counts: the
// instants of a chunk at which something is read or written are numbered from 0 on, and these numbers stand for times. (Scripts for
// people have the times.) So chunks that go the same way through other ranks, in the same order of events, give the same text, to the byte. Check asks each text
// once: equal texts are one question. All that a text is made of, the accesses in their order with
// ranks by number, the instants, and what is there at the start and wanted at the end, is put
// down for every chunk, and compared by its SHA-256: only for the first chunk of each form are
// formulas made. Where a form is not proved, each chunk is asked about by itself.
//
// Where times are irregular, chunks that go the same way have their events in other orders. Most of an order is of no account: what happens at different
// ranks in between, and which of several reads of a slot, or of several reductions there, is the first. So a chunk of a new form is
// retold: its accesses come in an order that depends on the rest alone, and that the times of the accesses to each slot allow for it is
// claimed slot by slot. What is proved of a chunk that is retold serves all that read the same then. If it is refuted, the
// chunk is asked about again as it was, so that violations are told in the order of time.
//
// # Measured
//
// The choice of unknowns, on one chunk of a 256-rank all-reduce by ring (510
// transfers) and by recursive doubling (2048), Z3 4.8.12, time of the z3 binary:
//
//	unknowns                                        ring     recursive doubling
//	contributions as free integers (used here)      0.05 s   0.09 s
//	none: counts as lanes of one bit-vector         0.08 s   0.11 s
//	none: counts as digits of one integer           0.11 s   0.13 s
//	one-hot Booleans, versions as sums of ite       0.24 s   0.29 s
//	index j of a contribution, versions as sums     0.68 s   0.79 s
//	the same, versions as unknowns, not definitions 0.59 s   0.70 s (7.5 s in a scope)
//	index as a bit-vector                           > 20 s   > 20 s
//
// One-core throughput is some 3000 checks of small random schedules a second; a
// ring all-reduce takes 1 ms among 8 ranks and 30 ms among 64 (250 ms if each
// chunk is asked about by itself), recursive doubling 0.1 s among 256 and 2.5 s among 1024.
//
// A query is linear in the transfers of its chunk plus its pre- and
// postcondition; the solver's sums are at most quadratic in the ranks.
package smt
