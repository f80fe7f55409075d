; A rank that is owner in i >= 2 rounds, and gets the chunk of P_{q-2}, is in P_{q-1} after it,
; and q-1 >= q-(i-1).
;
; The owner of round u+i, 0 <= i <= q-1, has to be in B, or in P_j with j >= q-i: then it is in B
; when it is its turn.
;
; Models solve/stragglar, (*spreading).urgent and step.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const i Int)
; Assumptions. They can hold: sat.
(assert (>= q 3))
(assert (>= i 2))
(assert (<= i (- q 1)))
(check-sat)
; The claim, denied: unsat.
(assert (not (>= (- q 1) (- q (- i 1)))))
(check-sat)
