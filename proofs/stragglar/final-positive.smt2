; No set has a negative size.
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
(assert (>= a lo))
(assert (<= a hi))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= (XB a) 0) (>= (YB a) 0) (>= (VQ a) 0) (>= (XP a) 0) (>= (VS a) 0) (>= (YS a) 0))))
(check-sat)
