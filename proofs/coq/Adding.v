(** Switches that add: SPEC 4.3, for the forms timed and rounds, with 3.1 and 3.2 where such
    switches are. Streams, and the slots that they keep, are defined by functions. *)
From Coq Require Import Bool List ZArith Lia Permutation Sorted Mergesort Orders.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds Copying.
Import ListNotations.
Open Scope Z_scope.

(** What nodes do, by node: none of it is what ranks do. A switch that turns or reads adds as
    the topology has it; [computes] says that it adds what the collective asks for. Limits of
    sums come with the switches that have one. *)
Record network := Network {
  copying : nat -> bool;
  turns : nat -> bool;
  reads : nat -> bool;
  computes : nat -> bool;
  sums : list (nat * nat) }.

(** Where no switch does any of it. *)
Definition plain : network := let none := fun _ : nat => false in Network none none none none [].

(** A link that the transfer of this number keeps busy, the n-th on its route from 0. *)
Record held := Held { over : use; by_number : nat; nth_link : nat; of_sent : sent }.
Definition begin_of (a : held) : Z := first (snd (over a)).
Definition stop_of (a : held) : Z := first (snd (over a)) + long (snd (over a)).
Definition on_link (a : held) : nat := fst (over a).

Module ByBegin <: TotalLeBool.
  Definition t := held.
  Definition leb a b := begin_of a <=? begin_of b.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Z.leb_le. lia. Qed.
End ByBegin.
Module Begins := Sort ByBegin.

(** What overlaps, and what overlaps that, and so on, in the order in which it begins. *)
Fixpoint streams_from (now : list held) (until : Z) (l : list held) : list (list held) :=
  match l with
  | [] => [now]
  | a :: l => if begin_of a <? until then streams_from (a :: now) (Z.max until (stop_of a)) l
              else now :: streams_from [a] (stop_of a) l
  end.
Definition streams (l : list held) : list (list held) :=
  match Begins.sort l with [] => [] | a :: l => streams_from [a] (stop_of a) l end.

Section Job.
Variable j : job.
Variable net : network.
Notation at_link := (at_link j).

Definition adding (v : nat) : bool := (turns net v || reads net v) && computes net v.

(** 3.2: over a switch at which ranks read sums a transfer may wait; its second link is then
    busy as if it had started as late as its end allows. *)
Definition may_wait (r : list nat) : bool :=
  match r with [i; _] => reads net (Cut.dst (at_link i)) | _ => false end.
Definition waited (t : sent) : Z :=
  if may_wait (route t) then ends (data t) - begins (data t) - duration j (size j (what (tr (data t)))) (route t) else 0.
Definition waiting_uses_of (t : sent) : list use :=
  match uses_of j t with
  | [a; b] => [a; (fst b, Span (first (snd b) + waited t) (long (snd b)))]
  | us => us
  end.

(** 3.1: a switch that turns sums round may be passed twice, no link. *)
Definition path (u : nat) (r : list nat) (v : nat) : Prop :=
  leads j u r v /\ NoDup (filter (fun x => negb (turns net x)) (visited j u r)) /\ NoDup r.
Definition well_adding (t : sent) : Prop :=
  let x := tr (data t) in
  ((what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x) /\
  path (src x) (route t) (dst x) /\ 0 <= begins (data t) < ends (data t) /\
  begins (data t) + duration j (size j (what x)) (route t) <= ends (data t) /\
  (may_wait (route t) = false -> ends (data t) = begins (data t) + duration j (size j (what x)) (route t)) /\
  (forall v, In v (visited j (src x) (route t)) -> is_rank j v = true -> arrival j v <= begins (data t)).
Definition round_well_adding (by_link : bool) (t : sent) : Prop :=
  let x := tr (data t) in
  ((what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x) /\
  path (src x) (route t) (dst x) /\ 0 <= begins (data t) /\ ends (data t) = begins (data t) + 1 /\
  (by_link = true -> forall v, In v (visited j (src x) (route t)) -> is_rank j v = true -> v = src x \/ v = dst x).

(** ** What a stream is *)

Definition from (a : held) : nat := src (tr (data (of_sent a))).
Definition towards (a : held) : nat := dst (tr (data (of_sent a))).
Definition chunk_of (a : held) : nat := what (tr (data (of_sent a))).
Definition way_on (a : held) : list nat := skipn (S (nth_link a)) (route (of_sent a)).
Definition way_back (a : held) : list nat := rev (firstn (nth_link a) (route (of_sent a))).
Definition the_last (a : held) : bool := (S (nth_link a) =? length (route (of_sent a)))%nat.
(** The node at which two ways to [v], read backwards, last part. *)
Fixpoint meeting (v : nat) (r r' : list nat) : option nat :=
  match r, r' with
  | i :: r, i' :: r' => if (i =? i')%nat then meeting (Cut.src (at_link i)) r r' else Some v
  | [], [] => None
  | _, _ => Some v
  end.
Definition parts_well (i : nat) (a b : held) : bool :=
  match parting j (Cut.dst (at_link i)) (way_on a) (way_on b) with
  | Some v => copying net v &&
      (negb (reads net v) || (v =? Cut.dst (at_link i))%nat && (nth_link a =? 0)%nat && (nth_link b =? 0)%nat)
  | None => false
  end.
Definition meets_well (i : nat) (a b : held) : bool :=
  match meeting (Cut.src (at_link i)) (way_back a) (way_back b) with
  | Some v => adding v && (negb (reads net v) || (v =? Cut.src (at_link i))%nat && the_last a && the_last b)
  | None => false
  end.
(** Of two different transfers in a stream on link [i]. *)
Definition alike_in_stream (i : nat) (a b : held) : bool :=
  let t := of_sent a in let t' := of_sent b in
  (chunk_of a =? chunk_of b)%nat &&
  negb ((from a =? from b)%nat && (towards a =? towards b)%nat) &&
  (if (from a =? from b)%nat then (begins (data t) =? begins (data t')) &&
       same_list (firstn (S (nth_link a)) (route t)) (firstn (S (nth_link b)) (route t'))
   else meets_well i a b) &&
  (if (towards a =? towards b)%nat then (ends (data t) =? ends (data t')) &&
       same_list (skipn (nth_link a) (route t)) (skipn (nth_link b) (route t'))
   else parts_well i a b).
Definition several (f : held -> nat) (s : list held) : bool :=
  match s with [] => false | a :: s => existsb (fun b => negb (f b =? f a)%nat) s end.
Definition hull (s : list held) : span :=
  match s with
  | [] => Span 0 0
  | a :: s => let f := fold_right (fun b m => Z.min (begin_of b) m) (begin_of a) s in
              Span f (fold_right (fun b m => Z.max (stop_of b) m) (stop_of a) s - f)
  end.
Definition adds_up (a : held) : bool := match op (tr (data (of_sent a))) with Reduce => true | Copy => false end.
(** Terms come together at the link's source, branches go apart at its end. *)
Definition before (a : held) : list nat := firstn 1 (way_back a).
Definition behind (a : held) : list nat := firstn 1 (way_on a).
Definition differ (f : held -> list nat) (s : list held) : bool :=
  match s with [] => false | a :: s => existsb (fun b => negb (same_list (f b) (f a))) s end.
(** At a switch at which ranks read sums: a sum, or a multicast. *)
Definition reads_sum (i : nat) (s : list held) : bool :=
  several from s && reads net (Cut.src (at_link i)) && differ before s.
Definition writes_all (i : nat) (s : list held) : bool :=
  negb (reads_sum i s) && several towards s && reads net (Cut.dst (at_link i)) && differ behind s.
Definition two_links (a : held) : bool := (length (route (of_sent a)) =? 2)%nat.
Definition link_back (i : nat) : option nat :=
  find (fun k => (Cut.src (at_link k) =? Cut.dst (at_link i))%nat && (Cut.dst (at_link k) =? Cut.src (at_link i))%nat)
    (seq 0 (length (links j))).
Definition is_stream (i : nat) (s : list held) : bool :=
  forallb (fun a => forallb (fun b => (by_number a =? by_number b)%nat || alike_in_stream i a b) s) s &&
  forallb (fun a => forallb (fun b => (from a =? towards b)%nat ||
    existsb (fun c => (from c =? from a)%nat && (towards c =? towards b)%nat) s) s) s &&
  (negb (several from s) || forallb adds_up s) &&
  (negb (several from s && several towards s) ||
    forallb (fun a => (begin_of a =? first (hull s)) && (stop_of a - begin_of a =? long (hull s))) s) &&
  (negb (reads_sum i s || writes_all i s) || forallb two_links s && match link_back i with Some _ => true | None => false end) &&
  (negb (writes_all i s) || forallb (fun a => negb (adds_up a)) s).

(** ** What a stream keeps *)

(** The rank at its end sends its own contribution, or gets it back, at the same time. [timed]
    tells whether links have latencies: in rounds they have none. *)
Definition own_use (timed : bool) (i : nat) (s : list held) : list use :=
  match link_back i with
  | None => []
  | Some k =>
      let shift := if timed then latency (at_link (if reads_sum i s then k else i)) else 0 in
      let stop := if timed then match model j with Blocking => latency (at_link (if reads_sum i s then i else k)) | Pipelined => shift end else 0 in
      let h := hull s in
      if reads_sum i s then [(k, Span (first h - shift) (long h - stop + shift))]
      else if writes_all i s then [(k, Span (first h + shift) (long h + stop - shift))] else []
  end.
Definition kept_busy (timed : bool) (i : nat) (s : list held) : list use := (i, hull s) :: own_use timed i s.

(** Nothing else may write this slot after [after_this], and up to [up_to_then], except for these
    transfers, and those that come then over this link. *)
Record kept := Kept { kept_slot : nat * nat; after_this : Z; up_to_then : Z; but : list nat; but_over : list nat; on_its_way : bool }.
Definition earliest_begin (s : list held) : Z :=
  match s with [] => 0 | a :: s => fold_right (fun b m => Z.min (begins (data (of_sent b))) m) (begins (data (of_sent a))) s end.
Definition latest_end (s : list held) : Z :=
  match s with [] => 0 | a :: s => fold_right (fun b m => Z.max (ends (data (of_sent b))) m) (ends (data (of_sent a))) s end.
Definition keeps (i : nat) (s : list held) : list kept :=
  match s with
  | [] => []
  | a :: _ =>
      if several from s && the_last a then
        [Kept (towards a, chunk_of a) (earliest_begin s) (latest_end s) (map by_number s) [] (negb (reads_sum i s))]
      else if writes_all i s then [Kept (from a, chunk_of a) (earliest_begin s) (latest_end s) [] [] false]
      else if several from s && several towards s then
        flat_map (fun b => match find (fun c => (from c =? towards b)%nat) s with
          | Some c => [Kept (towards b, chunk_of b) (begins (data (of_sent c))) (ends (data (of_sent b))) []
                         (skipn (length (route (of_sent b)) - 1) (route (of_sent b))) false]
          | None => []
          end) s
      else []
  end.
Definition numbered (sch : list sent) : list (nat * sent) := combine (seq 0 (length sch)) sch.
Definition kept_from (sch : list sent) (k : kept) : Z :=
  if on_its_way k then
    fold_right (fun t m => let x := tr (data t) in
      if same_slot (src x, what x) (kept_slot k) && match op x with Reduce => true | Copy => false end &&
         (after_this k <? ends (data t)) then Z.min (begins (data t)) m else m) (after_this k) sch
  else after_this k.
Definition not_stale (sch : list sent) (k : kept) : bool :=
  let from := kept_from sch k in
  forallb (fun e => let t := snd e in
    negb (same_slot (slot (tr (data t))) (kept_slot k) && (from <? ends (data t)) && (ends (data t) <=? up_to_then k)) ||
    existsb (Nat.eqb (fst e)) (but k) ||
    (ends (data t) =? up_to_then k) && match but_over k with [] => false | l => same_list (skipn (length (route t) - 1) (route t)) l end)
    (numbered sch).

(** ** Schedules *)

Definition held_by (f : sent -> list use) (sch : list sent) : list held :=
  flat_map (fun e => map (fun u => Held (snd u) (fst e) (fst u) (snd e)) (combine (seq 0 (length (f (snd e)))) (f (snd e)))) (numbered sch).
(** Each stream, with its link. *)
Definition all_streams (f : sent -> list use) (sch : list sent) : list (nat * list held) :=
  let hs := held_by f sch in
  flat_map (fun i => map (pair i) (streams (filter (fun a => (on_link a =? i)%nat) hs))) (seq 0 (length (links j))).
Definition busy_in (timed : bool) (ss : list (nat * list held)) : list use := flat_map (fun s => kept_busy timed (fst s) (snd s)) ss.
(** What a switch adds up: chunks, in the place of links. *)
Definition sums_at (v : nat) (ss : list (nat * list held)) : list use :=
  flat_map (fun s => match snd s with
    | a :: _ => if (Cut.src (at_link (fst s)) =? v)%nat && several from (snd s) && differ before (snd s) then [(chunk_of a, hull (snd s))] else []
    | [] => []
    end) ss.
Definition streams_right (sch : list sent) (ss : list (nat * list held)) : bool :=
  forallb (fun s => is_stream (fst s) (snd s)) ss &&
  forallb (not_stale sch) (flat_map (fun s => keeps (fst s) (snd s)) ss).
Definition few_sums (ss : list (nat * list held)) : Prop :=
  forall v c, In (v, c) (sums net) -> ports_once [(seq 0 (length (sizes j)), c)] (sums_at v ss).
Definition right_capacity (timed : bool) (i : job) (f : sent -> list use) (sch : list sent) : Prop :=
  let ss := all_streams f sch in
  streams_right sch ss = true /\ disjoint (busy_in timed ss) /\ within_ports i (busy_in timed ss) /\ few_sums ss.

Definition right_adding (sch : list sent) : Prop :=
  (forall t, In t sch -> well_adding t) /\ right_capacity true j waiting_uses_of sch /\ executes j sch.
Definition right_adding_rounds (by_link : bool) (sch : list sent) : Prop :=
  (forall t, In t sch -> round_well_adding by_link t) /\ right_capacity false (ported j by_link) round_uses_of sch /\ executes j sch.

(** ** As functions *)

Definition pathb (u : nat) (r : list nat) (v : nat) : bool :=
  leadsb j u r v && distinct (filter (fun x => negb (turns net x)) (visited j u r)) && distinct r.
Definition well_addingb (t : sent) : bool :=
  let x := tr (data t) in
  (what x <? length (sizes j))%nat && (src x <? nodes j)%nat && (dst x <? nodes j)%nat && negb (src x =? dst x)%nat &&
  pathb (src x) (route t) (dst x) && (0 <=? begins (data t)) && (begins (data t) <? ends (data t)) &&
  (begins (data t) + duration j (size j (what x)) (route t) <=? ends (data t)) &&
  (may_wait (route t) || (ends (data t) =? begins (data t) + duration j (size j (what x)) (route t))) &&
  forallb (fun v => negb (is_rank j v) || (arrival j v <=? begins (data t))) (visited j (src x) (route t)).
Definition round_well_addingb (by_link : bool) (t : sent) : bool :=
  let x := tr (data t) in
  (what x <? length (sizes j))%nat && (src x <? nodes j)%nat && (dst x <? nodes j)%nat && negb (src x =? dst x)%nat &&
  pathb (src x) (route t) (dst x) && (0 <=? begins (data t)) && (ends (data t) =? begins (data t) + 1) &&
  (negb by_link || forallb (fun v => negb (is_rank j v) || (v =? src x)%nat || (v =? dst x)%nat) (visited j (src x) (route t))).
Definition right_capacityb (timed : bool) (i : job) (f : sent -> list use) (sch : list sent) : bool :=
  let ss := all_streams f sch in
  streams_right sch ss && disjointb j (busy_in timed ss) && within_portsb i (busy_in timed ss) &&
  forallb (fun e => ports_onceb [(seq 0 (length (sizes j)), snd e)] (sums_at (fst e) ss)) (sums net).
Definition replay_adding (sch : list sent) : bool :=
  forallb well_addingb sch && right_capacityb true j waiting_uses_of sch && data_met j sch.
Definition replay_adding_rounds (by_link : bool) (sch : list sent) : bool :=
  forallb (round_well_addingb by_link) sch && right_capacityb false (ported j by_link) round_uses_of sch && data_met j sch.

Lemma pathb_spec u r v : pathb u r v = true <-> path u r v.
Proof. unfold pathb, path. rewrite !andb_true_iff, leadsb_spec, !distinct_spec. tauto. Qed.
Lemma implied (b : bool) (P : Prop) : (negb b = true \/ P) <-> (b = true -> P).
Proof. destruct b; simpl; intuition discriminate. Qed.
Lemma well_addingb_spec t : well_addingb t = true <-> well_adding t.
Proof.
  unfold well_addingb, well_adding. rewrite !andb_true_iff, !Nat.ltb_lt, negb_true_iff, Nat.eqb_neq, pathb_spec,
    !Z.leb_le, Z.ltb_lt, orb_true_iff, Z.eqb_eq, forallb_forall.
  enough (E : forall v, negb (is_rank j v) || (arrival j v <=? begins (data t)) = true <->
      (is_rank j v = true -> arrival j v <= begins (data t))).
  { setoid_rewrite E. assert (F : forall P, (may_wait (route t) = true \/ P) <-> (may_wait (route t) = false -> P))
      by (intros P; destruct (may_wait (route t)); intuition discriminate). rewrite F. tauto. }
  intros v. rewrite orb_true_iff, Z.leb_le. apply implied.
Qed.
Lemma round_well_addingb_spec by_link t : round_well_addingb by_link t = true <-> round_well_adding by_link t.
Proof.
  unfold round_well_addingb, round_well_adding. rewrite !andb_true_iff, !Nat.ltb_lt, negb_true_iff, Nat.eqb_neq, pathb_spec,
    !Z.leb_le, Z.eqb_eq, orb_true_iff, implied, forallb_forall.
  enough (E : forall v, negb (is_rank j v) || (v =? src (tr (data t)))%nat || (v =? dst (tr (data t)))%nat = true <->
      (is_rank j v = true -> v = src (tr (data t)) \/ v = dst (tr (data t)))).
  { setoid_rewrite E. tauto. }
  intros v. rewrite !orb_true_iff, !Nat.eqb_eq, or_assoc. apply implied.
Qed.

Lemma busy_on_links timed f sch a : In a (busy_in timed (all_streams f sch)) -> (fst a < length (links j))%nat.
Proof.
  intros H. apply in_flat_map in H. destruct H as [[i s] [Hs H]]. apply in_flat_map in Hs. destruct Hs as [i' [Hi Hs]].
  apply in_map_iff in Hs. destruct Hs as [s' [[= -> ->] _]]. apply in_seq in Hi. cbn [fst snd] in H.
  destruct H as [<-|H]; [simpl; lia|]. unfold own_use in H. destruct (link_back i) as [k|] eqn:E; [|destruct H].
  unfold link_back in E. apply find_some in E. destruct E as [E _]. apply in_seq in E.
  destruct (reads_sum i s); [destruct H as [<-|[]]; simpl; lia|]. destruct (writes_all i s); [destruct H as [<-|[]]; simpl; lia|destruct H].
Qed.
Lemma right_capacityb_spec timed i f sch : right_capacityb timed i f sch = true <-> right_capacity timed i f sch.
Proof.
  unfold right_capacityb, right_capacity, few_sums. rewrite !andb_true_iff, within_portsb_spec, forallb_forall.
  rewrite (disjointb_spec j) by (intros a; apply busy_on_links).
  assert (E : (forall e, In e (sums net) -> ports_onceb [(seq 0 (length (sizes j)), snd e)] (sums_at (fst e) (all_streams f sch)) = true) <->
      (forall v c, In (v, c) (sums net) -> ports_once [(seq 0 (length (sizes j)), c)] (sums_at v (all_streams f sch)))).
  { split; [intros H v c Hin; rewrite <- (ports_once_spec (copying net)); apply (H (v, c) Hin)|intros H [v c] Hin; cbn [fst snd]; rewrite (ports_once_spec (copying net)); apply (H v c Hin)]. }
  rewrite E. tauto.
Qed.

(** The checker accepts just the right schedules. *)
Theorem replay_adding_correct sch : replay_adding sch = true <-> right_adding sch.
Proof.
  unfold replay_adding, right_adding. rewrite !andb_true_iff, forallb_forall, right_capacityb_spec. split.
  - intros [[W C] D]. split; [intros t Ht; apply well_addingb_spec, W, Ht|]. split; [exact C|apply data_sound, D].
  - intros [W [C D]]. split; [split; auto; intros t Ht; apply well_addingb_spec, W, Ht|].
    apply data_complete; auto. intros t Ht. apply W, Ht.
Qed.
Theorem replay_adding_rounds_correct by_link sch : replay_adding_rounds by_link sch = true <-> right_adding_rounds by_link sch.
Proof.
  unfold replay_adding_rounds, right_adding_rounds. rewrite !andb_true_iff, forallb_forall, right_capacityb_spec. split.
  - intros [[W C] D]. split; [intros t Ht; apply round_well_addingb_spec, W, Ht|]. split; [exact C|apply data_sound, D].
  - intros [W [C D]]. split; [split; auto; intros t Ht; apply round_well_addingb_spec, W, Ht|].
    apply data_complete; auto. intros t Ht. destruct (W t Ht) as [_ [_ [A [B _]]]]. lia.
Qed.

(** ** What shares a link at one time is one stream *)

Lemma streams_from_share l : forall now until, (forall a, In a now -> stop_of a <= until) ->
  StronglySorted (fun a b => begin_of a <= begin_of b) l ->
  (forall a b, In a (now ++ l) -> In b (now ++ l) -> apart (snd (over a)) (snd (over b)) \/
    exists s, In s (streams_from now until l) /\ In a s /\ In b s) /\
  (forall s, In s (streams_from now until l) -> incl s (now ++ l)).
Proof.
  induction l as [|x l IH]; intros now until Hn Hs.
  - rewrite app_nil_r. cbn [streams_from]. split; [intros a b Ha Hb; right; exists now; simpl; auto|intros s [<-|[]]; apply incl_refl].
  - inversion Hs as [|? ? Hl Hx]; subst. rewrite Forall_forall in Hx. cbn [streams_from].
    destruct (Z.ltb_spec (begin_of x) until) as [L|L].
    + destruct (IH (x :: now) (Z.max until (stop_of x))) as [A B].
      * intros a [<-|Ha]; [lia|]. specialize (Hn a Ha). lia.
      * exact Hl.
      * assert (E : forall a, In a (now ++ x :: l) <-> In a ((x :: now) ++ l)).
        { intros a. rewrite !in_app_iff. simpl. tauto. }
        split; [intros a b Ha Hb; apply A; apply E; assumption|]. intros s Hin a Ha. apply E. apply (B s Hin a Ha).
    + destruct (IH [x] (stop_of x)) as [A B]; [intros a [<-|[]]; lia|exact Hl|].
      assert (Q : forall a b, In a now -> In b (x :: l) -> stop_of a <= begin_of b).
      { intros a b Ha Hb. specialize (Hn a Ha). destruct Hb as [<-|Hb]; [lia|]. specialize (Hx b Hb). lia. }
      split.
      * intros a b Ha Hb. apply in_app_iff in Ha, Hb. unfold apart. destruct Ha as [Ha|Ha], Hb as [Hb|Hb].
        -- right. exists now. simpl. auto.
        -- left. left. apply (Q a b Ha Hb).
        -- left. right. apply (Q b a Hb Ha).
        -- destruct (A a b Ha Hb) as [|[s [S1 S2]]]; auto. right. exists s. split; [right|]; auto.
      * intros s [<-|Hin] a Ha; apply in_app_iff; [auto|]. right. apply (B s Hin a Ha).
Qed.
Lemma streams_share l a b : In a l -> In b l -> apart (snd (over a)) (snd (over b)) \/ exists s, In s (streams l) /\ In a s /\ In b s.
Proof.
  intros Ha Hb. pose proof (Begins.Permuted_sort l) as P. pose proof (Begins.StronglySorted_sort l) as S.
  assert (T : Relations_1.Transitive (fun x y => is_true (ByBegin.leb x y))).
  { intros x y z. unfold is_true, ByBegin.leb. rewrite !Z.leb_le. lia. }
  specialize (S T). apply (Permutation_in _ P) in Ha, Hb. unfold streams. destruct (Begins.sort l) as [|x r]; [destruct Ha|].
  assert (S' : StronglySorted (fun a b => begin_of a <= begin_of b) (x :: r)).
  { revert S. generalize (x :: r). clear. intros l S. induction S as [|y l _ IH Hf]; constructor; auto.
    rewrite Forall_forall in *. intros z Hz. apply Z.leb_le, (Hf z Hz). }
  inversion S' as [|? ? Hr _]; subst. apply (streams_from_share r [x] (stop_of x)); auto. intros y [<-|[]]. lia.
Qed.

Lemma in_numbered (sch : list sent) t : In t sch -> exists n, In (n, t) (numbered sch).
Proof.
  intros H. destruct (In_nth _ _ t H) as [n [Hn E]]. exists n. unfold numbered.
  enough (G : forall l k, (n < length l)%nat -> In ((k + n)%nat, nth n l t) (combine (seq k (length l)) l)).
  { specialize (G sch 0%nat Hn). rewrite E in G. exact G. }
  clear. induction n as [|n IH]; intros [|x l] k H; simpl in *; try lia.
  - left. f_equal. lia.
  - right. specialize (IH l (S k) ltac:(lia)). replace (k + S n)%nat with (S k + n)%nat by lia. exact IH.
Qed.
Lemma numbered_once (sch : list sent) n t t' : In (n, t) (numbered sch) -> In (n, t') (numbered sch) -> t = t'.
Proof.
  unfold numbered. generalize 0%nat as k. induction sch as [|x l IH]; intros k; simpl; [tauto|].
  assert (G : forall (l : list sent) k m y, In (m, y) (combine (seq k (length l)) l) -> (k <= m)%nat).
  { clear. intros l k m y H. apply in_combine_l, in_seq in H. lia. }
  intros [[= <- <-]|H] [[= <- ]|H']; auto.
  - apply G in H'. lia.
  - subst. apply G in H. lia.
  - apply (IH (S k)); auto.
Qed.
Lemma nth_use (us : list use) a : In a us -> exists n, nth_error us n = Some a /\ In (n, a) (combine (seq 0 (length us)) us).
Proof.
  intros H. destruct (In_nth_error _ _ H) as [n E]. exists n. split; auto.
  enough (G : forall l k, nth_error l n = Some a -> In ((k + n)%nat, a) (combine (seq k (length l)) l)) by (apply (G us 0%nat E)).
  clear. induction n as [|n IH]; intros [|x l] k H; simpl in *; try discriminate.
  - injection H as ->. left. f_equal. lia.
  - right. specialize (IH l (S k) H). replace (k + S n)%nat with (S k + n)%nat by lia. exact IH.
Qed.

(** Two transfers that keep a link busy at one time: of one chunk, and either they part at a
    switch that copies, behind it, or they meet at one that adds, before it. *)
Definition parts_behind (t t' : sent) (i : nat) : Prop :=
  exists n n' v, nth_error (route t) n = Some i /\ nth_error (route t') n' = Some i /\
    parting j (Cut.dst (at_link i)) (skipn (S n) (route t)) (skipn (S n') (route t')) = Some v /\ copying net v = true.
Definition meets_before (t t' : sent) (i : nat) : Prop :=
  exists n n' v, nth_error (route t) n = Some i /\ nth_error (route t') n' = Some i /\
    meeting (Cut.src (at_link i)) (rev (firstn n (route t))) (rev (firstn n' (route t'))) = Some v /\ adding v = true.
(** They came over the same links to this one, or go on over the same. *)
Definition comes_alike (t t' : sent) (i : nat) : Prop :=
  exists n n', nth_error (route t) n = Some i /\ nth_error (route t') n' = Some i /\
    src (tr (data t)) = src (tr (data t')) /\ firstn (S n) (route t) = firstn (S n') (route t').
Definition goes_alike (t t' : sent) (i : nat) : Prop :=
  exists n n', nth_error (route t) n = Some i /\ nth_error (route t') n' = Some i /\ skipn n (route t) = skipn n' (route t').
Definition share (t t' : sent) (i : nat) : Prop :=
  what (tr (data t)) = what (tr (data t')) /\ (parts_behind t t' i \/ meets_before t t' i) /\
  (comes_alike t t' i \/ meets_before t t' i) /\ (goes_alike t t' i \/ parts_behind t t' i).

Theorem streams_apart f sch : streams_right sch (all_streams f sch) = true ->
  (forall t, In t sch -> map fst (f t) = route t) ->
  forall t t' a b, In t sch -> In t' sch -> t <> t' -> In a (f t) -> In b (f t') -> fst a = fst b -> (fst a < length (links j))%nat ->
  apart (snd a) (snd b) \/ share t t' (fst a).
Proof.
  intros H Hf t t' a b Ht Ht' Hne Ha Hb E Hi. unfold streams_right in H. apply andb_true_iff in H. destruct H as [H _].
  rewrite forallb_forall in H. destruct (in_numbered sch t Ht) as [m Hm]. destruct (in_numbered sch t' Ht') as [m' Hm'].
  destruct (nth_use _ _ Ha) as [n [En Hn]]. destruct (nth_use _ _ Hb) as [n' [En' Hn']].
  assert (In_held : forall t m n a, In (m, t) (numbered sch) -> In (n, a) (combine (seq 0 (length (f t))) (f t)) ->
     In (Held a m n t) (filter (fun h => (on_link h =? fst a)%nat) (held_by f sch))).
  { intros s k p u A B. apply filter_In. split; [|apply Nat.eqb_refl]. apply in_flat_map. exists (k, s). split; auto.
    apply in_map_iff. exists (p, u). auto. }
  pose proof (In_held t m n a Hm Hn) as Pa. pose proof (In_held t' m' n' b Hm' Hn') as Pb. rewrite <- E in Pb.
  destruct (streams_share _ _ _ Pa Pb) as [|[s [Hs [Sa Sb]]]]; [left; assumption|]. right.
  assert (Q : is_stream (fst a) s = true).
  { apply (H (fst a, s)). apply in_flat_map. exists (fst a). split; [apply in_seq; lia|]. apply in_map, Hs. }
  unfold is_stream in Q. rewrite !andb_true_iff in Q. destruct Q as [[[[[Q _] _] _] _] _].
  rewrite forallb_forall in Q. specialize (Q _ Sa). rewrite forallb_forall in Q. specialize (Q _ Sb).
  cbn [by_number] in Q. destruct (Nat.eqb_spec m m') as [->|_]; [destruct Hne; apply (numbered_once sch m'); auto|].
  cbn [orb] in Q. unfold alike_in_stream in Q. rewrite !andb_true_iff in Q. destruct Q as [[[Q1 Q2] Q3] Q4].
  apply Nat.eqb_eq in Q1. unfold chunk_of in Q1. cbn [of_sent] in Q1. split; [exact Q1|].
  assert (R : nth_error (route t) n = Some (fst a)) by (rewrite <- (Hf t Ht); transitivity (option_map fst (nth_error (f t) n)); [apply nth_error_map|rewrite En; reflexivity]).
  assert (R' : nth_error (route t') n' = Some (fst a)) by (rewrite <- (Hf t' Ht'); transitivity (option_map fst (nth_error (f t') n')); [apply nth_error_map|rewrite En'; simpl; congruence]).
  assert (Meets : meets_well (fst a) (Held a m n t) (Held b m' n' t') = true -> meets_before t t' (fst a)).
  { unfold meets_well. destruct (meeting _ _ _) as [v|] eqn:P; [|discriminate]. rewrite andb_true_iff. intros [X _]. exists n, n', v. auto. }
  assert (Parts : parts_well (fst a) (Held a m n t) (Held b m' n' t') = true -> parts_behind t t' (fst a)).
  { unfold parts_well. destruct (parting _ _ _ _) as [v|] eqn:P; [|discriminate]. rewrite andb_true_iff. intros [X _]. exists n, n', v. auto. }
  assert (Same : forall l l', same_list l l' = true -> l = l') by (intros l l'; unfold same_list; destruct (list_eq_dec _ _ _); congruence).
  cbn [nth_link of_sent] in Q3, Q4.
  destruct (from _ =? from _)%nat eqn:F, (towards _ =? towards _)%nat eqn:W; [discriminate| | |].
  - apply andb_true_iff in Q3. destruct Q3 as [_ Q3]. apply Nat.eqb_eq in F. split; [left; auto|]. split; [left|right; auto].
    exists n, n'. repeat split; auto.
  - apply andb_true_iff in Q4. destruct Q4 as [_ Q4]. split; [right; auto|]. split; [right; auto|left]. exists n, n'. auto.
  - split; [right; auto|]. split; right; auto.
Qed.
End Job.
