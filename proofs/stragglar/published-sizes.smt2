; The published construction: A_{u-q} without the owner and all other sets have 2^(q-1)-1 ranks
; each; with the straggler in A_m, later, 2^(q-1) each. So there is a perfect matching of one with
; the others.
;
; h = 2^(q-1), n = 2h; the others are what is left of n-1 ready ranks, or of n.
;
; Models solve/stragglar, (*state).exchange, spread and swap.
(set-logic QF_LIA)
(declare-const h Int)
; Assumptions. They can hold: sat.
(assert (>= h 1))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (- h 1) (- (- (* 2 h) 1) h)) (= h (- (* 2 h) h)))))
(check-sat)
