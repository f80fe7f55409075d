(** The rules partition and volume of package cert, with the lemma (combine between parts):
    what is combined leaves each part but one, and what has been combined enters each part but
    one. Left out: what Passing.v leaves out. What allreduces with late ranks need more is in Late.v. *)
From Coq Require Import Bool List ZArith Lia FinFun.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Coverage Cover Free.
Import ListNotations.
Open Scope Z_scope.

(** ** What is decided, for the sake of a goal that is *)

Lemma decided (P : Prop) : ~ ~ (P \/ ~ P).
Proof. tauto. Qed.
Lemma first_time (P : Z -> Prop) T : 0 <= T -> P T -> ~ ~ exists t, 0 <= t <= T /\ P t /\ forall s, 0 <= s < t -> ~ P s.
Proof.
  intros HT. enough (E : 0 <= T -> P T -> ~ ~ exists t, 0 <= t <= T /\ P t /\ forall s, 0 <= s < t -> ~ P s) by auto.
  pattern T. apply Z_lt_induction; [|exact HT]. clear T HT. intros T IH HT HP No.
  apply (decided (exists s, 0 <= s < T /\ P s)). intros [[s [Hs Ps]]|N].
  - apply (IH s Hs ltac:(lia) Ps). intros [t [A [B C]]]. apply No. exists t. split; [lia|auto].
  - apply No. exists T. split; [lia|]. split; auto. intros s Hs Ps. apply N. eauto.
Qed.
Lemma for_all_of {A} (P : nat -> A -> Prop) (d : A) (l : list nat) : NoDup l -> (forall k, In k l -> ~ ~ exists a, P k a) ->
  ~ ~ exists f, forall k, In k l -> P k (f k).
Proof.
  induction l as [|k l IH]; intros Hn H No.
  - apply No. exists (fun _ => d). simpl. tauto.
  - inversion Hn as [|? ? Hk Hl]; subst. apply (IH Hl (fun k' H' => H k' (or_intror H'))). intros [f Hf].
    apply (H k (or_introl eq_refl)). intros [a Ha]. apply No.
    exists (fun k' => if Nat.eqb k' k then a else f k'). intros k' [<-|H'].
    + rewrite Nat.eqb_refl. exact Ha.
    + destruct (Nat.eqb_spec k' k) as [->|]; [tauto|auto].
Qed.

(** ** Parts and chains *)

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Variable part : nat -> nat. (* by node: 0 is none *)

Section Chains.
Variable ts : list timed.
Hypothesis spans : forall t, In t ts -> 0 <= begins t < ends t.

Lemma holds_0 c v k x : holds j ts c v k x -> 0 <= x.
Proof. destruct 1 as [|t x Ht _ Hx]; auto. specialize (spans t Ht). lia. Qed.
Lemma last_to_leave c k p : (forall u w, In ((u, k), w) (pre j) -> contains w c -> part u = p) ->
  forall u x, holds j ts c u k x -> part u <> p ->
  exists t, In t ts /\ what (tr t) = k /\ part (src (tr t)) = p /\ part (dst (tr t)) <> p /\ ends t <= x /\
    (part (dst (tr t)) = part u \/ ends t < x).
Proof.
  intros Hs u x H. remember k as k' eqn:E in H. induction H as [v k' x w Hl Hc _|t x Ht _ IH Hx]; intros Hp; subst k.
  - apply lookup_In in Hl. destruct (Hp (Hs _ _ Hl Hc)).
  - specialize (spans t Ht). destruct (Nat.eq_dec (part (src (tr t))) p) as [Q|Q].
    + exists t. rewrite Q. repeat split; auto.
    + destruct (IH eq_refl Q) as [t' [A [B [C [D [F G]]]]]]. exists t'. repeat split; auto; [lia|right; lia].
Qed.
Lemma late_to_enter c k g t0 : 0 < t0 -> (forall u, part u = g -> ~ holds j ts c u k (t0 - 1)) ->
  forall u x, holds j ts c u k x -> part u = g ->
  exists t, In t ts /\ what (tr t) = k /\ part (src (tr t)) <> g /\ part (dst (tr t)) = g /\ t0 <= ends t.
Proof.
  intros Ht0 Hno u x H. remember k as k' eqn:E in H. induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx]; intros Hp; subst k.
  - destruct (Hno v Hp). eapply holds_start; eauto. lia.
  - destruct (Z_lt_le_dec (ends t) t0) as [L|L].
    + destruct (Hno _ Hp). apply holds_sent; auto. lia.
    + destruct (Nat.eq_dec (part (src (tr t))) g) as [Q|Q]; [auto|]. exists t. auto.
Qed.

(** What enters a part that did not have it. *)
Lemma enters_part c k g : (forall u w, In ((u, k), w) (pre j) -> contains w c -> part u <> g) ->
  forall u x, holds j ts c u k x -> part u = g ->
  exists t, In t ts /\ what (tr t) = k /\ part (src (tr t)) <> g /\ part (dst (tr t)) = g.
Proof.
  intros Hs u x H. remember k as k' eqn:E in H. induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx]; intros Hp; subst k.
  - apply lookup_In in Hl. destruct (Hs _ _ Hl Hc Hp).
  - destruct (Nat.eq_dec (part (src (tr t))) g) as [Q|Q]; [auto|]. exists t. auto.
Qed.

(** (combine between parts): when a first part knows all of [reps], one of each part. *)
Definition knows (reps : list (nat * nat)) (k f : nat) (x : Z) : Prop :=
  forall p c, In (p, c) reps -> exists u, part u = f /\ holds j ts c u k x.
Lemma first_to_know reps k T g : knows reps k g T -> 0 <= T ->
  ~ ~ exists f t0, knows reps k f t0 /\ 0 <= t0 /\ forall f' s, s < t0 -> 0 <= s -> ~ knows reps k f' s.
Proof.
  intros Hk HT No. apply (first_time (fun x => exists f, knows reps k f x) T HT).
  - eauto.
  - intros [t [A [[f B] C]]]. apply No. exists f, t. repeat split; auto; [lia|]. intros f' s H1 H2 H3. apply (C s ltac:(lia)). eauto.
Qed.

Definition is_early (f : nat) (t0 : Z) (t : timed) : bool :=
  (ends t <? t0) || (ends t =? t0) && (part (dst (tr t)) =? f)%nat.

Lemma leaves_early reps k f t0 p c : (forall u w, In ((u, k), w) (pre j) -> contains w c -> part u = p) ->
  knows reps k f t0 -> In (p, c) reps -> p <> f ->
  exists t, In t ts /\ what (tr t) = k /\ part (src (tr t)) = p /\ part (dst (tr t)) <> p /\ is_early f t0 t = true.
Proof.
  intros Hs Hk Hin Hp. destruct (Hk _ _ Hin) as [u [Hu Hh]].
  destruct (last_to_leave c k p Hs u t0 Hh ltac:(congruence)) as [t [A [B [C [D [E F]]]]]].
  exists t. repeat split; auto. unfold is_early. apply orb_true_iff. rewrite andb_true_iff, Z.ltb_lt, Z.eqb_eq, Nat.eqb_eq.
  destruct (Z_lt_le_dec (ends t) t0); [auto|]. right. destruct F; [|lia]. split; [lia|congruence].
Qed.
Lemma enters_late reps k f t0 g T : 0 < t0 -> (forall f' s, s < t0 -> 0 <= s -> ~ knows reps k f' s) ->
  knows reps k g T -> g <> f ->
  ~ ~ exists t, In t ts /\ what (tr t) = k /\ part (src (tr t)) <> g /\ part (dst (tr t)) = g /\ is_early f t0 t = false.
Proof.
  intros Ht0 Hno Hk Hg No.
  assert (Q : ~ ~ exists p c, In (p, c) reps /\ forall u, part u = g -> ~ holds j ts c u k (t0 - 1)).
  { intros N. apply (Hno g (t0 - 1) ltac:(lia) ltac:(lia)). 
    assert (G : ~ ~ knows reps k g (t0 - 1)).
    { clear - N. unfold knows. 
      assert (D : forall l, incl l reps -> ~ ~ (forall p c, In (p, c) l -> exists u, part u = g /\ holds j ts c u k (t0 - 1))).
      { induction l as [|[p c] l IH]; intros Hi X; [apply X; simpl; tauto|].
        apply IH; [intros y Hy; apply Hi; right; auto|]. intros I.
        apply (decided (exists u, part u = g /\ holds j ts c u k (t0 - 1))). intros [E|E].
        - apply X. intros p' c' [[= <- <-]|H]; eauto.
        - apply N. exists p, c. split; [apply Hi; left; auto|]. intros u Hu Hh. apply E. eauto. }
      intros X. apply (D reps (incl_refl _)). exact X. }
    exfalso. apply G. intros K. exact (Hno g (t0 - 1) ltac:(lia) ltac:(lia) K). }
  apply Q. intros [p [c [Hin Hn]]]. destruct (Hk _ _ Hin) as [u [Hu Hh]].
  destruct (late_to_enter c k g t0 Ht0 Hn u T Hh Hu) as [t [A [B [C [D E]]]]].
  apply No. exists t. repeat split; auto. unfold is_early. apply orb_false_iff. rewrite andb_false_iff.
  rewrite Z.ltb_ge, Z.eqb_neq, Nat.eqb_neq. split; [lia|]. right. congruence.
Qed.
End Chains.

(** ** The rule *)

Definition start_of (k : nat) : list (nat * value) :=
  map (fun e => (fst (fst e), snd e)) (filter (fun e => (snd (fst e) =? k)%nat) (pre j)).
Definition goal_of (k : nat) : list (nat * value) :=
  map (fun e => (fst (fst e), snd e)) (filter (fun e => (snd (fst e) =? k)%nat) (post j)).
Definition contributions_of (w : value) : list nat := filter (containsb w) (seq 0 (length w)).

(** Contributions that start in one part alone, one for each such part. *)
Fixpoint one_of_each (l : list (nat * nat)) : list (nat * nat) :=
  match l with
  | [] => []
  | (p, c) :: l => let r := one_of_each l in if existsb (fun e => (fst e =? p)%nat) r then r else (p, c) :: r
  end.
Definition reps_of (start : list (nat * value)) : list (nat * nat) :=
  one_of_each (filter (fun e => forallb (fun s => negb (containsb (snd s) (snd e)) || (part (fst s) =? fst e)%nat) start)
    (flat_map (fun s => map (pair (part (fst s))) (contributions_of (snd s))) start)).
Definition goals_of (reps : list (nat * nat)) (goal : list (nat * value)) : list nat :=
  nodup Nat.eq_dec (map (fun e => part (fst e)) (filter (fun e => forallb (fun r => containsb (snd e) (snd r)) reps) goal)).
(** Parts that need what they do not have at the start. *)
Definition needy_of (start goal : list (nat * value)) : list nat :=
  nodup Nat.eq_dec (map (fun e => part (fst e)) (filter (fun e =>
    existsb (fun c => forallb (fun s => negb (containsb (snd s) c) || negb (part (fst s) =? part (fst e))%nat) start)
      (contributions_of (snd e))) goal)).
Definition combined_of (start goal : list (nat * value)) : nat :=
  let reps := reps_of start in
  match goals_of reps goal with
  | [] => 0
  | goals => if (2 <=? length reps)%nat then (length reps - 1) + (length goals - 1) else 0
  end.
Definition between (k : nat) : nat := Nat.max (combined_of (start_of k) (goal_of k)) (length (needy_of (start_of k) (goal_of k))).

Lemma in_start k u w : In (u, w) (start_of k) <-> In ((u, k), w) (pre j).
Proof.
  unfold start_of. rewrite in_map_iff. split.
  - intros [[[u' k'] w'] [[= <- <-] H]]. apply filter_In in H. destruct H as [H E]. apply Nat.eqb_eq in E. simpl in E. subst. auto.
  - intros H. exists ((u, k), w). split; auto. apply filter_In. split; auto. apply Nat.eqb_refl.
Qed.
Lemma in_goal k u w : In (u, w) (goal_of k) <-> In ((u, k), w) (post j).
Proof.
  unfold goal_of. rewrite in_map_iff. split.
  - intros [[[u' k'] w'] [[= <- <-] H]]. apply filter_In in H. destruct H as [H E]. apply Nat.eqb_eq in E. simpl in E. subst. auto.
  - intros H. exists ((u, k), w). split; auto. apply filter_In. split; auto. apply Nat.eqb_refl.
Qed.
Lemma one_of_each_once l : NoDup (map fst (one_of_each l)) /\ incl (one_of_each l) l.
Proof.
  induction l as [|[p c] l [IH1 IH2]]; simpl; [split; [constructor|intros ? []]|].
  destruct (existsb _ _) eqn:E; split; auto.
  - intros x Hx. right. auto.
  - simpl. constructor; auto. intros H. apply in_map_iff in H. destruct H as [[p' c'] [<- H]].
    enough (existsb (fun e => (fst e =? p')%nat) (one_of_each l) = true) by (simpl in E; congruence).
    apply existsb_exists. exists (p', c'). split; auto. apply Nat.eqb_refl.
  - intros x [<-|Hx]; [left; auto|right; auto].
Qed.
Lemma reps_start k p c : In (p, c) (reps_of (start_of k)) ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> part u = p).
Proof.
  intros H u w Hin Hc. apply (proj2 (one_of_each_once _)) in H. apply filter_In in H. destruct H as [_ H].
  rewrite forallb_forall in H. specialize (H (u, w) (proj2 (in_start k u w) Hin)). cbn [fst snd] in H.
  unfold containsb in H. rewrite (proj2 (Nat.ltb_lt 0 _) Hc) in H. apply Nat.eqb_eq, H.
Qed.

(** A transfer from one part to another passes such links. *)
Definition into_parts : list nat :=
  some_links j (fun l => negb (part (Cut.dst l) =? part (Cut.src l))%nat && negb (part (Cut.dst l) =? 0)%nat).
Definition out_of_parts : list nat :=
  some_links j (fun l => negb (part (Cut.dst l) =? part (Cut.src l))%nat && negb (part (Cut.src l) =? 0)%nat).
Definition demands : list Z := flat_map (fun k => repeat (size j k) (between k)) (seq 0 (length (sizes j))).
Definition all_in_parts : bool := forallb (fun v => negb (part v =? 0)%nat) (seq 0 (nodes j)).
Definition partition_rule (bound : Z) : bool :=
  all_in_parts && (too_soon j into_parts demands (bound - 1) || too_soon j out_of_parts demands (bound - 1)).

Lemma passes_between t : all_in_parts = true -> well j t -> part (src (tr (data t))) <> part (dst (tr (data t))) ->
  (exists i, In i (route t) /\ In i into_parts) /\ (exists i, In i (route t) /\ In i out_of_parts).
Proof.
  intros Hall [[_ [Ru [Rv _]]] [Hl _]] Hne. unfold all_in_parts in Hall. rewrite forallb_forall in Hall.
  pose proof (Hall _ (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Ru))) as Pu.
  pose proof (Hall _ (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Rv))) as Pv.
  apply negb_true_iff, Nat.eqb_neq in Pu, Pv. split.
  - destruct (crossing j (fun v => negb (part v =? part (dst (tr (data t))))%nat) _ _ _ Hl) as [i [Hi [A B]]].
    + apply negb_true_iff, Nat.eqb_neq, Hne.
    + rewrite Nat.eqb_refl. reflexivity.
    + exists i. split; auto. apply in_some_links; [eapply leads_in; eauto|].
      apply negb_true_iff, Nat.eqb_neq in A. apply negb_false_iff, Nat.eqb_eq in B.
      apply andb_true_iff. rewrite !negb_true_iff, !Nat.eqb_neq. split; congruence.
  - destruct (crossing j (fun v => (part v =? part (src (tr (data t))))%nat) _ _ _ Hl) as [i [Hi [A B]]].
    + apply Nat.eqb_refl.
    + apply Nat.eqb_neq. congruence.
    + exists i. split; auto. apply in_some_links; [eapply leads_in; eauto|].
      apply Nat.eqb_eq in A. apply Nat.eqb_neq in B.
      apply andb_true_iff. rewrite !negb_true_iff, !Nat.eqb_neq. split; congruence.
Qed.

(** What must go from part to part, of each chunk: which differ as transfers. The first of a
    label tells whether it is early, the second the part that it leaves, or else enters. *)
Definition label (first_of : nat -> nat * Z) (t : timed) : bool * nat :=
  let e := is_early (fst (first_of (what (tr t)))) (snd (first_of (what (tr t)))) t in
  (e, if e then part (src (tr t)) else part (dst (tr t))).
Definition labelled (ts : list timed) (k : nat) (ft : nat * Z) (l : list (bool * nat)) : Prop :=
  NoDup l /\ (between k <= length l)%nat /\ (forall a, In a l -> ~ ~ exists t, In t ts /\ what (tr t) = k /\
    part (src (tr t)) <> part (dst (tr t)) /\ label (fun _ => ft) t = a).

Lemma needs_labels sch k : (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) ->
  (forall v w c, In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch)) ->
  ~ ~ exists e, labelled (map data sch) k (fst e) (snd e).
Proof.
  intros Hb Hr No. set (ts := map data sch) in *. set (T := makespan sch) in *.
  assert (Sp : forall t, In t ts -> 0 <= begins t < ends t).
  { intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply (Hb s Hs). }
  set (reps := reps_of (start_of k)) in *. set (goals := goals_of reps (goal_of k)).
  assert (Kn : forall g, In g goals -> knows ts reps k g T).
  { intros g Hg p c Hin. unfold goals, goals_of in Hg. apply nodup_In, in_map_iff in Hg. destruct Hg as [[v w] [<- Hg]].
    apply filter_In in Hg. destruct Hg as [Hg Hc]. apply in_goal in Hg. rewrite forallb_forall in Hc. specialize (Hc _ Hin).
    apply Nat.ltb_lt in Hc. exists v. split; auto. apply (Hr v w c Hg Hc). }
  assert (HT : 0 <= T) by apply makespan_0.
  destruct (Nat.max_spec_le (combined_of (start_of k) (goal_of k)) (length (needy_of (start_of k) (goal_of k)))) as [[_ Q]|[_ Q]].
  - apply No. exists ((O, -1), map (pair false) (needy_of (start_of k) (goal_of k))). unfold labelled, between. cbn [fst snd].
    rewrite Q, map_length. split; [|split; [lia|]].
    + apply FinFun.Injective_map_NoDup; [intros a b [=]; auto|]. apply NoDup_nodup.
    + intros a Ha N. apply in_map_iff in Ha. destruct Ha as [g [<- Hg]]. unfold needy_of in Hg.
      apply nodup_In, in_map_iff in Hg. destruct Hg as [[v w] [<- Hg]]. apply filter_In in Hg. cbn [fst snd] in *.
      destruct Hg as [Hg Hc]. apply in_goal in Hg. apply existsb_exists in Hc. destruct Hc as [c [Hwc Hc]].
      unfold contributions_of in Hwc. apply filter_In in Hwc. destruct Hwc as [_ Hwc]. apply Nat.ltb_lt in Hwc.
      destruct (enters_part ts c k (part v)) with (u := v) (x := T) as [t [A [B [C D]]]]; auto.
      * intros u x Hx Hcx. rewrite forallb_forall in Hc. specialize (Hc (u, x) (proj2 (in_start k u x) Hx)).
        cbn [fst snd] in Hc. unfold containsb in Hc. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Hc. simpl in Hc.
        apply negb_true_iff, Nat.eqb_neq in Hc. exact Hc.
      * apply (Hr v w c Hg Hwc).
      * apply N. exists t. repeat split; auto; [congruence|]. specialize (Sp t A). unfold label, is_early. cbn [fst snd].
        rewrite (proj2 (Z.ltb_ge _ _)) by lia. rewrite (proj2 (Z.eqb_neq _ _)) by lia. simpl. rewrite D. reflexivity.
  - unfold combined_of in Q. fold reps in Q. fold goals in Q. destruct goals as [|g0 gs] eqn:Eg.
    { apply No. exists ((O, -1), []). unfold labelled, between. cbn [fst snd length]. unfold combined_of. fold reps.
      fold goals. rewrite Eg, Q. repeat split; [constructor|lia|simpl; tauto]. }
    rewrite <- Eg in *. destruct (Nat.leb_spec 2 (length reps)) as [L|L].
    2:{ apply No. exists ((O, -1), []). unfold labelled, between. unfold combined_of. fold reps. fold goals.
        rewrite (proj2 (Nat.leb_gt _ _) L). rewrite Eg in *. rewrite Q. cbn [fst snd length].
        repeat split; [constructor|lia|simpl; tauto]. }
    assert (G0 : In g0 goals) by (rewrite Eg; left; auto).
    apply (first_to_know ts reps k T g0 (Kn g0 G0) HT). intros [f [t0 [K0 [Ht0 Kf]]]].
    assert (Pos : 0 < t0).
    { destruct (Z_le_lt_eq_dec _ _ Ht0) as [|E]; auto. exfalso. subst t0.
      assert (At0 : forall p c, In (p, c) reps -> p = f).
      { intros p c Hin. destruct (K0 p c Hin) as [u [<- Hh]]. symmetry. 
        inversion Hh as [v k' x w Hl Hc _|t x Ht Hh' Hx]; subst.
        - apply lookup_In in Hl. apply (reps_start k p c Hin u w Hl Hc).
        - specialize (Sp t Ht). lia. }
      pose proof (proj1 (one_of_each_once (filter (fun e => forallb (fun s => negb (containsb (snd s) (snd e)) || (part (fst s) =? fst e)%nat) (start_of k))
        (flat_map (fun s => map (pair (part (fst s))) (contributions_of (snd s))) (start_of k))))) as N.
      fold (reps_of (start_of k)) in N. fold reps in N.
      destruct reps as [|[p1 c1] [|[p2 c2] r]]; simpl in L; try lia.
      rewrite (At0 p1 c1) in N by (left; auto). rewrite (At0 p2 c2) in N by (right; left; auto).
      inversion N as [|? ? X _]; subst. apply X. left; auto. }
    apply No. exists ((f, t0), map (pair true) (filter (fun p => negb (p =? f)%nat) (map fst reps)) ++
                          map (pair false) (filter (fun g => negb (g =? f)%nat) goals)).
    unfold labelled. cbn [fst snd].
    assert (N1 : NoDup (map fst reps)) by apply one_of_each_once.
    assert (N2 : NoDup goals) by apply NoDup_nodup.
    assert (Len : forall l, NoDup l -> (length l <= S (length (filter (fun p => negb (p =? f)%nat) l)))%nat).
    { intros l Hl. assert ((length l <= length (f :: filter (fun p => negb (p =? f)%nat) l))%nat); auto.
      apply NoDup_incl_length; auto. intros x Hx. destruct (Nat.eq_dec x f) as [->|]; [left; auto|right].
      apply filter_In. split; auto. apply negb_true_iff, Nat.eqb_neq. auto. }
    split; [|split].
    + assert (D : forall p q : list (bool * nat), NoDup p -> NoDup q -> (forall e, In e p -> ~ In e q) -> NoDup (p ++ q)).
      { clear. induction p as [|e p IHp]; simpl; intros q Hp Hq Hd; auto. inversion Hp; subst.
        constructor; [|apply IHp; auto]. rewrite in_app_iff. intros [|]; auto. apply (Hd e); auto. }
      apply D.
      * apply FinFun.Injective_map_NoDup; [intros a b [=]; auto|apply NoDup_filter, N1].
      * apply FinFun.Injective_map_NoDup; [intros a b [=]; auto|apply NoDup_filter, N2].
      * intros e H1 H2. apply in_map_iff in H1, H2. destruct H1 as [x [<- _]], H2 as [y [E _]]. discriminate.
    + rewrite app_length, !map_length. specialize (Len (map fst reps) N1) as L1. specialize (Len goals N2) as L2.
      rewrite map_length in L1. enough ((between k <= length reps - 1 + (length goals - 1))%nat) by lia.
      unfold between, combined_of. fold reps. fold goals. clear L2. rewrite (proj2 (Nat.leb_le _ _) L).
      rewrite Eg in Q |- *. rewrite Q. apply Nat.le_refl.
    + intros a Ha. apply in_app_or in Ha. destruct Ha as [Ha|Ha]; apply in_map_iff in Ha; destruct Ha as [p [<- Hp]];
        apply filter_In in Hp; destruct Hp as [Hp E]; apply negb_true_iff, Nat.eqb_neq in E.
      * intros N. apply in_map_iff in Hp. destruct Hp as [[p' c] [<- Hp]]. cbn [fst] in *.
        destruct (leaves_early ts Sp reps k f t0 p' c (reps_start k p' c Hp) K0 Hp E) as [t [A [B [C [D F]]]]].
        apply N. exists t. repeat split; auto; [congruence|]. unfold label. cbn [fst snd]. rewrite F, C. reflexivity.
      * intros N. apply (enters_late ts reps k f t0 p T Pos Kf (Kn p Hp) E). intros [t [A [B [C [D F]]]]].
        apply N. exists t. repeat split; auto; [congruence|]. unfold label. cbn [fst snd]. rewrite F, D. reflexivity.
Qed.

Lemma none_missing {A} (P : A -> Prop) l : (forall a, In a l -> ~ ~ P a) -> ~ ~ forall a, In a l -> P a.
Proof.
  induction l as [|a l IH]; intros H No; [apply No; simpl; tauto|].
  apply (H a (or_introl eq_refl)). intros Ha. apply IH; [intros; apply H; right; auto|]. intros Hl.
  apply No. intros x [<-|Hx]; auto.
Qed.
Lemma in_firstn {A} n (l : list A) x : In x (firstn n l) -> In x l.
Proof. revert l. induction n as [|n IH]; intros [|a l]; simpl; try tauto. intros [->|H]; auto. Qed.
Lemma firstn_once {A} n (l : list A) : NoDup l -> NoDup (firstn n l).
Proof.
  intros H. revert n. induction H as [|a l Ha H IH]; intros [|n]; simpl; constructor; auto.
  intros Hi. apply Ha. eapply in_firstn; eauto.
Qed.
Lemma in_parallel_once {A} (f : nat -> list A) ks : NoDup ks -> (forall k, NoDup (f k)) -> NoDup (flat_map (fun k => map (pair k) (f k)) ks).
Proof.
  intros Hk Hf. induction Hk as [|k ks Hk _ IH]; simpl; [constructor|].
  assert (D : forall p q : list (nat * A), NoDup p -> NoDup q -> (forall e, In e p -> ~ In e q) -> NoDup (p ++ q)).
  { clear. induction p as [|e p IHp]; simpl; intros q Hp Hq Hd; auto. inversion Hp; subst.
    constructor; [|apply IHp; auto]. rewrite in_app_iff. intros [|]; auto. apply (Hd e); auto. }
  apply D; auto.
  - apply FinFun.Injective_map_NoDup; [intros a b [=]; auto|apply Hf].
  - intros [k1 a] H1 H2. apply in_map_iff in H1. destruct H1 as [x [[= <- <-] _]].
    apply in_flat_map in H2. destruct H2 as [k2 [H2 H3]]. apply in_map_iff in H3. destruct H3 as [y [[= <- _] _]]. auto.
Qed.

(** Of all chunks: as many transfers as are demanded, all different. *)
Definition key_of (f : nat -> nat * Z) (t : sent) : nat * (bool * nat) := (what (tr (data t)), label f (data t)).
Definition served_by (sch : list sent) (f : nat -> nat * Z) (items : list (nat * (bool * nat))) : Prop :=
  NoDup items /\ map (fun a => size j (fst a)) items = demands /\
  forall a, In a items -> exists t, In t sch /\ key_of f t = a /\ part (src (tr (data t))) <> part (dst (tr (data t))).
Lemma demands_served sch : (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) ->
  (forall v k w c, In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch)) ->
  ~ ~ exists f items, served_by sch f items.
Proof.
  intros Hb Hr No. set (chunks := seq 0 (length (sizes j))).
  apply (for_all_of (fun k e => labelled (map data sch) k (fst e) (snd e)) ((O, 0), []) chunks (seq_NoDup _ _)
    (fun k _ => needs_labels sch k Hb (fun v w c => Hr v k w c))). intros [f Hf].
  set (labels := fun k => if existsb (Nat.eqb k) chunks then firstn (between k) (snd (f k)) else []).
  assert (Hc : forall k, existsb (Nat.eqb k) chunks = true <-> In k chunks).
  { intros k. rewrite existsb_exists. split; [intros [y [Hy E]]; apply Nat.eqb_eq in E; congruence|].
    intros Hk. exists k. split; auto. apply Nat.eqb_refl. }
  set (items := flat_map (fun k => map (pair k) (labels k)) chunks).
  set (key := key_of (fun k => fst (f k))).
  assert (N : NoDup items).
  { apply in_parallel_once; [apply seq_NoDup|]. intros k. unfold labels. destruct (existsb (Nat.eqb k) chunks) eqn:E; [|constructor].
    apply Hc in E. apply firstn_once, Hf, E. }
  assert (M : map (fun a => size j (fst a)) items = demands).
  { unfold items, demands. fold chunks. assert (I : incl chunks chunks) by apply incl_refl. revert I.
    generalize chunks at 1 3 4. intros l I. induction l as [|k l IH]; simpl; auto. rewrite map_app, map_map. cbn [fst].
    rewrite IH by (intros x Hx; apply I; right; auto). f_equal.
    unfold labels. rewrite (proj2 (Hc k) (I k (or_introl eq_refl))).
    destruct (Hf k (I k (or_introl eq_refl))) as [_ [L _]].
    rewrite <- (firstn_length_le (snd (f k)) L) at 2.
    generalize (firstn (between k) (snd (f k))). intros q. induction q as [|a q IHq]; simpl; congruence. }
  assert (S : ~ ~ forall a, In a items -> exists t, In t sch /\ key t = a /\ part (src (tr (data t))) <> part (dst (tr (data t)))).
  { apply none_missing. intros [k a] Ha. unfold items in Ha. apply in_flat_map in Ha. destruct Ha as [k' [Hk Ha]].
    apply in_map_iff in Ha. destruct Ha as [a' [[= -> ->] Ha]]. unfold labels in Ha. rewrite (proj2 (Hc k) Hk) in Ha.
    apply in_firstn in Ha. destruct (Hf k Hk) as [_ [_ X]]. specialize (X a Ha). intros No'. apply X.
    intros [t [A [B [C D]]]]. apply in_map_iff in A. destruct A as [s [<- Hs]]. apply No'. exists s. repeat split; auto.
    unfold key, key_of. rewrite B. f_equal. rewrite <- D. unfold label. rewrite B. reflexivity. }
  apply S. clear S. intros S. apply No. exists (fun k => fst (f k)), items. split; [exact N|]. split; [exact M|exact S].
Qed.

Theorem partition_sound bound sch : positive j -> partition_rule bound = true -> right j sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. apply andb_true_iff in H. destruct H as [Hall H].
  destruct (Z_le_gt_dec bound (makespan sch)) as [|G]; auto. exfalso.
  apply (demands_served sch); [intros t Ht; apply (proj1 Hr t Ht)|intros v k w c Hin Hc; apply (right_holds j sch v k w c Hr Hin Hc)|].
  intros [f [items [N [M S]]]].
  assert (P : forall ls, NoDup ls -> (forall t, In t sch -> part (src (tr (data t))) <> part (dst (tr (data t))) ->
      exists i, In i (route t) /\ In i ls) -> too_soon j ls demands (bound - 1) = true -> False).
  { intros ls Hl Hpass Ht. rewrite <- M in Ht.
    assert (bound - 1 < makespan sch); [|lia].
    apply (too_soon_sound j (nat * (bool * nat)) (key_of f) (fun a => size j (fst a)) sch ls items); auto.
    - intros a Ha. destruct (S a Ha) as [t [A [B C]]]. destruct (Hpass t A C) as [i [D E]]. exists t, i. auto.
    - intros a. apply sane_size, Hp. }
  apply orb_true_iff in H. destruct H as [H|H].
  - apply (P into_parts); auto; [apply some_links_once|]. intros t Ht Hne. apply (passes_between t Hall (proj1 Hr t Ht) Hne).
  - apply (P out_of_parts); auto; [apply some_links_once|]. intros t Ht Hne. apply (passes_between t Hall (proj1 Hr t Ht) Hne).
Qed.
End Job.

(** Volume: each rank is a part of its own, and no switch is in any. *)
Definition combining_volume_rule (j : job) (bound : Z) : bool :=
  partition_rule j (fun v => if is_rank j v then S v else O) bound.
Corollary combining_volume_sound j bound sch : positive j -> combining_volume_rule j bound = true -> right j sch -> bound <= makespan sch.
Proof. apply partition_sound. Qed.

(** ** Of every cut *)

Section Cut.
Variable j : job.
Variable ps : pieces.
Hypothesis cut : is_cut j ps.
Hypothesis sane : positive j.
Variable part : nat -> nat.
Notation chunks := (seq 0 (length ps)).

Lemma said_of_cut l k : In k chunks ->
  filter (fun e => (snd (fst e) =? k)%nat) (cut_up ps l) = map (fun e => ((fst (fst e), k), snd e)) (said_of (shard ps k) l).
Proof.
  unfold cut_up. assert (B : forall k', filter (fun e => (snd (fst e) =? k)%nat) (map (fun e => ((fst (fst e), k'), snd e)) (said_of (shard ps k') l)) =
    if (k' =? k)%nat then map (fun e => ((fst (fst e), k), snd e)) (said_of (shard ps k) l) else []).
  { intros k'. destruct (k' =? k)%nat eqn:E.
    - apply Nat.eqb_eq in E. rewrite E. induction (said_of (shard ps k) l) as [|e r IH]; simpl; auto. rewrite Nat.eqb_refl, IH. reflexivity.
    - induction (said_of (shard ps k') l) as [|e r IH]; simpl; auto. rewrite E. exact IH. }
  assert (N : NoDup chunks) by apply seq_NoDup. revert N. generalize chunks. intros L N.
  induction N as [|k' L Hk N IH]; simpl; [tauto|]. intros Hin. rewrite filter_app, B.
  destruct (k' =? k)%nat eqn:E.
  - apply Nat.eqb_eq in E. subst k'. replace (filter _ (flat_map _ L)) with (@nil (nat * nat * value)); [apply app_nil_r|].
    clear - B Hk. induction L as [|a L IH]; simpl; auto. rewrite filter_app, B. simpl in Hk.
    destruct (Nat.eqb_spec a k); [tauto|]. simpl. apply IH. tauto.
  - simpl. apply IH. apply Nat.eqb_neq in E. destruct Hin as [->|]; [congruence|auto].
Qed.
Lemma between_cut k : In k chunks -> between (recut j ps) part k = between j part (shard ps k).
Proof.
  intros Hk. unfold between, start_of, goal_of. cbn [pre post recut]. rewrite !said_of_cut, !map_map by auto. reflexivity.
Qed.
Lemma sum_demands i : sum (fun w => w) (demands i part) = sum (fun k => size i k * Z.of_nat (between i part k)) (seq 0 (length (sizes i))).
Proof.
  unfold demands. induction (seq 0 (length (sizes i))) as [|k l IH]; [reflexivity|].
  cbn [flat_map]. rewrite sum_app, IH. cbn [sum fold_right]. f_equal.
  induction (between i part k) as [|n IHn]; [simpl; lia|]. cbn [repeat sum fold_right]. unfold sum in IHn. rewrite IHn. lia.
Qed.
Lemma demands_cut : sum (fun w => w) (demands j part) <= sum (fun w => w) (demands (recut j ps) part).
Proof.
  rewrite !sum_demands, recut_chunks. pose proof (sum_of_shards j ps cut (fun s => Z.of_nat (between j part s))) as E.
  unfold chunks_of in E. rewrite <- E.
  apply sum_le. intros k Hk. rewrite between_cut by auto. lia.
Qed.
End Cut.

Definition free_partition_rule (j : job) (part : nat -> nat) (bound : Z) : bool :=
  all_in_parts j part && (bytes_too_soon j (into_parts j part) (demands j part) (bound - 1) ||
                          bytes_too_soon j (out_of_parts j part) (demands j part) (bound - 1)).
Theorem free_partition_sound j part bound ps sch : positive j -> is_cut j ps ->
  free_partition_rule j part bound = true -> right (recut j ps) sch -> bound <= makespan sch.
Proof.
  intros Hp Hc H. apply (partition_sound (recut j ps) part bound sch (recut_positive j ps Hc Hp)).
  unfold free_partition_rule in H. unfold partition_rule. apply andb_true_iff in H. destruct H as [H1 H2].
  apply andb_true_iff. split; [exact H1|]. apply orb_true_iff. apply orb_true_iff in H2.
  pose proof (demands_cut j ps Hc part) as D.
  destruct H2 as [H2|H2]; [left|right]; exact (more_bytes j ps _ _ _ _ D H2).
Qed.
Definition free_combining_volume_rule (j : job) (bound : Z) : bool :=
  free_partition_rule j (fun v => if is_rank j v then S v else O) bound.
Corollary free_combining_volume_sound j bound ps sch : positive j -> is_cut j ps ->
  free_combining_volume_rule j bound = true -> right (recut j ps) sch -> bound <= makespan sch.
Proof. apply free_partition_sound. Qed.
