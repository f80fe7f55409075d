; The construction of step would do for r = 1, n = 2^p+1, as well. This is false, as there is no
; size of X_B then: it is why those numbers of ranks have a construction of their own, and why
; what checks these files must tell a claim that holds from one that does not.
;
; Q = 2^(q-2), n = 2Q+r.
;
; Models solve/stragglar, (*spreading).step and move.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
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
(assert (>= r 1))
(assert (<= r (* 2 Q)))
(check-sat)
; The claim, denied. It is false, so that there is a counterexample: sat.
(assert (not (<= lo hi)))
(check-sat)
