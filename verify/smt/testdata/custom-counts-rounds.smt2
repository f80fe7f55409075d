; Claim: the schedule delivers exactly the contributions of custom of 2 MiB in 2 chunks, 3 ranks, on switch3, rounds, in the order of events that the schedule's rounds fix.
;
; x3 is rank 3's contribution to the chunk, any value. v3_0 is the first value that
; rank 3 holds of the chunk, v3_1 the one after the next write to it, and so on;
; d3_1 reports whether v3_1 is defined. Each scope asserts the negated claim, that
; some obligation o0, o1, ... is broken: unsat says that none can be. Numbers
; compared are times, in picoseconds or rounds from the chunk's first read.
; The schedule is right if every (check-sat) answers what the line before it expects.
; Z3 needs no options for this file; cvc5 needs --incremental.
(set-logic QF_LIA)

; chunk 0: the values that it takes
(push 1)
; rank 0's contribution
(declare-const x0 Int)
; rank 1's contribution
(declare-const x1 Int)
; rank 0 at the start; whether that is defined
(define-fun v0_0 () Int x0)
(define-fun d0_0 () Bool true)
; rank 1 at the start; whether that is defined
(define-fun v1_0 () Int x1)
(define-fun d1_0 () Bool true)
; broken if rank 1 is undefined when it is read by transfer 0: reduce, rank 1 to rank 0, in round 0
(define-fun o0 () Bool (not d1_0))
; broken if rank 0 is undefined when it is added to by transfer 0: reduce, rank 1 to rank 0, in round 0
(define-fun o1 () Bool (not d0_0))
; rank 0 after transfer 0: reduce, rank 1 to rank 0, in round 0
(define-fun v0_1 () Int (+ v0_0 v1_0))
(define-fun d0_1 () Bool d0_0)
; broken if the read of rank 1 by transfer 1 does not come after the read by transfer 0
(define-fun o2 () Bool (< 1 0))
; broken if rank 1 is undefined when it is read by transfer 1: reduce, rank 1 to rank 0, in round 1
(define-fun o3 () Bool (not d1_0))
; broken if the write of rank 0 by transfer 1 does not come after the write by transfer 0
(define-fun o4 () Bool (< 2 1))
; broken if rank 0 is undefined when it is added to by transfer 1: reduce, rank 1 to rank 0, in round 1
(define-fun o5 () Bool (not d0_1))
; rank 0 after transfer 1: reduce, rank 1 to rank 0, in round 1
(define-fun v0_2 () Int (+ v0_1 v1_0))
(define-fun d0_2 () Bool d0_1)
; broken if the read of rank 1 by transfer 2 does not come after the read by transfer 1
(define-fun o6 () Bool (< 2 1))
; broken if rank 1 is undefined when it is read by transfer 2: reduce, rank 1 to rank 0, in round 2
(define-fun o7 () Bool (not d1_0))
; broken if the write of rank 0 by transfer 2 does not come after the write by transfer 1
(define-fun o8 () Bool (< 3 2))
; broken if rank 0 is undefined when it is added to by transfer 2: reduce, rank 1 to rank 0, in round 2
(define-fun o9 () Bool (not d0_2))
; rank 0 after transfer 2: reduce, rank 1 to rank 0, in round 2
(define-fun v0_3 () Int (+ v0_2 v1_0))
(define-fun d0_3 () Bool d0_2)
; wanted at the end by rank 0, and by all up to the next such line
(define-fun w0 () Int (+ x0 (* 3 x1)))
; broken if rank 0 ends undefined or with anything but what it must have
(define-fun o10 () Bool (or (not d0_3) (distinct v0_3 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1 o2 o3 o4 o5 o6 o7 o8 o9 o10))
(check-sat)
(pop 1)

; chunk 1: the values that it takes
(push 1)
; rank 2's contribution
(declare-const x2 Int)
; rank 1 at the start; whether that is defined
(define-fun v1_0 () Int (* 2 x2))
(define-fun d1_0 () Bool true)
; broken if rank 1 is undefined when it is read by transfer 3: copy, rank 1 to rank 2, in round 0
(define-fun o0 () Bool (not d1_0))
; rank 2 after transfer 3: copy, rank 1 to rank 2, in round 0
(define-fun v2_0 () Int v1_0)
(define-fun d2_0 () Bool d1_0)
; wanted at the end by rank 2, and by all up to the next such line
(define-fun w0 () Int (* 2 x2))
; broken if rank 2 ends undefined or with anything but what it must have
(define-fun o1 () Bool (or (not d2_0) (distinct v2_0 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1))
(check-sat)
(pop 1)
