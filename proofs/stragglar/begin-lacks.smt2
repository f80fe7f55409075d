; At the beginning, before round 1, the rank at place i of the initial order lacks chunk -n-q-i,
; which is old and virtual, and no other rank lacks it.
;
; q = ⌈log2 n⌉; i and k are places of different ranks.
;
; Models solve/stragglar, (*spreading).begin.
(set-logic QF_LIA)
(declare-const n Int)
(declare-const q Int)
(declare-const i Int)
(declare-const k Int)
; Assumptions. They can hold: sat.
(assert (>= n 2))
(assert (>= q 2))
(assert (>= i 0))
(assert (>= k 0))
(assert (distinct i k))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (<= (- (- (- n) q) i) (- 1 q)) (< (- (- (- n) q) i) 1) (distinct (- (- (- n) q) i) (- (- (- n) q) k)))))
(check-sat)
