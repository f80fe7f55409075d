(** Schedules in rounds over a topology: SPEC sections 2 to 6 for the form rounds, under the
    models rounds and link-rounds, as a predicate and as a function that decides it. A transfer
    that begins with round r ends with it, at r + 1. Left out: switches that copy; how long
    rounds last, and so what arrivals delay. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job. (* its model and its arrivals are not looked at *)
Variable by_link : bool. (* link-rounds *)

(** 4: every link of a route is busy for the round. *)
Definition round_uses_of (t : sent) : list use := map (fun i => (i, Span (begins (data t)) 1)) (route t).
Definition round_uses (sch : list sent) : list use := flat_map round_uses_of sch.

(** 4.2: under rounds every rank sends once and receives once. *)
Definition links_of (f : link -> bool) : list nat := some_links j f.
Definition rank_ports : list (list nat * nat) :=
  flat_map (fun v => [(links_of (fun l => (Cut.src l =? v)%nat), 1%nat); (links_of (fun l => (Cut.dst l =? v)%nat), 1%nat)])
    (seq 0 (nodes j)).
Definition ported : job :=
  Job (nodes j) (links j) (if by_link then ports j else ports j ++ rank_ports) (model j) (release j) (sizes j)
    (idempotent j) (pre j) (post j).

(** 2, 3.1. Under link-rounds no rank is inside a route. *)
Definition round_well (t : sent) : Prop :=
  let x := tr (data t) in
  ((what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x) /\
  leads j (src x) (route t) (dst x) /\ NoDup (visited j (src x) (route t)) /\
  0 <= begins (data t) /\ ends (data t) = begins (data t) + 1 /\
  (by_link = true -> forall v, In v (visited j (src x) (route t)) -> is_rank j v = true -> v = src x \/ v = dst x).

Definition right_in_rounds (sch : list sent) : Prop :=
  (forall t, In t sch -> round_well t) /\ disjoint (round_uses sch) /\ within_ports ported (round_uses sch) /\
  executes j sch.

Definition round_wellb (t : sent) : bool :=
  let x := tr (data t) in
  (what x <? length (sizes j))%nat && (src x <? nodes j)%nat && (dst x <? nodes j)%nat && negb (src x =? dst x)%nat &&
  leadsb j (src x) (route t) (dst x) && distinct (visited j (src x) (route t)) &&
  (0 <=? begins (data t)) && (ends (data t) =? begins (data t) + 1) &&
  (negb by_link || forallb (fun v => negb (is_rank j v) || (v =? src x)%nat || (v =? dst x)%nat) (visited j (src x) (route t))).
Lemma round_wellb_spec t : round_wellb t = true <-> round_well t.
Proof.
  unfold round_wellb, round_well. rewrite !andb_true_iff, !Nat.ltb_lt, negb_true_iff, Nat.eqb_neq, leadsb_spec,
    distinct_spec, Z.leb_le, Z.eqb_eq.
  enough (E : negb by_link || forallb (fun v => negb (is_rank j v) || (v =? src (tr (data t)))%nat || (v =? dst (tr (data t)))%nat)
        (visited j (src (tr (data t))) (route t)) = true <->
      (by_link = true -> forall v, In v (visited j (src (tr (data t))) (route t)) -> is_rank j v = true ->
         v = src (tr (data t)) \/ v = dst (tr (data t)))) by (rewrite E; tauto).
  destruct by_link; simpl negb; [|split; [discriminate|reflexivity]]. cbn [orb]. rewrite forallb_forall. split.
  - intros H _ v Hv Hr. specialize (H v Hv). rewrite Hr in H. simpl in H. apply orb_true_iff in H.
    rewrite !Nat.eqb_eq in H. exact H.
  - intros H v Hv. destruct (is_rank j v) eqn:E; [|reflexivity]. simpl. apply orb_true_iff. rewrite !Nat.eqb_eq. auto.
Qed.

Definition replay_rounds (sch : list sent) : bool :=
  forallb round_wellb sch && disjointb j (round_uses sch) && within_portsb ported (round_uses sch) && data_met j sch.

Lemma round_uses_links sch : (forall t, In t sch -> round_well t) ->
  forall a, In a (round_uses sch) -> (fst a < length (links j))%nat.
Proof.
  intros Hw a Ha. apply in_flat_map in Ha. destruct Ha as [t [Ht Ha]]. apply in_map_iff in Ha.
  destruct Ha as [i [<- Hi]]. destruct (Hw t Ht) as [_ [Hl _]]. eapply leads_in; eauto.
Qed.

Theorem rounds_sound sch : replay_rounds sch = true -> right_in_rounds sch.
Proof.
  unfold replay_rounds. rewrite !andb_true_iff, forallb_forall. intros [[[Hw Hd] Hp] Hm].
  assert (W : forall t, In t sch -> round_well t) by (intros t Ht; apply round_wellb_spec, Hw, Ht).
  split; [exact W|]. repeat split.
  - apply (disjointb_spec j); [apply round_uses_links, W|assumption].
  - apply within_portsb_spec, Hp.
  - apply data_sound, Hm.
Qed.

Theorem rounds_complete sch : right_in_rounds sch -> replay_rounds sch = true.
Proof.
  intros [W [Hd [Hp He]]]. unfold replay_rounds. rewrite !andb_true_iff, forallb_forall. repeat split.
  - intros t Ht. apply round_wellb_spec, W, Ht.
  - apply (disjointb_spec j); [apply round_uses_links, W|assumption].
  - apply within_portsb_spec, Hp.
  - apply data_complete; auto. intros t Ht. destruct (W t Ht) as [_ [_ [_ [A [B _]]]]]. lia.
Qed.
End Job.
