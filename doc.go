// Package oraccl finds schedules of collective communication, proves them right, and
// measures how far they are from optimal.
//
// A schedule of an allreduce, an allgather or any other collective on a network is right
// if every rank ends with exactly the data that it must have. Gap runs every method on a
// problem and sets each schedule, proved by two engines that share no code, beside a lower
// bound whose certificate was checked in exact arithmetic; Solve returns the best one;
// Verify decides about a schedule that you have; Bound returns a lower bound with its
// certificate. Nothing that a solver returns is trusted.
//
// The nouns (Topology, Problem, Schedule, Certificate) are in package model, and their
// files are read and written by model/native. Methods are packages under solve, verifiers
// and their specification under verify. The command oraccl does the same from a shell.
package oraccl
