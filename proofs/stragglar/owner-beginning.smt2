; At the beginning the ranks are in B, P_{q-1}, .., P_1 in the order in which they own: the rank
; that owns first in round 1+i, i < q, is at place i or before it, so that if it is in P_j, j <=
; q-1, behind the r >= 1 of B and the 2^(q-2)+..+2^j of the higher classes, then i >= q-j.
;
; before is the number of ranks in the classes above P_j, at least one in each of the q-1-j.
;
; Models solve/stragglar, (*spreading).begin.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const j Int)
(declare-const i Int)
(declare-const place Int)
(declare-const r Int)
(declare-const before Int)
; Assumptions. They can hold: sat.
(assert (>= q 2))
(assert (>= r 1))
(assert (>= j 1))
(assert (<= j (- q 1)))
(assert (>= i 0))
(assert (<= i (- q 1)))
(assert (<= place i))
(assert (>= before (- (- q 1) j)))
(assert (>= place (+ r before)))
(check-sat)
; The claim, denied: unsat.
(assert (not (>= j (- q i))))
(check-sat)
