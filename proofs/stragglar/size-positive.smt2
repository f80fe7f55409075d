; No set has a negative size, and Y_B and V_q are not empty.
;
; Q = 2^(q-2), n = 2Q+r with 2 <= r <= 2Q; |B| = r, |P_{q-1}| = Q, |P_1|+..+|P_{q-2}| = Q-1.
;
; Models solve/stragglar, (*spreading).step and move.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
(declare-const a Int)
; Q = 2^(q-2); n = 2Q+r. Sizes in a round u <= m, a being the size of X_B.
(define-fun lo () Int (ite (> (- r 1 Q) 0) (- r 1 Q) 0))
(define-fun hi () Int (ite (< (- Q 1) (- r 2)) (- Q 1) (- r 2)))
(define-fun XB ((a Int)) Int a)
(define-fun YB ((a Int)) Int (- r 1 a))
(define-fun VQ ((a Int)) Int (+ a 1))
(define-fun XP ((a Int)) Int (- Q 1 a))
(define-fun VS ((a Int)) Int (- r 2 a))
(define-fun YS ((a Int)) Int (+ (- Q r) 1 a))
; Assumptions. They can hold: sat.
(assert (>= Q 1))
(assert (>= r 2))
(assert (<= r (* 2 Q)))
(assert (>= a lo))
(assert (<= a hi))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= (XB a) 0) (>= (YB a) 1) (>= (VQ a) 1) (>= (XP a) 0) (>= (VS a) 0) (>= (YS a) 0))))
(check-sat)
