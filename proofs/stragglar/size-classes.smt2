; The classes P_1 to P_k have 2^k - 1 ranks between them: for k = 0, and for k+1 if for k. So the
; lower ones have Q-1.
;
; Models solve/stragglar, (*spreading).step and move.
(set-logic QF_UFLIA)
(declare-const k Int)
; two(k) is 2^k and sum(k) is |P_1|+..+|P_k|, |P_j| = 2^(j-1), as far as these queries need them.
(declare-fun two (Int) Int)
(declare-fun sum (Int) Int)
; Assumptions. They can hold: sat.
(assert (>= k 0))
(assert (= (two 0) 1))
(assert (= (sum 0) 0))
(assert (= (two (+ k 1)) (* 2 (two k))))
(assert (= (sum (+ k 1)) (+ (sum k) (two k))))
(assert (= (sum k) (- (two k) 1)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (sum 0) (- (two 0) 1)) (= (sum (+ k 1)) (- (two (+ k 1)) 1)))))
(check-sat)
