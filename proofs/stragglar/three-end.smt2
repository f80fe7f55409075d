; Three ranks: Z gets chunk 1 of A in round m, and in round m+1 B gets t-1 of A, and A gets m of
; B. Each has what it sends, and then all have all.
;
; Chunks 2 to t are B's, 1 and t+1 to m are A's; c is any chunk from 1 to m.
;
; Models solve/stragglar, (*spreading).three.
(set-logic QF_LIA)
(declare-const m Int)
(declare-const t Int)
(declare-const c Int)
; What A, B and the straggler Z have complete before round u, as chunks 1 to m. Early: 2 <= u <= t.
; Late: t < u <= m+1, but for chunk 1, which Z gets in round m.
(define-fun in ((a Int) (b Int)) Bool (and (<= a c) (<= c b)))
(define-fun earlyA ((u Int)) Bool (in 1 (- u 1)))
(define-fun earlyB ((u Int)) Bool (in 1 (- u 2)))
(define-fun earlyZ ((u Int)) Bool (in 2 u))
(define-fun lateA ((u Int)) Bool (or (in 1 (- t 1)) (in t (- u 2))))
(define-fun lateB ((u Int)) Bool (or (in 1 (- t 2)) (in t (- u 1))))
(define-fun lateZ ((u Int)) Bool (in 2 (ite (< u m) u m)))
; Assumptions. They can hold: sat.
(assert (>= m 2))
(assert (>= t 2))
(assert (<= t m))
(assert (<= 1 c))
(assert (<= c m))
(check-sat)
; The claim, denied: unsat.
(assert (not (and
  (=> (= c 1) (ite (= m t) (earlyA m) (lateA m)))
  (=> (= c (- t 1)) (lateA (+ m 1))) (=> (= c m) (lateB (+ m 1)))
  (or (lateA (+ m 1)) (= c m)) (or (lateB (+ m 1)) (= c (- t 1))) (or (lateZ (+ m 1)) (= c 1)))))
(check-sat)
