; No chunk that was old before round u is lacked by more ranks after it, so that (I4) goes on to
; hold for it: what a rank lacks changes only to u-q+1.
;
; Q = 2^(q-2), n = 2Q+r with 2 <= r <= 2Q; |B| = r, |P_{q-1}| = Q, |P_1|+..+|P_{q-2}| = Q-1.
; before and after are how many ranks lack the chunk, served how many of them get it.
;
; Models solve/stragglar, (*spreading).step and move.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
(declare-const before Int)
(declare-const served Int)
(declare-const after Int)
; Assumptions. They can hold: sat.
(assert (>= Q 1))
(assert (>= r 2))
(assert (<= r (* 2 Q)))
(assert (<= before (- r 1)))
(assert (>= served 0))
(assert (= after (- before served)))
(check-sat)
; The claim, denied: unsat.
(assert (not (<= after (- r 1))))
(check-sat)
