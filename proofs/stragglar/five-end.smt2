; Five ranks: in round m+1 those at 0 and 1 exchange m-1 and m-2, those at 2 and 3 m-3 and m; in
; round m+2 those at 0 and 2 m-2 and m, those at 1 and 3 m-1 and m. Each has what it sends and not
; what it gets, and then all chunks up to m.
;
; u = m+1.
;
; Models solve/stragglar, (*spreading).five.
(set-logic QF_LIA)
(declare-const u Int)
(declare-const c Int)
(declare-const m Int)
; What the rank at each position has before round u: the one at p0 owns chunk u, at p1 u+1, and so on.
(define-fun p0 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 4)) (= c (- u 2))))
(define-fun p1 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 4)) (= c (- u 3))))
(define-fun p2 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 4)) (= c (- u 2))))
(define-fun p3 ((c Int) (u Int)) Bool (or (<= c (- u 5)) (= c (- u 3)) (= c (- u 1))))
; What they have after that round.
(define-fun q0 ((c Int)) Bool (or (p0 c u) (= c (- m 2))))
(define-fun q1 ((c Int)) Bool (or (p1 c u) (= c (- m 1))))
(define-fun q2 ((c Int)) Bool (or (p2 c u) (= c m)))
(define-fun q3 ((c Int)) Bool (or (p3 c u) (= c (- m 3))))
; Assumptions. They can hold: sat.
(assert (>= m 1))
(assert (= u (+ m 1)))
(assert (<= c m))
(check-sat)
; The claim, denied: unsat.
(assert (not (and
  (p0 (- m 1) u) (p1 (- m 2) u) (p2 (- m 3) u) (p3 m u)
  (not (p0 (- m 2) u)) (not (p1 (- m 1) u)) (not (p2 m u)) (not (p3 (- m 3) u))
  (q0 (- m 2)) (q2 m) (q1 (- m 1)) (q3 m)
  (not (q0 m)) (not (q2 (- m 2))) (not (q1 m)) (not (q3 (- m 1)))
  (or (q0 c) (= c m)) (or (q1 c) (= c m)) (or (q2 c) (= c (- m 2))) (or (q3 c) (= c (- m 1))))))
(check-sat)
