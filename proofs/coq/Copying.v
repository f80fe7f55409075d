(** Switches that copy: the exception of SPEC 4.1 for multicast, and ports, which count the
    branches of a multicast on one link once (4.2), for the forms timed and rounds. Switches that
    add (4.3) are in Adding.v, bounds where switches copy or add in Sharing.v. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Variable copies : nat -> bool. (* by node *)
Notation at_link := (at_link j).

(** The node at which two routes from [u] first part, if they do. *)
Fixpoint parting (u : nat) (r r' : list nat) : option nat :=
  match r, r' with
  | i :: r, i' :: r' => if (i =? i')%nat then parting (Cut.dst (at_link i)) r r' else Some u
  | [], [] => None
  | _, _ => Some u
  end.
(** 4.1: two branches of one multicast on the link that is the n-th of the route of one, and
    the n'-th of the other's. *)
Definition same_list (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.
Definition together (a b : sent * nat) : bool :=
  let (t, n) := a in let (t', n') := b in let x := tr (data t) in let x' := tr (data t') in
  (what x =? what x')%nat && (src x =? src x')%nat && (begins (data t) =? begins (data t')) &&
  same_list (firstn n (route t)) (firstn n' (route t')) &&
  match parting (src x) (route t) (route t') with Some v => copies v | None => false end.

(** What is busy, and by which transfer's n-th link. *)
Definition marked := (use * (sent * nat))%type.
Definition mark (f : sent -> list use) (sch : list sent) : list marked :=
  flat_map (fun t => combine (f t) (map (pair t) (seq 1 (length (f t))))) sch.
Definition link_of (a : marked) : nat := fst (fst a).
Definition fit (a b : marked) : Prop := apart (snd (fst a)) (snd (fst b)) \/ together (snd a) (snd b) = true.
Definition disjoint_or_together (us : list marked) : Prop :=
  ForallOrdPairs (fun a b => link_of a = link_of b -> fit a b) us.

(** 4.2: how many links of a port are busy. Of each, one transfer or one multicast keeps it so. *)
Definition busy_links (ls : list nat) (x : Z) (us : list use) : nat :=
  length (nodup Nat.eq_dec (map fst (filter (uses_at ls x) us))).
Definition ports_once (ps : list (list nat * nat)) (us : list use) : Prop :=
  forall ls c, In (ls, c) ps -> forall x, (busy_links ls x us <= c)%nat.

Definition right_copying (sch : list sent) : Prop :=
  (forall t, In t sch -> well j t) /\ disjoint_or_together (mark (uses_of j) sch) /\
  ports_once (ports j) (uses j sch) /\ executes j sch.
Definition right_copying_rounds (by_link : bool) (sch : list sent) : Prop :=
  (forall t, In t sch -> round_well j by_link t) /\ disjoint_or_together (mark round_uses_of sch) /\
  ports_once (ports (ported j by_link)) (round_uses sch) /\ executes j sch.

(** ** As functions *)

Definition fitb (a b : marked) : bool := apartb (snd (fst a)) (snd (fst b)) || together (snd a) (snd b).
Fixpoint all_fit (l : list marked) : bool :=
  match l with [] => true | a :: l => forallb (fitb a) l && all_fit l end.
Definition disjoint_or_togetherb (us : list marked) : bool :=
  forallb (fun a => (link_of a <? length (links j))%nat) us &&
  forallb (fun i => all_fit (filter (fun a => (link_of a =? i)%nat) us)) (seq 0 (length (links j))).
Definition ports_onceb (ps : list (list nat * nat)) (us : list use) : bool :=
  forallb (fun p => let vs := filter (fun a => existsb (Nat.eqb (fst a)) (fst p)) us in
    forallb (fun a => (busy_links (fst p) (first (snd a)) vs <=? snd p)%nat) vs) ps.
Definition replay_copying (sch : list sent) : bool :=
  forallb (wellb j) sch && disjoint_or_togetherb (mark (uses_of j) sch) && ports_onceb (ports j) (uses j sch) && data_met j sch.
Definition replay_copying_rounds (by_link : bool) (sch : list sent) : bool :=
  forallb (round_wellb j by_link) sch && disjoint_or_togetherb (mark round_uses_of sch) &&
  ports_onceb (ports (ported j by_link)) (round_uses sch) && data_met j sch.

Lemma all_fit_spec l : all_fit l = true <-> ForallOrdPairs fit l.
Proof.
  induction l as [|a l IH]; simpl; [split; [constructor|reflexivity]|].
  rewrite andb_true_iff, IH, forallb_forall. unfold fitb. split.
  - intros [A B]. constructor; auto. rewrite Forall_forall. intros x Hx. specialize (A x Hx).
    rewrite orb_true_iff in A. rewrite apartb_spec in A. exact A.
  - intros H. inversion H as [|? ? A B]; subst. split; auto. intros x Hx. rewrite Forall_forall in A.
    rewrite orb_true_iff, apartb_spec. apply (A x Hx).
Qed.
Lemma by_link_spec us : disjoint_or_together us <->
  forall i, ForallOrdPairs fit (filter (fun a => (link_of a =? i)%nat) us).
Proof.
  unfold disjoint_or_together. induction us as [|a us IH]; simpl.
  - split; intros; constructor.
  - split.
    + intros H i. inversion H as [|? ? A B]; subst. rewrite Forall_forall in A. pose proof (proj1 IH B i) as Q.
      destruct (Nat.eqb_spec (link_of a) i) as [E|]; auto. constructor; auto.
      rewrite Forall_forall. intros x Hx. apply filter_In in Hx. destruct Hx as [Hx Ex]. apply Nat.eqb_eq in Ex.
      apply (A x Hx). congruence.
    + intros H. constructor.
      * rewrite Forall_forall. intros x Hx E. specialize (H (link_of a)). rewrite Nat.eqb_refl in H.
        inversion H as [|? ? A B]; subst. rewrite Forall_forall in A. apply A. apply filter_In. split; auto. apply Nat.eqb_eq. congruence.
      * apply IH. intros i. specialize (H i). destruct (link_of a =? i)%nat; auto. inversion H; auto.
Qed.
Lemma disjoint_or_together_spec us : (forall a, In a us -> (link_of a < length (links j))%nat) ->
  disjoint_or_togetherb us = true <-> disjoint_or_together us.
Proof.
  intros Hin. unfold disjoint_or_togetherb. rewrite andb_true_iff, !forallb_forall, by_link_spec. split.
  - intros [_ H] i. destruct (Nat.lt_ge_cases i (length (links j))) as [L|L].
    + apply all_fit_spec, H, in_seq. lia.
    + replace (filter _ us) with (@nil marked); [constructor|]. symmetry. clear - Hin L.
      induction us as [|a us IH]; simpl; auto. pose proof (Hin a (or_introl eq_refl)).
      destruct (Nat.eqb_spec (link_of a) i); [lia|]. apply IH. intros; apply Hin; right; auto.
  - intros H. split; [intros a Ha; apply Nat.ltb_lt, Hin, Ha|]. intros i _. apply all_fit_spec, H.
Qed.

Lemma ports_once_spec ps us : ports_onceb ps us = true <-> ports_once ps us.
Proof.
  unfold ports_onceb, ports_once, busy_links. rewrite forallb_forall.
  assert (G : forall ls x a, uses_at ls x a = true -> existsb (Nat.eqb (fst a)) ls = true).
  { intros ls x a H. unfold uses_at in H. apply andb_true_iff in H. destruct H as [H _]. apply andb_true_iff in H. apply H. }
  split.
  - intros H ls c Hp x. specialize (H (ls, c) Hp). cbn [fst snd] in H. rewrite forallb_forall in H.
    destruct (filter (uses_at ls x) us) as [|u l] eqn:E; [simpl; lia|].
    destruct (latest_of (filter (uses_at ls x) us)) as [a [Ha Hm]]; [congruence|]. rewrite <- E.
    pose proof Ha as Ha'. apply filter_In in Ha. destruct Ha as [Ha Hu].
    specialize (H a). rewrite filter_In in H. specialize (H (conj Ha (G ls x a Hu))). apply Nat.leb_le in H.
    rewrite filter_filter in H by (intros; eapply G; eauto). eapply Nat.le_trans; [|exact H].
    apply NoDup_incl_length; [apply NoDup_nodup|]. intros i Hi. apply nodup_In in Hi. apply nodup_In. apply in_map_iff in Hi.
    destruct Hi as [b [<- Hb]]. apply in_map. pose proof (Hm b Hb) as Hl. apply filter_In in Hb. destruct Hb as [Hb Hbx].
    apply filter_In. split; auto. unfold uses_at in *. rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in *. intuition lia.
  - intros H [ls c] Hp. cbn [fst snd]. rewrite forallb_forall. intros a Ha. apply Nat.leb_le.
    rewrite filter_filter by (intros; eapply G; eauto). apply (H ls c Hp).
Qed.

Lemma mark_in f sch a : In a (mark f sch) -> In (fst a) (flat_map f sch).
Proof.
  unfold mark. rewrite !in_flat_map. intros [t [Ht Ha]]. exists t. split; auto. destruct a as [u m]. apply in_combine_l in Ha. exact Ha.
Qed.

(** The checker accepts just the right schedules. *)
Theorem replay_copying_correct sch : replay_copying sch = true <-> right_copying sch.
Proof.
  unfold replay_copying, right_copying. rewrite !andb_true_iff, forallb_forall, ports_once_spec. split.
  - intros [[[Hw Hd] Hp] Hm]. assert (W : forall t, In t sch -> well j t) by (intros t Ht; apply wellb_spec, Hw, Ht).
    repeat split; auto; [apply W; auto .. | |apply data_sound, Hm].
    apply disjoint_or_together_spec; auto. intros a Ha. apply (uses_links j sch W). apply mark_in, Ha.
  - intros [W [Hd [Hp He]]]. repeat split; auto.
    + intros t Ht. apply wellb_spec, W, Ht.
    + apply disjoint_or_together_spec; auto. intros a Ha. apply (uses_links j sch W). apply mark_in, Ha.
    + apply data_complete; auto. intros t Ht. apply W, Ht.
Qed.
Theorem replay_copying_rounds_correct by_link sch : replay_copying_rounds by_link sch = true <-> right_copying_rounds by_link sch.
Proof.
  unfold replay_copying_rounds, right_copying_rounds. rewrite !andb_true_iff, forallb_forall, ports_once_spec. split.
  - intros [[[Hw Hd] Hp] Hm]. assert (W : forall t, In t sch -> round_well j by_link t) by (intros t Ht; apply round_wellb_spec, Hw, Ht).
    split; [exact W|]. split; [|split; [exact Hp|apply data_sound, Hm]].
    apply disjoint_or_together_spec; auto. intros a Ha. apply (round_uses_links j by_link sch W). apply mark_in, Ha.
  - intros [W [Hd [Hp He]]]. repeat split; auto.
    + intros t Ht. apply round_wellb_spec, W, Ht.
    + apply disjoint_or_together_spec; auto. intros a Ha. apply (round_uses_links j by_link sch W). apply mark_in, Ha.
    + apply data_complete; auto. intros t Ht. destruct (W t Ht) as [_ [_ [_ [A [B _]]]]]. lia.
Qed.
End Job.

(** Without such a switch it is what Replay.v and InRounds.v have of links. *)
Theorem no_copies j f sch : disjoint_or_together j (fun _ => false) (mark f sch) -> disjoint (flat_map f sch).
Proof.
  intros H. replace (flat_map f sch) with (map fst (mark f sch)).
  - unfold disjoint. revert H. unfold disjoint_or_together. generalize (mark f sch). intros l H. induction H as [|a l Ha _ IH]; simpl; constructor; auto.
    rewrite Forall_forall in *. intros u Hu E. apply in_map_iff in Hu. destruct Hu as [b [<- Hb]]. destruct (Ha b Hb E) as [|T]; auto.
    exfalso. unfold together in T. destruct (snd a), (snd b). apply andb_true_iff in T. destruct T as [_ T]. destruct (parting _ _ _ _); discriminate.
  - unfold mark. clear H. induction sch as [|t l IH]; simpl; auto. rewrite map_app, IH. f_equal.
    assert (C : forall (us : list use) n, map fst (combine us (map (pair t) (seq n (length us)))) = us).
    { induction us as [|u us IHu]; intros n; simpl; auto. rewrite IHu. reflexivity. }
    apply C.
Qed.
