; Claim: the schedule delivers exactly the contributions of allreduce of 3 MiB in 3 chunks, 3 ranks, on switch3, pipelined, in the order of events that the schedule's times fix.
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
; rank 2's contribution
(declare-const x2 Int)
; rank 0 at the start; whether that is defined
(define-fun v0_0 () Int x0)
(define-fun d0_0 () Bool true)
; rank 1 at the start; whether that is defined
(define-fun v1_0 () Int x1)
(define-fun d1_0 () Bool true)
; rank 2 at the start; whether that is defined
(define-fun v2_0 () Int x2)
(define-fun d2_0 () Bool true)
; broken if rank 0 is undefined when it is read by transfer 0: reduce, rank 0 to rank 1, from 0s to 21.97152us
(define-fun o0 () Bool (not d0_0))
; broken if rank 1 is undefined when it is added to by transfer 0: reduce, rank 0 to rank 1, from 0s to 21.97152us
(define-fun o1 () Bool (not d1_0))
; rank 1 after transfer 0: reduce, rank 0 to rank 1, from 0s to 21.97152us
(define-fun v1_1 () Int (+ v1_0 v0_0))
(define-fun d1_1 () Bool d1_0)
; broken if the read of rank 1 by transfer 4 does not come after the write by transfer 0
(define-fun o2 () Bool (< 21971520 21971520))
; broken if rank 1 is undefined when it is read by transfer 4: reduce, rank 1 to rank 2, from 21.97152us to 43.94304us
(define-fun o3 () Bool (not d1_1))
; broken if rank 2 is undefined when it is added to by transfer 4: reduce, rank 1 to rank 2, from 21.97152us to 43.94304us
(define-fun o4 () Bool (not d2_0))
; rank 2 after transfer 4: reduce, rank 1 to rank 2, from 21.97152us to 43.94304us
(define-fun v2_1 () Int (+ v2_0 v1_1))
(define-fun d2_1 () Bool d2_0)
; broken if the read of rank 2 by transfer 8 does not come after the write by transfer 4
(define-fun o5 () Bool (< 43943040 43943040))
; broken if rank 2 is undefined when it is read by transfer 8: copy, rank 2 to rank 0, from 43.94304us to 65.91456us
(define-fun o6 () Bool (not d2_1))
; broken if the write of rank 0 by transfer 8 does not come after the read by transfer 0
(define-fun o7 () Bool (<= 65914560 0))
; rank 0 after transfer 8: copy, rank 2 to rank 0, from 43.94304us to 65.91456us
(define-fun v0_1 () Int v2_1)
(define-fun d0_1 () Bool d2_1)
; broken if the read of rank 0 by transfer 9 does not come after the write by transfer 8
(define-fun o8 () Bool (< 65914560 65914560))
; broken if rank 0 is undefined when it is read by transfer 9: copy, rank 0 to rank 1, from 65.91456us to 87.88608us
(define-fun o9 () Bool (not d0_1))
; broken if the write of rank 1 by transfer 9 does not come after the read by transfer 4
(define-fun o10 () Bool (<= 87886080 21971520))
; rank 1 after transfer 9: copy, rank 0 to rank 1, from 65.91456us to 87.88608us
(define-fun v1_2 () Int v0_1)
(define-fun d1_2 () Bool d0_1)
; wanted at the end by rank 0, and by all up to the next such line
(define-fun w0 () Int (+ x0 x1 x2))
; broken if rank 0 ends undefined or with anything but what it must have
(define-fun o11 () Bool (or (not d0_1) (distinct v0_1 w0)))
; broken if rank 1 ends undefined or with anything but what it must have
(define-fun o12 () Bool (or (not d1_2) (distinct v1_2 w0)))
; broken if rank 2 ends undefined or with anything but what it must have
(define-fun o13 () Bool (or (not d2_1) (distinct v2_1 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1 o2 o3 o4 o5 o6 o7 o8 o9 o10 o11 o12 o13))
(check-sat)
(pop 1)

; chunk 1: the values that it takes
(push 1)
; rank 0's contribution
(declare-const x0 Int)
; rank 1's contribution
(declare-const x1 Int)
; rank 2's contribution
(declare-const x2 Int)
; rank 0 at the start; whether that is defined
(define-fun v0_0 () Int x0)
(define-fun d0_0 () Bool true)
; rank 1 at the start; whether that is defined
(define-fun v1_0 () Int x1)
(define-fun d1_0 () Bool true)
; rank 2 at the start; whether that is defined
(define-fun v2_0 () Int x2)
(define-fun d2_0 () Bool true)
; broken if rank 1 is undefined when it is read by transfer 1: reduce, rank 1 to rank 2, from 0s to 21.97152us
(define-fun o0 () Bool (not d1_0))
; broken if rank 2 is undefined when it is added to by transfer 1: reduce, rank 1 to rank 2, from 0s to 21.97152us
(define-fun o1 () Bool (not d2_0))
; rank 2 after transfer 1: reduce, rank 1 to rank 2, from 0s to 21.97152us
(define-fun v2_1 () Int (+ v2_0 v1_0))
(define-fun d2_1 () Bool d2_0)
; broken if the read of rank 2 by transfer 5 does not come after the write by transfer 1
(define-fun o2 () Bool (< 21971520 21971520))
; broken if rank 2 is undefined when it is read by transfer 5: reduce, rank 2 to rank 0, from 21.97152us to 43.94304us
(define-fun o3 () Bool (not d2_1))
; broken if rank 0 is undefined when it is added to by transfer 5: reduce, rank 2 to rank 0, from 21.97152us to 43.94304us
(define-fun o4 () Bool (not d0_0))
; rank 0 after transfer 5: reduce, rank 2 to rank 0, from 21.97152us to 43.94304us
(define-fun v0_1 () Int (+ v0_0 v2_1))
(define-fun d0_1 () Bool d0_0)
; broken if the read of rank 0 by transfer 6 does not come after the write by transfer 5
(define-fun o5 () Bool (< 43943040 43943040))
; broken if rank 0 is undefined when it is read by transfer 6: copy, rank 0 to rank 1, from 43.94304us to 65.91456us
(define-fun o6 () Bool (not d0_1))
; broken if the write of rank 1 by transfer 6 does not come after the read by transfer 1
(define-fun o7 () Bool (<= 65914560 0))
; rank 1 after transfer 6: copy, rank 0 to rank 1, from 43.94304us to 65.91456us
(define-fun v1_1 () Int v0_1)
(define-fun d1_1 () Bool d0_1)
; broken if the read of rank 1 by transfer 10 does not come after the write by transfer 6
(define-fun o8 () Bool (< 65914560 65914560))
; broken if rank 1 is undefined when it is read by transfer 10: copy, rank 1 to rank 2, from 65.91456us to 87.88608us
(define-fun o9 () Bool (not d1_1))
; broken if the write of rank 2 by transfer 10 does not come after the read by transfer 5
(define-fun o10 () Bool (<= 87886080 21971520))
; rank 2 after transfer 10: copy, rank 1 to rank 2, from 65.91456us to 87.88608us
(define-fun v2_2 () Int v1_1)
(define-fun d2_2 () Bool d1_1)
; wanted at the end by rank 0, and by all up to the next such line
(define-fun w0 () Int (+ x0 x1 x2))
; broken if rank 0 ends undefined or with anything but what it must have
(define-fun o11 () Bool (or (not d0_1) (distinct v0_1 w0)))
; broken if rank 1 ends undefined or with anything but what it must have
(define-fun o12 () Bool (or (not d1_1) (distinct v1_1 w0)))
; broken if rank 2 ends undefined or with anything but what it must have
(define-fun o13 () Bool (or (not d2_2) (distinct v2_2 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1 o2 o3 o4 o5 o6 o7 o8 o9 o10 o11 o12 o13))
(check-sat)
(pop 1)

; chunk 2: the values that it takes
(push 1)
; rank 0's contribution
(declare-const x0 Int)
; rank 1's contribution
(declare-const x1 Int)
; rank 2's contribution
(declare-const x2 Int)
; rank 0 at the start; whether that is defined
(define-fun v0_0 () Int x0)
(define-fun d0_0 () Bool true)
; rank 1 at the start; whether that is defined
(define-fun v1_0 () Int x1)
(define-fun d1_0 () Bool true)
; rank 2 at the start; whether that is defined
(define-fun v2_0 () Int x2)
(define-fun d2_0 () Bool true)
; broken if rank 2 is undefined when it is read by transfer 2: reduce, rank 2 to rank 0, from 0s to 21.97152us
(define-fun o0 () Bool (not d2_0))
; broken if rank 0 is undefined when it is added to by transfer 2: reduce, rank 2 to rank 0, from 0s to 21.97152us
(define-fun o1 () Bool (not d0_0))
; rank 0 after transfer 2: reduce, rank 2 to rank 0, from 0s to 21.97152us
(define-fun v0_1 () Int (+ v0_0 v2_0))
(define-fun d0_1 () Bool d0_0)
; broken if the read of rank 0 by transfer 3 does not come after the write by transfer 2
(define-fun o2 () Bool (< 21971520 21971520))
; broken if rank 0 is undefined when it is read by transfer 3: reduce, rank 0 to rank 1, from 21.97152us to 43.94304us
(define-fun o3 () Bool (not d0_1))
; broken if rank 1 is undefined when it is added to by transfer 3: reduce, rank 0 to rank 1, from 21.97152us to 43.94304us
(define-fun o4 () Bool (not d1_0))
; rank 1 after transfer 3: reduce, rank 0 to rank 1, from 21.97152us to 43.94304us
(define-fun v1_1 () Int (+ v1_0 v0_1))
(define-fun d1_1 () Bool d1_0)
; broken if the read of rank 1 by transfer 7 does not come after the write by transfer 3
(define-fun o5 () Bool (< 43943040 43943040))
; broken if rank 1 is undefined when it is read by transfer 7: copy, rank 1 to rank 2, from 43.94304us to 65.91456us
(define-fun o6 () Bool (not d1_1))
; broken if the write of rank 2 by transfer 7 does not come after the read by transfer 2
(define-fun o7 () Bool (<= 65914560 0))
; rank 2 after transfer 7: copy, rank 1 to rank 2, from 43.94304us to 65.91456us
(define-fun v2_1 () Int v1_1)
(define-fun d2_1 () Bool d1_1)
; broken if the read of rank 2 by transfer 11 does not come after the write by transfer 7
(define-fun o8 () Bool (< 65914560 65914560))
; broken if rank 2 is undefined when it is read by transfer 11: copy, rank 2 to rank 0, from 65.91456us to 87.88608us
(define-fun o9 () Bool (not d2_1))
; broken if the write of rank 0 by transfer 11 does not come after the read by transfer 3
(define-fun o10 () Bool (<= 87886080 21971520))
; rank 0 after transfer 11: copy, rank 2 to rank 0, from 65.91456us to 87.88608us
(define-fun v0_2 () Int v2_1)
(define-fun d0_2 () Bool d2_1)
; wanted at the end by rank 0, and by all up to the next such line
(define-fun w0 () Int (+ x0 x1 x2))
; broken if rank 0 ends undefined or with anything but what it must have
(define-fun o11 () Bool (or (not d0_2) (distinct v0_2 w0)))
; broken if rank 1 ends undefined or with anything but what it must have
(define-fun o12 () Bool (or (not d1_1) (distinct v1_1 w0)))
; broken if rank 2 ends undefined or with anything but what it must have
(define-fun o13 () Bool (or (not d2_1) (distinct v2_1 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1 o2 o3 o4 o5 o6 o7 o8 o9 o10 o11 o12 o13))
(check-sat)
(pop 1)
