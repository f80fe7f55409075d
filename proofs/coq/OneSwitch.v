(** An allreduce among equal ranks on one switch: lower bounds for every size and every cut, of
    which each is attained in its own regime (one-shot, mixed, two-shot). *)
From Coq Require Import Bool List ZArith Lia FinFun.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds InRounds Copying Adding Loose Coverage Cover Free Partition.
Import ListNotations.
Open Scope Z_scope.

Lemma filter_without v l : NoDup l -> In v l -> S (length (filter (fun w => negb (w =? v)%nat) l)) = length l.
Proof.
  induction 1 as [|x l Hx Hl IH]; simpl; [tauto|]. intros [->|H].
  - rewrite Nat.eqb_refl. simpl. f_equal. clear - Hx. induction l as [|y l IH]; simpl in *; auto.
    destruct (Nat.eqb_spec y v); [tauto|]. simpl. rewrite IH; tauto.
  - destruct (Nat.eqb_spec x v); [subst; tauto|]. simpl. rewrite IH; auto.
Qed.

Section Star.
Variable n : nat.          (* ranks 0 to n-1; the switch is node n *)
Variables up down : Z.     (* latencies to the switch and from it *)
Variable B : Z.            (* bytes per second, each way *)
Variable bytes : Z.
Variable combines : bool.  (* for all that counts an idempotent operator will do *)
Variable how : cost.
Hypothesis two : (2 <= n)%nat.
Hypothesis real : 0 <= up /\ 0 <= down /\ 0 < B /\ 0 <= bytes.

Definition star_links : list link :=
  map (fun v => Link v n up B) (seq 0 n) ++ map (fun v => Link n v down B) (seq 0 n).
Definition star : job :=
  Job n star_links [] how [] [bytes] combines (map (fun v => ((v, O), only n v)) (seq 0 n)) (map (fun v => ((v, O), all n)) (seq 0 n)).
Notation a := (up + down).

Lemma star_length : length star_links = (n + n)%nat.
Proof. unfold star_links. rewrite app_length, !map_length, seq_length. reflexivity. Qed.
Lemma star_up v : (v < n)%nat -> at_link star v = Link v n up B.
Proof.
  intros H. unfold at_link, the. simpl. unfold star_links. rewrite app_nth1 by (rewrite map_length, seq_length; auto).
  rewrite (nth_indep _ _ (Link 0 n up B)) by (rewrite map_length, seq_length; auto).
  rewrite (map_nth (fun v => Link v n up B) (seq 0 n) O v), seq_nth by auto. reflexivity.
Qed.
Lemma star_down v : (v < n)%nat -> at_link star (n + v) = Link n v down B.
Proof.
  intros H. unfold at_link, the. simpl. unfold star_links. rewrite app_nth2 by (rewrite map_length, seq_length; lia).
  rewrite map_length, seq_length. replace (n + v - n)%nat with v by lia.
  rewrite (nth_indep _ _ (Link n 0 down B)) by (rewrite map_length, seq_length; auto).
  rewrite (map_nth (fun v => Link n v down B) (seq 0 n) O v), seq_nth by auto. reflexivity.
Qed.
Lemma star_link l : In l (links star) -> exists v, (v < n)%nat /\ (l = Link v n up B \/ l = Link n v down B).
Proof.
  simpl. unfold star_links. intros H. apply in_app_or in H. destruct H as [H|H]; apply in_map_iff in H;
    destruct H as [v [<- H]]; apply in_seq in H; exists v; split; auto; lia.
Qed.
Lemma star_positive : positive star.
Proof.
  split.
  - intros l H. destruct (star_link l H) as [v [_ [->| ->]]]; simpl; lia.
  - intros b [<-|[]]. lia.
Qed.
Lemma rank_star v : (v < n)%nat -> is_rank star v = true.
Proof. intros. apply Nat.ltb_lt. auto. Qed.
Lemma switch_star : is_rank star n = false.
Proof. apply Nat.ltb_irrefl. Qed.
Lemma potential_of (f : nat -> Z) m v : (v < m)%nat -> potential (map f (seq 0 m)) v = f v.
Proof.
  intros H. unfold potential. rewrite (nth_indep _ _ (f O)) by (rewrite map_length, seq_length; auto).
  rewrite map_nth, seq_nth by auto. reflexivity.
Qed.

(** When the contribution of [w] can be at a node. *)
Definition star_full (w : nat) : list Z := map (fun u => if (u =? w)%nat then 0 else if (u =? n)%nat then up else a) (seq 0 (S n)).
Definition star_lead (u : nat) : list Z := map (fun x => if (x =? n)%nat then up else 0) (seq 0 (S n)).

Section Every.
Variable ps : pieces.
Hypothesis cut : is_cut star ps.
Notation j := (recut star ps).
Variable sch : list sent.
Hypothesis good : right j sch.
Notation T := (makespan sch).

Lemma star_covered v : (v < n)%nat ->
  bytes * picoseconds * Z.of_nat (n - 1) <= B * (Z.max 0 (T - a) + Z.of_nat (n - 2) * Z.max 0 (T - 2 * a)).
Proof.
  intros Hv. set (X := fun u => (u =? v)%nat).
  set (Sk := fun k : nat => if existsb (Nat.eqb k) (seq 0 (length ps)) then filter (fun w => negb (w =? v)%nat) (seq 0 n) else []).
  assert (Lnv : forall i, (i < length (links j))%nat -> enters X (at_link j i) = true -> i = (n + v)%nat /\ at_link j i = Link n v down B).
  { intros i Hi He. change (at_link j i) with (at_link star i) in *. change (length (links j)) with (length star_links) in Hi.
    rewrite star_length in Hi. unfold enters, X in He. apply andb_true_iff in He. destruct He as [_ He]. apply Nat.eqb_eq in He.
    destruct (Nat.lt_ge_cases i n) as [L|L].
    - rewrite star_up in He by auto. simpl in He. lia.
    - replace i with (n + (i - n))%nat in * by lia. rewrite star_down in * by lia. simpl in He. rewrite He. auto. }
  assert (Not_inner : forall l, In l (links j) -> inner X l = false).
  { intros l Hl. destruct (star_link l Hl) as [x [Hx [->| ->]]]; unfold inner, X; simpl;
      destruct (Nat.eqb_spec x v), (Nat.eqb_spec n v); simpl; auto; lia. }
  pose proof (covered j (recut_positive star ps cut star_positive) X false 0 star_full (fun w => star_full w) star_lead
    (fun _ => []) (fun _ => []) (fun _ => []) (Z.le_refl 0)) as C.
  assert (H1 : forall u, (u < nodes j)%nat -> lead_ok j (fun _ => true) u (star_lead u) = true).
  { intros u Hu. change (u < n)%nat in Hu. unfold lead_ok. apply andb_true_iff. unfold star_lead. split.
    - rewrite potential_of by lia. destruct (Nat.eqb_spec u n); [lia|]. reflexivity.
    - apply forallb_forall. intros l Hl. destruct (star_link l Hl) as [x [Hx [->| ->]]]; cbn [Cut.src Cut.dst latency negb orb];
        apply orb_true_iff; right; rewrite !potential_of by lia; rewrite Nat.eqb_refl;
        destruct (Nat.eqb_spec x n); apply Z.leb_le; lia. }
  specialize (C H1). clear H1.
  assert (H1 : forall z, (z < nodes j)%nat -> X z = true -> potential [] z <= 0 /\
     forall l, In l (links j) -> inner X l = true -> rises_well j (fun _ => 0) [] [] 0 l = true).
  { intros z _ _. split; [unfold potential; destruct z; simpl; lia|]. intros l Hl Hi. rewrite Not_inner in Hi by auto. discriminate. }
  specialize (C H1). clear H1.
  assert (H1 : forall i, (i < length (links j))%nat -> enters X (at_link j i) = true -> lead_ok j (inner X) (Cut.dst (at_link j i)) [] = true).
  { intros i _ _. unfold lead_ok. apply andb_true_iff. split.
    - unfold potential. destruct (Cut.dst (at_link j i)); reflexivity.
    - apply forallb_forall. intros l Hl. rewrite Not_inner by auto. reflexivity. }
  assert (no_sums : forall l, sums_go_on j plain (fun _ => false) l = true).
  { intros l. unfold sums_go_on. destruct (is_rank j (Cut.src l)), (is_rank j (Cut.dst l)); reflexivity. }
  assert (no_copies : forall l, copies_go_back j X plain (fun _ => false) l = true).
  { intros l. unfold copies_go_back. destruct (is_rank j (Cut.dst l)), (X (Cut.dst l)), (is_rank j (Cut.src l)), (X (Cut.src l)); reflexivity. }
  specialize (C H1 plain (uses_of j) sch (right_loose j plain sch good) (fun _ => false) (fun _ => false)
    (fun l _ => no_sums l) (fun l _ => no_copies l) T (Z.le_refl _) Sk (fun _ => [v]) (fun k => Z.max 0 (size j k * picoseconds))
    (fun _ => up :: repeat (a + up) (n - 2)) (fun _ => [down])). clear H1.
  assert (Sin : forall k w, In w (Sk k) -> In k (seq 0 (length ps)) /\ (w < n)%nat /\ w <> v).
  { intros k w. unfold Sk. destruct (existsb (Nat.eqb k) (seq 0 (length ps))) eqn:E; [|simpl; tauto]. intros H.
    apply filter_In in H. destruct H as [H Hw]. apply in_seq in H. apply negb_true_iff, Nat.eqb_neq in Hw.
    apply existsb_exists in E. destruct E as [k' [Hk E]]. apply Nat.eqb_eq in E. subst k'. split; auto. lia. }
  assert (Sh : forall k, In k (seq 0 (length ps)) -> shard ps k = O).
  { intros k Hk. pose proof (shard_known star ps cut k Hk) as Q. apply in_seq in Q. simpl in Q. lia. }
  assert (H1 : forall k, NoDup (Sk k) /\ NoDup [v]).
  { intros k. split; [|constructor; [simpl; tauto|constructor]]. unfold Sk. destruct (existsb _ _); [apply NoDup_filter, seq_NoDup|constructor]. }
  specialize (C H1). clear H1.
  assert (H1 : forall k w, In w (Sk k) -> spreads_well j 0 star_full (fun w => star_full w) w /\
    forall u x, In ((u, k), x) (pre j) -> contains x w -> X u = false /\ potential (star_full w) u <= arrival j u).
  { intros k w Hw. destruct (Sin k w Hw) as [Hk [Wn Wv]]. split.
    - intros l Hl. unfold rises_well. unfold star_full. destruct (star_link l Hl) as [x [Hx [->| ->]]]; cbn [Cut.src Cut.dst latency].
      + change (is_rank j x) with (is_rank star x). change (is_rank j n) with (is_rank star n). rewrite (rank_star x Hx), switch_star.
        rewrite !potential_of by lia. rewrite Nat.eqb_refl. pose proof (beta_0 (Link x n up B) 0).
        cbn [bandwidth] in *. unfold arrival. simpl (nth x (release j) 0). replace (nth x (release j) 0) with 0 by (destruct x; reflexivity).
        apply andb_true_iff. rewrite !Z.leb_le.
        destruct (Nat.eqb_spec n w), (Nat.eqb_spec x w), (Nat.eqb_spec x n); lia.
      + change (is_rank j x) with (is_rank star x). change (is_rank j n) with (is_rank star n). rewrite (rank_star x Hx), switch_star.
        rewrite !potential_of by lia. rewrite Nat.eqb_refl. pose proof (beta_0 (Link n x down B) 0). cbn [bandwidth] in *.
        unfold arrival. replace (nth x (release j) 0) with 0 by (destruct x; reflexivity).
        rewrite Z.leb_le. destruct (Nat.eqb_spec n w), (Nat.eqb_spec x w), (Nat.eqb_spec x n); lia.
    - intros u x Hx Hc. apply in_cut_up in Hx. destruct Hx as [_ Hx]. simpl in Hx. apply in_map_iff in Hx.
      destruct Hx as [u' [[= <- _ <-] Hu]]. apply in_seq in Hu. unfold contains, only in Hc. rewrite count_vector in Hc.
      destruct (w <? n)%nat; [|lia]. destruct (Nat.eqb_spec w u') as [<-|]; [|lia]. split.
      + apply Nat.eqb_neq, Wv.
      + unfold star_full. rewrite potential_of by lia. rewrite Nat.eqb_refl. unfold arrival. simpl. destruct w; lia. }
  specialize (C H1). clear H1.
  assert (H1 : forall k v' w, In w (Sk k) -> In v' [v] -> 0 <= size j k /\ X v' = true /\ exists x, In ((v', k), x) (post j) /\ contains x w).
  { intros k v' w Hw [<-|[]]. destruct (Sin k w Hw) as [Hk [Wn Wv]]. split; [apply sane_size, recut_positive; auto; apply star_positive|].
    split; [apply Nat.eqb_refl|]. exists (all n). split.
    - apply in_cut_up. split; auto. rewrite (Sh k Hk). simpl. apply in_map_iff. exists v. split; auto. apply in_seq. lia.
    - unfold contains, all. rewrite count_vector. rewrite (proj2 (Nat.ltb_lt _ _) Wn). lia. }
  specialize (C H1). clear H1.
  assert (H1 : forall i k t (from : nat -> nat), (i < length (links j))%nat -> enters X (at_link j i) = true ->
     (forall w, begins_at j i (from w)) -> (alone_before j (fun _ => false) i = true -> forall w w', from w = from w') ->
     over (map (fun w => early j star_full star_lead i (from w) w) (Sk k)) t <= over (up :: repeat (a + up) (n - 2)) t).
  { intros i k t from Hi He Hf Hc. pose proof (proj1 (Hf O)) as Hu.
    rewrite (map_ext _ (early j star_full star_lead i (from O))) by (intros w; rewrite (Hc eq_refl w O); reflexivity).
    generalize dependent (from O). intros u Hu. destruct (Lnv i Hi He) as [_ E]. change (u < n)%nat in Hu.
    assert (Ev : forall w, In w (Sk k) -> early j star_full star_lead i u w = (if (u =? w)%nat then 0 else a) + up).
    { intros w Hw. unfold early. rewrite E. cbn [Cut.src Cut.dst]. unfold star_full, star_lead. rewrite !potential_of by lia.
      rewrite Nat.eqb_refl. destruct (Nat.eqb_spec u n); [lia|]. unfold due. change (is_rank j v) with (is_rank star v).
      rewrite rank_star by auto. unfold arrival. replace (nth v (release j) 0) with 0 by (simpl; destruct v; reflexivity).
      destruct (u =? w)%nat; lia. }
    rewrite (map_ext_in _ _ _ Ev). clear Ev.
    unfold over. rewrite sum_map.
    assert (Rp : forall m x, sum (fun y => if y <=? t then 1 else 0) (repeat x m) = Z.of_nat m * (if x <=? t then 1 else 0)).
    { clear. induction m as [|m IH]; intros x; [reflexivity|]. cbn [repeat]. change (sum ?f (x :: ?r)) with (f x + sum f r). rewrite IH. lia. }
    change (sum (fun x => if x <=? t then 1 else 0) (up :: repeat (a + up) (n - 2))) with
      ((if up <=? t then 1 else 0) + sum (fun x => if x <=? t then 1 else 0) (repeat (a + up) (n - 2))).
    rewrite Rp.
    destruct (existsb (Nat.eqb k) (seq 0 (length ps))) eqn:Ek.
    2:{ unfold Sk. rewrite Ek. simpl. destruct (up <=? t), (a + up <=? t); lia. }
    unfold Sk. rewrite Ek.
    assert (Len : (length (filter (fun w => negb (w =? v)%nat) (seq 0 n)) = n - 1)%nat).
    { pose proof (filter_without v (seq 0 n) (seq_NoDup _ _) (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Hv))) as Q.
      rewrite seq_length in Q. lia. }
    destruct (Z.leb_spec (a + up) t) as [L|L].
    - rewrite (sum_eq _ (fun _ => 1)).
      + rewrite sum_one, Len. rewrite (proj2 (Z.leb_le up t)) by lia. lia.
      + intros w _. destruct (u =? w)%nat; [rewrite (proj2 (Z.leb_le _ t)) by lia|rewrite (proj2 (Z.leb_le _ t)) by lia]; reflexivity.
    - rewrite Z.mul_0_r, Z.add_0_r. destruct (Z.leb_spec up t) as [L2|L2].
      + rewrite (sum_eq _ (fun w => if (u =? w)%nat then 1 else 0)).
        * rewrite <- sum_filter with (f := fun _ => 1). rewrite sum_one. 
          change (fun x => (u =? x)%nat) with (Nat.eqb u).
          assert (Q : (length (filter (Nat.eqb u) (filter (fun w => negb (w =? v)%nat) (seq 0 n))) <= length [u])%nat); [|cbn [length] in Q; lia].
          apply NoDup_incl_length; [apply NoDup_filter, NoDup_filter, seq_NoDup|]. intros w Hw. apply filter_In in Hw.
          destruct Hw as [_ Hw]. apply Nat.eqb_eq in Hw. left. auto.
        * intros w _. destruct (u =? w)%nat; [rewrite (proj2 (Z.leb_le _ t)) by lia|rewrite (proj2 (Z.leb_gt _ t)) by lia]; reflexivity.
      + rewrite (sum_zero); [lia|]. intros w _. destruct (u =? w)%nat; rewrite (proj2 (Z.leb_gt _ t)) by lia; reflexivity. }
  specialize (C H1). clear H1.
  assert (H1 : forall i (k : nat) t (to : nat -> nat), (i < length (links j))%nat -> enters X (at_link j i) = true ->
     (forall v', ends_at j X i (to v')) -> (alone_behind j (fun _ => false) i = true -> forall v' v'', to v' = to v'') ->
     over (map (fun v' => late j false (fun _ => []) (fun _ => []) i (to v') v') [v]) t <= over [down] t).
  { intros i k t to Hi He _ _. destruct (Lnv i Hi He) as [_ E]. cbn [map]. unfold late, rest. rewrite E. cbn [latency].
    replace (potential [] (to v)) with 0 by (unfold potential; destruct (to v); reflexivity).
    replace (potential [] v) with 0 by (unfold potential; destruct v; reflexivity).
    replace (down - 0 + 0 + Z.max 0 0) with down by lia. lia. }
  specialize (C H1). clear H1.
  assert (H1 : forall k, 0 <= Z.max 0 (size j k * picoseconds) /\ forall i, (i < length (links j))%nat -> enters X (at_link j i) = true ->
     Z.max 0 (size j k * picoseconds) <= bandwidth (at_link j i) * (beta (at_link j i) (size j k) + 0)).
  { intros k. split; [lia|]. intros i Hi He. destruct (Lnv i Hi He) as [_ E]. rewrite E. rewrite Z.add_0_r.
    pose proof (beta_enough (Link n v down B) (size j k)) as Q. cbn [bandwidth] in Q.
    pose proof (sane_size j (recut_positive star ps cut star_positive) k).
    pose proof (beta_0 (Link n v down B) (size j k)) as Q2. cbn [bandwidth] in *. apply Z.max_lub; [nia|]. lia. }
  specialize (C H1). clear H1. rewrite recut_chunks in C.
  eapply Z.le_trans; [|eapply Z.le_trans; [exact C|]].
  - rewrite (sum_eq _ (fun k => size j k * ((fun _ => picoseconds * Z.of_nat (n - 1)) (shard ps k)))).
    + rewrite (sum_of_shards star ps cut (fun _ => picoseconds * Z.of_nat (n - 1))). change (chunks_of star) with [O]. cbn [sum fold_right]. change (size star 0) with bytes. lia.
    + intros k Hk. pose proof (recut_size_1 star ps cut k Hk). unfold Sk.
      rewrite (proj2 (existsb_exists _ _)) by (exists k; split; [exact Hk|apply Nat.eqb_refl]).
      pose proof (filter_without v (seq 0 n) (seq_NoDup _ _) (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Hv))) as Q.
      rewrite seq_length in Q. replace (length (filter _ (seq 0 n))) with (n - 1)%nat by lia.
      cbn [length]. rewrite Z.max_r by (unfold picoseconds; lia). lia.
  - set (R := Z.max 0 (T - a) + Z.of_nat (n - 2) * Z.max 0 (T - 2 * a)).
    assert (Rm : forall i, room T (fun _ => up :: repeat (a + up) (n - 2)) (fun _ => [down]) i = R).
    { intros i. unfold room, R. change (sum ?f (up :: ?r)) with (f up + sum f r).
      assert (Rp : forall m x, sum (fun g => sum (fun h => Z.max 0 (T - g - h)) [down]) (repeat x m) = Z.of_nat m * Z.max 0 (T - x - down)).
      { clear. induction m as [|m IH]; intros x; [reflexivity|]. cbn [repeat]. change (sum ?f (x :: ?r)) with (f x + sum f r). rewrite IH, Nat2Z.inj_succ. cbn [sum fold_right]. lia. }
      rewrite Rp. cbn [sum fold_right]. replace (T - up - down) with (T - a) by lia. replace (T - (a + up) - down) with (T - 2 * a) by lia. lia. }
    apply Z.le_trans with (sum (fun i => B * R) [(n + v)%nat]); [|simpl; lia].
    rewrite (sum_eq _ (fun _ => B * R)).
    + apply sum_incl.
      * apply some_links_once.
      * intros i Hi. unfold some_links in Hi. apply filter_In in Hi. destruct Hi as [Hi He]. apply in_seq in Hi.
        left. symmetry. apply Lnv; auto. lia.
      * intros _. pose proof (Z.mul_nonneg_nonneg (Z.of_nat (n - 2)) (Z.max 0 (T - 2 * a)) ltac:(lia) ltac:(lia)).
        unfold R. apply Z.mul_nonneg_nonneg; lia.
    + intros i Hi. rewrite Rm. unfold some_links in Hi. apply filter_In in Hi. destruct Hi as [Hi He]. apply in_seq in Hi.
      destruct (Lnv i ltac:(lia) He) as [_ ->]. reflexivity.
Qed.

(** Two-shot: with pipelining, at both ends of the switch. *)
Lemma contributions_only v : (v < n)%nat -> contributions_of (only n v) = [v].
Proof.
  intros Hv. unfold contributions_of. unfold only at 2. unfold vector. rewrite map_length, seq_length.
  rewrite (filter_ext_in _ (Nat.eqb v)).
  - assert (Q : forall m s, (s <= v < s + m)%nat -> filter (Nat.eqb v) (seq s m) = [v]).
    { induction m as [|m IH]; intros s Hs; [lia|]. cbn [seq filter]. destruct (Nat.eqb_spec v s) as [->|].
      - f_equal. assert (Z : forall m s', (s < s')%nat -> filter (Nat.eqb s) (seq s' m) = []).
        { clear. induction m as [|m IH]; intros s' Hs; [reflexivity|]. cbn [seq filter]. destruct (Nat.eqb_spec s s'); [lia|]. apply IH. lia. }
        apply Z. lia.
      - apply IH. lia. }
    apply Q. lia.
  - intros c Hc. apply in_seq in Hc. unfold containsb, only. rewrite count_vector. rewrite (proj2 (Nat.ltb_lt c n)) by lia.
    destruct (Nat.eqb_spec c v) as [->|]; [rewrite Nat.eqb_refl; reflexivity|]. destruct (Nat.eqb_spec v c); [congruence|reflexivity].
Qed.
Definition own_part (v : nat) : nat := if is_rank star v then S v else O.
Lemma star_between : (2 * (n - 1) <= between star own_part 0)%nat.
Proof.
  unfold between. eapply Nat.le_trans; [|apply Nat.le_max_l].
  assert (Es : start_of star 0 = map (fun v => (v, only n v)) (seq 0 n)).
  { unfold start_of. simpl. induction (seq 0 n) as [|x l IH]; simpl; auto. rewrite IH. reflexivity. }
  assert (Eg : goal_of star 0 = map (fun v => (v, all n)) (seq 0 n)).
  { unfold goal_of. cbn [post star]. generalize (all n). intros w. generalize (seq 0 n). intros l.
    induction l as [|x l IH]; [reflexivity|]. cbn [map filter fst snd Nat.eqb]. rewrite IH. reflexivity. }
  rewrite Es, Eg. unfold combined_of. set (reps := reps_of own_part (map (fun v => (v, only n v)) (seq 0 n))).
  assert (Op : forall v, (v < n)%nat -> own_part v = S v) by (intros; unfold own_part; rewrite rank_star; auto).
  assert (Each : forall l, incl (map fst l) (map fst (one_of_each l))).
  { clear. induction l as [|[p c] l IH]; simpl; [intros ? []|]. destruct (existsb _ _) eqn:E.
    - intros x [<-|Hx]; [|apply IH, Hx]. apply existsb_exists in E. destruct E as [[p' c'] [Hp E]]. apply Nat.eqb_eq in E. simpl in E.
      subst p'. apply in_map_iff. exists (p, c'). auto.
    - simpl. intros x [->|Hx]; [left; auto|right; apply IH, Hx]. }
  assert (Lr : (n <= length reps)%nat).
  { rewrite <- (map_length fst reps). rewrite <- (seq_length n 1) at 1. apply NoDup_incl_length; [apply seq_NoDup|].
    intros p Hp. apply in_seq in Hp. apply Each. apply in_map_iff. exists (p, (p - 1)%nat). split; auto.
    assert (Hv : (p - 1 < n)%nat) by lia. apply filter_In. split.
    - apply in_flat_map. exists ((p - 1)%nat, only n (p - 1)). split; [apply in_map_iff; exists (p - 1)%nat; split; auto; apply in_seq; lia|].
      cbn [fst snd]. rewrite contributions_only, Op by auto. left. f_equal. lia.
    - apply forallb_forall. intros [u w] Hu. apply in_map_iff in Hu. destruct Hu as [u' [[= <- <-] Hu]]. apply in_seq in Hu. cbn [fst snd].
      unfold containsb, only. rewrite count_vector. rewrite (proj2 (Nat.ltb_lt (p - 1) n)) by lia.
      destruct (p - 1 =? u')%nat eqn:Eq; [|reflexivity]. apply Nat.eqb_eq in Eq. rewrite Op by lia. replace (S u') with p by lia.
      rewrite Nat.eqb_refl. apply orb_true_r. }
  assert (Rn : forall r, In r reps -> (snd r < n)%nat).
  { intros [p c] Hr. apply (proj2 (one_of_each_once _)) in Hr. apply filter_In in Hr. destruct Hr as [Hr _].
    apply in_flat_map in Hr. destruct Hr as [[u w] [Hu Hr]]. apply in_map_iff in Hu. destruct Hu as [u' [[= <- <-] Hu]]. apply in_seq in Hu.
    cbn [fst snd] in Hr. rewrite contributions_only in Hr by lia. destruct Hr as [[= <- <-]|[]]. simpl. lia. }
  assert (Lg : (n <= length (goals_of own_part reps (map (fun v => (v, all n)) (seq 0 n))))%nat).
  { rewrite <- (seq_length n 1) at 1. apply NoDup_incl_length; [apply seq_NoDup|]. intros p Hp. apply in_seq in Hp.
    apply nodup_In, in_map_iff. exists ((p - 1)%nat, all n). cbn [fst]. rewrite Op by lia. split; [lia|]. apply filter_In. split.
    - apply in_map_iff. exists (p - 1)%nat. split; auto. apply in_seq. lia.
    - apply forallb_forall. intros r Hr. cbn [snd]. unfold containsb, all. rewrite count_vector. rewrite (proj2 (Nat.ltb_lt _ n)) by (apply Rn, Hr). reflexivity. }
  destruct (goals_of own_part reps _) as [|g gs] eqn:E; [simpl in Lg; lia|]. rewrite (proj2 (Nat.leb_le 2 _)) by lia.
  cbn [length] in *. lia.
Qed.

Lemma star_volume : how = Pipelined -> 2 * (Z.of_nat n - 1) * (bytes * picoseconds) <= Z.of_nat n * (B * Z.max 0 (T - a)).
Proof.
  intros Hh. apply Z.nlt_ge. intros Lt.
  enough (T + 1 <= T) by lia.
  apply (free_partition_sound star own_part (T + 1) ps sch star_positive cut); [|exact good].
  unfold free_partition_rule. apply andb_true_iff. split.
  - apply forallb_forall. intros v Hv. apply in_seq in Hv. unfold own_part. change (nodes star) with n in Hv. rewrite rank_star by lia. reflexivity.
  - apply orb_true_iff. right. unfold bytes_too_soon. apply negb_true_iff, Z.leb_gt. replace (T + 1 - 1) with T by lia.
    apply Z.le_lt_trans with (Z.of_nat n * (B * Z.max 0 (T - a))).
    + apply Z.le_trans with (sum (fun _ => B * Z.max 0 (T - a)) (seq 0 n)).
      * rewrite (sum_eq _ (fun _ => B * Z.max 0 (T - a))).
        -- apply sum_incl; [apply some_links_once| |intros _; apply Z.mul_nonneg_nonneg; lia].
           intros i Hi. unfold out_of_parts, some_links in Hi. apply filter_In in Hi. destruct Hi as [Hi He]. apply in_seq in Hi.
           change (length (links star)) with (length star_links) in Hi. rewrite star_length in Hi. apply in_seq.
           destruct (Nat.lt_ge_cases i n) as [L|L]; [lia|]. exfalso. replace i with (n + (i - n))%nat in He by lia.
           rewrite star_down in He by lia. cbn [Cut.src Cut.dst] in He. apply andb_true_iff in He. destruct He as [_ He].
           unfold own_part in He. rewrite switch_star in He. discriminate.
        -- intros i Hi. unfold out_of_parts, some_links in Hi. apply filter_In in Hi. destruct Hi as [Hi He]. apply in_seq in Hi.
           change (length (links star)) with (length star_links) in Hi. rewrite star_length in Hi.
           destruct (Nat.lt_ge_cases i n) as [L|L].
           ++ rewrite star_up by auto. cbn [bandwidth]. f_equal. unfold window, tail, since. rewrite star_up by auto.
              cbn [Cut.src Cut.dst latency]. rewrite switch_star, (rank_star i L). change (model star) with how. rewrite Hh.
              unfold onward. rewrite switch_star.
              assert (Ao : map latency (filter (fun l => (Cut.src l =? n)%nat) (links star)) = repeat down n).
              { change (links star) with star_links. unfold star_links. rewrite filter_app.
                assert (A1 : forall m s, (s + m <= n)%nat -> filter (fun l => (Cut.src l =? n)%nat) (map (fun v => Link v n up B) (seq s m)) = []).
                { clear. induction m as [|m IH]; intros s Hs; [reflexivity|]. cbn [seq map filter Cut.src]. destruct (Nat.eqb_spec s n); [lia|]. apply IH. lia. }
                assert (A2 : forall l, map latency (filter (fun l => (Cut.src l =? n)%nat) (map (fun v => Link n v down B) l)) = repeat down (length l)).
                { clear. induction l as [|x l IH]; [reflexivity|]. cbn [map filter Cut.src]. rewrite Nat.eqb_refl. cbn [map latency length repeat]. f_equal. exact IH. }
                rewrite A1 by lia. cbn [app]. rewrite A2, seq_length. reflexivity. }
              rewrite Ao. replace n with (S (n - 1)) by lia. cbn [repeat].
              assert (Fm : forall m, fold_right Z.min down (repeat down m) = down) by (induction m as [|m IH]; simpl; [auto|rewrite IH; lia]).
              rewrite Fm. unfold arrival. replace (nth i (release star) 0) with 0 by (destruct i; reflexivity). lia.
           ++ exfalso. replace i with (n + (i - n))%nat in He by lia.
              rewrite star_down in He by lia. cbn [Cut.src Cut.dst] in He. apply andb_true_iff in He. destruct He as [_ He].
              unfold own_part in He. rewrite switch_star in He. discriminate.
      * rewrite (sum_eq _ (fun _ => (B * Z.max 0 (T - a)) * 1)) by (intros; lia). rewrite sum_mul, sum_one, seq_length. lia.
    + rewrite sum_demands. change (length (sizes star)) with 1%nat. cbn [seq sum fold_right]. change (size star 0) with bytes.
      pose proof star_between. eapply Z.lt_le_trans; [exact Lt|].
      assert (2 * (Z.of_nat n - 1) <= Z.of_nat (between star own_part 0)) by lia.
      unfold picoseconds. nia.
Qed.

(** The three regimes. The first two hold under blocking, too. *)
Theorem one_shot : bytes * picoseconds * (Z.of_nat n - 1) <= B * a -> 0 < bytes ->
  bytes * picoseconds * (Z.of_nat n - 1) <= B * (T - a).
Proof.
  intros H Nz.
  pose proof (star_covered 0 ltac:(lia)) as C. replace (Z.of_nat (n - 1)) with (Z.of_nat n - 1) in C by lia.
  destruct (Z_le_gt_dec T (2 * a)) as [L|L].
  - rewrite (Z.max_l 0 (T - 2 * a)), Z.mul_0_r, Z.add_0_r in C by lia.
    assert (0 < bytes * picoseconds * (Z.of_nat n - 1)) by (unfold picoseconds; nia). nia.
  - nia.
Qed.
Theorem mixed : B * a <= bytes * picoseconds * (Z.of_nat n - 1) -> 0 < bytes ->
  bytes * picoseconds * (Z.of_nat n - 1) + B * a * (2 * Z.of_nat n - 3) <= B * T * (Z.of_nat n - 1).
Proof.
  intros H Nz. pose proof (star_covered 0 ltac:(lia)) as C.
  replace (Z.of_nat (n - 1)) with (Z.of_nat n - 1) in C by lia. replace (Z.of_nat (n - 2)) with (Z.of_nat n - 2) in C by lia.
  assert (P : 0 < bytes * picoseconds * (Z.of_nat n - 1)) by (unfold picoseconds; nia).
  assert (2 * a <= T).
  { destruct (Z_le_gt_dec (2 * a) T) as [|L]; auto. exfalso.
    rewrite (Z.max_l 0 (T - 2 * a)), Z.mul_0_r, Z.add_0_r in C by lia.
    assert (B * Z.max 0 (T - a) < bytes * picoseconds * (Z.of_nat n - 1)); [|lia].
    destruct (Z_le_gt_dec T a); [rewrite Z.max_l by lia; lia|]. rewrite Z.max_r by lia. nia. }
  rewrite !Z.max_r in C by lia. nia.
Qed.
Theorem two_shot : how = Pipelined -> 0 < bytes -> 2 * (Z.of_nat n - 1) * (bytes * picoseconds) <= Z.of_nat n * (B * (T - a)).
Proof.
  intros Hh Nz. pose proof (star_volume Hh) as C.
  assert (0 < 2 * (Z.of_nat n - 1) * (bytes * picoseconds)) by (unfold picoseconds; nia).
  destruct (Z_le_gt_dec T a) as [L|L]; [rewrite Z.max_l in C by lia; lia|]. rewrite Z.max_r in C by lia. exact C.
Qed.
End Every.
End Star.
