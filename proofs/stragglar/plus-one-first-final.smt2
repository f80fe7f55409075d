; In round m+1 the straggler and the lower classes, Q ranks, feed P_{q-1} and one of B; P_{q-1},
; Q-1 ranks, feeds the other of B and the lower classes without v2; then P_{q-1} has Q ranks and B
; has one.
;
; n = 2Q+1, Q = 2^(q-2) >= 4. Until the last chunk is in, |B| = 2, |P_{q-1}| = Q-1, the lower
; classes have Q-1 ranks, P_{q-2} has h = Q/2 of them. top is P_{q-2} and whom it feeds. The last
; equation counts all ranks after it: B, P_{q-1}, the lower classes and the straggler.
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const h Int)
(declare-const top Int)
; Assumptions. They can hold: sat.
(assert (= Q (* 2 h)))
(assert (>= Q 4))
(assert (= top (+ h h)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (+ 1 (- Q 1)) (+ (- Q 1) 1)) (= (+ 1 (- (- Q 1) 1)) (- Q 1)) (= top Q) (= (+ 1 Q (- Q 1) 1) (+ (* 2 Q) 1)))))
(check-sat)
