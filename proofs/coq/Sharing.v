(** Bounds where switches copy or add: the rules cut, egress, ingress, volume, partition and
    distance of package cert, for whatever has of links and times what they need: [loose]. What
    is on a link at one time may be several transfers of one chunk, which part or meet at such a
    switch. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds Copying Adding Coverage Cover Free Partition Prices.
Import ListNotations.
Open Scope Z_scope.

Lemma each_has_one {A B} (P : A -> B -> Prop) l : (forall a, In a l -> exists b, P a b) ->
  exists ps : list (A * B), map fst ps = l /\ forall p, In p ps -> P (fst p) (snd p).
Proof.
  induction l as [|a l IH]; intros H; [exists []; split; [reflexivity|intros ? []]|].
  destruct IH as [ps [E Hp]]; [intros; apply H; right; auto|]. destruct (H a (or_introl eq_refl)) as [b Hb].
  exists ((a, b) :: ps). simpl. split; [congruence|]. intros p [<-|Hin]; auto.
Qed.
Lemma same_place {A} (r : list A) n m i : NoDup r -> nth_error r n = Some i -> nth_error r m = Some i -> n = m.
Proof.
  intros Hd H1 H2. apply (proj1 (NoDup_nth_error r) Hd); [|congruence]. apply nth_error_Some. congruence.
Qed.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

(** ** (passing), of one occupation for each item *)

Section Occupied.
Hypothesis sane : positive j.
Variable A : Type.
Variable weight : A -> Z.
Variable ls : list nat.
Variable T : Z.
Variable ps : list (A * use).
Hypothesis ls_once : NoDup ls.
Hypothesis items_once : NoDup (map fst ps).
Definition occupies (a : A) (u : use) : Prop :=
  In (fst u) ls /\ since j (fst u) <= first (snd u) /\ takes j (weight a) (fst u) <= long (snd u) /\
  first (snd u) + long (snd u) + tail j (fst u) <= T.
Hypothesis each : forall p, In p ps -> occupies (fst p) (snd p).
Hypothesis alone : forall p q, In p ps -> In q ps -> fst p <> fst q -> fst (snd p) = fst (snd q) -> apart (snd (snd p)) (snd (snd q)).
Hypothesis heavy : forall a, 0 <= weight a.

Definition ps_on (i : nat) : list (A * use) := filter (fun p => Nat.eqb (fst (snd p)) i) ps.
Lemma beside_0 i : 0 <= beside j i.
Proof. unfold beside. pose proof (sane_link j sane i). destruct (model j); lia. Qed.
Lemma on_one_link i : sum (fun p => long (snd (snd p))) (ps_on i) <= window j T i.
Proof.
  rewrite <- (sum_map snd (fun a : use => long (snd a))). apply fit_link.
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
Lemma occupied_bytes : sum weight (map fst ps) * picoseconds <= sum (fun i => bandwidth (at_link i) * window j T i) ls.
Proof.
  replace (sum weight (map fst ps) * picoseconds) with (sum (fun p : A * use => picoseconds * weight (fst p)) ps)
    by (rewrite sum_map, sum_mul; lia).
  rewrite (sum_by (fun p : A * use => fst (snd p)) (fun p : A * use => picoseconds * weight (fst p)) ls ps ls_once placed).
  apply sum_le. intros i _. fold (ps_on i). pose proof (on_one_link i) as W. pose proof (proj2 (sane_link j sane i)) as Bw.
  apply Z.le_trans with (bandwidth (at_link i) * sum (fun p => long (snd (snd p))) (ps_on i)); [|nia].
  rewrite <- sum_mul. apply sum_le. intros p Hp. apply filter_In in Hp. destruct Hp as [Hp E]. apply Nat.eqb_eq in E.
  pose proof (each p Hp) as [_ [_ [C _]]]. destruct p as [a [i' sp]]. cbn [fst snd] in *. subst i'. unfold takes in C.
  pose proof (beta_enough (at_link i) (weight a) Bw). pose proof (beside_0 i). nia.
Qed.
Lemma occupied_items l0 : 0 < l0 -> (forall a, In a (map fst ps) -> l0 <= weight a) ->
  Z.of_nat (length (map fst ps)) <= sum (fun i => window j T i / takes j l0 i) ls.
Proof.
  intros Hl Hleast. rewrite map_length, <- sum_one. rewrite (sum_by (fun p : A * use => fst (snd p)) (fun _ => 1) ls ps ls_once placed).
  apply sum_le. intros i _. fold (ps_on i). rewrite sum_one. pose proof (proj2 (sane_link j sane i)) as Bw.
  assert (Hb : 0 < takes j l0 i) by (unfold takes; pose proof (beta_pos (at_link i) l0 Bw Hl); pose proof (beside_0 i); lia).
  apply Z.div_le_lower_bound; auto. eapply Z.le_trans; [|apply on_one_link]. rewrite <- sum_one, <- sum_mul. apply sum_le.
  intros p Hp. apply filter_In in Hp. destruct Hp as [Hp E]. apply Nat.eqb_eq in E. pose proof (each p Hp) as [_ [_ [C _]]].
  pose proof (Hleast _ (in_map fst _ _ Hp)) as M. destruct p as [a [i' sp]]. cbn [fst snd] in *. subst i'. pose proof (beta_mono (at_link i) _ _ Bw M). unfold takes in *. lia.
Qed.
End Occupied.

Lemma too_soon_occupied A (weight : A -> Z) (P : A -> use -> Prop) ls items T : positive j -> NoDup ls -> NoDup items ->
  (forall a, In a items -> exists u, P a u) -> (forall a u, P a u -> occupies A weight ls T a u) ->
  (forall a b u v, a <> b -> P a u -> P b v -> fst u = fst v -> apart (snd u) (snd v)) -> (forall a, 0 <= weight a) ->
  too_soon j ls (map weight items) T = false.
Proof.
  intros Hp Hl Hi He Ho Ha Hw. destruct (each_has_one P items He) as [ps [E Q]]. subst items.
  assert (H1 := occupied_bytes Hp A weight ls T ps Hl Hi (fun p H => Ho _ _ (Q p H))
     (fun p q H H' Hn => Ha _ _ _ _ Hn (Q p H) (Q q H')) Hw).
  unfold too_soon. apply orb_false_iff. split; [apply negb_false_iff, Z.leb_le; rewrite sum_map; exact H1|].
  destruct (Z.ltb_spec 0 (least (map weight (map fst ps)))) as [L|]; [|reflexivity]. cbn [andb]. rewrite negb_false_iff, Z.leb_le.
  rewrite map_length. apply (occupied_items Hp A weight ls T ps Hl Hi (fun p H => Ho _ _ (Q p H))
     (fun p q H H' Hn => Ha _ _ _ _ Hn (Q p H) (Q q H')) Hw); auto.
  intros a Hin. apply least_le, in_map, Hin.
Qed.

(** What is too soon by less than a bound is so by any earlier time. *)
Lemma too_soon_later ls ws T b : positive j -> too_soon j ls ws T = false -> too_soon j ls ws (b - 1) = true -> b <= T.
Proof.
  intros Hp H1 H2. destruct (Z_le_gt_dec b T) as [|G]; auto. exfalso. unfold too_soon in *.
  apply orb_false_iff in H1. destruct H1 as [A B]. apply negb_false_iff, Z.leb_le in A.
  assert (W : forall i, window j T i <= window j (b - 1) i) by (intros; unfold window; lia).
  apply orb_true_iff in H2. destruct H2 as [H2|H2].
  - apply negb_true_iff, Z.leb_gt in H2.
    assert (sum (fun i => bandwidth (at_link i) * window j T i) ls <= sum (fun i => bandwidth (at_link i) * window j (b - 1) i) ls).
    { apply sum_le. intros i _. specialize (W i). pose proof (proj2 (sane_link j Hp i)). nia. }
    lia.
  - apply andb_true_iff in H2. destruct H2 as [L H2]. rewrite L in B. cbn [andb] in B. apply negb_false_iff, Z.leb_le in B.
    apply negb_true_iff, Z.leb_gt in H2. apply Z.ltb_lt in L.
    assert (sum (fun i => window j T i / takes j (least ws) i) ls <= sum (fun i => window j (b - 1) i / takes j (least ws) i) ls).
    { apply sum_le. intros i _. apply Z.div_le_mono; [|apply W]. unfold takes.
      pose proof (beta_pos (at_link i) (least ws) (proj2 (sane_link j Hp i)) L). pose proof (beside_0 Hp i). lia. }
    lia.
Qed.

(** ** What is needed *)

Variable net : network.
Record loose (occ : sent -> list use) (sch : list sent) : Prop := {
  are_transfers : forall t, In t sch -> let x := tr (data t) in
    (what x < length (sizes j))%nat /\ (src x < nodes j)%nat /\ (dst x < nodes j)%nat /\ src x <> dst x;
  have_routes : forall t, In t sch -> leads j (src (tr (data t))) (route t) (dst (tr (data t))) /\ NoDup (route t);
  take_time : forall t, In t sch -> 0 <= begins (data t) < ends (data t) /\
    begins (data t) + duration j (size j (what (tr (data t)))) (route t) <= ends (data t);
  wait_for_ranks : forall t, In t sch -> forall v, In v (visited j (src (tr (data t))) (route t)) -> is_rank j v = true -> arrival j v <= begins (data t);
  keep_links : forall t, In t sch -> map fst (occ t) = route t;
  are_inside : forall t i sp, In t sch -> In (i, sp) (occ t) -> since j i <= begins (data t) <= first sp /\
    takes j (size j (what (tr (data t)))) i <= long sp /\ first sp + long sp + tail j i <= ends (data t);
  are_apart : forall t t' a b, In t sch -> In t' sch -> t <> t' -> In a (occ t) -> In b (occ t') -> fst a = fst b ->
    apart (snd a) (snd b) \/ share j net t t' (fst a);
  bring : forall v k w c, In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch);
  write_all : forall s, In s (unsettled j) -> exists t, In t sch /\ slot (tr (data t)) = s }.

Section Loose.
Hypothesis sane : positive j.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis good : loose occ sch.

Lemma has_use t i : In t sch -> In i (route t) -> exists u, In u (occ t) /\ fst u = i.
Proof.
  intros Ht Hi. rewrite <- (keep_links _ _ good t Ht) in Hi. apply in_map_iff in Hi. destruct Hi as [u [E Hu]]. eauto.
Qed.
Lemma occupation ls {A} (weight : A -> Z) a t u : In t sch -> In u (occ t) -> In (fst u) ls -> weight a = size j (what (tr (data t))) ->
  occupies A weight ls (makespan sch) a u.
Proof.
  intros Ht Hu Hl Hw. destruct u as [i sp]. destruct (are_inside _ _ good t i sp Ht Hu) as [B [C D]]. pose proof (ends_makespan sch t Ht).
  unfold occupies. rewrite Hw. cbn [fst snd] in *. repeat split; auto; lia.
Qed.
Lemma in_route t i : In t sch -> In i (route t) -> (i < length (links j))%nat.
Proof. intros Ht. apply leads_in with (1 := proj1 (have_routes _ _ good t Ht)). Qed.

(** Of each chunk a transfer that passes one of the links. *)
Lemma chunks_pass ls ks : NoDup ls -> NoDup ks ->
  (forall k, In k ks -> exists t i, In t sch /\ what (tr (data t)) = k /\ In i (route t) /\ In i ls) ->
  too_soon j ls (map (size j) ks) (makespan sch) = false.
Proof.
  intros Hl Hk H. apply (too_soon_occupied nat (size j) (fun k u => exists t, In t sch /\ what (tr (data t)) = k /\ In u (occ t) /\ In (fst u) ls)); auto.
  - intros k Hin. destruct (H k Hin) as [t [i [A [B [C D]]]]]. destruct (has_use t i A C) as [u [Hu E]].
    exists u, t. repeat split; auto. rewrite E. exact D.
  - intros k u [t [A [B [C D]]]]. apply (occupation ls (size j) k t u); auto; congruence.
  - intros k k' u v Hne [t [A [B [C _]]]] [t' [A' [B' [C' _]]]] E.
    destruct (are_apart _ _ good t t' u v A A') as [|[S _]]; auto; congruence.
  - intros k. apply sane_size, sane.
Qed.

Theorem loose_cut_sound S b : cut_rule j S b = true -> b <= makespan sch.
Proof.
  intros Hc. refine (too_soon_later _ _ _ _ sane _ Hc). apply chunks_pass; [apply some_links_once|apply NoDup_filter, seq_NoDup|].
  intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk.
  destruct Hk as [[[v k'] w] [Hin Hk]]. cbn [fst snd] in Hk.
  apply andb_true_iff in Hk. destruct Hk as [Hk Hc']. apply andb_true_iff in Hk. destruct Hk as [E Hv]. apply Nat.eqb_eq in E. subst k'.
  apply negb_true_iff in Hv. apply existsb_exists in Hc'. destruct Hc' as [c [_ Hc']].
  apply andb_true_iff in Hc'. destruct Hc' as [Hwc Ho]. unfold containsb in Hwc. apply Nat.ltb_lt in Hwc.
  destruct (must_leave j S _ _ _ _ _ (bring _ _ good v k w c Hin Hwc) Hv) as [t [Ht [Ek [A B]]]].
  - intros u x Hx Hcx. unfold only_inside in Ho. rewrite forallb_forall in Ho. specialize (Ho _ Hx).
    cbn [fst snd] in Ho. rewrite Nat.eqb_refl in Ho. unfold containsb in Ho. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Ho. exact Ho.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]].
    destruct (crossing j S _ _ _ (proj1 (have_routes _ _ good s Hs)) A B) as [i [Hi [P Q]]]. exists s, i. repeat split; auto.
    apply in_some_links; [apply (in_route s); auto|]. rewrite P, Q. reflexivity.
Qed.
Corollary loose_egress_sound v b : egress_rule j v b = true -> b <= makespan sch.
Proof. apply loose_cut_sound. Qed.

Theorem loose_ingress_sound v b : ingress_rule j v b = true -> b <= makespan sch.
Proof.
  intros Hc. refine (too_soon_later _ _ _ _ sane _ Hc).
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
    destruct (write_all _ _ good s Hs) as [t [Ht Es]]. destruct (are_transfers _ _ good t Ht) as [_ [_ [_ Hne]]].
    rewrite <- Es in E. simpl in E.
    destruct (crossing j (fun u => negb (u =? v)%nat) _ _ _ (proj1 (have_routes _ _ good t Ht))) as [i [Hi [P Q]]].
    + apply negb_true_iff, Nat.eqb_neq. congruence.
    + apply negb_false_iff, Nat.eqb_eq. exact E.
    + exists t, i. repeat split; auto; [rewrite <- Es; reflexivity|]. apply in_some_links; [apply (in_route t); auto|]. rewrite P, Q. reflexivity.
Qed.

(** ** Where what shares links parts or meets *)

Lemma parting_on r : forall r' u v, parting j u r r' = Some v -> v = u \/ exists i, In i r /\ v = Cut.dst (at_link i).
Proof.
  induction r as [|i r IH]; intros [|i' r'] u v H; simpl in H; try discriminate; try (injection H as <-; auto).
  destruct (i =? i')%nat; [|injection H as <-; auto]. destruct (IH _ _ _ H) as [->|[x [Hx E]]]; right; [exists i|exists x]; simpl; auto.
Qed.
Lemma meeting_on r : forall r' u v, meeting j u r r' = Some v -> v = u \/ exists i, In i r /\ v = Cut.src (at_link i).
Proof.
  induction r as [|i r IH]; intros [|i' r'] u v H; simpl in H; try discriminate; try (injection H as <-; auto).
  destruct (i =? i')%nat; [|injection H as <-; auto]. destruct (IH _ _ _ H) as [->|[x [Hx E]]]; right; [exists i|exists x]; simpl; auto.
Qed.
(** No link begins or ends at such a node. *)
Definition nowhere_at (f : nat -> bool) : bool := forallb (fun l => negb (f (Cut.src l)) && negb (f (Cut.dst l))) (links j).
Lemma nowhere_spec f i : nowhere_at f = true -> (i < length (links j))%nat -> f (Cut.src (at_link i)) = false /\ f (Cut.dst (at_link i)) = false.
Proof.
  unfold nowhere_at. rewrite forallb_forall. intros H Hi. specialize (H (at_link i) (nth_In _ _ Hi)).
  rewrite andb_true_iff, !negb_true_iff in H. exact H.
Qed.
Lemma skipn_in {A} n (l : list A) x : In x (skipn n l) -> In x l.
Proof. revert l. induction n as [|n IH]; intros [|a l]; simpl; auto. Qed.
Lemma firstn_in {A} n (l : list A) x : In x (firstn n l) -> In x l.
Proof. revert l. induction n as [|n IH]; intros [|a l]; simpl; intuition. Qed.
Lemma none_parts t t' i : In t sch -> nowhere_at (copying net) = true -> parts_behind j net t t' i -> False.
Proof.
  intros Ht Hn [n [n' [v [A [B [C D]]]]]]. assert (Hi : In i (route t)) by (eapply nth_error_In; eauto).
  destruct (parting_on _ _ _ _ C) as [->|[x [Hx ->]]].
  - destruct (nowhere_spec _ i Hn (in_route t i Ht Hi)). congruence.
  - apply skipn_in in Hx. destruct (nowhere_spec _ x Hn (in_route t x Ht Hx)). congruence.
Qed.
Lemma none_meets t t' i : In t sch -> nowhere_at (adding net) = true -> meets_before j net t t' i -> False.
Proof.
  intros Ht Hn [n [n' [v [A [B [C D]]]]]]. assert (Hi : In i (route t)) by (eapply nth_error_In; eauto).
  destruct (meeting_on _ _ _ _ C) as [->|[x [Hx ->]]].
  - destruct (nowhere_spec _ i Hn (in_route t i Ht Hi)). congruence.
  - apply in_rev, firstn_in in Hx. destruct (nowhere_spec _ x Hn (in_route t x Ht Hx)). congruence.
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

Definition loose_partition_rule (bound : Z) : bool :=
  all_in_parts j part &&
  (in_no_part (copying net) && nowhere_at (adding net) && too_soon j (into_parts j part) (demands j part) (bound - 1) ||
   in_no_part (adding net) && nowhere_at (copying net) && too_soon j (out_of_parts j part) (demands j part) (bound - 1)).

Definition of_part (p v : nat) : bool := (part v =? p)%nat.
Definition goes_in (t : sent) (i : nat) : Prop := exists n, nth_error (route t) n = Some i /\ In i (into_parts j part) /\
  part (Cut.dst (at_link i)) <> O /\ forall x, In x (skipn (S n) (route t)) -> part (Cut.dst (at_link x)) = part (Cut.dst (at_link i)).
Definition goes_out (t : sent) (i : nat) : Prop := exists n, nth_error (route t) n = Some i /\ In i (out_of_parts j part) /\
  part (Cut.src (at_link i)) <> O /\ forall x, In x (firstn n (route t)) -> part (Cut.src (at_link x)) = part (Cut.src (at_link i)).

Lemma goes_between t : all_in_parts j part = true -> In t sch -> part (src (tr (data t))) <> part (dst (tr (data t))) ->
  (exists i, goes_in t i) /\ (exists i, goes_out t i).
Proof.
  intros Hall Ht Hne. destruct (are_transfers _ _ good t Ht) as [_ [Ru [Rv _]]]. pose proof (proj1 (have_routes _ _ good t Ht)) as Hl.
  unfold all_in_parts in Hall. rewrite forallb_forall in Hall.
  pose proof (Hall _ (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Ru))) as Pu.
  pose proof (Hall _ (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Rv))) as Pv.
  apply negb_true_iff, Nat.eqb_neq in Pu, Pv. split.
  - destruct (stays_or_enters (of_part (part (dst (tr (data t))))) _ _ _ Hl (Nat.eqb_refl _)) as [[A _]|[n [i [A [B [C D]]]]]].
    { apply Nat.eqb_eq in A. congruence. }
    unfold of_part in *. apply Nat.eqb_neq in B. apply Nat.eqb_eq in C. exists i, n. split; [exact A|]. split; [|split].
    + apply in_some_links; [apply (in_route t); auto; eapply nth_error_In; eauto|].
      apply andb_true_iff. rewrite !negb_true_iff, !Nat.eqb_neq. split; congruence.
    + congruence.
    + intros x Hx. rewrite C. apply Nat.eqb_eq, D, Hx.
  - destruct (leaves_first (of_part (part (src (tr (data t))))) _ _ _ Hl (Nat.eqb_refl _)) as [n [i [A [B [C D]]]]].
    { apply Nat.eqb_neq. congruence. }
    unfold of_part in *. apply Nat.eqb_eq in B. apply Nat.eqb_neq in C. exists i, n. split; [exact A|]. split; [|split].
    + apply in_some_links; [apply (in_route t); auto; eapply nth_error_In; eauto|].
      apply andb_true_iff. rewrite !negb_true_iff, !Nat.eqb_neq. split; congruence.
    + congruence.
    + intros x Hx. rewrite B. apply Nat.eqb_eq, D, Hx.
Qed.
Lemma alone_in t t' i : in_no_part (copying net) = true -> nowhere_at (adding net) = true -> In t sch -> goes_in t i -> ~ share j net t t' i.
Proof.
  intros Hc Ha Ht [n [A [_ [B C]]]] [_ [[m [m' [v [D [_ [E F]]]]]]|M]]; [|apply (none_meets t t' i Ht Ha M)].
  assert (n = m) by (apply (same_place (route t) n m i); auto; apply (have_routes _ _ good t Ht)). subst m.
  assert (Hi : (i < length (links j))%nat) by (apply (in_route t); auto; eapply nth_error_In; eauto).
  destruct (parting_on _ _ _ _ E) as [->|[x [Hx ->]]].
  - apply B, (in_no_part_spec _ i Hc Hi), F.
  - apply B. rewrite <- (C x Hx). apply (in_no_part_spec (copying net) x Hc); auto. apply (in_route t); auto. apply skipn_in in Hx. exact Hx.
Qed.
Lemma alone_out t t' i : in_no_part (adding net) = true -> nowhere_at (copying net) = true -> In t sch -> goes_out t i -> ~ share j net t t' i.
Proof.
  intros Hc Ha Ht [n [A [_ [B C]]]] [_ [M|[m [m' [v [D [_ [E F]]]]]]]]; [apply (none_parts t t' i Ht Ha M)|].
  assert (n = m) by (apply (same_place (route t) n m i); auto; apply (have_routes _ _ good t Ht)). subst m.
  assert (Hi : (i < length (links j))%nat) by (apply (in_route t); auto; eapply nth_error_In; eauto).
  destruct (meeting_on _ _ _ _ E) as [->|[x [Hx ->]]].
  - apply B, (in_no_part_spec _ i Hc Hi), F.
  - apply in_rev in Hx. apply B. rewrite <- (C x Hx). apply (in_no_part_spec (adding net) x Hc); auto. apply (in_route t); auto. apply firstn_in in Hx. exact Hx.
Qed.

Theorem loose_partition_sound bound : loose_partition_rule bound = true -> bound <= makespan sch.
Proof.
  intros H. apply andb_true_iff in H. destruct H as [Hall H].
  destruct (Z_le_gt_dec bound (makespan sch)) as [|G]; auto. exfalso.
  apply (demands_served j part sch); [intros t Ht; apply (take_time _ _ good t Ht)|intros v k w c Hin Hc; apply (bring _ _ good v k w c Hin Hc)|].
  intros [f [items [N [M S]]]].
  assert (P : forall ls (way : sent -> nat -> Prop), NoDup ls -> (forall t, In t sch -> part (src (tr (data t))) <> part (dst (tr (data t))) -> exists i, way t i) ->
      (forall t i, way t i -> In i (route t) /\ In i ls) -> (forall t t' i, In t sch -> way t i -> ~ share j net t t' i) ->
      too_soon j ls (demands j part) (bound - 1) = true -> False).
  { intros ls way Hl Hpass Hway Halone Ht. rewrite <- M in Ht. enough (bound <= makespan sch) by lia.
    refine (too_soon_later _ _ _ _ sane _ Ht).
    apply (too_soon_occupied _ (fun a : nat * (bool * nat) => size j (fst a))
      (fun a u => exists t, In t sch /\ key_of part f t = a /\ In u (occ t) /\ way t (fst u))); auto.
    - intros a Ha. destruct (S a Ha) as [t [A [B C]]]. destruct (Hpass t A C) as [i Hi]. destruct (Hway t i Hi) as [D _].
      destruct (has_use t i A D) as [u [Hu E]]. exists u, t. rewrite E. auto.
    - intros a u [t [A [B [C D]]]]. apply (occupation ls (fun a : nat * (bool * nat) => size j (fst a)) a t u); auto; [apply (Hway t), D|].
      rewrite <- B. reflexivity.
    - intros a b u v Hne [t [A [B [C D]]]] [t' [A' [B' [C' D']]]] E.
      destruct (are_apart _ _ good t t' u v A A') as [|X]; auto; [congruence|]. destruct (Halone t t' (fst u) A D X).
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
End Parts.

(** Volume: each rank is a part of its own, and no switch is in any. *)
Corollary loose_volume_sound bound : loose_partition_rule (fun v => if is_rank j v then S v else O) bound = true -> bound <= makespan sch.
Proof. apply loose_partition_sound. Qed.

(** ** (distance) *)

Lemma loose_rises full head k c b : size j k = b ->
  (forall l, In l (links j) -> rises_well j (arrival j) full head b l = true) ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> potential full u <= arrival j u) ->
  forall v x, holds j (map data sch) c v k x -> potential full v <= Z.max x (arrival j v).
Proof.
  intros Hb Hrise Hs v x H. remember k as k' eqn:Ek in H.
  assert (B0 : 0 <= b) by (rewrite <- Hb; apply sane_size, sane).
  induction H as [v k' x w Hl Hc _|t x Ht Hh IH Hx].
  - subst k'. apply lookup_In in Hl. specialize (Hs _ _ Hl Hc). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]]. specialize (IH Ek). rewrite <- Ek in Hb.
    destruct (are_transfers _ _ good s Hin) as [_ [Ru [Rv Hne]]]. pose proof (proj1 (have_routes _ _ good s Hin)) as Hl.
    destruct (take_time _ _ good s Hin) as [Hbg He]. pose proof (wait_for_ranks _ _ good s Hin) as Ha.
    assert (Eu : is_rank j (src (tr (data s))) = true) by (apply Nat.ltb_lt, Ru).
    assert (Ev : is_rank j (dst (tr (data s))) = true) by (apply Nat.ltb_lt, Rv).
    pose proof (Ha _ (or_introl eq_refl) Eu).
    assert (P := route_rises j sane (arrival j) (fun _ => true) full head b B0 (fun l Hl _ => Hrise l Hl)
      (route s) _ _ (begins (data s)) 0 Hl (fun _ _ => eq_refl) Ev).
    assert (N : route s <> []) by (intros E; rewrite E in Hl; simpl in Hl; congruence).
    specialize (P N ltac:(lia)).
    assert (Q : comes j (arrival j) full head (src (tr (data s))) (begins (data s)) 0) by (unfold comes; rewrite Eu; lia).
    specialize (P Q Ha). unfold duration in He. rewrite Hb in He.
    assert (begins (data s) + match hops j (route s) with [] => 0 | h :: hs =>
              latencies j h + Z.max 0 (slowest j b h) + lasting j b hs end
            <= ends (data s)).
    { eapply Z.le_trans; [|exact He]. destruct (hops j (route s)) as [|h hs]; cbn [Cut.sum fold_right]; [lia|].
      pose proof (slowest_0 j b h). unfold lasting, Cut.sum. lia. }
    lia.
Qed.
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
  pose proof (bring _ _ good v k w c Hin Hc) as Hh. pose proof (makespan_0 sch).
  inversion Hh as [v' k' x w' Hlk Hc' Hx|t x Ht Hh' Hx]; subst.
  - apply lookup_In in Hlk. destruct (Hstart _ _ Hlk Hc'). congruence.
  - pose proof (loose_rises full head (what (tr t)) c (size j (what (tr t))) eq_refl (proj1 (forallb_forall _ _) Hl)
      (fun u x A B => proj2 (Hstart u x A B)) _ _ Hh) as P.
    apply in_map_iff in Ht. destruct Ht as [s [<- Hs']].
    destruct (are_transfers _ _ good s Hs') as [_ [_ [Rv _]]]. pose proof (proj1 (have_routes _ _ good s Hs')) as Hld.
    assert (arrival j (dst (tr (data s))) <= begins (data s)).
    { apply (wait_for_ranks _ _ good s Hs'); [|apply Nat.ltb_lt, Rv]. clear - Hld. revert Hld. generalize (src (tr (data s))) (dst (tr (data s))).
      induction (route s) as [|i r IH]; simpl; intros u v Hl; [auto|]. destruct Hl as [_ [_ Hl]].
      right. destruct (IH _ _ Hl) as [E|E]; [left; exact E|right; exact E]. }
    pose proof (ends_makespan sch s Hs'). pose proof (take_time _ _ good s Hs'). lia.
Qed.
End Loose.

(** ** Right schedules are such *)

Section Right.
Hypothesis sane : positive j.
Variable sch : list sent.

Lemma executed_bring : executes j sch -> (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) ->
  forall v k w c, In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch).
Proof.
  intros [H [He Hg]] Hb v k w c Hin Hc. destruct (Hg _ _ _ Hin) as [got [Hgot Ha]].
  apply (arrive j _ H He) with (w := got); auto.
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply (Hb s Hs).
  - apply makespan_0.
  - specialize (Ha c). unfold contains in *. destruct (idempotent j); [tauto|congruence].
Qed.
Lemma executed_write : executes j sch -> forall s, In s (unsettled j) -> exists t, In t sch /\ slot (tr (data t)) = s.
Proof.
  intros [H [He Hg]] s Hs. apply nodup_In in Hs. apply in_map_iff in Hs.
  destruct Hs as [[[v k] w] [<- Hin]]. apply filter_In in Hin. cbn [fst snd] in *. destruct Hin as [Hin Hn].
  destruct (changed j _ H He (makespan sch) (makespan_0 sch) v k) as [E|[t [Ht [Et _]]]].
  - destruct (Hg _ _ _ Hin) as [got [Hgot Ha]]. rewrite E in Hgot.
    unfold settled in Hn. rewrite Hgot in Hn. apply agreesb_spec in Ha. rewrite Ha in Hn. discriminate.
  - apply in_map_iff in Ht. destruct Ht as [x [<- Hx]]. exists x. auto.
Qed.
Lemma inside_of t : leads j (src (tr (data t))) (route t) (dst (tr (data t))) -> (dst (tr (data t)) < nodes j)%nat ->
  (forall v, In v (visited j (src (tr (data t))) (route t)) -> is_rank j v = true -> arrival j v <= begins (data t)) -> 0 <= begins (data t) ->
  forall i sp, In (i, sp) (uses_of j t) -> since j i <= begins (data t) <= first sp /\ takes j (size j (what (tr (data t)))) i <= long sp /\
    first sp + long sp + tail j i <= begins (data t) + duration j (size j (what (tr (data t)))) (route t).
Proof.
  intros Hl Rv Ha Hb i sp Hin. unfold uses_of in Hin. apply Nat.ltb_lt in Rv.
  destruct (busy_inside j sane _ _ (proj1 (hops_chain j _ _ _ Hl Rv)) _ _ _ Hin) as [A [B [C D]]]. rewrite concat_hops in A.
  destruct (ends_visited j _ _ _ i Hl A) as [P Q]. pose proof (Ha _ P). pose proof (Ha _ Q).
  split; [|split; [unfold takes; lia|exact D]]. split; [|exact B]. clear B C D.
  unfold since. destruct (is_rank j (Cut.src (at_link i))), (is_rank j (Cut.dst (at_link i))); intuition lia.
Qed.

Lemma waiting_route t : map fst (waiting_uses_of j net t) = route t.
Proof.
  rewrite <- (uses_of_route j t). unfold waiting_uses_of. destruct (uses_of j t) as [|a [|b [|c l]]]; reflexivity.
Qed.
Lemma passed_once r : forall u v, leads j u r v -> NoDup (visited j u r) -> NoDup r.
Proof.
  intros u v _ H. unfold visited in H. inversion H as [|? ? _ H']; subst. clear H.
  induction r as [|i r IH]; [constructor|]. simpl in H'. inversion H' as [|? ? Hn H'']; subst. constructor; auto.
  intros Hi. apply Hn. apply (in_map (fun i => Cut.dst (at_link i))), Hi.
Qed.

Theorem adding_loose : right_adding j net sch -> loose (waiting_uses_of j net) sch.
Proof.
  intros [W [[S [_ _]] X]]. constructor.
  - intros t Ht. apply (W t Ht).
  - intros t Ht. destruct (W t Ht) as [_ [[A [_ B]] _]]. split; [exact A|exact B].
  - intros t Ht. destruct (W t Ht) as [_ [_ [A [B _]]]]. split; [exact A|exact B].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [_ [_ A]]]]]. exact A.
  - intros t Ht. apply waiting_route.
  - intros t i sp Ht Hin. destruct (W t Ht) as [[_ [_ [Rv _]]] [[Hl _] [Hb [Hd [Hw Ha]]]]].
    assert (I : forall i sp, In (i, sp) (uses_of j t) -> since j i <= begins (data t) <= first sp /\ takes j (size j (what (tr (data t)))) i <= long sp /\
      first sp + long sp + tail j i <= begins (data t) + duration j (size j (what (tr (data t)))) (route t)) by (apply inside_of; auto; lia).
    assert (W0 : 0 <= waited j net t /\ begins (data t) + duration j (size j (what (tr (data t)))) (route t) + waited j net t <= ends (data t)).
    { unfold waited. destruct (may_wait j net (route t)); lia. }
    unfold waiting_uses_of in Hin. destruct (uses_of j t) as [|a [|b [|c l]]] eqn:E;
      try (destruct (I i sp Hin) as [A [B C]]; repeat split; auto; lia).
    destruct Hin as [Q|[Q|[]]].
    + subst a. destruct (I i sp (or_introl eq_refl)) as [A [B C]]. repeat split; auto; lia.
    + destruct b as [k s]. injection Q as <- <-. destruct (I k s (or_intror (or_introl eq_refl))) as [A [B C]].
      cbn [fst snd first long]. repeat split; auto; lia.
  - intros t t' a b Ht Ht' Hne Ha Hb E. apply (streams_apart j net (waiting_uses_of j net) sch S); auto; [intros; apply waiting_route|].
    destruct (W t Ht) as [_ [[Hl _] _]]. apply (leads_in j _ _ _ Hl). rewrite <- (waiting_route t). apply in_map, Ha.
  - apply executed_bring; auto. intros t Ht. apply (W t Ht).
  - apply executed_write; auto.
Qed.

Theorem right_loose : right j sch -> loose (uses_of j) sch.
Proof.
  intros R. pose proof R as [W [Dj [_ X]]]. constructor.
  - intros t Ht. apply (W t Ht).
  - intros t Ht. destruct (W t Ht) as [_ [A [B _]]]. split; [exact A|apply (passed_once _ _ _ A B)].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [A [B _]]]]]. split; [exact A|lia].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [_ [_ A]]]]]. exact A.
  - intros t _. apply uses_of_route.
  - intros t i sp Ht Hin. destruct (W t Ht) as [[_ [_ [Rv _]]] [Hl [_ [Hb [He Ha]]]]].
    destruct (inside_of t Hl Rv Ha ltac:(lia) i sp Hin) as [A [B C]]. repeat split; auto; lia.
  - intros t t' a b Ht Ht' Hne Ha Hb E. left. clear - Dj Ht Ht' Hne Ha Hb E.
    unfold uses in Dj. induction sch as [|x l IH]; [destruct Ht|]. simpl in Dj. apply pairs_app in Dj. destruct Dj as [_ [D1 D2]].
    assert (Sym : forall a b : use, fst a = fst b -> (fst b = fst a -> apart (snd b) (snd a)) -> apart (snd a) (snd b)).
    { clear. intros a b E H. specialize (H (eq_sym E)). unfold apart in *. lia. }
    destruct Ht as [->|Ht], Ht' as [->|Ht'].
    + congruence.
    + apply (D2 a b); auto. apply in_flat_map. eauto.
    + apply Sym; auto. apply (D2 b a); auto. apply in_flat_map. eauto.
    + apply IH; auto.
  - apply executed_bring; auto. intros t Ht. apply (W t Ht).
  - apply executed_write; auto.
Qed.

(** ** Where switches copy *)

Lemma parting_sym r : forall r' u, parting j u r r' = parting j u r' r.
Proof.
  induction r as [|i r IH]; intros [|i' r'] u; simpl; auto. destruct (Nat.eqb_spec i i') as [->|H].
  - rewrite Nat.eqb_refl. apply IH.
  - rewrite (proj2 (Nat.eqb_neq i' i)) by auto. reflexivity.
Qed.
Lemma parting_behind n : forall r r' u i, nth_error r n = Some i -> firstn (S n) r = firstn (S n) r' ->
  nth_error r' n = Some i /\ parting j u r r' = parting j (Cut.dst (at_link i)) (skipn (S n) r) (skipn (S n) r').
Proof.
  induction n as [|n IH]; intros [|x r] [|x' r'] u i H E; simpl in H; try discriminate.
  - injection H as ->. cbn [firstn] in E. injection E as <-. split; [reflexivity|]. simpl. rewrite Nat.eqb_refl. reflexivity.
  - cbn [firstn] in E. injection E as <- E. destruct (IH r r' (Cut.dst (at_link x)) i H E) as [A B]. split; [exact A|].
    simpl. rewrite Nat.eqb_refl. exact B.
Qed.
Lemma marked_at f a : (forall t, In t sch -> map fst (f t) = route t) -> In a (mark f sch) -> In (fst (snd a)) sch /\ In (fst a) (f (fst (snd a))) /\
  exists n, snd (snd a) = S n /\ nth_error (route (fst (snd a))) n = Some (fst (fst a)).
Proof.
  intros Hf H. apply in_flat_map in H. destruct H as [t [Ht H]]. destruct a as [u m].
  assert (M : exists n, m = (t, S n) /\ nth_error (f t) n = Some u).
  { assert (G : forall l k, In (u, m) (combine l (map (pair t) (seq (S k) (length l)))) -> exists n, m = (t, S (k + n)) /\ nth_error l n = Some u).
    { induction l as [|x l IH]; intros k; simpl; [tauto|]. intros [[= -> <-]|Hin]; [exists O; split; [f_equal; lia|reflexivity]|].
      destruct (IH (S k) Hin) as [n [A B]]. exists (S n). split; [rewrite A; do 2 f_equal; lia|exact B]. }
    apply (G (f t) 0%nat H). }
  destruct M as [n [-> N]]. cbn [fst snd]. split; [exact Ht|]. split; [eapply nth_error_In; eauto|]. exists n. split; [reflexivity|].
  rewrite <- (Hf t Ht). transitivity (option_map fst (nth_error (f t) n)); [apply nth_error_map|rewrite N; reflexivity].
Qed.
Lemma use_marked f t a : In t sch -> In a (f t) -> exists n, In (a, (t, n)) (mark f sch).
Proof.
  intros Ht Ha. assert (G : forall l k, In a l -> exists n, In (a, (t, n)) (combine l (map (pair t) (seq k (length l))))).
  { induction l as [|x l IH]; intros k; simpl; [tauto|]. intros [->|Hin]; [exists k; left; reflexivity|].
    destruct (IH (S k) Hin) as [n Hn]. exists n. right. exact Hn. }
  destruct (G (f t) 1%nat Ha) as [n Hn]. exists n. apply in_flat_map. exists t. split; auto.
Qed.
Lemma together_share f t t' a b n n' : (forall t, In t sch -> map fst (f t) = route t) -> In (a, (t, n)) (mark f sch) -> In (b, (t', n')) (mark f sch) ->
  together j (copying net) (t, n) (t', n') = true -> what (tr (data t)) = what (tr (data t')) /\ parts_behind j net t t' (fst a).
Proof.
  intros Hf Ma Mb H. destruct (marked_at f _ Hf Ma) as [_ [_ [m [E N]]]]. destruct (marked_at f _ Hf Mb) as [_ [_ [m' [E' N']]]].
  cbn [fst snd] in *. subst n n'. unfold together in H. rewrite !andb_true_iff, !Nat.eqb_eq in H. destruct H as [[[[H1 H2] _] H4] H5].
  split; [exact H1|]. unfold same_list in H4. destruct (list_eq_dec Nat.eq_dec _ _) as [F|]; [|discriminate].
  assert (L : m = m').
  { apply (f_equal (@length nat)) in F. rewrite !firstn_length in F. pose proof (proj1 (nth_error_Some (route t) m) ltac:(congruence)).
    pose proof (proj1 (nth_error_Some (route t') m') ltac:(congruence)). lia. }
  subst m'. destruct (parting j _ _ _) as [v|] eqn:P; [|discriminate].
  destruct (parting_behind m _ _ (src (tr (data t))) (fst a) N F) as [A B]. exists m, m, v. repeat split; auto. congruence.
Qed.
Lemma copies_apart f : disjoint_or_together j (copying net) (mark f sch) -> (forall t, In t sch -> map fst (f t) = route t) ->
  forall t t' a b, In t sch -> In t' sch -> t <> t' -> In a (f t) -> In b (f t') -> fst a = fst b ->
  apart (snd a) (snd b) \/ share j net t t' (fst a).
Proof.
  intros D Hf t t' a b Ht Ht' Hne Ha Hb E. destruct (use_marked f t a Ht Ha) as [n Hn]. destruct (use_marked f t' b Ht' Hb) as [n' Hn'].
  destruct (ForallOrdPairs_In D _ _ Hn Hn') as [Q|[Q|Q]].
  - congruence.
  - destruct (Q E) as [Q1|Q1]; [left; exact Q1|right].
    destruct (together_share f t t' a b n n' Hf Hn Hn' Q1) as [A B]. split; [exact A|left; exact B].
  - destruct (Q (eq_sym E)) as [Q1|Q1]; [left; unfold apart in *; cbn [fst snd] in *; lia|right].
    destruct (together_share f t' t b a n' n Hf Hn' Hn Q1) as [S1 [m [m' [v [A [B [C F]]]]]]]. split; [congruence|]. left.
    exists m', m, v. rewrite <- E in A, B, C. repeat split; auto. rewrite parting_sym. exact C.
Qed.

Theorem copying_loose : right_copying j (copying net) sch -> loose (uses_of j) sch.
Proof.
  intros [W [D [_ X]]]. constructor.
  - intros t Ht. apply (W t Ht).
  - intros t Ht. destruct (W t Ht) as [_ [A [B _]]]. split; [exact A|apply (passed_once _ _ _ A B)].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [A [B _]]]]]. split; [exact A|lia].
  - intros t Ht. destruct (W t Ht) as [_ [_ [_ [_ [_ A]]]]]. exact A.
  - intros t _. apply uses_of_route.
  - intros t i sp Ht Hin. destruct (W t Ht) as [[_ [_ [Rv _]]] [Hl [_ [Hb [He Ha]]]]].
    destruct (inside_of t Hl Rv Ha ltac:(lia) i sp Hin) as [A [B C]]. repeat split; auto; lia.
  - apply copies_apart; auto. intros t _. apply uses_of_route.
  - apply executed_bring; auto. intros t Ht. apply (W t Ht).
  - apply executed_write; auto.
Qed.
End Right.
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
  all_in_parts j part &&
  (in_no_part j part (copying net) && nowhere_at j (adding net) && bytes_too_soon j (into_parts j part) (demands j part) (bound - 1) ||
   in_no_part j part (adding net) && nowhere_at j (copying net) && bytes_too_soon j (out_of_parts j part) (demands j part) (bound - 1)).
Theorem free_loose_partition_sound part b : free_loose_partition_rule part b = true -> b <= makespan sch.
Proof.
  intros H. apply (loose_partition_sound _ net (recut_positive j ps cut sane) occ sch good part).
  unfold free_loose_partition_rule in H. unfold loose_partition_rule. apply andb_true_iff in H. destruct H as [H1 H].
  pose proof (demands_cut j ps cut part) as D. apply andb_true_iff. split; [exact H1|].
  apply orb_true_iff in H. apply orb_true_iff. destruct H as [H|H]; apply andb_true_iff in H; destruct H as [H2 H3]; [left|right];
    (apply andb_true_iff; split; [exact H2|exact (more_bytes j ps _ _ _ _ D H3)]).
Qed.
End Cut.
