; Chunk m comes in in round m, and q-2 final rounds and the last one follow: m+q-1 rounds, the
; bound.
;
; q = ⌈log2 n⌉ >= 2.
;
; Models solve/stragglar, Spread.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const m Int)
(declare-const final Int)
(declare-const total Int)
; Assumptions. They can hold: sat.
(assert (>= q 2))
(assert (>= m 1))
(assert (= final (- q 2)))
(assert (= total (+ m final 1)))
(check-sat)
; The claim, denied: unsat.
(assert (not (= total (- (+ m q) 1))))
(check-sat)
