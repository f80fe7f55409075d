; For r = 1, Q >= 4, groups have at most 2 ranks, which is no more than k/2.
;
; Q = 2^(q-2), n = 2Q+r. P_{q-1} has 2Q-1 ranks, those that lack the same being a group, of at
; most r-1 ranks by (I4). r ranks of B are paired with one of the largest group each; k = 2Q-r are
; left, the straggler among them.
;
; Models solve/stragglar, (*spreading).last.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const g Int)
; Assumptions. They can hold: sat.
(assert (>= Q 4))
(assert (>= g 0))
(assert (<= g 2))
(check-sat)
; The claim, denied: unsat.
(assert (not (<= (* 2 g) (- (* 2 Q) 1))))
(check-sat)
