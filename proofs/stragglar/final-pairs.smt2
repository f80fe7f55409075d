; For even n, r = 2s, a = s is possible: V_s and the straggler are as many as X_B, Y_B as V_q, X_P
; as Y_s; each round is a matching of pairs.
;
; Q = 2^(q-2), n = 2Q+r with 1 <= r <= 2Q; |B| = r, |P_{q-1}| = Q, the lower classes have Q-1
; ranks and the straggler.
;
; Models solve/stragglar, (*spreading).finish and move.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
(declare-const a Int)
(declare-const s Int)
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
(assert (= r (* 2 s)))
(assert (= a s))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (<= lo a) (<= a hi) (= (XB a) (+ (VS a) 1)) (= (YB a) (VQ a)) (= (XP a) (YS a)))))
(check-sat)
