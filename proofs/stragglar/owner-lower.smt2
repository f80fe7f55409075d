; A rank of a lower class that is owner in i rounds and in P_j with j >= q-i is, one round later,
; in P_{j+1}, and j+1 >= q-(i-1).
;
; The owner of round u+i, 0 <= i <= q-1, has to be in B, or in P_j with j >= q-i: then it is in B
; when it is its turn.
;
; Models solve/stragglar, (*spreading).urgent and step.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const i Int)
(declare-const j Int)
; Assumptions. They can hold: sat.
(assert (>= q 2))
(assert (>= i 1))
(assert (<= i (- q 1)))
(assert (>= j 1))
(assert (<= j (- q 2)))
(assert (>= j (- q i)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (<= (+ j 1) (- q 1)) (>= (+ j 1) (- q (- i 1))))))
(check-sat)
