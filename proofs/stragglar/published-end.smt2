; The published construction: before round m+q the ranks lack nothing up to m: q-1 rounds after
; the last chunk came in.
;
; n = 2^q ranks; the ready ones fall into the sets A_{u-q}, .., A_{u-1} before round u, |A_{u-j}|
; = 2^(j-1); c is any chunk. The last class is that of chunk m alone.
;
; Models solve/stragglar, (*state).exchange, spread and swap.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const x Int)
(declare-const c Int)
(declare-const m Int)
; What a rank has before round u that is in the class of chunk x: all up to u-q-1, and x.
(define-fun has ((c Int) (u Int) (x Int)) Bool (or (<= c (- u q 1)) (= c x)))
; Assumptions. They can hold: sat.
(assert (>= q 1))
(assert (>= m 1))
(assert (= u (+ m q)))
(assert (<= x m))
(assert (<= (- u q) x))
(assert (<= c m))
(check-sat)
; The claim, denied: unsat.
(assert (not (has c u x)))
(check-sat)
