; Three ranks: in a round t < u <= m B gets chunk u of Z, A gets u-1 of B, and Z A's sum of u+1,
; if there is one. Each has what it sends, and after it they are as said before round u+1.
;
; Chunks 2 to t are B's, 1 and t+1 to m are A's; c is any chunk from 1 to m.
;
; Models solve/stragglar, (*spreading).three.
(set-logic QF_LIA)
(declare-const m Int)
(declare-const t Int)
(declare-const u Int)
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
(assert (> u t))
(assert (<= u m))
(check-sat)
; The claim, denied: unsat.
(assert (not (and
  (=> (= c u) (lateZ u)) (=> (= c (- u 1)) (lateB u)) (=> (= c (+ u 1)) (and (not (lateA u)) (not (lateB u)) (not (lateZ u))))
  (= (or (lateA u) (= c (- u 1))) (lateA (+ u 1)))
  (= (or (lateB u) (= c u)) (lateB (+ u 1)))
  (= (or (lateZ u) (= c (+ u 1))) (lateZ (+ u 1))))))
(check-sat)
