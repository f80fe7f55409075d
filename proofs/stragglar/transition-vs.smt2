; A rank of V_s in P_j, j <= q-2, gets the old chunk that it lacks and is in P_{j+1} before round
; u+1; it lacks u-q+1, which is old then.
;
; q = ⌈log2 n⌉; u is the round; c is any chunk; j is the class that the rank is in, or whose chunk
; it gets; l is the old chunk that it lacks. Chunks below 1 are virtual: all ranks have them.
;
; Models solve/stragglar, (*spreading).step, finish and move.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const c Int)
(declare-const j Int)
(declare-const l Int)
; What a rank holds before round u, as a predicate of the chunk c: base for one of B,
; prim for one of P_j that lacks l.
(define-fun base ((c Int) (u Int)) Bool (<= c (- u q)))
(define-fun prim ((c Int) (u Int) (j Int) (l Int)) Bool (or (= c (- u j)) (and (<= c (- u q)) (distinct c l))))
; Assumptions. They can hold: sat.
(assert (>= q 2))
(assert (>= j 1))
(assert (<= j (- q 2)))
(assert (<= l (- u q)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (or (prim c u j l) (= c l)) (prim c (+ u 1) (+ j 1) (+ (- u q) 1)))
  (not (prim l u j l))
  (<= (+ (- u q) 1) (- (+ u 1) q)))))
(check-sat)
