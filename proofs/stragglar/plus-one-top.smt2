; The new P_{q-1} is P_{q-2}, e with it, and the ranks that those other than e feed: Q-1. The new
; base is the other base rank and v1.
;
; n = 2Q+1, Q = 2^(q-2) >= 4. Until the last chunk is in, |B| = 2, |P_{q-1}| = Q-1, the lower
; classes have Q-1 ranks, P_{q-2} has h = Q/2 of them.
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const h Int)
(declare-const fed Int)
(declare-const top Int)
(declare-const stay Int)
(declare-const v1 Int)
(declare-const base Int)
; Assumptions. They can hold: sat.
(assert (= Q (* 2 h)))
(assert (>= Q 4))
(assert (= fed (- h 1)))
(assert (= top (+ h fed)))
(assert (= stay (- 2 1)))
(assert (= v1 1))
(assert (= base (+ stay v1)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= top (- Q 1)) (= base 2) (>= fed 1))))
(check-sat)
