; A rank of Y_B, a part of B, gets chunk u-q+1 of a rank of P_{q-1}, which it does not have, and
; stays in B.
;
; q = ⌈log2 n⌉; u is the round; c is any chunk; j is the class that the rank is in, or whose chunk
; it gets; l is the old chunk that it lacks. Chunks below 1 are virtual: all ranks have them.
;
; Models solve/stragglar, (*spreading).step, finish and move.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const c Int)
; What a rank holds before round u, as a predicate of the chunk c: base for one of B,
; prim for one of P_j that lacks l.
(define-fun base ((c Int) (u Int)) Bool (<= c (- u q)))
(define-fun prim ((c Int) (u Int) (j Int) (l Int)) Bool (or (= c (- u j)) (and (<= c (- u q)) (distinct c l))))
; Assumptions. They can hold: sat.
(assert (>= q 2))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (or (base c u) (= c (+ (- u q) 1))) (base c (+ u 1)))
  (not (base (+ (- u q) 1) u)))))
(check-sat)
