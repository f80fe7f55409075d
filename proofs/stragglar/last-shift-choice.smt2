; The shifts that the program takes are such: k/2 for an even k, and the size g of the largest
; group for an odd k, where 2g <= k.
;
; k is 2h or 2h+1.
;
; Models solve/stragglar, (*spreading).last.
(set-logic QF_LIA)
(declare-const k Int)
(declare-const g Int)
(declare-const h Int)
; Assumptions. They can hold: sat.
(assert (>= g 1))
(assert (<= (* 2 g) k))
(assert (or (= k (* 2 h)) (= k (+ (* 2 h) 1))))
(check-sat)
; The claim, denied: unsat.
(assert (not (ite (= k (* 2 h)) (and (<= g h) (<= (+ g h) k)) (<= (+ g g) k))))
(check-sat)
