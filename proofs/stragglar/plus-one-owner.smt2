; The owner of u+1, if it is in P_{q-1}, is v1, for it comes first; else it is the base rank that
; stays. Of the owners of u+2 to u+q-1, at most q-2, the first gets a place that P_{q-2} feeds, of
; which there are 2^(q-3)-1 >= 1, and the others one that P_{q-2} or P_{q-3} feeds: 2^(q-3)-1 +
; 2^(q-4) >= q-2 for q = 4, and for q+1 if for q. Owners of u+i, i >= 3, are early enough in
; P_{q-2}.
;
; p = 2^(q-4).
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const p Int)
(declare-const i Int)
; Assumptions. They can hold: sat.
(assert (>= q 4))
(assert (>= p 1))
(assert (>= (- (* 3 p) 1) (- q 2)))
(assert (>= i 3))
(assert (<= i (- q 1)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= (- 2 1) 1) (>= (- (* 3 1) 1) (- 4 2)) (>= (- (* 2 p) 1) 1) (>= (- (* 3 (* 2 p)) 1) (- (+ q 1) 2)) (>= (- q 2) (- q (- i 1))))))
(check-sat)
