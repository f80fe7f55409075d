(** Bounds of timed schedules, as functions that decide, each proved: no right schedule ends
    before what it is asked about. The rules cut, ingress, egress, volume (of transfers that
    each fill a slot) and distance of package cert. Left out: what Passing.v leaves out; of
    volume the transfers that combine; problems whose cut is free. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

(** ** Too much for a time *)

Definition least (ws : list Z) : Z := match ws with [] => 0 | w :: ws => fold_right Z.min w ws end.
Lemma least_le ws w : In w ws -> least ws <= w.
Proof.
  destruct ws as [|a ws]; [intros []|apply fold_min].
Qed.

(** Items of these sizes cannot pass the links by [T]. *)
Definition too_soon (ls : list nat) (ws : list Z) (T : Z) : bool :=
  negb (sum (fun w => w) ws * picoseconds <=? sum (fun i => bandwidth (at_link i) * window j T i) ls) ||
  (0 <? least ws) && negb (Z.of_nat (length ws) <=? sum (fun i => window j T i / takes j (least ws) i) ls).

Lemma too_soon_sound A (key : sent -> A) (weight : A -> Z) sch ls items T :
  positive j -> right j sch -> (forall t, In t sch -> weight (key t) = size j (what (tr (data t)))) ->
  NoDup ls -> NoDup items ->
  (forall a, In a items -> exists t i, In t sch /\ key t = a /\ In i (route t) /\ In i ls) ->
  (forall a, 0 <= weight a) ->
  too_soon ls (map weight items) T = true -> T < makespan sch.
Proof.
  intros Hp Hr Hw Hl Hi Hs Hh H. apply Z.lt_nge. intros HT. unfold too_soon in H.
  apply orb_true_iff in H. destruct H as [H|H].
  - apply negb_true_iff, Z.leb_gt in H. rewrite sum_map in H.
    exact (Z.lt_irrefl _ (Z.lt_le_trans _ _ _ H (passing_bytes j Hp A key weight sch ls items Hr Hw Hl Hi Hs Hh T HT))).
  - apply andb_true_iff in H. destruct H as [H0 H]. apply Z.ltb_lt in H0. apply negb_true_iff, Z.leb_gt in H.
    rewrite map_length in H.
    enough (Z.of_nat (length items) <= sum (fun i => window j T i / takes j (least (map weight items)) i) ls) by lia.
    apply (passing_items j Hp A key weight sch ls items Hr Hw Hl Hi Hs) with (T := T); auto.
    intros a Ha. apply least_le, in_map, Ha.
Qed.

(** ** Links of a route *)

Lemma leads_in r : forall u v, leads j u r v -> forall i, In i r -> (i < length (links j))%nat.
Proof. induction r as [|a r IH]; simpl; [tauto|]. intros u v [H1 [_ H]] i [->|Hi]; eauto. Qed.
Lemma crossing (S : nat -> bool) r : forall u v, leads j u r v -> S u = true -> S v = false ->
  exists i, In i r /\ S (Cut.src (at_link i)) = true /\ S (Cut.dst (at_link i)) = false.
Proof.
  induction r as [|a r IH]; simpl; intros u v; [congruence|]. intros [_ [Hs H]] Hu Hv.
  destruct (S (Cut.dst (at_link a))) eqn:E.
  - destruct (IH _ _ H E Hv) as [i [Hi Hx]]. eauto.
  - exists a. subst u. auto.
Qed.

Definition some_links (f : link -> bool) : list nat := filter (fun i => f (at_link i)) (seq 0 (length (links j))).
Lemma some_links_once f : NoDup (some_links f).
Proof. apply NoDup_filter, seq_NoDup. Qed.
Lemma in_some_links f i : (i < length (links j))%nat -> f (at_link i) = true -> In i (some_links f).
Proof. intros. apply filter_In. split; auto. apply in_seq. lia. Qed.

Definition leaving (S : nat -> bool) : list nat := some_links (fun l => S (Cut.src l) && negb (S (Cut.dst l))).

(** A transfer from inside to outside passes a link that leaves. *)
Lemma passes_out S t : well j t -> S (src (tr (data t))) = true -> S (dst (tr (data t))) = false ->
  exists i, In i (route t) /\ In i (leaving S).
Proof.
  intros [_ [Hl _]] Hu Hv. destruct (crossing S _ _ _ Hl Hu Hv) as [i [Hi [A B]]].
  exists i. split; auto. apply in_some_links; [eapply leads_in; eauto|]. rewrite A, B. reflexivity.
Qed.

(** ** (cut) *)

Lemma must_leave (S : nat -> bool) ts c v k x : holds j ts c v k x -> S v = false ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> S u = true) ->
  exists t, In t ts /\ what (tr t) = k /\ S (src (tr t)) = true /\ S (dst (tr t)) = false.
Proof.
  induction 1 as [v k x w Hl Hc _|t x Ht _ IH _]; intros Hv Hs.
  - apply lookup_In in Hl. rewrite (Hs _ _ Hl Hc) in Hv. discriminate.
  - destruct (S (src (tr t))) eqn:E; [|auto]. exists t. auto.
Qed.

Definition containsb (w : value) (c : nat) : bool := (0 <? count w c)%nat.
Definition only_inside (S : nat -> bool) (k c : nat) : bool :=
  forallb (fun e => negb ((snd (fst e) =? k)%nat && containsb (snd e) c) || S (fst (fst e))) (pre j).
(** Chunk [k] must leave the set. *)
Definition crosses (S : nat -> bool) (k : nat) : bool :=
  existsb (fun e => (snd (fst e) =? k)%nat && negb (S (fst (fst e))) &&
    existsb (fun c => containsb (snd e) c && only_inside S k c) (seq 0 (length (snd e)))) (post j).
Definition cut_rule (S : nat -> bool) (b : Z) : bool :=
  too_soon (leaving S) (map (size j) (filter (crosses S) (seq 0 (length (sizes j))))) (b - 1).

Lemma right_holds sch v k w c : right j sch -> In ((v, k), w) (post j) -> contains w c ->
  holds j (map data sch) c v k (makespan sch).
Proof.
  intros [Hw [_ [_ [H [He Hg]]]]] Hin Hc. destruct (Hg _ _ _ Hin) as [got [Hgot Ha]].
  apply (arrive j _ H He) with (w := got); auto.
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply Hw, Hs.
  - apply makespan_0.
  - specialize (Ha c). unfold contains in *. destruct (idempotent j); [tauto|congruence].
Qed.

Theorem cut_sound S b sch : positive j -> cut_rule S b = true -> right j sch -> b <= makespan sch.
Proof.
  intros Hp Hc Hr. enough (b - 1 < makespan sch) by lia.
  apply (too_soon_sound nat (fun t => what (tr (data t))) (size j) sch (leaving S)
           (filter (crosses S) (seq 0 (length (sizes j))))); auto.
  - apply some_links_once.
  - apply NoDup_filter, seq_NoDup.
  - intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk.
    destruct Hk as [[[v k'] w] [Hin Hk]]. cbn [fst snd] in Hk.
    apply andb_true_iff in Hk. destruct Hk as [Hk Hc'].
    apply andb_true_iff in Hk. destruct Hk as [E Hv]. apply Nat.eqb_eq in E. subst k'.
    apply negb_true_iff in Hv. apply existsb_exists in Hc'. destruct Hc' as [c [_ Hc']].
    apply andb_true_iff in Hc'. destruct Hc' as [Hwc Ho]. unfold containsb in Hwc. apply Nat.ltb_lt in Hwc.
    destruct (must_leave S _ _ _ _ _ (right_holds sch v k w c Hr Hin Hwc) Hv) as [t [Ht [Ek [A B]]]].
    + intros u x Hx Hcx. unfold only_inside in Ho. rewrite forallb_forall in Ho. specialize (Ho _ Hx).
      cbn [fst snd] in Ho. rewrite Nat.eqb_refl in Ho. unfold containsb in Ho.
      rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Ho. exact Ho.
    + apply in_map_iff in Ht. destruct Ht as [s [<- Hs]].
      destruct (passes_out S s) as [i [Hi Hl]]; auto; [apply Hr, Hs|]. exists s, i. auto.
  - apply sane_size, Hp.
Qed.

(** Egress: the set of one rank. *)
Definition egress_rule (v : nat) (b : Z) : bool := cut_rule (Nat.eqb v) b.
Corollary egress_sound v b sch : positive j -> egress_rule v b = true -> right j sch -> b <= makespan sch.
Proof. apply cut_sound. Qed.

(** ** Slots that must change *)

Definition alike (x y : nat) : bool :=
  if idempotent j then Bool.eqb (0 <? x)%nat (0 <? y)%nat else (x =? y)%nat.
Fixpoint agreesb (a w : value) : bool :=
  match a, w with
  | [], _ => forallb (alike 0) w
  | _, [] => forallb (fun x => alike x 0) a
  | x :: a, y :: w => alike x y && agreesb a w
  end.
Lemma alike_spec x y : alike x y = true <-> if idempotent j then (0 < x <-> 0 < y)%nat else x = y.
Proof.
  unfold alike. destruct (idempotent j); [|apply Nat.eqb_eq]. rewrite eqb_true_iff.
  destruct (Nat.ltb_spec 0 x), (Nat.ltb_spec 0 y); split; intros; try tauto; try lia; try congruence.
Qed.
Lemma agreesb_alike a : forall w, agreesb a w = true <-> forall i, alike (count a i) (count w i) = true.
Proof.
  assert (Z : forall (f : nat -> bool) l, f 0%nat = true -> forallb f l = true <-> forall i, f (count l i) = true).
  { intros f l H0. rewrite forallb_forall. split.
    - intros H i. unfold count. destruct (Nat.lt_ge_cases i (length l)); [apply H, nth_In; auto|].
      rewrite nth_overflow; auto.
    - intros H x Hx. destruct (In_nth _ _ 0%nat Hx) as [i [_ <-]]. apply H. }
  assert (R : alike 0 0 = true) by (apply alike_spec; destruct (idempotent j); tauto).
  induction a as [|x a IH]; intros w.
  - cbn [agreesb]. rewrite (Z (alike 0) w R). split; intros H i; specialize (H i);
      unfold count in *; destruct i; exact H.
  - destruct w as [|y w].
    + cbn [agreesb]. rewrite (Z (fun x => alike x 0) (x :: a) R). split; intros H i; specialize (H i);
        unfold count in *; destruct i; exact H.
    + cbn [agreesb]. rewrite andb_true_iff, IH. split.
      * intros [A B] [|i]; [exact A|apply B].
      * intros H. split; [apply (H 0%nat)|]. intros i. apply (H (S i)).
Qed.
Lemma agreesb_spec a w : agreesb a w = true <-> agrees j a w.
Proof.
  rewrite agreesb_alike. unfold agrees. split; intros H i; apply alike_spec, H.
Qed.

Definition settled (v k : nat) (w : value) : bool :=
  match lookup (pre j) v k with Some a => agreesb a w | None => false end.
Definition unsettled : list (nat * nat) :=
  nodup slot_dec (map fst (filter (fun e => negb (settled (fst (fst e)) (snd (fst e)) (snd e))) (post j))).

Lemma unsettled_written sch s : right j sch -> In s unsettled ->
  exists t, In t sch /\ slot (tr (data t)) = s.
Proof.
  intros [Hw [_ [_ [H [He Hg]]]]] Hs. apply nodup_In in Hs. apply in_map_iff in Hs.
  destruct Hs as [[[v k] w] [<- Hin]]. apply filter_In in Hin. cbn [fst snd] in *. destruct Hin as [Hin Hn].
  destruct (changed j _ H He (makespan sch) (makespan_0 sch) v k) as [E|[t [Ht [Et _]]]].
  - destruct (Hg _ _ _ Hin) as [got [Hgot Ha]]. rewrite E in Hgot.
    unfold settled in Hn. rewrite Hgot in Hn. apply agreesb_spec in Ha. rewrite Ha in Hn. discriminate.
  - apply in_map_iff in Ht. destruct Ht as [x [<- Hx]]. exists x. auto.
Qed.

(** Ingress: all nodes but one rank, and what it must end with and does not have. *)
Definition ingress_rule (v : nat) (b : Z) : bool :=
  too_soon (leaving (fun u => negb (u =? v)%nat))
    (map (fun s => size j (snd s)) (filter (fun s => (fst s =? v)%nat) unsettled)) (b - 1).

Theorem ingress_sound v b sch : positive j -> ingress_rule v b = true -> right j sch -> b <= makespan sch.
Proof.
  intros Hp Hc Hr. enough (b - 1 < makespan sch) by lia.
  apply (too_soon_sound (nat * nat) (fun t => slot (tr (data t))) (fun s => size j (snd s)) sch
           (leaving (fun u => negb (u =? v)%nat)) (filter (fun s => (fst s =? v)%nat) unsettled));
    auto.
  - apply some_links_once.
  - apply NoDup_filter, NoDup_nodup.
  - intros s Hs. apply filter_In in Hs. destruct Hs as [Hs E]. apply Nat.eqb_eq in E.
    destruct (unsettled_written sch s Hr Hs) as [t [Ht <-]].
    destruct (passes_out (fun u => negb (u =? v)%nat) t) as [i [Hi Hl]].
    + apply Hr, Ht.
    + destruct (proj1 Hr t Ht) as [[_ [_ [_ Hne]]] _]. simpl in E. apply negb_true_iff, Nat.eqb_neq. congruence.
    + simpl in E. rewrite E, Nat.eqb_refl. reflexivity.
    + exists t, i. auto.
  - intros s. apply sane_size, Hp.
Qed.

(** Volume: each of these slots needs a transfer, which passes a link that enters a rank and
    one that leaves a rank. *)
Definition entering_ranks : list nat := some_links (fun l => is_rank j (Cut.dst l)).
Definition leaving_ranks : list nat := some_links (fun l => is_rank j (Cut.src l)).
Definition volume_rule (b : Z) : bool :=
  let ws := map (fun s => size j (snd s)) unsettled in
  too_soon entering_ranks ws (b - 1) || too_soon leaving_ranks ws (b - 1).

Lemma leads_ends r : forall u v, leads j u r v -> u <> v ->
  (exists i, In i r /\ Cut.src (at_link i) = u) /\ (exists i, In i r /\ Cut.dst (at_link i) = v).
Proof.
  induction r as [|a r IH]; simpl; intros u v; [congruence|]. intros [_ [Hs H]] Hne. split; [eauto|].
  destruct (Nat.eq_dec (Cut.dst (at_link a)) v) as [E|E]; [eauto|].
  destruct (IH _ _ H E) as [_ [i [Hi Ei]]]. eauto.
Qed.

Theorem volume_sound b sch : positive j -> volume_rule b = true -> right j sch -> b <= makespan sch.
Proof.
  intros Hp Hc Hr. enough (b - 1 < makespan sch) by lia. apply orb_true_iff in Hc.
  assert (W : forall t, In t sch -> well j t) by apply Hr.
  destruct Hc as [Hc|Hc];
    [apply (too_soon_sound (nat * nat) (fun t => slot (tr (data t))) (fun s => size j (snd s)) sch entering_ranks unsettled)
    |apply (too_soon_sound (nat * nat) (fun t => slot (tr (data t))) (fun s => size j (snd s)) sch leaving_ranks unsettled)];
    auto; try apply some_links_once; try apply NoDup_nodup; try (intros s; apply sane_size, Hp);
    intros s Hs; destruct (unsettled_written sch s Hr Hs) as [t [Ht Et]];
    destruct (W t Ht) as [[_ [Ru [Rv Hne]]] [Hl _]];
    destruct (leads_ends _ _ _ Hl Hne) as [[i [Hi Ei]] [i' [Hi' Ei']]].
  - exists t, i'. repeat split; auto. apply in_some_links; [eapply leads_in; eauto|].
    rewrite Ei'. apply Nat.ltb_lt, Rv.
  - exists t, i. repeat split; auto. apply in_some_links; [eapply leads_in; eauto|].
    rewrite Ei. apply Nat.ltb_lt, Ru.
Qed.

(** ** (distance) *)

(** [full] and [head]: by node; beyond the end of the lists: 0. Along link [l], for [b] bytes,
    where node v can be passed from [wait v] on. *)
Definition potential (p : list Z) (v : nat) : Z := nth v p 0.
Definition rises_well (wait : nat -> Z) (full head : list Z) (b : Z) (l : link) : bool :=
  let u := Cut.src l in let v := Cut.dst l in
  let h := (if is_rank j u then Z.max (potential full u) (wait u) else potential head u) + latency l in
  let f := Z.max (if is_rank j u then h else potential full u + latency l) (h + beta l b) in
  if is_rank j v then potential full v <=? Z.max f (wait v + latency l + beta l b)
  else (potential full v <=? f) && (potential head v <=? h).
Definition distance_rule (full head : list Z) (k c v : nat) (b : Z) : bool :=
  forallb (rises_well (arrival j) full head (size j k)) (links j) &&
  forallb (fun e => negb ((snd (fst e) =? k)%nat && containsb (snd e) c) ||
    negb (fst (fst e) =? v)%nat && (potential full (fst (fst e)) <=? arrival j (fst (fst e)))) (pre j) &&
  existsb (fun e => (fst (fst e) =? v)%nat && (snd (fst e) =? k)%nat && containsb (snd e) c) (post j) &&
  (b <=? Z.max 0 (potential full v)).

Section Distance.
Hypothesis sane : positive j.
Variable wait : nat -> Z.
Variable on : link -> bool.
Variables full head : list Z.

Lemma rises_more b b' l : 0 < bandwidth l -> b <= b' ->
  rises_well wait full head b l = true -> rises_well wait full head b' l = true.
Proof.
  intros Hl Hb. pose proof (beta_mono l b b' Hl Hb). unfold rises_well.
  destruct (is_rank j (Cut.dst l)); rewrite ?andb_true_iff, !Z.leb_le; lia.
Qed.

Variable b : Z.
Hypothesis bytes : 0 <= b.
Hypothesis rises : forall l, In l (links j) -> on l = true -> rises_well wait full head b l = true.

(** What comes to node [u]: its first byte at [a] or later, its last [m] later or later; at a
    rank it is there. *)
Definition comes (u : nat) (a m : Z) : Prop :=
  if is_rank j u then Z.max (potential full u) (wait u) <= a /\ m = 0
  else potential head u <= a /\ potential full u <= a + m.

Lemma route_rises r : forall u v a m, leads j u r v -> (forall i, In i r -> on (at_link i) = true) ->
  is_rank j v = true -> r <> [] -> 0 <= m ->
  comes u a m -> (forall w, In w (visited j u r) -> is_rank j w = true -> wait w <= a) ->
  potential full v <= a + match hops j r with [] => 0
                          | h :: hs => latencies j h + Z.max m (slowest j b h) + lasting j b hs end.
Proof.
  induction r as [|i r IH]; intros u v a m Hl Hon Hv Hne Hm Hc Ha; [congruence|].
  destruct Hl as [Hi [Hs Hl]].
  assert (R : rises_well wait full head b (at_link i) = true)
    by (apply rises; [apply nth_In, Hi|apply Hon; left; auto]).
  assert (Hon' : forall i, In i r -> on (at_link i) = true) by (intros; apply Hon; right; auto).
  pose proof (sane_link j sane i) as [La Lb]. pose proof (beta_0 (at_link i) b Lb bytes) as Bt.
  set (w := Cut.dst (at_link i)) in *. unfold rises_well in R. rewrite Hs in R. fold w in R.
  assert (Hu : (if is_rank j u then Z.max (potential full u) (wait u) else potential head u) <= a
            /\ (if is_rank j u then 0 else potential full u - a) <= m)
    by (unfold comes in Hc; destruct (is_rank j u); lia).
  assert (Hw : forall w', In w' (visited j w r) -> is_rank j w' = true -> wait w' <= a)
    by (intros w' H'; apply Ha; right; exact H').
  cbn [hops]. fold w. destruct (is_rank j w) eqn:Ew.
  - assert (Aw : wait w <= a) by (apply Hw; auto; left; auto).
    assert (Fw : potential full w <= a + latency (at_link i) + Z.max m (beta (at_link i) b)).
    { apply Z.leb_le in R. destruct (is_rank j u); lia. }
    unfold latencies, slowest. cbn [sum fold_right]. fold (lasting j b).
    destruct r as [|i' r'] eqn:Er.
    + cbn [leads] in Hl. subst v. simpl. lia.
    + rewrite <- Er in *.
      assert (IH' := IH w v (a + latency (at_link i) + Z.max m (beta (at_link i) b)) 0 Hl Hon' Hv).
      assert (potential full v <= a + latency (at_link i) + Z.max m (beta (at_link i) b) + lasting j b (hops j r)); [|lia].
      eapply Z.le_trans; [apply IH'|].
      * congruence.
      * lia.
      * unfold comes. rewrite Ew. lia.
      * intros w' H1 H2. specialize (Hw w' H1 H2). lia.
      * destruct (hops j r) as [|h hs]; unfold lasting; cbn [sum fold_right]; [lia|].
        pose proof (slowest_0 j b h). fold (lasting j b hs). unfold lasting, sum. lia.
  - apply andb_true_iff in R. destruct R as [R1 R2]. apply Z.leb_le in R1, R2.
    assert (Hr : r <> []).
    { intros ->. cbn [leads] in Hl. congruence. }
    assert (IH' := IH w v (a + latency (at_link i)) (Z.max m (beta (at_link i) b)) Hl Hon' Hv Hr ltac:(lia)).
    assert (H1 : comes w (a + latency (at_link i)) (Z.max m (beta (at_link i) b))).
    { unfold comes. rewrite Ew. destruct (is_rank j u); lia. }
    specialize (IH' H1). 
    assert (H2 : forall w', In w' (visited j w r) -> is_rank j w' = true -> wait w' <= a + latency (at_link i))
      by (intros w' A B; specialize (Hw w' A B); lia).
    specialize (IH' H2). destruct (hops j r) as [|h hs] eqn:Eh.
    + destruct r as [|i' r']; [congruence|]. simpl in Eh. destruct (is_rank j _); [discriminate|].
      destruct (hops j r'); discriminate.
    + unfold latencies, slowest in *. cbn [sum fold_right]. unfold sum in *. lia.
Qed.

Lemma hold_rises sch k c : (forall v, wait v = arrival j v) -> (forall l, on l = true) -> right j sch -> size j k = b ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> potential full u <= arrival j u) ->
  forall v x, holds j (map data sch) c v k x -> potential full v <= Z.max x (arrival j v).
Proof.
  intros Ewait Hon Hr Hb Hs v x H. remember k as k' eqn:Ek in H.
  induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx].
  - subst k'. apply lookup_In in Hl. specialize (Hs _ _ Hl Hc). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]]. specialize (IH Ek). rewrite <- Ek in Hb.
    destruct (proj1 Hr s Hin) as [[_ [Ru [Rv Hne]]] [Hl [_ [Hbg [He Ha]]]]].
    assert (Eu : is_rank j (src (tr (data s))) = true) by (apply Nat.ltb_lt, Ru).
    assert (Ev : is_rank j (dst (tr (data s))) = true) by (apply Nat.ltb_lt, Rv).
    pose proof (Ha _ (or_introl eq_refl) Eu).
    assert (P := route_rises (route s) _ _ (begins (data s)) 0 Hl (fun _ _ => Hon _) Ev).
    assert (N : route s <> []) by (intros E; rewrite E in Hl; simpl in Hl; congruence).
    specialize (P N ltac:(lia)).
    assert (Q : comes (src (tr (data s))) (begins (data s)) 0) by (unfold comes; rewrite Eu, Ewait; lia).
    specialize (P Q (fun w A B => eq_ind_r (fun z => z <= _) (Ha w A B) (Ewait w))). unfold duration in He. rewrite Hb in He.
    assert (begins (data s) + match hops j (route s) with [] => 0 | h :: hs =>
              latencies j h + Z.max 0 (slowest j b h) + lasting j b hs end
            <= ends (data s)).
    { rewrite He. destruct (hops j (route s)) as [|h hs]; cbn [sum fold_right]; [lia|].
      pose proof (slowest_0 j b h). unfold lasting, sum. lia. }
    lia.
Qed.
End Distance.

Theorem distance_sound full head k c v b sch : positive j -> distance_rule full head k c v b = true ->
  right j sch -> b <= makespan sch.
Proof.
  intros Hp H Hr. unfold distance_rule in H.
  apply andb_true_iff in H. destruct H as [H Hb]. apply Z.leb_le in Hb.
  apply andb_true_iff in H. destruct H as [H Hg]. apply andb_true_iff in H. destruct H as [Hl Hs].
  apply existsb_exists in Hg. destruct Hg as [[[v' k'] w] [Hin Hg]]. cbn [fst snd] in Hg.
  apply andb_true_iff in Hg. destruct Hg as [Hg Hc]. apply andb_true_iff in Hg. destruct Hg as [E1 E2].
  apply Nat.eqb_eq in E1, E2. subst v' k'. apply Nat.ltb_lt in Hc.
  rewrite forallb_forall in Hs.
  assert (Hstart : forall u x, In ((u, k), x) (pre j) -> contains x c ->
            u <> v /\ potential full u <= arrival j u).
  { intros u x Hx Hcx. specialize (Hs _ Hx). cbn [fst snd] in Hs.
    rewrite Nat.eqb_refl in Hs. unfold containsb in Hs. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Hs.
    simpl in Hs. apply andb_true_iff in Hs. destruct Hs as [A B]. apply Z.leb_le in B.
    apply negb_true_iff, Nat.eqb_neq in A. auto. }
  pose proof (right_holds sch v k w c Hr Hin Hc) as Hh. pose proof (makespan_0 sch).
  inversion Hh as [v' k' x w' Hlk Hc' Hx|t x Ht Hh' Hx]; subst.
  - apply lookup_In in Hlk. destruct (Hstart _ _ Hlk Hc'). congruence.
  - pose proof (hold_rises Hp (arrival j) (fun _ => true) full head (size j (what (tr t))) (sane_size j Hp _)
      (fun l H' _ => proj1 (forallb_forall _ _) Hl l H') sch (what (tr t)) c (fun _ => eq_refl) (fun _ => eq_refl) Hr eq_refl
      (fun u x A B => proj2 (Hstart u x A B)) _ _ Hh) as P.
    apply in_map_iff in Ht. destruct Ht as [s [<- Hs']].
    destruct (proj1 Hr s Hs') as [[_ [_ [Rv _]]] [Hld [_ [Hbg [_ Ha]]]]].
    assert (arrival j (dst (tr (data s))) <= begins (data s)).
    { apply Ha; [|apply Nat.ltb_lt, Rv]. clear - Hld. revert Hld. generalize (src (tr (data s))) (dst (tr (data s))).
      induction (route s) as [|i r IH]; simpl; intros u v Hl; [auto|]. destruct Hl as [_ [_ Hl]].
      right. destruct (IH _ _ Hl) as [E|E]; [left; exact E|right; exact E]. }
    pose proof (ends_makespan sch s Hs'). lia.
Qed.
End Job.
