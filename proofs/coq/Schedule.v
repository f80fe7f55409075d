(** Timed schedules with routes: SPEC sections 1 to 6 for the form timed, under the models
    blocking and pipelined. Left out: switches that copy (the exception of 4.1) or add. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed.
Import ListNotations.
Open Scope Z_scope.

Inductive cost := Blocking | Pipelined.

(** Nodes below [nodes] are ranks, the others switches. A port is some links, and how many
    transfers may use them at one time. *)
Record job := Job {
  nodes : nat;
  links : list link;
  ports : list (list nat * nat);
  model : cost;
  release : list Z;    (* by rank; beyond the end of the list: 0 *)
  sizes : list Z;      (* of chunks, in bytes *)
  idempotent : bool;
  pre : list (rank * chunk * value);
  post : list (rank * chunk * value) }.

Record sent := Sent { data : timed; route : list nat }.

Section Job.
Variable j : job.

Definition at_link (i : nat) : link := the (links j) i.
Definition size (k : chunk) : Z := nth k (sizes j) 0.
Definition arrival (v : nat) : Z := nth v (release j) 0.
Definition is_rank (v : nat) : bool := (v <? nodes j)%nat.

(** 3.1 *)
Fixpoint leads (u : nat) (r : list nat) (v : nat) : Prop :=
  match r with
  | [] => u = v
  | i :: r => (i < length (links j))%nat /\ Cut.src (at_link i) = u /\ leads (Cut.dst (at_link i)) r v
  end.
Definition visited (u : nat) (r : list nat) : list nat := u :: map (fun i => Cut.dst (at_link i)) r.

(** A route falls into hops, each of which ends at a rank. *)
Fixpoint hops (r : list nat) : list (list nat) :=
  match r with
  | [] => []
  | i :: r => if is_rank (Cut.dst (at_link i)) then [i] :: hops r
              else match hops r with [] => [[i]] | h :: hs => (i :: h) :: hs end
  end.

(** 3.2 *)
Definition latencies (h : list nat) : Z := sum (fun i => latency (at_link i)) h.
Definition slowest (b : Z) (h : list nat) : Z := fold_right (fun i s => Z.max (beta (at_link i) b) s) 0 h.
Definition duration (b : Z) (r : list nat) : Z := sum (fun h => latencies h + slowest b h) (hops r).

(** 4: when each link of a hop is busy, and of a route. *)
Definition use := (nat * span)%type.
Fixpoint along (slow : Z) (from : Z) (h : list nat) : list use :=
  match h with
  | [] => []
  | i :: h => (i, Span from (slow + match model j with Blocking => latency (at_link i) | Pipelined => 0 end))
              :: along slow (from + latency (at_link i)) h
  end.
Fixpoint busy_hops (b : Z) (from : Z) (hs : list (list nat)) : list use :=
  match hs with
  | [] => []
  | h :: hs => along (slowest b h) from h ++ busy_hops b (from + (latencies h + slowest b h)) hs
  end.
Definition uses_of (t : sent) : list use :=
  busy_hops (size (what (tr (data t)))) (begins (data t)) (hops (route t)).
Definition uses (sch : list sent) : list use := flat_map uses_of sch.

(** 2, 3 *)
Definition well (t : sent) : Prop :=
  let x := tr (data t) in
  ((what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x) /\
  leads (src x) (route t) (dst x) /\ NoDup (visited (src x) (route t)) /\
  0 <= begins (data t) < ends (data t) /\
  ends (data t) = begins (data t) + duration (size (what x)) (route t) /\
  (forall v, In v (visited (src x) (route t)) -> is_rank v = true -> arrival v <= begins (data t)).

(** 4.1 *)
Definition disjoint (us : list use) : Prop :=
  ForallOrdPairs (fun a b => fst a = fst b -> apart (snd a) (snd b)) us.

(** 4.2 *)
Definition uses_at (ls : list nat) (x : Z) (a : use) : bool :=
  existsb (Nat.eqb (fst a)) ls && (first (snd a) <=? x) && (x <? first (snd a) + long (snd a)).
Definition within_ports (us : list use) : Prop :=
  forall ls c, In (ls, c) (ports j) -> forall x, (length (filter (uses_at ls x) us) <= c)%nat.

(** 6.3 *)
Definition agrees (got want : value) : Prop :=
  forall i, if idempotent j then (0 < count got i <-> 0 < count want i)%nat else count got i = count want i.

Definition makespan (sch : list sent) : Z := fold_right (fun t s => Z.max (ends (data t)) s) 0 sch.

Definition right (sch : list sent) : Prop :=
  (forall t, In t sch -> well t) /\ disjoint (uses sch) /\ within_ports (uses sch) /\
  exists H, execution (lookup (pre j)) (map data sch) H /\
    forall v k w, In ((v, k), w) (post j) ->
      exists got, H (makespan sch) v k = Some got /\ agrees got w.

(** ** What an execution shows *)

Lemma ends_makespan sch t : In t sch -> ends (data t) <= makespan sch.
Proof. induction sch as [|a sch IH]; simpl; [tauto|]; intros [->|Ht]; [lia|specialize (IH Ht); lia]. Qed.
Lemma makespan_0 sch : 0 <= makespan sch.
Proof. induction sch as [|a sch IH]; simpl; lia. Qed.

(** Contribution [c] to chunk [k] is at [v] at time [x], or was before. *)
Inductive holds (ts : list timed) (c : nat) : nat -> nat -> Z -> Prop :=
| holds_start v k x w : lookup (pre j) v k = Some w -> contains w c -> 0 <= x -> holds ts c v k x
| holds_sent t x : In t ts -> holds ts c (src (tr t)) (what (tr t)) (begins t) ->
    ends t <= x -> holds ts c (dst (tr t)) (what (tr t)) x.

Lemma holds_later ts c v k x y : holds ts c v k x -> x <= y -> holds ts c v k y.
Proof. intros [v' k' x' w H1 H2 H3|t x' H1 H2 H3] Hy; [eapply holds_start; eauto; lia|apply holds_sent; auto; lia]. Qed.

Lemma after_contains H ws : forall acc w c, fold_left (after H) ws acc = Some w -> contains w c ->
  (exists a, acc = Some a /\ contains a c) \/
  exists t a, In t ws /\ H (begins t) (src (tr t)) (what (tr t)) = Some a /\ contains a c.
Proof.
  induction ws as [|t ws IH]; simpl; intros acc w c Hf Hc; [eauto|].
  destruct (IH _ _ _ Hf Hc) as [[a [Ha Hca]]|[t' [a [Ht [Ha Hca]]]]].
  - unfold after, put in Ha. destruct (op (tr t)).
    + destruct (H (begins t) (src (tr t)) (what (tr t))) as [b|] eqn:E; [|discriminate].
      injection Ha as ->. right. exists t, a. auto.
    + destruct (H (begins t) (src (tr t)) (what (tr t))) as [b|] eqn:E; [|discriminate].
      destruct acc as [b'|]; [|discriminate]. injection Ha as <-.
      unfold contains in Hca. rewrite count_add in Hca.
      destruct (Nat.eq_0_gt_0_cases (count b' c)).
      * right. exists t, b. repeat split; auto. unfold contains; lia.
      * left. exists b'. auto.
  - right. exists t', a. auto.
Qed.

(** (arrive) *)
Theorem arrive ts H : execution (lookup (pre j)) ts H -> (forall t, In t ts -> 0 <= begins t < ends t) ->
  forall c x, 0 <= x -> forall v k w, H x v k = Some w -> contains w c -> holds ts c v k x.
Proof.
  intros [H0 Hx] Ht c x Hx0. generalize Hx0. pattern x. apply Z_lt_induction; [|exact Hx0].
  clear x Hx0. intros x IH Hx0 v k w Hw Hc. destruct (Z_lt_le_dec 0 x) as [Hpos|Hneg].
  - destruct (Hx x v k Hpos) as [Hf _]. rewrite Hw in Hf. symmetry in Hf.
    destruct (after_contains _ _ _ _ _ Hf Hc) as [[a [Ha Hca]]|[t [a [Hin [Ha Hca]]]]].
    + apply (holds_later _ _ _ _ (x - 1)); [|lia]. apply (IH (x - 1) ltac:(lia) ltac:(lia) v k a); auto.
    + apply filter_In in Hin. destruct Hin as [Hin Hi]. apply andb_true_iff in Hi. destruct Hi as [Hs He].
      apply same_slot_spec in Hs. injection Hs as <- <-. apply Z.eqb_eq in He.
      specialize (Ht t Hin). apply holds_sent; auto; [|lia]. apply (IH (begins t) ltac:(lia) ltac:(lia) _ _ a); auto.
  - replace x with 0 in * by lia. rewrite H0 in Hw. eapply holds_start; eauto.
Qed.

(** A slot that has changed was written. *)
Lemma changed ts H : execution (lookup (pre j)) ts H ->
  forall x, 0 <= x -> forall v k, H x v k = lookup (pre j) v k \/
    exists t, In t ts /\ slot (tr t) = (v, k) /\ ends t <= x.
Proof.
  intros [H0 Hx] x Hx0. pattern x. apply natlike_ind; [| |exact Hx0].
  - intros v k. left. apply H0.
  - clear x Hx0. intros x Hx0 IH v k. destruct (Hx (Z.succ x) v k ltac:(lia)) as [Hf _].
    destruct (filter (into v k (Z.succ x)) ts) as [|t l] eqn:F.
    + simpl in Hf. replace (Z.succ x - 1) with x in Hf by lia. rewrite Hf.
      destruct (IH v k) as [E|[t [A [B C]]]]; auto. right. exists t. repeat split; auto. lia.
    + right. exists t. assert (In t (filter (into v k (Z.succ x)) ts)) as Ht by (rewrite F; left; auto).
      apply filter_In in Ht. destruct Ht as [Ht Hi]. apply andb_true_iff in Hi. destruct Hi as [Hs He].
      apply same_slot_spec in Hs. apply Z.eqb_eq in He. repeat split; auto. lia.
Qed.

End Job.
