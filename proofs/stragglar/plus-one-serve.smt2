; Of v1 and v2, one lacks something else than e does, as no more than two ranks lack the same: e
; serves that one, which e can, and the base rank the other.
;
; e, v1 and v2 are what those ranks lack.
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const e Int)
(declare-const v1 Int)
(declare-const v2 Int)
; Assumptions. They can hold: sat.
(assert (not (and (= v1 e) (= v2 e))))
(check-sat)
; The claim, denied: unsat.
(assert (not (or (distinct v1 e) (and (= v1 e) (distinct v2 e)))))
(check-sat)
