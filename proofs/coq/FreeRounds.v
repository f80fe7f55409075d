(** The rules doubling, broadcast and combine in rounds, however the shards are cut into chunks: all bytes
    that a rank sends, or receives, are a hop's least time at once, since what chunks take one after
    the other is no less; and every other round lasts as long as a hop of one byte. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Spread Combine Timed Schedule Passing Bounds Replay InRounds Coverage Cover Free RoundTime RoundRules RoundHops.
Import ListNotations.
Open Scope Z_scope.

(** ** Hops of several chunks *)

Lemma beta_both l a b : 0 < bandwidth l -> 0 <= a -> 0 <= b -> beta l (a + b) <= beta l a + beta l b.
Proof.
  intros Hb Ha Hc. pose proof (beta_enough l a Hb). pose proof (beta_enough l b Hb).
  assert (N : forall x m, x * picoseconds <= bandwidth l * m -> beta l x <= m).
  { intros x m Hx. unfold beta. apply Z.lt_succ_r. apply Z.div_lt_upper_bound; lia. }
  apply N. nia.
Qed.
Lemma beta_slower l l' b : 0 < bandwidth l' -> bandwidth l' <= bandwidth l -> 0 <= b -> beta l b <= beta l' b.
Proof.
  intros H0 L Hb. pose proof (beta_enough l' b H0). pose proof (beta_0 l' b H0 Hb).
  unfold beta at 1. apply Z.lt_succ_r. apply Z.div_lt_upper_bound; [lia|]. nia.
Qed.
Section Hop.
Variable c : link -> Z.
Variable ls : list link.
Hypothesis c_0 : forall l, In l ls -> 0 <= c l.
Hypothesis rate : forall l, In l ls -> 0 < bandwidth l.
Definition hop_of (b : Z) : Z := Z.max 0 (least (map (fun l => c l + beta l b) ls)).
Lemma least_attained (f : link -> Z) : ls <> [] -> exists l, In l ls /\ f l = least (map f ls).
Proof.
  clear c_0 rate. destruct ls as [|x l]; intros H; [congruence|]. clear H. cbn [map least]. induction l as [|y l IH].
  - exists x. split; [left; auto|reflexivity].
  - cbn [map fold_right]. destruct IH as [z [Hz Ez]]. destruct (Z.le_gt_cases (f y) (fold_right Z.min (f x) (map f l))).
    + exists y. split; [right; left; auto|lia].
    + exists z. split; [destruct Hz as [->|Hz]; [left|right; right]; auto|lia].
Qed.
Lemma hop_both a b : 0 <= a -> 0 <= b -> hop_of (a + b) <= hop_of a + hop_of b.
Proof.
  intros Ha Hb. unfold hop_of. destruct ls as [|x l0] eqn:El; [simpl; lia|]. rewrite <- El in *. assert (Ne : ls <> []) by congruence.
  destruct (least_attained (fun l => c l + beta l a) Ne) as [la [Ia Ea]]. destruct (least_attained (fun l => c l + beta l b) Ne) as [lb [Ib Eb]].
  pose proof (rate la Ia). pose proof (rate lb Ib). pose proof (c_0 la Ia). pose proof (c_0 lb Ib).
  pose proof (beta_0 la a ltac:(assumption) Ha). pose proof (beta_0 lb b ltac:(assumption) Hb).
  destruct (Z.le_gt_cases (bandwidth lb) (bandwidth la)).
  - assert (L : least (map (fun l => c l + beta l (a + b)) ls) <= c la + beta la (a + b)) by (apply least_le, (in_map (fun l => c l + beta l (a + b))), Ia).
    pose proof (beta_both la a b ltac:(assumption) Ha Hb). pose proof (beta_slower la lb b ltac:(assumption) ltac:(assumption) Hb). lia.
  - assert (L : least (map (fun l => c l + beta l (a + b)) ls) <= c lb + beta lb (a + b)) by (apply least_le, (in_map (fun l => c l + beta l (a + b))), Ib).
    pose proof (beta_both lb a b ltac:(assumption) Ha Hb). pose proof (beta_slower lb la a ltac:(assumption) ltac:(lia) Ha). lia.
Qed.
Lemma hop_all {A} (w : A -> Z) ks : (forall k, In k ks -> 0 <= w k) -> ks <> [] -> hop_of (sum w ks) <= sum (fun k => hop_of (w k)) ks.
Proof.
  intros Hw. induction ks as [|k ks IH]; intros Ne; [congruence|]. destruct ks as [|k' ks].
  - unfold sum. simpl. rewrite !Z.add_0_r. lia.
  - specialize (IH (fun x Hx => Hw x (or_intror Hx)) ltac:(discriminate)). 
    change (sum w (k :: k' :: ks)) with (w k + sum w (k' :: ks)). change (sum (fun k => hop_of (w k)) (k :: k' :: ks)) with (hop_of (w k) + sum (fun k => hop_of (w k)) (k' :: ks)).
    assert (P : 0 <= sum w (k' :: ks)).
    { assert (G : forall l, (forall x, In x l -> 0 <= w x) -> 0 <= sum w l).
      { clear. induction l as [|x l IH]; intros H; [simpl; lia|]. unfold sum in *. simpl. specialize (IH (fun y Hy => H y (or_intror Hy))). specialize (H x (or_introl eq_refl)). lia. }
      apply G. intros x Hx. apply Hw. right. exact Hx. }
    pose proof (hop_both (w k) (sum w (k' :: ks)) (Hw k (or_introl eq_refl)) P). lia.
Qed.
End Hop.

Section Job.
Variable j : job. (* its chunks are the shards *)
Notation shards := (seq 0 (length (sizes j))).
Notation any_link := (fun _ : link => true).

Definition free_doubling_rule (s c : nat) (bound : Z) : bool :=
  (0 <? size j s) && (s <? length (sizes j))%nat && must_double j s c && (bound <=? earliest_of j (holders j s c) + Z.of_nat (doublings j s c) * first_hop j any_link 1).
Definition some_bytes (l : list nat) : list nat := filter (fun s => 0 <? size j s) l.
Definition free_spread_rule (h : nat) (bound : Z) : bool :=
  (h <? nodes j)%nat && existsb (fun q => let ss := some_bytes (spread_items j h q) in
    match ss with
    | [] => false
    | _ => bound <=? arrival j h + first_hop j (fun l => (Cut.src l =? h)%nat) (sum (size j) ss) + Z.of_nat (q - 1) * first_hop j any_link 1
    end) (seq 1 (S (Nat.log2_up (nodes j)))).
Definition free_combine_rule (d : nat) (bound : Z) : bool :=
  (d <? nodes j)%nat && existsb (fun q => let ss := some_bytes (combine_items j d q) in
    match ss with
    | [] => false
    | _ => bound <=? Z.max (arrival j d) (earliest_of j (seq 0 (nodes j)) + Z.of_nat (q - 1) * first_hop j any_link 1) + last_hop j (fun l => (Cut.dst l =? d)%nat) (sum (size j) ss)
    end) (seq 1 (S (Nat.log2_up (nodes j)))).

Variable ps : pieces.
Hypothesis cut : is_cut j ps.
Hypothesis sane : positive j.
Notation cutj := (recut j ps).
Notation chunks := (seq 0 (length ps)).
Notation shard := (shard ps).

Lemma first_hop_mono f a b : 0 <= a <= b -> first_hop j f a <= first_hop j f b.
Proof.
  intros Hab. unfold first_hop. set (L := filter _ (links j)). assert (R : forall l, In l L -> 0 < bandwidth l) by (intros l Hl; apply filter_In in Hl; apply (proj1 sane l), Hl).
  destruct L as [|x l0] eqn:E; [simpl; lia|]. rewrite <- E in *. destruct (least_attained L (fun l => latency l + onward j (Cut.dst l) + beta l b)) as [y [Hy Ey]]; [congruence|].
  rewrite <- Ey. pose proof (beta_mono y a b (R y Hy) (proj2 Hab)).
  assert (least (map (fun l => latency l + onward j (Cut.dst l) + beta l a) L) <= latency y + onward j (Cut.dst y) + beta y a) by (apply least_le, (in_map (fun l => latency l + onward j (Cut.dst l) + beta l a)), Hy).
  lia.
Qed.
Lemma of_shards ss : NoDup ss -> incl ss shards -> (forall s, In s ss -> 0 < size j s) -> ss <> [] ->
  let ks := filter (fun k => existsb (Nat.eqb (shard k)) ss) chunks in
  ks <> [] /\ NoDup ks /\ (forall k, In k ks -> In k chunks /\ In (shard k) ss) /\ sum (size cutj) ks = sum (size j) ss.
Proof.
  intros Nd I Pos Ne ks.
  assert (E : sum (size cutj) ks = sum (size j) ss).
  { unfold ks. rewrite Coverage.sum_filter.
    rewrite (sum_eq _ (fun k => size cutj k * (if existsb (Nat.eqb (shard k)) ss then 1 else 0))) by (intros k _; destruct (existsb (Nat.eqb (shard k)) ss); lia).
    rewrite (sum_of_shards j ps cut (fun s => if existsb (Nat.eqb s) ss then 1 else 0)).
    rewrite (sum_eq _ (fun s => if existsb (Nat.eqb s) ss then size j s else 0)) by (intros s _; destruct (existsb (Nat.eqb s) ss); lia).
    rewrite <- Coverage.sum_filter. 
    assert (P : forall l, NoDup l -> incl ss l -> sum (size j) (filter (fun s => existsb (Nat.eqb s) ss) l) = sum (size j) ss).
    { intros l Nl Il. apply Z.le_antisymm; apply sum_incl.
      - apply NoDup_filter, Nl.
      - intros s Hs. apply filter_In in Hs. destruct Hs as [_ Hs]. apply existsb_exists in Hs. destruct Hs as [x [Hx E]]. apply Nat.eqb_eq in E. congruence.
      - intros s. apply (sane_size j sane).
      - exact Nd.
      - intros s Hs. apply filter_In. split; [apply Il, Hs|]. apply existsb_exists. exists s. split; auto. apply Nat.eqb_refl.
      - intros s. apply (sane_size j sane). }
    apply P; [apply seq_NoDup|exact I]. }
  split.
  - intros Ek. rewrite Ek in E. simpl in E. destruct ss as [|s ss']; [congruence|].
    assert (0 <= sum (size j) ss').
    { clear - sane. induction ss' as [|x l IH]; [simpl; lia|]. unfold sum in *. simpl. pose proof (sane_size j sane x). lia. }
    specialize (Pos s (or_introl eq_refl)). unfold sum in *. simpl in E. lia.
  - split; [apply NoDup_filter, seq_NoDup|]. split; [|exact E]. intros k Hk. apply filter_In in Hk. destruct Hk as [A B]. split; [exact A|].
    apply existsb_exists in B. destruct B as [s [Hs Es]]. apply Nat.eqb_eq in Es. congruence.
Qed.
Lemma starts_cut c hs k : In k chunks -> starts_only j c hs (shard k) = true -> starts_only cutj c hs k = true.
Proof.
  intros Hk So. unfold starts_only in *. rewrite forallb_forall in *. intros [[v k'] w] Hin. apply in_cut_up in Hin. destruct Hin as [_ Hin].
  specialize (So _ Hin). cbn [fst snd] in *. destruct (Nat.eqb_spec k' k) as [->|]; [|reflexivity]. rewrite Nat.eqb_refl in So. exact So.
Qed.
Lemma ends_cut c v k : In k chunks -> ends_with j c v (shard k) = true -> ends_with cutj c v k = true.
Proof.
  intros Hk E. unfold ends_with, said_at in *. apply existsb_exists in E. destruct E as [[[v' s] w] [Hin Hc]]. apply filter_In in Hin. cbn [fst snd] in *.
  destruct Hin as [Hin Q]. apply andb_true_iff in Q. rewrite !Nat.eqb_eq in Q. destruct Q as [-> ->]. apply existsb_exists. exists ((v, k), w). split; [|exact Hc].
  apply filter_In. cbn [fst snd]. rewrite !Nat.eqb_refl. split; [apply in_cut_up; auto|reflexivity].
Qed.
Lemma recut_hops f b : first_hop cutj f b = first_hop j f b /\ last_hop cutj f b = last_hop j f b.
Proof. split; reflexivity. Qed.
Lemma recut_sizes k : In k chunks -> 1 <= size cutj k.
Proof. apply (recut_size_1 j ps cut). Qed.

Theorem free_doubling_sound s c bound sch : free_doubling_rule s c bound = true -> right_in_rounds cutj false sch -> bound <= round_makespan cutj sch.
Proof.
  unfold free_doubling_rule, must_double. rewrite !andb_true_iff, Z.ltb_lt, !Nat.ltb_lt, Nat.leb_le, Z.leb_le. intros [[[Pos Hs] [[Rs Rp] Re]] Rb] good.
  destruct (of_shards [s]) as [Ne [_ [In_k _]]].
  { constructor; [intros []|constructor]. } { intros x [<-|[]]. apply in_seq. lia. } { intros x [<-|[]]. exact Pos. } { discriminate. }
  destruct (filter (fun k => existsb (Nat.eqb (shard k)) [s]) chunks) as [|k l] eqn:E; [congruence|]. destruct (In_k k (or_introl eq_refl)) as [Hk [Es|[]]].
  eapply Z.le_trans; [exact Rb|]. rewrite <- (proj1 (recut_hops any_link 1)).
  apply (doubling_core cutj k c (doublings j s c) (holders j s c) (havers_of j s c)); auto.
  - apply (recut_positive j ps cut sane).
  - apply starts_cut; auto. rewrite <- Es. exact Rs.
  - apply NoDup_filter, seq_NoDup.
  - intros v Hv. destruct (havers_have j s c v Hv) as [A|A]; [left; apply ends_cut; auto; rewrite <- Es; exact A|right; exact A].
  - pose proof (recut_sizes k Hk). lia.
Qed.

Lemma some_bytes_spec l : NoDup l -> incl l shards -> NoDup (some_bytes l) /\ incl (some_bytes l) shards /\ forall s, In s (some_bytes l) -> 0 < size j s /\ In s l.
Proof.
  intros Nd I. split; [apply NoDup_filter, Nd|]. split.
  - intros s Hs. apply filter_In in Hs. apply I, Hs.
  - intros s Hs. apply filter_In in Hs. rewrite Z.ltb_lt in Hs. tauto.
Qed.
Theorem free_spread_sound h bound sch : free_spread_rule h bound = true -> right_in_rounds cutj false sch -> bound <= round_makespan cutj sch.
Proof.
  intros R good. unfold free_spread_rule in R. apply andb_true_iff in R. destruct R as [Rh R]. apply Nat.ltb_lt in Rh. apply existsb_exists in R.
  destruct R as [q [Hq R]]. apply in_seq in Hq. cbn beta zeta in R. destruct (some_bytes (spread_items j h q)) as [|k0 kr] eqn:Ek; [discriminate|]. rewrite <- Ek in R. apply Z.leb_le in R.
  destruct (some_bytes_spec (spread_items j h q)) as [S1 [S2 S3]]; [apply NoDup_filter, seq_NoDup|intros s Hs; apply filter_In in Hs; apply Hs|].
  destruct (of_shards (some_bytes (spread_items j h q)) S1 S2 (fun s Hs => proj1 (S3 s Hs)) ltac:(congruence)) as [Ne [Nd [In_k Sum]]].
  set (ks := filter _ chunks) in *. destruct (execution_in_rounds cutj sch good) as [H [He [_ Hg]]].
  eapply Z.le_trans; [exact R|]. pose proof (recut_positive j ps cut sane) as sane'.
  eapply Z.le_trans; [|apply (spread_core cutj sch sane' good H He Hg h q ks (first_hop j any_link 1)); auto; [lia| |apply first_hop_0]].
  - assert (first_hop j (fun l => (Cut.src l =? h)%nat) (sum (size j) (some_bytes (spread_items j h q))) <=
      sum (fun k => first_hop cutj (fun l => (Cut.src l =? h)%nat) (size cutj k)) ks); [|change (arrival cutj h) with (arrival j h); lia].
    rewrite <- Sum.
    apply (hop_all (fun l => latency l + onward j (Cut.dst l)) (filter (fun l => is_rank j (Cut.src l) && (Cut.src l =? h)%nat) (links j))); auto.
    + intros l Hl. apply filter_In in Hl. pose proof (onward_0 j sane (Cut.dst l)). pose proof (proj1 sane l (proj1 Hl)). lia.
    + intros l Hl. apply filter_In in Hl. apply (proj1 sane l (proj1 Hl)).
    + intros k Hk. pose proof (recut_sizes k (proj1 (In_k k Hk))). lia.
  - intros k Hk. destruct (In_k k Hk) as [Hc Hin]. destruct (S3 _ Hin) as [_ Hi]. apply filter_In in Hi. destruct Hi as [_ Hi].
    apply andb_true_iff in Hi. rewrite Nat.ltb_lt in Hi. destruct Hi as [A B]. split; [apply starts_cut; auto|]. split.
    + eapply Nat.lt_le_trans; [exact B|]. apply le_n_S. unfold needing. apply filter_le. intros v _ E. apply andb_true_iff in E. apply andb_true_iff.
      split; [apply E|apply ends_cut; auto; apply E].
    + rewrite <- (proj1 (recut_hops any_link 1)). apply (first_hop_mono any_link 1 (size cutj k)). pose proof (recut_sizes k Hc). lia.
Qed.

Lemma change_cut d k : In k chunks -> must_change j d (shard k) = true -> must_change cutj d k = true.
Proof.
  intros Hk E. unfold must_change, said_at in *. apply existsb_exists in E. destruct E as [[[v' s] w] [Hin Hc]]. apply filter_In in Hin. cbn [fst snd] in *.
  destruct Hin as [Hin Q]. apply andb_true_iff in Q. rewrite !Nat.eqb_eq in Q. destruct Q as [-> ->]. apply existsb_exists. exists ((d, k), w). split.
  - apply filter_In. cbn [fst snd]. rewrite !Nat.eqb_refl. split; [apply in_cut_up; auto|reflexivity].
  - cbn [snd]. unfold settled in *. change (pre cutj) with (cut_up ps (pre j)). rewrite lookup_cut by auto. exact Hc.
Qed.
Lemma most_cut k : In k chunks -> (most_at_first cutj k <= most_at_first j (shard k))%nat.
Proof.
  intros Hk. unfold most_at_first. change (pre cutj) with (cut_up ps (pre j)).
  assert (G : forall l, (forall v w, In ((v, k), w) l -> In ((v, shard k), w) (pre j)) ->
    (fold_right (fun e m => if (snd (fst e) =? k)%nat then Nat.max (different (snd e)) m else m) O l <= fold_right (fun e m => if (snd (fst e) =? shard k)%nat then Nat.max (different (snd e)) m else m) O (pre j))%nat).
  { induction l as [|[[v k'] w] l IH]; intros Hl; [simpl; lia|]. cbn [fold_right fst snd]. specialize (IH (fun v w H => Hl v w (or_intror H))).
    destruct (Nat.eqb_spec k' k) as [->|]; [|exact IH]. specialize (Hl v w (or_introl eq_refl)). apply Nat.max_lub; [|exact IH].
    clear - Hl. induction (pre j) as [|x m IH]; [destruct Hl|]. cbn [fold_right]. destruct Hl as [->|Hl]; [cbn [fst snd]; rewrite Nat.eqb_refl; lia|].
    specialize (IH Hl). destruct (snd (fst x) =? shard k)%nat; lia. }
  apply G. intros v w Hin. apply in_cut_up in Hin. apply Hin.
Qed.
Lemma wanted_cut d k : In k chunks -> (wanted_at j d (shard k) <= wanted_at cutj d k)%nat.
Proof.
  intros Hk. unfold wanted_at.
  assert (G : forall l l', (forall x, In x l -> exists y, In y l' /\ snd y = snd x) ->
    (fold_right (fun (e : nat * nat * value) m => Nat.max (different (snd e)) m) O l <= fold_right (fun (e : nat * nat * value) m => Nat.max (different (snd e)) m) O l')%nat).
  { induction l as [|x l IH]; intros l' Hl; [simpl; lia|]. cbn [fold_right]. specialize (IH l' (fun y Hy => Hl y (or_intror Hy))). apply Nat.max_lub; [|exact IH].
    destruct (Hl x (or_introl eq_refl)) as [y [Hy <-]]. clear - Hy. induction l' as [|z l' IH]; [destruct Hy|]. cbn [fold_right]. destruct Hy as [->|Hy]; [lia|]. specialize (IH Hy). lia. }
  apply G. intros [[v s] w] Hin. unfold said_at in Hin. apply filter_In in Hin. cbn [fst snd] in *. destruct Hin as [Hin Q]. apply andb_true_iff in Q.
  rewrite !Nat.eqb_eq in Q. destruct Q as [-> ->]. exists ((d, k), w). split; [|reflexivity]. apply filter_In. cbn [fst snd]. rewrite !Nat.eqb_refl.
  split; [apply in_cut_up; auto|reflexivity].
Qed.
Theorem free_combine_sound d bound sch : free_combine_rule d bound = true -> right_in_rounds cutj false sch -> bound <= round_makespan cutj sch.
Proof.
  intros R good. unfold free_combine_rule in R. apply andb_true_iff in R. destruct R as [Rd R]. apply Nat.ltb_lt in Rd. apply existsb_exists in R.
  destruct R as [q [Hq R]]. apply in_seq in Hq. cbn beta zeta in R. destruct (some_bytes (combine_items j d q)) as [|k0 kr] eqn:Ek; [discriminate|]. rewrite <- Ek in R. apply Z.leb_le in R.
  destruct (some_bytes_spec (combine_items j d q)) as [S1 [S2 S3]]; [apply NoDup_filter, seq_NoDup|intros s Hs; apply filter_In in Hs; apply Hs|].
  destruct (of_shards (some_bytes (combine_items j d q)) S1 S2 (fun s Hs => proj1 (S3 s Hs)) ltac:(congruence)) as [Ne [Nd [In_k Sum]]].
  set (ks := filter _ chunks) in *. destruct (execution_in_rounds cutj sch good) as [H [He [_ Hg]]].
  eapply Z.le_trans; [exact R|]. pose proof (recut_positive j ps cut sane) as sane'.
  eapply Z.le_trans; [|apply (combine_core cutj sch sane' good H He Hg d q ks (first_hop j any_link 1)); auto; [lia| |apply first_hop_0]].
  - assert (last_hop j (fun l => (Cut.dst l =? d)%nat) (sum (size j) (some_bytes (combine_items j d q))) <=
      sum (fun k => last_hop cutj (fun l => (Cut.dst l =? d)%nat) (size cutj k)) ks); [|change (arrival cutj d) with (arrival j d); change (earliest_of cutj) with (earliest_of j); change (nodes cutj) with (nodes j); lia].
    rewrite <- Sum.
    apply (hop_all (fun l => before j (Cut.src l) + latency l) (filter (fun l => (Cut.dst l =? d)%nat) (links j))); auto.
    + intros l Hl. apply filter_In in Hl. pose proof (before_0 j sane (Cut.src l)). pose proof (proj1 sane l (proj1 Hl)). lia.
    + intros l Hl. apply filter_In in Hl. apply (proj1 sane l (proj1 Hl)).
    + intros k Hk. pose proof (recut_sizes k (proj1 (In_k k Hk))). lia.
  - intros k Hk. destruct (In_k k Hk) as [Hc Hin]. destruct (S3 _ Hin) as [_ Hi]. destruct (combine_item j d q _ Hi) as [A B].
    pose proof (most_cut k Hc). pose proof (wanted_cut d k Hc). split; [destruct A as [A|A]; [left; apply change_cut; auto|right; lia]|]. split.
    + intros Q. specialize (B Q). nia.
    + rewrite <- (proj1 (recut_hops any_link 1)). apply (first_hop_mono any_link 1 (size cutj k)). pose proof (recut_sizes k Hc). lia.
Qed.
End Job.
