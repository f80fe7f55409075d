; e, in P_{q-2}, has every old chunk but the one that it lacks; it is in P_{q-1} in the next round
; as one of Y_s.
;
; q = ⌈log2 n⌉; u is the round; c is any chunk; j is the class that the rank is in, or whose chunk
; it gets; l is the old chunk that it lacks. Chunks below 1 are virtual: all ranks have them.
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const l Int)
(declare-const k Int)
; What a rank holds before round u, as a predicate of the chunk c: base for one of B,
; prim for one of P_j that lacks l.
(define-fun base ((c Int) (u Int)) Bool (<= c (- u q)))
(define-fun prim ((c Int) (u Int) (j Int) (l Int)) Bool (or (= c (- u j)) (and (<= c (- u q)) (distinct c l))))
; Assumptions. They can hold: sat.
(assert (>= q 4))
(assert (<= l (- u q)))
(assert (<= k (- u q)))
(assert (distinct k l))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (prim k u (- q 2) l) (not (prim (+ (- u q) 1) u (- q 2) l)))))
(check-sat)
