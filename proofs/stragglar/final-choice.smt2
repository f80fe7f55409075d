; The size that the program takes, r/2 rounded down, is between max(0, r-Q) and min(Q, r-1).
;
; Q = 2^(q-2), n = 2Q+r with 1 <= r <= 2Q; |B| = r, |P_{q-1}| = Q, the lower classes have Q-1
; ranks and the straggler.
;
; Models solve/stragglar, (*spreading).finish and move.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
(declare-const a Int)
; Q = 2^(q-2); n = 2Q+r. Sizes in a round m+i, a being the size of X_B.
(define-fun lo () Int (ite (> (- r Q) 0) (- r Q) 0))
(define-fun hi () Int (ite (< Q (- r 1)) Q (- r 1)))
(define-fun XB ((a Int)) Int a)
(define-fun YB ((a Int)) Int (- r a))
(define-fun VQ ((a Int)) Int a)
(define-fun XP ((a Int)) Int (- Q a))
(define-fun VS ((a Int)) Int (- r 1 a))
(define-fun YS ((a Int)) Int (+ (- Q r) a))
; Assumptions. They can hold: sat.
(assert (>= Q 1))
(assert (>= r 1))
(assert (<= r (* 2 Q)))
(assert (<= (* 2 a) r))
(assert (< (- r 2) (* 2 a)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (<= lo a) (<= a hi))))
(check-sat)
