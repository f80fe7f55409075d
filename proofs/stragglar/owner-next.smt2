; The owner of round u+1 is in B or in P_{q-1} in round u; it comes first in Y_B or V_q, which are
; not empty, and both are in B after it.
;
; The owner of round u+i, 0 <= i <= q-1, has to be in B, or in P_j with j >= q-i: then it is in B
; when it is its turn. Q = 2^(q-2), n = 2Q+r with 2 <= r <= 2Q; |B| = r, |P_{q-1}| = Q,
; |P_1|+..+|P_{q-2}| = Q-1.
;
; Models solve/stragglar, (*spreading).urgent and step.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const j Int)
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
(assert (>= q 2))
(assert (>= j (- q 1)))
(assert (<= j (- q 1)))
(assert (>= Q 1))
(assert (>= r 2))
(assert (<= r (* 2 Q)))
(assert (>= a lo))
(assert (<= a hi))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= j (- q 1)) (>= (YB a) 1) (>= (VQ a) 1))))
(check-sat)
