; Five ranks: the rank at position 2 gets chunk u-3, which it does not have, of the one at 1,
; which does, and is at position 1.
;
; u is the round, c any chunk. The rank at position p is at p-1 before round u+1, the one at 0 at
; 3.
;
; Models solve/stragglar, (*spreading).five.
(set-logic QF_LIA)
(declare-const u Int)
(declare-const c Int)
; What the rank at each position has before round u: the one at p0 owns chunk u, at p1 u+1, and so on.
(define-fun p0 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 4)) (= c (- u 2))))
(define-fun p1 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 4)) (= c (- u 3))))
(define-fun p2 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 4)) (= c (- u 2))))
(define-fun p3 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 3)) (= c (- u 1))))
; Assumptions. They can hold: sat.
(assert (>= u 1))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (or (p2 c u) (= c (- u 3))) (p1 c (+ u 1))) (not (p2 (- u 3) u)) (p1 (- u 3) u))))
(check-sat)
