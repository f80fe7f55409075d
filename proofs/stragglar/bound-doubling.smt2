; Of those that have what the straggler alone had of the last such chunk there are, after i rounds
; from its first sending on, at most 2^i: one before, and for i+1 if for i, as each sends to one
; at most.
;
; h and h2 are how many have it after i and i+1 rounds, p = 2^i, p2 = 2^(i+1).
;
; Models verify/cert, (*job).spread.
(set-logic QF_LIA)
(declare-const i Int)
(declare-const h Int)
(declare-const h2 Int)
(declare-const p Int)
(declare-const p2 Int)
; Assumptions. They can hold: sat.
(assert (>= i 0))
(assert (>= p 1))
(assert (<= h p))
(assert (>= h 1))
(assert (<= h2 (+ h h)))
(assert (= p2 (* 2 p)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (<= 1 1) (<= h2 p2))))
(check-sat)
