; In the list of those that are left, group by group, each is served by the rank d places further
; round: not by itself, nor by one of its group, if d is at least the size g of the largest group
; and g+d <= k.
;
; k ranks are in the list; a group is at the places s to s+len-1, the rank at i among them.
;
; Models solve/stragglar, (*spreading).last.
(set-logic QF_LIA)
(declare-const k Int)
(declare-const d Int)
(declare-const g Int)
(declare-const s Int)
(declare-const len Int)
(declare-const i Int)
(declare-const to Int)
; Assumptions. They can hold: sat.
(assert (>= s 0))
(assert (>= len 1))
(assert (<= len g))
(assert (<= (+ s len) k))
(assert (<= g d))
(assert (<= (+ g d) k))
(assert (<= s i))
(assert (< i (+ s len)))
(assert (= to (ite (< (+ i d) k) (+ i d) (- (+ i d) k))))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= to 0) (< to k) (distinct to i) (not (and (<= s to) (< to (+ s len)))))))
(check-sat)
