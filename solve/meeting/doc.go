// Package meeting finds out which trees the bytes of an allreduce should take, and when, where latencies count: a linear program over
// patterns, columns that are found by their prices.
//
// In a pattern the data of all ranks meet: sums come to a root over a tree, and the whole goes from there to all over another one. Or two
// ranks, the root and its twin, exchange their sums and send the whole on from both. Each hop has a time, and so has the meeting. The
// program asks how much of the buffer can be everywhere at the end, while no machine does more in a bin of time than it has time for. It is
// a flow over time (Ford and Fulkerson, "Constructing maximal dynamic flows from static flows", Operations Research 6, 1958), of
// patterns instead of ways. Machines, arcs and slots are those of package ejection, which makes what the program says a schedule.
//
// Only mirrored shops are served, where each hop has an image that is turned round: for each pattern there is another one, the same read
// backwards in time, that carries as much. So half of the rows are enough, and a tree of sums that ends with the meeting is one of copies
// that begins with it, read backwards.
package meeting
