; Of the others, the owners of u+2 to u+q-1, there are at most q-2; P_{q-2} has 2^(q-3) ranks,
; which feed as many places: 2^(q-3) >= q-2 for q = 3, and for q+1 if for q.
;
; p = 2^(q-3), p2 = 2^(q-2). For q = 2 there are none.
;
; Models solve/stragglar, (*spreading).urgent and step.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const p Int)
(declare-const p2 Int)
; Assumptions. They can hold: sat.
(assert (>= q 3))
(assert (= p2 (* 2 p)))
(assert (>= p (- q 2)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= 1 (- 3 2)) (>= p2 (- (+ q 1) 2)))))
(check-sat)
