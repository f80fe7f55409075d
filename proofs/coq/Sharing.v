(** Bounds where switches copy or add: the rules cut, egress, ingress, volume, partition and
    distance of package cert, for whatever has of links and times what they need: [loose]. What
    is on a link at one time may be several transfers of one chunk, which part or meet at such a
    switch. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds Copying Adding Loose Coverage Cover Lanes Free Partition.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

(** ** (passing), of one occupation for each item *)

Definition time_between (from until : nat -> Z) (T : Z) (i : nat) : Z := Z.max 0 (T - until i - from i).
Section Occupied.
Hypothesis sane : positive j.
Variables from until : nat -> Z. (* by link *)
Variable A : Type.
Variable weight : A -> Z.
Variable ls : list nat.
Variable T : Z.
Variable ps : list (A * use).
Hypothesis ls_once : NoDup ls.
Hypothesis items_once : NoDup (map fst ps).
Definition occupies (a : A) (u : use) : Prop :=
  In (fst u) ls /\ from (fst u) <= first (snd u) /\ takes j (weight a) (fst u) <= long (snd u) /\
  first (snd u) + long (snd u) + until (fst u) <= T.
Hypothesis each : forall p, In p ps -> occupies (fst p) (snd p).
Hypothesis alone : forall p q, In p ps -> In q ps -> fst p <> fst q -> fst (snd p) = fst (snd q) -> apart (snd (snd p)) (snd (snd q)).
Hypothesis heavy : forall a, 0 <= weight a.

Definition ps_on (i : nat) : list (A * use) := filter (fun p => Nat.eqb (fst (snd p)) i) ps.
Lemma beside_0 i : 0 <= beside j i.
Proof. unfold beside. pose proof (sane_link j sane i). destruct (model j); lia. Qed.
Lemma on_one_link i : sum (fun p => long (snd (snd p))) (ps_on i) <= time_between from until T i.
Proof.
  rewrite <- (sum_map snd (fun a : use => long (snd a))). apply (fit_between (from i) (T - until i) i).
  - unfold disjoint, ps_on.
    assert (G : forall l, incl l ps -> NoDup (map fst l) ->
      ForallOrdPairs (fun a b : use => fst a = fst b -> apart (snd a) (snd b)) (map snd (filter (fun p => Nat.eqb (fst (snd p)) i) l))).
    { induction l as [|p l IH]; intros Hi Hn; simpl; [constructor|]. simpl in Hn. inversion Hn as [|? ? Hp Hl]; subst.
      specialize (IH (fun x Hx => Hi x (or_intror Hx)) Hl). destruct (Nat.eqb _ i); auto. simpl. constructor; auto.
      rewrite Forall_forall. intros b Hb E. apply in_map_iff in Hb. destruct Hb as [q [<- Hq]]. apply filter_In in Hq. destruct Hq as [Hq _].
      apply alone; auto; [apply Hi; left; auto|apply Hi; right; auto|]. intros F. apply Hp. rewrite F. apply in_map, Hq. }
    apply G; auto. apply incl_refl.
  - intros a Ha. apply in_map_iff in Ha. destruct Ha as [p [<- Hp]]. apply filter_In in Hp. destruct Hp as [Hp E].
    apply Nat.eqb_eq in E. pose proof (each p Hp) as [_ [B [C D]]]. destruct p as [a [i' sp]]. cbn [fst snd] in *. subst i'. unfold takes in C.
    pose proof (beta_0 (at_link i) (weight a) (proj2 (sane_link j sane i)) (heavy _)). pose proof (beside_0 i).
    repeat split; auto; lia.
Qed.
Lemma placed p : In p ps -> In (fst (snd p)) ls.
Proof. intros H. apply (each p H). Qed.
Definition span_at (p : A * use) : Z := long (snd (snd p)).
Lemma on_place i p : In p (ps_on i) -> In p ps /\ fst (snd p) = i /\ takes j (weight (fst p)) i <= span_at p.
Proof.
  intros Hp. apply filter_In in Hp. destruct Hp as [Hp E]. apply Nat.eqb_eq in E. pose proof (each p Hp) as [_ [_ [C _]]].
  destruct p as [a [i' sp]]. cbn [fst snd] in *. subst i'. auto.
Qed.
Lemma occupied_bytes : sum weight (map fst ps) * picoseconds <= sum (fun i => bandwidth (at_link i) * Z.max 0 (time_between from until T i - beside j i)) ls.
Proof.
  replace (sum weight (map fst ps) * picoseconds) with (sum (fun p : A * use => picoseconds * weight (fst p)) ps)
    by (rewrite sum_map, sum_mul; lia).
  rewrite (sum_by (fun p : A * use => fst (snd p)) (fun p : A * use => picoseconds * weight (fst p)) ls ps ls_once placed).
  apply sum_le. intros i _. fold (ps_on i). assert (W : sum span_at (ps_on i) <= time_between from until T i) by apply on_one_link. pose proof (proj2 (sane_link j sane i)) as Bw. pose proof (beside_0 i) as Bs.
  apply Z.le_trans with (bandwidth (at_link i) * sum (fun p => beta (at_link i) (weight (fst p))) (ps_on i)).
  - rewrite <- sum_mul. apply sum_le. intros p _. pose proof (beta_enough (at_link i) (weight (fst p)) Bw). lia.
  - apply Z.mul_le_mono_nonneg_l; [lia|]. enough (sum (fun p => beta (at_link i) (weight (fst p))) (ps_on i) <=
        match ps_on i with [] => 0 | _ => sum span_at (ps_on i) - beside j i end) by (destruct (ps_on i); lia).
    assert (G : forall l, incl l (ps_on i) -> sum (fun p => beta (at_link i) (weight (fst p))) l <= match l with [] => 0 | _ => sum span_at l - beside j i end).
    { induction l as [|p l IH]; intros I; [simpl; lia|]. specialize (IH (fun x Hx => I x (or_intror Hx))).
      destruct (on_place i p (I p (or_introl eq_refl))) as [_ [_ C]]. unfold takes in C.
      assert (SC : forall (f : A * use -> Z) x r, sum f (x :: r) = f x + sum f r) by reflexivity.
      rewrite !SC. destruct l as [|q l]; cbv beta iota in *; [cbn; lia|lia]. }
    apply G, incl_refl.
Qed.
Lemma occupied_items l0 : 0 < l0 -> (forall a, In a (map fst ps) -> l0 <= weight a) ->
  Z.of_nat (length (map fst ps)) <= sum (fun i => time_between from until T i / takes j l0 i) ls.
Proof.
  intros Hl Hleast. rewrite map_length, <- sum_one. rewrite (sum_by (fun p : A * use => fst (snd p)) (fun _ => 1) ls ps ls_once placed).
  apply sum_le. intros i _. fold (ps_on i). rewrite sum_one. pose proof (proj2 (sane_link j sane i)) as Bw.
  assert (Hb : 0 < takes j l0 i) by (unfold takes; pose proof (beta_pos (at_link i) l0 Bw Hl); pose proof (beside_0 i); lia).
  apply Z.div_le_lower_bound; auto. apply Z.le_trans with (sum span_at (ps_on i)); [|apply on_one_link]. rewrite <- sum_one, <- sum_mul. apply sum_le.
  intros p Hp. destruct (on_place i p Hp) as [Hin [_ C]].
  pose proof (beta_mono (at_link i) _ _ Bw (Hleast _ (in_map fst _ _ Hin))). unfold takes in *. lia.
Qed.
(** What they take, each of the link on which that is least. *)
Definition least_area (w : Z) : Z := least (map (fun i => bandwidth (at_link i) * takes j w i) ls).
Lemma occupied_area : sum (fun a => least_area (weight a)) (map fst ps) <= sum (fun i => bandwidth (at_link i) * time_between from until T i) ls.
Proof.
  rewrite sum_map. rewrite (sum_by (fun p : A * use => fst (snd p)) _ ls ps ls_once placed). apply sum_le. intros i Hi. fold (ps_on i).
  assert (W : sum span_at (ps_on i) <= time_between from until T i) by apply on_one_link. pose proof (proj2 (sane_link j sane i)) as Bw.
  apply Z.le_trans with (bandwidth (at_link i) * sum span_at (ps_on i)); [|apply Z.mul_le_mono_nonneg_l; lia].
  rewrite <- sum_mul. apply sum_le. intros p Hp. destruct (on_place i p Hp) as [_ [_ C]].
  eapply Z.le_trans; [apply least_le, (in_map (fun i => bandwidth (at_link i) * takes j (weight (fst p)) i)), Hi|]. apply Z.mul_le_mono_nonneg_l; lia.
Qed.
End Occupied.

(** Items of these sizes cannot pass the links by [T], each from one time on, and until another
    before the end. *)
Definition too_soon_between (from until : nat -> Z) (ls : list nat) (ws : list Z) (T : Z) : bool :=
  negb (sum (fun w => w) ws * picoseconds <=? sum (fun i => bandwidth (at_link i) * Z.max 0 (time_between from until T i - beside j i)) ls) ||
  (0 <? least ws) && negb (Z.of_nat (length ws) <=? sum (fun i => time_between from until T i / takes j (least ws) i) ls) ||
  negb (sum (least_area ls) ws <=? sum (fun i => bandwidth (at_link i) * time_between from until T i) ls).

Lemma too_soon_occupied from until A (weight : A -> Z) (P : A -> use -> Prop) ls items T : positive j -> NoDup ls -> NoDup items ->
  (forall a, In a items -> exists u, P a u) -> (forall a u, P a u -> occupies from until A weight ls T a u) ->
  (forall a b u v, a <> b -> P a u -> P b v -> fst u = fst v -> apart (snd u) (snd v)) -> (forall a, 0 <= weight a) ->
  too_soon_between from until ls (map weight items) T = false.
Proof.
  intros Hp Hl Hi He Ho Ha Hw. destruct (each_has_one P items He) as [ps [E Q]]. subst items.
  assert (H0 := fun p H => Ho _ _ (Q p H)). assert (H1 := fun p q H H' Hn => Ha _ _ _ _ Hn (Q p H) (Q q H')).
  unfold too_soon_between. rewrite !orb_false_iff. split; [split|].
  - apply negb_false_iff, Z.leb_le. rewrite sum_map. apply (occupied_bytes Hp from until A weight ls T ps Hl Hi H0 H1 Hw).
  - destruct (Z.ltb_spec 0 (least (map weight (map fst ps)))) as [L|]; [|reflexivity]. cbn [andb]. rewrite negb_false_iff, Z.leb_le.
    rewrite map_length. apply (occupied_items Hp from until A weight ls T ps Hl Hi H0 H1 Hw); auto.
    intros a Hin. apply least_le, in_map, Hin.
  - apply negb_false_iff, Z.leb_le. rewrite sum_map. apply (occupied_area Hp from until A weight ls T ps Hl Hi H0 H1 Hw).
Qed.

(** What is too soon by less than a bound is so by any earlier time. *)
Lemma too_soon_later from until ls ws T b : positive j -> too_soon_between from until ls ws T = false -> too_soon_between from until ls ws (b - 1) = true -> b <= T.
Proof.
  intros Hp H1 H2. destruct (Z_le_gt_dec b T) as [|G]; auto. exfalso. unfold too_soon_between in *.
  rewrite !orb_false_iff in H1. destruct H1 as [[A B] C]. apply negb_false_iff, Z.leb_le in A, C.
  assert (W : forall i, time_between from until T i <= time_between from until (b - 1) i) by (intros; unfold time_between; lia).
  assert (Bw : forall i, 0 <= bandwidth (at_link i)) by (intros i; pose proof (sane_link j Hp i); lia).
  rewrite !orb_true_iff in H2. destruct H2 as [[H2|H2]|H2].
  - apply negb_true_iff, Z.leb_gt in H2.
    assert (sum (fun i => bandwidth (at_link i) * Z.max 0 (time_between from until T i - beside j i)) ls <= sum (fun i => bandwidth (at_link i) * Z.max 0 (time_between from until (b - 1) i - beside j i)) ls).
    { apply sum_le. intros i _. specialize (W i). apply Z.mul_le_mono_nonneg_l; auto. lia. }
    lia.
  - apply andb_true_iff in H2. destruct H2 as [L H2]. rewrite L in B. cbn [andb] in B. apply negb_false_iff, Z.leb_le in B.
    apply negb_true_iff, Z.leb_gt in H2. apply Z.ltb_lt in L.
    assert (sum (fun i => time_between from until T i / takes j (least ws) i) ls <= sum (fun i => time_between from until (b - 1) i / takes j (least ws) i) ls).
    { apply sum_le. intros i _. apply Z.div_le_mono; [|apply W]. unfold takes.
      pose proof (beta_pos (at_link i) (least ws) (proj2 (sane_link j Hp i)) L). pose proof (beside_0 Hp i). lia. }
    lia.
  - apply negb_true_iff, Z.leb_gt in H2.
    assert (sum (fun i => bandwidth (at_link i) * time_between from until T i) ls <= sum (fun i => bandwidth (at_link i) * time_between from until (b - 1) i) ls).
    { apply sum_le. intros i _. apply Z.mul_le_mono_nonneg_l; auto. }
    lia.
Qed.
(** Each link from the arrival of the ranks at its ends on, to what its own latency leaves. *)
Lemma too_soon_so ls ws T : positive j -> too_soon j ls ws T = true -> too_soon_between (since j) (tail j) ls ws T = true.
Proof.
  intros Hp H. unfold too_soon in H. unfold too_soon_between. change (window j T) with (time_between (since j) (tail j) T) in H.
  apply orb_true_iff in H. rewrite !orb_true_iff. destruct H as [H|H]; [left; left|left; right; exact H].
  apply negb_true_iff, Z.leb_gt. apply negb_true_iff, Z.leb_gt in H. eapply Z.le_lt_trans; [|exact H]. apply sum_le. intros i _.
  pose proof (sane_link j Hp i). pose proof (beside_0 Hp i). unfold time_between. apply Z.mul_le_mono_nonneg_l; lia.
Qed.

(** ** Rules *)

Variable net : network.
Section Loose.
Hypothesis sane : positive j.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis good : loose j net occ sch.

Lemma occupation ls {A} (weight : A -> Z) a t u : In t sch -> In u (occ t) -> In (fst u) ls -> weight a = size j (what (tr (data t))) ->
  occupies (since j) (tail j) A weight ls (makespan sch) a u.
Proof.
  intros Ht Hu Hl Hw. destruct u as [i sp]. destruct (are_inside j net sane occ sch good t i sp Ht Hu) as [B [C D]]. pose proof (ends_makespan sch t Ht).
  unfold occupies. rewrite Hw. cbn [fst snd] in *. repeat split; auto; lia.
Qed.

(** Of each chunk a transfer that passes one of the links. *)
Lemma chunks_pass ls ks : NoDup ls -> NoDup ks ->
  (forall k, In k ks -> exists t i, In t sch /\ what (tr (data t)) = k /\ In i (route t) /\ In i ls) ->
  too_soon_between (since j) (tail j) ls (map (size j) ks) (makespan sch) = false.
Proof.
  intros Hl Hk H. apply (too_soon_occupied (since j) (tail j) nat (size j) (fun k u => exists t, In t sch /\ what (tr (data t)) = k /\ In u (occ t) /\ In (fst u) ls)); auto.
  - intros k Hin. destruct (H k Hin) as [t [i [A [B [C D]]]]]. destruct (has_use j net occ sch good t i A C) as [u [Hu E]].
    exists u, t. repeat split; auto. rewrite E. exact D.
  - intros k u [t [A [B [C D]]]]. apply (occupation ls (size j) k t u); auto; congruence.
  - intros k k' u v Hne [t [A [B [C _]]]] [t' [A' [B' [C' _]]]] E.
    destruct (are_apart j net occ sch good t t' u v A A') as [|[S _]]; auto; congruence.
  - intros k. apply sane_size, sane.
Qed.

Theorem loose_cut_sound S b : cut_rule j S b = true -> b <= makespan sch.
Proof.
  intros Hc. refine (too_soon_later (since j) (tail j) _ _ _ _ sane _ (too_soon_so _ _ _ sane Hc)). apply chunks_pass; [apply some_links_once|apply NoDup_filter, seq_NoDup|].
  intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk.
  destruct Hk as [[[v k'] w] [Hin Hk]]. cbn [fst snd] in Hk.
  apply andb_true_iff in Hk. destruct Hk as [Hk Hc']. apply andb_true_iff in Hk. destruct Hk as [E Hv]. apply Nat.eqb_eq in E. subst k'.
  apply negb_true_iff in Hv. apply existsb_exists in Hc'. destruct Hc' as [c [_ Hc']].
  apply andb_true_iff in Hc'. destruct Hc' as [Hwc Ho]. unfold containsb in Hwc. apply Nat.ltb_lt in Hwc.
  destruct (must_leave j S _ _ _ _ _ (bring j net occ sch good v k w c Hin Hwc) Hv) as [t [Ht [Ek [A B]]]].
  - intros u x Hx Hcx. unfold only_inside in Ho. rewrite forallb_forall in Ho. specialize (Ho _ Hx).
    cbn [fst snd] in Ho. rewrite Nat.eqb_refl in Ho. unfold containsb in Ho. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Ho. exact Ho.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]].
    destruct (crossing j S _ _ _ (proj1 (have_routes j net occ sch good s Hs)) A B) as [i [Hi [P Q]]]. exists s, i. repeat split; auto.
    apply in_some_links; [apply (in_route j net occ sch good s); auto|]. rewrite P, Q. reflexivity.
Qed.
Corollary loose_egress_sound v b : egress_rule j v b = true -> b <= makespan sch.
Proof. apply loose_cut_sound. Qed.

Theorem loose_ingress_sound v b : ingress_rule j v b = true -> b <= makespan sch.
Proof.
  intros Hc. refine (too_soon_later (since j) (tail j) _ _ _ _ sane _ (too_soon_so _ _ _ sane Hc)).
  set (ss := filter (fun s => (fst s =? v)%nat) (unsettled j)).
  replace (map (fun s => size j (snd s)) ss) with (map (size j) (map snd ss)) by (rewrite map_map; reflexivity).
  apply chunks_pass; [apply some_links_once| |].
  - assert (N : NoDup ss) by (apply NoDup_filter, NoDup_nodup).
    assert (V : forall s, In s ss -> fst s = v) by (intros s Hs; apply filter_In in Hs; apply Nat.eqb_eq, Hs).
    clearbody ss. induction N as [|s l Hs N IH]; simpl; constructor; auto.
    + intros Hin. apply in_map_iff in Hin. destruct Hin as [s' [E Hin]]. apply Hs.
      replace s with s'; auto. pose proof (V s (or_introl eq_refl)). pose proof (V s' (or_intror Hin)). destruct s, s'. simpl in *. congruence.
    + apply IH. intros s' H'. apply V. right. exact H'.
  - intros k Hk. apply in_map_iff in Hk. destruct Hk as [s [<- Hs]]. apply filter_In in Hs. destruct Hs as [Hs E]. apply Nat.eqb_eq in E.
    destruct (write_all j net occ sch good s Hs) as [t [Ht Es]]. destruct (are_transfers j net occ sch good t Ht) as [_ [_ [_ Hne]]].
    rewrite <- Es in E. simpl in E.
    destruct (crossing j (fun u => negb (u =? v)%nat) _ _ _ (proj1 (have_routes j net occ sch good t Ht))) as [i [Hi [P Q]]].
    + apply negb_true_iff, Nat.eqb_neq. congruence.
    + apply negb_false_iff, Nat.eqb_eq. exact E.
    + exists t, i. repeat split; auto; [rewrite <- Es; reflexivity|]. apply in_some_links; [apply (in_route j net occ sch good t); auto|]. rewrite P, Q. reflexivity.
Qed.

(** ** (combine between parts) *)

Section Parts.
Variable part : nat -> nat.

(** Where a way enters a set for the last time, and where it leaves one for the first. *)
Lemma stays_or_enters (S : nat -> bool) r : forall u v, leads j u r v -> S v = true ->
  (S u = true /\ forall x, In x r -> S (Cut.dst (at_link x)) = true) \/
  exists n i, nth_error r n = Some i /\ S (Cut.src (at_link i)) = false /\ S (Cut.dst (at_link i)) = true /\
    forall x, In x (skipn (Datatypes.S n) r) -> S (Cut.dst (at_link x)) = true.
Proof.
  induction r as [|a r IH]; simpl; intros u v Hl Hv; [left; subst; simpl; tauto|]. destruct Hl as [_ [Hs H]].
  destruct (IH _ _ H Hv) as [[A B]|[n [i [A B]]]].
  - destruct (S u) eqn:E; [left; split; auto; intros x [<-|Hx]; auto|].
    right. exists O, a. rewrite Hs. simpl. auto.
  - right. exists (Datatypes.S n), i. simpl. auto.
Qed.
Lemma leaves_first (S : nat -> bool) r : forall u v, leads j u r v -> S u = true -> S v = false ->
  exists n i, nth_error r n = Some i /\ S (Cut.src (at_link i)) = true /\ S (Cut.dst (at_link i)) = false /\
    forall x, In x (firstn n r) -> S (Cut.src (at_link x)) = true.
Proof.
  induction r as [|a r IH]; simpl; intros u v; [congruence|]. intros [_ [Hs H]] Hu Hv.
  destruct (S (Cut.dst (at_link a))) eqn:E.
  - destruct (IH _ _ H E Hv) as [n [i [A [B [C D]]]]]. exists (Datatypes.S n), i. simpl. repeat split; auto.
    intros x [<-|Hx]; [congruence|auto].
  - exists O, a. simpl. rewrite Hs. repeat split; auto; tauto.
Qed.

(** No such node is in a part. *)
Definition in_no_part (f : nat -> bool) : bool :=
  forallb (fun l => (negb (f (Cut.src l)) || (part (Cut.src l) =? 0)%nat) && (negb (f (Cut.dst l)) || (part (Cut.dst l) =? 0)%nat)) (links j).
Lemma in_no_part_spec f i : in_no_part f = true -> (i < length (links j))%nat ->
  (f (Cut.src (at_link i)) = true -> part (Cut.src (at_link i)) = O) /\ (f (Cut.dst (at_link i)) = true -> part (Cut.dst (at_link i)) = O).
Proof.
  unfold in_no_part. rewrite forallb_forall. intros H Hi. specialize (H (at_link i) (nth_In _ _ Hi)).
  rewrite andb_true_iff, !orb_true_iff, !negb_true_iff, !Nat.eqb_eq in H. split; intros E; rewrite E in H; intuition discriminate.
Qed.

Definition parts_rule (from until : nat -> Z) (bound : Z) : bool :=
  all_in_parts j part &&
  (in_no_part (copying net) && nowhere_at j (adding net) && too_soon_between from until (into_parts j part) (demands j part) (bound - 1) ||
   in_no_part (adding net) && nowhere_at j (copying net) && too_soon_between from until (out_of_parts j part) (demands j part) (bound - 1)).
Definition loose_partition_rule (bound : Z) : bool :=
  let w := find_lanes j (least (demands j part)) in parts_rule (from_when w) (until_when w) bound.

Definition of_part (p v : nat) : bool := (part v =? p)%nat.
Definition goes_in (t : sent) (i : nat) : Prop := exists n, nth_error (route t) n = Some i /\ In i (into_parts j part) /\
  part (Cut.dst (at_link i)) <> O /\ forall x, In x (skipn (S n) (route t)) -> part (Cut.dst (at_link x)) = part (Cut.dst (at_link i)).
Definition goes_out (t : sent) (i : nat) : Prop := exists n, nth_error (route t) n = Some i /\ In i (out_of_parts j part) /\
  part (Cut.src (at_link i)) <> O /\ forall x, In x (firstn n (route t)) -> part (Cut.src (at_link x)) = part (Cut.src (at_link i)).

Lemma goes_between t : all_in_parts j part = true -> In t sch -> part (src (tr (data t))) <> part (dst (tr (data t))) ->
  (exists i, goes_in t i) /\ (exists i, goes_out t i).
Proof.
  intros Hall Ht Hne. destruct (are_transfers j net occ sch good t Ht) as [_ [Ru [Rv _]]]. pose proof (proj1 (have_routes j net occ sch good t Ht)) as Hl.
  unfold all_in_parts in Hall. rewrite forallb_forall in Hall.
  pose proof (Hall _ (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Ru))) as Pu.
  pose proof (Hall _ (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Rv))) as Pv.
  apply negb_true_iff, Nat.eqb_neq in Pu, Pv. split.
  - destruct (stays_or_enters (of_part (part (dst (tr (data t))))) _ _ _ Hl (Nat.eqb_refl _)) as [[A _]|[n [i [A [B [C D]]]]]].
    { apply Nat.eqb_eq in A. congruence. }
    unfold of_part in *. apply Nat.eqb_neq in B. apply Nat.eqb_eq in C. exists i, n. split; [exact A|]. split; [|split].
    + apply in_some_links; [apply (in_route j net occ sch good t); auto; eapply nth_error_In; eauto|].
      apply andb_true_iff. rewrite !negb_true_iff, !Nat.eqb_neq. split; congruence.
    + congruence.
    + intros x Hx. rewrite C. apply Nat.eqb_eq, D, Hx.
  - destruct (leaves_first (of_part (part (src (tr (data t))))) _ _ _ Hl (Nat.eqb_refl _)) as [n [i [A [B [C D]]]]].
    { apply Nat.eqb_neq. congruence. }
    unfold of_part in *. apply Nat.eqb_eq in B. apply Nat.eqb_neq in C. exists i, n. split; [exact A|]. split; [|split].
    + apply in_some_links; [apply (in_route j net occ sch good t); auto; eapply nth_error_In; eauto|].
      apply andb_true_iff. rewrite !negb_true_iff, !Nat.eqb_neq. split; congruence.
    + congruence.
    + intros x Hx. rewrite B. apply Nat.eqb_eq, D, Hx.
Qed.
Lemma alone_in t t' i : in_no_part (copying net) = true -> nowhere_at j (adding net) = true -> In t sch -> goes_in t i -> ~ share j net t t' i.
Proof.
  intros Hc Ha Ht [n [A [_ [B C]]]] [_ [[[m [m' [v [D [_ [E F]]]]]]|M] _]]; [|apply (none_meets j net occ sch good t t' i Ht Ha M)].
  assert (n = m) by (apply (same_place (route t) n m i); auto; apply (have_routes j net occ sch good t Ht)). subst m.
  assert (Hi : (i < length (links j))%nat) by (apply (in_route j net occ sch good t); auto; eapply nth_error_In; eauto).
  destruct (parting_on j _ _ _ _ E) as [->|[x [Hx ->]]].
  - apply B, (in_no_part_spec _ i Hc Hi), F.
  - apply B. rewrite <- (C x Hx). apply (in_no_part_spec (copying net) x Hc); auto. apply (in_route j net occ sch good t); auto. apply skipn_in in Hx. exact Hx.
Qed.
Lemma alone_out t t' i : in_no_part (adding net) = true -> nowhere_at j (copying net) = true -> In t sch -> goes_out t i -> ~ share j net t t' i.
Proof.
  intros Hc Ha Ht [n [A [_ [B C]]]] [_ [[M|[m [m' [v [D [_ [E F]]]]]]] _]]; [apply (none_parts j net occ sch good t t' i Ht Ha M)|].
  assert (n = m) by (apply (same_place (route t) n m i); auto; apply (have_routes j net occ sch good t Ht)). subst m.
  assert (Hi : (i < length (links j))%nat) by (apply (in_route j net occ sch good t); auto; eapply nth_error_In; eauto).
  destruct (meeting_on j _ _ _ _ E) as [->|[x [Hx ->]]].
  - apply B, (in_no_part_spec _ i Hc Hi), F.
  - apply in_rev in Hx. apply B. rewrite <- (C x Hx). apply (in_no_part_spec (adding net) x Hc); auto. apply (in_route j net occ sch good t); auto. apply firstn_in in Hx. exact Hx.
Qed.

Theorem parts_sound from until bound :
  (forall t i sp, In t sch -> In (i, sp) (occ t) -> least (demands j part) <= size j (what (tr (data t))) ->
    from i <= first sp /\ first sp + long sp + until i <= ends (data t)) ->
  parts_rule from until bound = true -> bound <= makespan sch.
Proof.
  intros Lane H. apply andb_true_iff in H. destruct H as [Hall H].
  destruct (Z_le_gt_dec bound (makespan sch)) as [|G]; auto. exfalso.
  apply (demands_served j part sch); [intros t Ht; apply (take_time j net occ sch good t Ht)|intros v k w c Hin Hc; apply (bring j net occ sch good v k w c Hin Hc)|].
  intros [f [items [N [M S]]]].
  assert (P : forall ls (way : sent -> nat -> Prop), NoDup ls -> (forall t, In t sch -> part (src (tr (data t))) <> part (dst (tr (data t))) -> exists i, way t i) ->
      (forall t i, way t i -> In i (route t) /\ In i ls) -> (forall t t' i, In t sch -> way t i -> ~ share j net t t' i) ->
      too_soon_between from until ls (demands j part) (bound - 1) = true -> False).
  { intros ls way Hl Hpass Hway Halone Ht. rewrite <- M in Ht. enough (bound <= makespan sch) by lia.
    refine (too_soon_later from until _ _ _ _ sane _ Ht).
    apply (too_soon_occupied from until _ (fun a : nat * (bool * nat) => size j (fst a))
      (fun a u => In a items /\ exists t, In t sch /\ key_of part f t = a /\ In u (occ t) /\ way t (fst u))); auto.
    - intros a Ha. destruct (S a Ha) as [t [A [B C]]]. destruct (Hpass t A C) as [i Hi]. destruct (Hway t i Hi) as [D _].
      destruct (has_use j net occ sch good t i A D) as [u [Hu E]]. exists u. split; [exact Ha|]. exists t. rewrite E. auto.
    - intros a u [Ia [t [A [B [C D]]]]]. destruct u as [i sp]. cbn [fst] in D. destruct (Hway t i D) as [_ Hi].
      destruct (are_inside j net sane occ sch good t i sp A C) as [_ [I2 _]]. pose proof (ends_makespan sch t A).
      assert (W : size j (fst a) = size j (what (tr (data t)))) by (rewrite <- B; reflexivity).
      destruct (Lane t i sp A C) as [L1 L2].
      { rewrite <- W, <- M. apply least_le. apply (in_map (fun a : nat * (bool * nat) => size j (fst a))), Ia. }
      unfold occupies. cbn [fst snd]. rewrite W. repeat split; auto; lia.
    - intros a b u v Hne [_ [t [A [B [C D]]]]] [_ [t' [A' [B' [C' D']]]]] E.
      destruct (are_apart j net occ sch good t t' u v A A') as [|X]; auto; [congruence|]. destruct (Halone t t' (fst u) A D X).
    - intros a. apply sane_size, sane. }
  apply orb_true_iff in H. rewrite !andb_true_iff in H. destruct H as [[[H1 H2] H3]|[[H1 H2] H3]].
  - apply (P (into_parts j part) goes_in); auto.
    + apply some_links_once.
    + intros t Ht Hne. apply (goes_between t Hall Ht Hne).
    + intros t i [n [A [B _]]]. split; auto. eapply nth_error_In; eauto.
    + intros t t' i Ht Hw. apply alone_in; auto.
  - apply (P (out_of_parts j part) goes_out); auto.
    + apply some_links_once.
    + intros t Ht Hne. apply (goes_between t Hall Ht Hne).
    + intros t i [n [A [B _]]]. split; auto. eapply nth_error_In; eauto.
    + intros t t' i Ht Hw. apply alone_out; auto.
Qed.
Theorem loose_partition_sound bound : loose_partition_rule bound = true -> bound <= makespan sch.
Proof.
  unfold loose_partition_rule. apply parts_sound. intros t i sp Ht Hin Hb. set (b := least (demands j part)) in *.
  assert (E : j = Job (nodes j) (links j) (ports j) (model j) (release j) (sizes j) (idempotent j) (pre j) (post j)) by (destruct j; reflexivity).
  revert sane good Hb. rewrite E at 1 2 4. intros sane' good' Hb.
  apply (find_lanes_hold j (sizes j) (pre j) (post j) (fun u k x H => ex_intro _ k H) net b occ sch sane' good' t i sp Ht Hin Hb).
Qed.
End Parts.

(** Volume: each rank is a part of its own, and no switch is in any. *)
Corollary loose_volume_sound bound : loose_partition_rule (fun v => if is_rank j v then S v else O) bound = true -> bound <= makespan sch.
Proof. apply loose_partition_sound. Qed.

(** ** (distance) *)

Theorem loose_distance_sound full head k c v b : distance_rule j full head k c v b = true -> b <= makespan sch.
Proof.
  intros H. unfold distance_rule in H.
  apply andb_true_iff in H. destruct H as [H Hb]. apply Z.leb_le in Hb.
  apply andb_true_iff in H. destruct H as [H Hg]. apply andb_true_iff in H. destruct H as [Hl Hs].
  apply existsb_exists in Hg. destruct Hg as [[[v' k'] w] [Hin Hg]]. cbn [fst snd] in Hg.
  apply andb_true_iff in Hg. destruct Hg as [Hg Hc]. apply andb_true_iff in Hg. destruct Hg as [E1 E2].
  apply Nat.eqb_eq in E1, E2. subst v' k'. apply Nat.ltb_lt in Hc. rewrite forallb_forall in Hs.
  assert (Hstart : forall u x, In ((u, k), x) (pre j) -> contains x c -> u <> v /\ potential full u <= arrival j u).
  { intros u x Hx Hcx. specialize (Hs _ Hx). cbn [fst snd] in Hs.
    rewrite Nat.eqb_refl in Hs. unfold containsb in Hs. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Hs.
    simpl in Hs. apply andb_true_iff in Hs. destruct Hs as [A B]. apply Z.leb_le in B. apply negb_true_iff, Nat.eqb_neq in A. auto. }
  pose proof (bring j net occ sch good v k w c Hin Hc) as Hh. pose proof (makespan_0 sch).
  inversion Hh as [v' k' x w' Hlk Hc' Hx|t x Ht Hh' Hx]; subst.
  - apply lookup_In in Hlk. destruct (Hstart _ _ Hlk Hc'). congruence.
  - pose proof (loose_rises j net sane occ sch good full head (what (tr t)) c (size j (what (tr t))) eq_refl (proj1 (forallb_forall _ _) Hl)
      (fun u x A B => proj2 (Hstart u x A B)) _ _ Hh) as P.
    apply in_map_iff in Ht. destruct Ht as [s [<- Hs']].
    destruct (are_transfers j net occ sch good s Hs') as [_ [_ [Rv _]]]. pose proof (proj1 (have_routes j net occ sch good s Hs')) as Hld.
    assert (arrival j (dst (tr (data s))) <= begins (data s)).
    { apply (wait_for_ranks j net occ sch good s Hs'); [|apply Nat.ltb_lt, Rv]. clear - Hld. revert Hld. generalize (src (tr (data s))) (dst (tr (data s))).
      induction (route s) as [|i r IH]; simpl; intros u v Hl; [auto|]. destruct Hl as [_ [_ Hl]].
      right. destruct (IH _ _ Hl) as [E|E]; [left; exact E|right; exact E]. }
    pose proof (ends_makespan sch s Hs'). pose proof (take_time j net occ sch good s Hs'). lia.
Qed.
End Loose.

End Job.

(** ** However the shards are cut *)

Section Cut.
Variable j : job.
Variable net : network.
Variable ps : pieces.
Hypothesis cut : is_cut j ps.
Hypothesis sane : positive j.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis good : loose (recut j ps) net occ sch.

Theorem free_loose_cut_sound S b : free_cut_rule j S b = true -> b <= makespan sch.
Proof. intros H. apply (loose_cut_sound _ net (recut_positive j ps cut sane) occ sch good S), recut_cut; auto. Qed.
Corollary free_loose_egress_sound v b : free_egress_rule j v b = true -> b <= makespan sch.
Proof. apply free_loose_cut_sound. Qed.
Theorem free_loose_ingress_sound v b : free_ingress_rule j v b = true -> b <= makespan sch.
Proof. intros H. apply (loose_ingress_sound _ net (recut_positive j ps cut sane) occ sch good v), recut_ingress; auto. Qed.
Theorem free_loose_distance_sound full head s c v b : free_distance_rule j full head s c v b = true -> b <= makespan sch.
Proof.
  intros H. destruct (recut_distance j ps cut sane full head s c v b H) as [k Hk].
  apply (loose_distance_sound _ net (recut_positive j ps cut sane) occ sch good full head k c v b Hk).
Qed.
Definition free_loose_partition_rule (part : nat -> nat) (bound : Z) : bool :=
  let w := find_lanes j 1 in
  let too_soon ls := negb (sum (fun w => w) (demands j part) * picoseconds <=?
    sum (fun i => bandwidth (at_link j i) * Z.max 0 (time_between (from_when w) (until_when w) (bound - 1) i - beside j i)) ls) in
  all_in_parts j part &&
  (in_no_part j part (copying net) && nowhere_at j (adding net) && too_soon (into_parts j part) ||
   in_no_part j part (adding net) && nowhere_at j (copying net) && too_soon (out_of_parts j part)).
Theorem free_loose_partition_sound part b : free_loose_partition_rule part b = true -> b <= makespan sch.
Proof.
  intros H. set (w := find_lanes j 1). apply (parts_sound (recut j ps) net (recut_positive j ps cut sane) occ sch good part (from_when w) (until_when w)).
  - intros t i sp Ht Hin _. destruct (are_transfers _ _ _ _ good t Ht) as [Hk _].
    apply (find_lanes_hold j (map snd ps) (cut_up ps (pre j)) (cut_up ps (post j))
      (fun u k x Hx => ex_intro (fun k' => In ((u, k'), x) (pre j)) _ (proj2 (proj1 (in_cut_up ps (pre j) u k x) Hx))) net 1 occ sch (recut_positive j ps cut sane) good t i sp Ht Hin).
    apply (recut_size_1 j ps cut). apply in_seq. rewrite recut_chunks in Hk. lia.
  - unfold free_loose_partition_rule in H. unfold parts_rule. apply andb_true_iff in H. destruct H as [H1 H].
    pose proof (demands_cut j ps cut part) as D. apply andb_true_iff. split; [exact H1|].
    apply orb_true_iff in H. apply orb_true_iff. destruct H as [H|H]; apply andb_true_iff in H; destruct H as [H2 H3]; [left|right];
      (apply andb_true_iff; split; [exact H2|]; unfold too_soon_between; rewrite !orb_true_iff; left; left;
       apply negb_true_iff, Z.leb_gt; apply negb_true_iff, Z.leb_gt in H3; eapply Z.lt_le_trans; [exact H3|]; unfold picoseconds; lia).
Qed.
End Cut.
