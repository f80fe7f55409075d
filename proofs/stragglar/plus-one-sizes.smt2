; X_P is P_{q-1} without v1, and the lower classes without e, which feed it, are as many; Y is the
; other base rank and the lower classes without v2, as many as P_{q-1}; all ranks are Q-1 + Q-1 +
; 2 and the straggler, n.
;
; n = 2Q+1, Q = 2^(q-2) >= 4. Until the last chunk is in, |B| = 2, |P_{q-1}| = Q-1, the lower
; classes have Q-1 ranks, P_{q-2} has h = Q/2 of them.
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const n Int)
(declare-const base Int)
(declare-const top Int)
(declare-const lower Int)
; Assumptions. They can hold: sat.
(assert (>= Q 4))
(assert (= n (+ (* 2 Q) 1)))
(assert (= base 2))
(assert (= top (- Q 1)))
(assert (= lower (- Q 1)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (- top 1) (- lower 1)) (= (+ (- base 1) (- lower 1)) top) (= (+ base top lower 1) n))))
(check-sat)
