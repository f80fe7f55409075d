(** The rule prices of package cert: what the chunks must pay for the links on their ways is at
    most what the links can earn in their windows. Of the links that a chunk passes, some are a path
    from where it starts to where it must be; each of them it keeps busy once, with nothing else
    but itself, whatever switches do. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Copying Adding Loose Coverage Cover Lanes Free Partition Sharing.
Import ListNotations.
Open Scope Z_scope.

Lemma all_kept {A} (f : A -> bool) l : (forall x, In x l -> f x = true) -> filter f l = l.
Proof. induction l as [|x l IH]; simpl; intros H; auto. rewrite (H x (or_introl eq_refl)), IH; auto. Qed.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Variable net : network.
Notation at_link := (at_link j).
Variable price : nat -> Z.
Hypothesis fair : forall i, 0 <= price i.
Variable occ : sent -> list use.
Variable sch : list sent.
Hypothesis good : loose j net occ sch.
Variables from until : nat -> Z.
Hypothesis lane : forall t i sp, In t sch -> In (i, sp) (occ t) -> from i <= first sp /\ first sp + long sp + until i <= ends (data t).

Lemma takes_0 b i : 0 <= b -> 0 <= takes j b i.
Proof.
  intros Hb. unfold takes, beside. pose proof (sane_link j sane i) as [La Lb]. pose proof (beta_0 (at_link i) b Lb Hb).
  destruct (model j); lia.
Qed.
Definition passes (k i : nat) : bool := existsb (fun t => (what (tr (data t)) =? k)%nat && existsb (Nat.eqb i) (route t)) sch.
Lemma passes_spec k i : passes k i = true <-> exists t, In t sch /\ what (tr (data t)) = k /\ In i (route t).
Proof.
  unfold passes. rewrite existsb_exists. split.
  - intros [t [Ht H]]. apply andb_true_iff in H. destruct H as [A B]. apply Nat.eqb_eq in A. apply existsb_exists in B.
    destruct B as [i' [Hi E]]. apply Nat.eqb_eq in E. subst i'. eauto.
  - intros [t [Ht [A B]]]. exists t. split; auto. apply andb_true_iff. split; [apply Nat.eqb_eq, A|]. apply existsb_exists. exists i. split; auto. apply Nat.eqb_refl.
Qed.
Definition links_passed (k : nat) : list nat := filter (passes k) (seq 0 (length (links j))).
Definition due (k i : nat) : Z := price i * takes j (size j k) i.
Definition tolls (k : nat) : Z := sum (due k) (links_passed k).
Lemma due_0 k i : 0 <= due k i.
Proof. apply Z.mul_nonneg_nonneg; auto. apply takes_0. apply sane_size, sane. Qed.
Lemma tolls_0 k : 0 <= tolls k.
Proof. apply sum_pos. intros i _. apply due_0. Qed.

(** ** What links earn *)

Lemma link_takes T i : makespan sch <= T -> sum (fun k => if passes k i then takes j (size j k) i else 0) (chunks_of j) <= Z.max 0 (time_between from until T i).
Proof.
  intros HT. rewrite <- sum_filter. set (ks := filter (fun k => passes k i) (chunks_of j)).
  assert (N : NoDup ks) by apply NoDup_filter, seq_NoDup.
  destruct (each_has_one (fun k u => exists t, In t sch /\ what (tr (data t)) = k /\ In u (occ t) /\ fst u = i) ks) as [ps [E Q]].
  { intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply passes_spec in Hk. destruct Hk as [t [A [B C]]].
    destruct (has_use j net occ sch good t i A C) as [u [Hu Eu]]. exists u, t. auto. }
  eapply Z.le_trans; [|apply Z.le_max_r].
  assert (L : sum (fun p : nat * use => long (snd (snd p))) (ps_on nat ps i) <= time_between from until T i).
  { apply (on_one_link j sane from until nat (size j) [i] T ps).
    - rewrite E. exact N.
    - intros p Hp. destruct (Q p Hp) as [t [A [B [C D]]]]. destruct (snd p) as [i' sp] eqn:Es. cbn [fst] in D. subst i'.
      destruct (are_inside j net sane occ sch good t i sp A C) as [_ [Y _]]. destruct (lane t i sp A C) as [X Z]. pose proof (ends_makespan sch t A). rewrite <- B. unfold occupies. cbn [fst snd].
      split; [left; reflexivity|]. split; [lia|]. split; [exact Y|lia].
    - intros p q Hp Hq Hne Ep. destruct (Q p Hp) as [t [A [B [C D]]]], (Q q Hq) as [t' [A' [B' [C' D']]]].
      destruct (are_apart _ _ _ _ good t t' (snd p) (snd q) A A') as [|[S _]]; auto; congruence.
    - intros k. apply sane_size, sane. }
  assert (On : ps_on nat ps i = ps).
  { unfold ps_on. apply all_kept. intros p Hp. destruct (Q p Hp) as [t [_ [_ [_ D]]]]. apply Nat.eqb_eq, D. }
  rewrite On in L. eapply Z.le_trans; [|exact L]. rewrite <- E, sum_map. apply sum_le. intros p Hp. destruct (Q p Hp) as [t [A [B [C D]]]].
  destruct (snd p) as [i' sp] eqn:Es. cbn [fst snd] in *. subst i'. destruct (are_inside j net sane occ sch good t i sp A C) as [_ [Y _]]. rewrite B in Y. exact Y.
Qed.
Lemma window_0 T i : 0 <= time_between from until T i.
Proof. unfold time_between. lia. Qed.
Theorem tolls_earned T : makespan sch <= T -> sum tolls (chunks_of j) <= sum (fun i => price i * time_between from until T i) (seq 0 (length (links j))).
Proof.
  intros HT. rewrite (sum_eq _ (fun k => sum (fun i => if passes k i then due k i else 0) (seq 0 (length (links j))))).
  2: { intros k _. apply sum_filter. }
  rewrite sum_swap. apply sum_le. intros i _. pose proof (link_takes T i HT) as L. pose proof (window_0 T i). rewrite Z.max_r in L by lia.
  rewrite (sum_eq _ (fun k => price i * (if passes k i then takes j (size j k) i else 0))) by (intros k _; unfold due; destruct (passes k i); lia).
  rewrite sum_mul. apply Z.mul_le_mono_nonneg_l; auto.
Qed.

(** ** A path among the links that a chunk passes *)

Lemma leads_on a : forall b u w v, leads j u a w -> leads j w b v -> leads j u (a ++ b) v.
Proof. induction a as [|i a IH]; simpl; intros b u w v H H'; [congruence|]. destruct H as [A [B C]]. repeat split; auto. eapply IH; eauto. Qed.
Lemma some_twice (l : list nat) : NoDup l \/ exists i a b c, l = a ++ i :: b ++ i :: c.
Proof.
  induction l as [|x l [IH|[i [a [b [c ->]]]]]]; [left; constructor| |right; exists i, (x :: a), b, c; reflexivity].
  destruct (in_dec Nat.eq_dec x l) as [H|H]; [|left; constructor; auto]. right. destruct (in_split x l H) as [b [c ->]]. exists x, [], b, c. reflexivity.
Qed.
Lemma no_link_twice n : forall r u v, (length r <= n)%nat -> leads j u r v -> exists r', leads j u r' v /\ incl r' r /\ NoDup r'.
Proof.
  induction n as [|n IH]; intros r u v Hn Hl.
  - destruct r; [|simpl in Hn; lia]. exists []. split; [exact Hl|]. split; [apply incl_refl|constructor].
  - destruct (some_twice r) as [D|[i [a [b [c ->]]]]]; [exists r; split; [exact Hl|]; split; [apply incl_refl|exact D]|].
    destruct (leads_app j a _ u v Hl) as [w [L1 L2]]. simpl in L2. destruct L2 as [A [B C]].
    destruct (leads_app j b _ _ v C) as [w' [_ L4]]. simpl in L4. destruct L4 as [_ [_ L5]].
    destruct (IH (a ++ i :: c) u v) as [r' [R1 [R2 R3]]].
    + rewrite !app_length in *. simpl in *. rewrite app_length in Hn. simpl in Hn. lia.
    + eapply leads_on; [exact L1|]. simpl. auto.
    + exists r'. split; [exact R1|]. split; [|exact R3]. intros x Hx. specialize (R2 x Hx). apply in_app_or in R2. apply in_or_app.
      destruct R2 as [|[<-|Hc]]; [left; auto|right; left; auto|right; right; apply in_or_app; right; right; auto].
Qed.
Lemma walked c k v x : holds j (map data sch) c v k x -> exists u w r, lookup (pre j) u k = Some w /\ contains w c /\ leads j u r v /\
  forall i, In i r -> passes k i = true.
Proof.
  induction 1 as [v k x w Hl Hc _|t x Ht _ IH Hx].
  - exists v, w, []. split; [exact Hl|]. split; [exact Hc|]. split; [reflexivity|]. intros i [].

  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. destruct IH as [u [w [r [A [B [C D]]]]]].
    exists u, w, (r ++ route s). split; [exact A|]. split; [exact B|]. split; [eapply leads_on; [exact C|apply (have_routes _ _ _ _ good s Hs)]|].
    intros i Hi. apply in_app_or in Hi. destruct Hi as [Hi|Hi]; [auto|]. apply passes_spec. eauto.
Qed.
Lemma path_pays (p : list Z) part whole c k v x : 0 <= part -> 0 <= whole ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> potential p u <= 0) ->
  (forall i, (i < length (links j))%nat -> part * (potential p (Cut.dst (at_link i)) - potential p (Cut.src (at_link i))) <= whole * due k i) ->
  holds j (map data sch) c v k x -> part * potential p v <= whole * tolls k.
Proof.
  intros P W Hs Hr H. destruct (walked c k v x H) as [u [w [r [A [B [L D]]]]]].
  destruct (no_link_twice (length r) r u v (Nat.le_refl _) L) as [r' [L' [I N]]]. apply lookup_In in A. specialize (Hs u w A B).
  assert (Way : forall r u v, leads j u r v -> part * potential p v <= part * potential p u + whole * sum (due k) r).
  { clear - Hr. induction r as [|i r IH]; simpl; intros u v Hl; [subst; lia|]. destruct Hl as [Hi [Es Hl]]. specialize (IH _ _ Hl). specialize (Hr i Hi). rewrite Es in Hr. unfold sum in *. lia. }
  specialize (Way r' u v L').
  assert (S : sum (due k) r' <= tolls k).
  { apply sum_incl; auto using due_0. intros i Hi. apply filter_In. split; [apply in_seq; pose proof (leads_in j _ _ _ L' i Hi); lia|apply D, I, Hi]. }
  nia.
Qed.
End Job.

(** ** The rule *)

Section Rule.
Variable j : job.
Notation at_link := (at_link j).
Variable prices : list Z.
Definition price_of (i : nat) : Z := nth i prices 0.
Variable toll : nat -> nat -> Z. (* by chunk and link *)

Definition cheapest (k : nat) (from : list nat) : list Z :=
  let step := fun p i => lower p (Cut.dst (at_link i)) (potential p (Cut.src (at_link i)) + toll k i) in
  until_still same_times (fun p => fold_left step (seq 0 (length (links j))) p) (size_of_net j)
    (fold_left (fun p u => lower p u 0) from (nowhere j)).
Definition holders_of (k c : nat) : list nat :=
  map (fun e => fst (fst e)) (filter (fun e => containsb (snd e) c) (said_of k (pre j))).
(** What contribution [c] to chunk [k] pays for its dearest way, if [p] has what ways cost. *)
Definition pays (k c : nat) (p : list Z) : Z :=
  if forallb (fun u => potential p u <=? 0) (holders_of k c) &&
     forallb (fun i => potential p (Cut.dst (at_link i)) - potential p (Cut.src (at_link i)) <=? toll k i) (seq 0 (length (links j)))
  then fold_right (fun e m => if containsb (snd e) c then Z.max m (potential p (fst (fst e))) else m) 0 (said_of k (post j))
  else 0.
Definition wanted_of (k : nat) : list nat :=
  nodup Nat.eq_dec (flat_map (fun e => filter (containsb (snd e)) (seq 0 (length (snd e)))) (said_of k (post j))).
Definition dearest (k : nat) : Z :=
  fold_right (fun c m => Z.max m (pays k c (cheapest k (holders_of k c)))) 0 (wanted_of k).
Definition too_dear (w : lanes) (T : Z) : bool :=
  forallb (Z.leb 0) prices &&
  (sum (fun i => price_of i * time_between (from_when w) (until_when w) T i) (seq 0 (length (links j))) <?
   sum (fun k => if 0 <? size j k then dearest k else 0) (chunks_of j)).

Lemma price_fair : forallb (Z.leb 0) prices = true -> forall i, 0 <= price_of i.
Proof.
  intros H i. unfold price_of. rewrite forallb_forall in H. destruct (Nat.lt_ge_cases i (length prices)).
  - apply Z.leb_le, H, nth_In. auto.
  - rewrite nth_overflow by auto. lia.
Qed.

Variable net : network.
Lemma dearest_tolls j' occ sch part whole k k' : positive j' -> loose j' net occ sch -> nodes j' = nodes j -> links j' = links j ->
  (forall i, 0 <= price_of i) -> 0 <= part -> 0 <= whole ->
  (forall u x, In ((u, k'), x) (pre j') -> In ((u, k), x) (pre j)) ->
  (forall u x, In ((u, k), x) (post j) -> In ((u, k'), x) (post j')) ->
  (forall i d, (i < length (links j))%nat -> d <= toll k i -> part * d <= whole * (price_of i * takes j' (size j' k') i)) ->
  part * dearest k <= whole * tolls j' (price_of) sch k'.
Proof.
  intros Hp Hr Hn Hl Hf P W Hpre Hpost Ht.
  assert (Q : 0 <= whole * tolls j' (price_of) sch k').
  { apply Z.mul_nonneg_nonneg; auto. apply tolls_0; auto. }
  unfold dearest. induction (wanted_of k) as [|c l IH]; [simpl; lia|]. cbn [fold_right].
  enough (part * pays k c (cheapest k (holders_of k c)) <= whole * tolls j' (price_of) sch k').
  { destruct (Z.max_spec (fold_right (fun c m => Z.max m (pays k c (cheapest k (holders_of k c)))) 0 l) (pays k c (cheapest k (holders_of k c)))) as [[_ ->]|[_ ->]]; auto. }
  unfold pays. set (p := cheapest k (holders_of k c)). destruct (_ && _) eqn:E; [|rewrite Z.mul_0_r; exact Q].
  apply andb_true_iff in E. destruct E as [E1 E2]. rewrite forallb_forall in E1, E2.
  assert (In_goal : forall e, In e (said_of k (post j)) -> In ((fst (fst e), k'), snd e) (post j')).
  { intros [[v s] w] H. apply filter_In in H. destruct H as [H E]. apply Nat.eqb_eq in E. simpl in E. subst s. apply Hpost, H. }
  induction (said_of k (post j)) as [|[[v s] w] g IHg]; [simpl; rewrite Z.mul_0_r; exact Q|]. cbn [fold_right fst snd].
  assert (IHg' := IHg (fun e H => In_goal e (or_intror H))). destruct (containsb w c) eqn:Ec; [|exact IHg'].
  set (m := fold_right _ 0 g) in *.
  enough (part * potential p v <= whole * tolls j' (price_of) sch k').
  { destruct (Z.max_spec m (potential p v)) as [[_ ->]|[_ ->]]; auto. }
  apply (path_pays j' Hp net (price_of) Hf occ sch Hr p part whole c k' v (makespan sch)); auto.
  - intros u x Hx Hc. apply Z.leb_le, E1. apply in_map_iff. exists ((u, k), x). split; auto. apply filter_In.
    split; [|apply Nat.ltb_lt, Hc]. apply filter_In. split; [apply Hpre, Hx|apply Nat.eqb_refl].
  - intros i Hi. rewrite Hl in Hi. specialize (E2 i (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Hi))). apply Z.leb_le in E2.
    unfold Schedule.at_link in *. rewrite Hl. apply Ht; auto.
  - apply (bring _ _ _ _ Hr v k' w c); [apply (In_goal ((v, s), w)); left; auto|]. apply Nat.ltb_lt, Ec.
Qed.
End Rule.

Definition prices_rule (j : job) (prices : list Z) (bound : Z) : bool :=
  too_dear j prices (fun k i => price_of prices i * takes j (size j k) i) (find_lanes j (least (sizes j))) (bound - 1).
Definition free_prices_rule (j : job) (prices : list Z) (bound : Z) : bool :=
  too_dear j prices (fun s i => price_of prices i * size j s * picoseconds / bandwidth (at_link j i)) (find_lanes j 1) (bound - 1).

Theorem loose_prices_sound j net prices bound occ sch : positive j -> prices_rule j prices bound = true -> loose j net occ sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. apply andb_true_iff in H. destruct H as [Hf H]. apply Z.ltb_lt in H.
  pose proof (price_fair prices Hf) as F. apply Z.nlt_ge. intros Lt.
  set (w := find_lanes j (least (sizes j))) in *.
  assert (Lane : forall t i sp, In t sch -> In (i, sp) (occ t) -> from_when w i <= first sp /\ first sp + long sp + until_when w i <= ends (data t)).
  { intros t i sp Ht Hin. destruct (are_transfers _ _ _ _ Hr t Ht) as [Hk _].
    assert (Hb : least (sizes j) <= size j (what (tr (data t)))) by (apply least_le, nth_In, Hk).
    assert (E : j = Job (nodes j) (links j) (ports j) (model j) (release j) (sizes j) (idempotent j) (pre j) (post j)) by (destruct j; reflexivity).
    unfold w. set (b := least (sizes j)) in *. clearbody b. clear - Hp Hr Ht Hin Hb E. revert Hp Hr Hb. rewrite E at 1 2 3. intros Hp Hr Hb.
    apply (find_lanes_hold j (sizes j) (pre j) (post j) (fun u k x H => ex_intro _ k H) net b occ sch Hp Hr t i sp Ht Hin Hb). }
  enough (sum (fun k => if 0 <? size j k then dearest j (fun k i => price_of prices i * takes j (size j k) i) k else 0) (chunks_of j) <=
    sum (fun i => price_of prices i * time_between (from_when w) (until_when w) (bound - 1) i) (seq 0 (length (links j)))) by lia.
  eapply Z.le_trans; [|apply (tolls_earned j Hp net (price_of prices) F occ sch Hr (from_when w) (until_when w) Lane (bound - 1)); lia].
  apply sum_le. intros k Hk.
  assert (1 * dearest j (fun k i => price_of prices i * takes j (size j k) i) k <= 1 * tolls j (price_of prices) sch k).
  { apply (dearest_tolls j prices (fun k i => price_of prices i * takes j (size j k) i) net j occ); auto; lia. }
  pose proof (tolls_0 j Hp (price_of prices) F sch k). destruct (0 <? size j k); lia.
Qed.

Theorem free_loose_prices_sound j net prices bound ps occ sch : positive j -> is_cut j ps ->
  free_prices_rule j prices bound = true -> loose (recut j ps) net occ sch -> bound <= makespan sch.
Proof.
  intros Hp Hc H Hr. apply andb_true_iff in H. destruct H as [Hf H]. apply Z.ltb_lt in H.
  pose proof (price_fair prices Hf) as F. apply Z.nlt_ge. intros Lt. pose proof (recut_positive j ps Hc Hp) as Hp'.
  set (toll := fun s i => price_of prices i * size j s * picoseconds / bandwidth (at_link j i)) in *.
  set (w := find_lanes j 1) in *.
  assert (Lane : forall t i sp, In t sch -> In (i, sp) (occ t) -> from_when w i <= first sp /\ first sp + long sp + until_when w i <= ends (data t)).
  { intros t i sp Ht Hin. destruct (are_transfers _ _ _ _ Hr t Ht) as [Hk _].
    apply (find_lanes_hold j (map snd ps) (cut_up ps (pre j)) (cut_up ps (post j))
      (fun u k x Hx => ex_intro (fun k' => In ((u, k'), x) (pre j)) _ (proj2 (proj1 (in_cut_up ps (pre j) u k x) Hx))) net 1 occ sch Hp' Hr t i sp Ht Hin).
    apply (recut_size_1 j ps Hc). apply in_seq. rewrite recut_chunks in Hk. lia. }
  enough (sum (fun s => if 0 <? size j s then dearest j toll s else 0) (chunks_of j) <=
    sum (fun i => price_of prices i * time_between (from_when w) (until_when w) (bound - 1) i) (seq 0 (length (links j)))) by lia.
  eapply Z.le_trans; [|apply (tolls_earned (recut j ps) Hp' net (price_of prices) F occ sch Hr (from_when w) (until_when w) Lane (bound - 1)); lia].
  replace (chunks_of (recut j ps)) with (seq 0 (length ps)) by (unfold chunks_of; rewrite recut_chunks; reflexivity).
  rewrite (sum_by (shard ps) _ (chunks_of j) (seq 0 (length ps))); [|apply seq_NoDup|intros; apply (shard_known j); auto].
  apply sum_le. intros s Hs. apply in_seq in Hs. pose proof (bytes_of_shard j ps Hc s ltac:(lia)) as Bs.
  set (ks := filter (fun k => (shard ps k =? s)%nat) (seq 0 (length ps))) in *.
  assert (Ks : forall k, In k ks -> In k (seq 0 (length ps)) /\ shard ps k = s).
  { intros k Hk. apply filter_In in Hk. rewrite Nat.eqb_eq in Hk. exact Hk. }
  assert (Each : forall k, In k ks -> size (recut j ps) k * dearest j toll s <= size j s * tolls (recut j ps) (price_of prices) sch k).
  { intros k Hk. destruct (Ks k Hk) as [Ik Es]. pose proof (sane_size j Hp s). pose proof (recut_size_1 j ps Hc k Ik) as S1.
    apply (dearest_tolls j prices toll net (recut j ps) occ sch); auto; try lia.
    - intros u x Hx. apply in_cut_up in Hx. rewrite <- Es. apply Hx.
    - intros u x Hx. apply in_cut_up. rewrite Es. auto.
    - intros i d Hi Hd. unfold toll in Hd. pose proof (sane_link j Hp i) as [La Lb].
      change (at_link (recut j ps) i) with (at_link j i) in *.
      assert (D : bandwidth (at_link j i) * d <= price_of prices i * size j s * picoseconds).
      { eapply Z.le_trans; [apply Z.mul_le_mono_nonneg_l; [lia|exact Hd]|]. apply Z.mul_div_le. exact Lb. }
      pose proof (beta_enough (at_link j i) (size (recut j ps) k) Lb) as Be.
      assert (Tk : beta (at_link j i) (size (recut j ps) k) <= takes (recut j ps) (size (recut j ps) k) i).
      { unfold takes. change (Schedule.at_link (recut j ps) i) with (at_link j i).
        assert (0 <= beside (recut j ps) i) by (unfold beside; change (Schedule.at_link (recut j ps) i) with (at_link j i); destruct (model (recut j ps)); lia). lia. }
      specialize (F i). set (pr := price_of prices i) in *. set (tk := takes _ _ i) in *.
      set (sz := size (recut j ps) k) in *. set (be := beta _ sz) in *. set (bw := bandwidth (at_link j i)) in *.
      apply (Zmult_le_reg_r _ _ bw); [lia|].
      assert (sz * picoseconds <= bw * tk) by nia.
      assert (sz * (bw * d) <= sz * (pr * size j s * picoseconds)) by (apply Z.mul_le_mono_nonneg_l; lia).
      assert (pr * size j s * (sz * picoseconds) <= pr * size j s * (bw * tk)) by (apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg; lia|auto]).
      lia. }
  assert (All : size j s * dearest j toll s <= size j s * sum (tolls (recut j ps) (price_of prices) sch) ks).
  { rewrite <- sum_mul. rewrite <- Bs at 1. rewrite Z.mul_comm, <- sum_mul. apply sum_le. intros k Hk. rewrite Z.mul_comm. apply Each, Hk. }
  destruct (Z.ltb_spec 0 (size j s)).
  - apply (Zmult_le_reg_r _ _ (size j s)); lia.
  - apply sum_pos. intros k _. apply tolls_0; auto.
Qed.

Corollary prices_sound j prices bound sch : positive j -> prices_rule j prices bound = true -> right j sch -> bound <= makespan sch.
Proof. intros Hp H Hr. apply (loose_prices_sound j plain prices bound (uses_of j) sch Hp H), right_loose, Hr. Qed.
Corollary free_prices_sound j prices bound ps sch : positive j -> is_cut j ps ->
  free_prices_rule j prices bound = true -> right (recut j ps) sch -> bound <= makespan sch.
Proof. intros Hp Hc H Hr. apply (free_loose_prices_sound j plain prices bound ps (uses_of (recut j ps)) sch Hp Hc H), right_loose, Hr. Qed.
