; In the last round a rank of P_{q-1} gets what it lacks, and then has all chunks.
;
; q = ⌈log2 n⌉; m chunks; the last round is u = m+q-1, so that u-q+1 = m; c is any chunk.
;
; Models solve/stragglar, (*spreading).last.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const c Int)
(declare-const m Int)
(declare-const l Int)
; What a rank holds before round u, as a predicate of the chunk c: base for one of B,
; prim for one of P_j that lacks l.
(define-fun base ((c Int) (u Int)) Bool (<= c (- u q)))
(define-fun prim ((c Int) (u Int) (j Int) (l Int)) Bool (or (= c (- u j)) (and (<= c (- u q)) (distinct c l))))
; Assumptions. They can hold: sat.
(assert (>= q 2))
(assert (>= m 1))
(assert (= u (- (+ m q) 1)))
(assert (<= c m))
(assert (<= l (- u q)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (or (prim c u (- q 1) l) (= c l)) (not (prim l u (- q 1) l)))))
(check-sat)
