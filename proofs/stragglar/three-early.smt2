; Three ranks: in a round 2 <= u < t A gets chunk u of Z, B gets u-1 of A, and Z B's sum of u+1,
; which only B and Z have parts of. Each has what it sends, and after it they are as said before
; round u+1.
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
(assert (>= u 2))
(assert (< u t))
(check-sat)
; The claim, denied: unsat.
(assert (not (and
  (=> (= c u) (earlyZ u)) (=> (= c (- u 1)) (earlyA u)) (=> (= c (+ u 1)) (and (not (earlyA u)) (not (earlyB u)) (not (earlyZ u))))
  (= (or (earlyA u) (= c u)) (earlyA (+ u 1)))
  (= (or (earlyB u) (= c (- u 1))) (earlyB (+ u 1)))
  (= (or (earlyZ u) (= c (+ u 1))) (earlyZ (+ u 1))))))
(check-sat)
